#include <algorithm>
#include <set>

#include "schedules/accesses.h"
#include "schedules/kernel.h"

namespace heddle::schedules {
namespace {

class Verifier {
public:
    explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

    Result<void> verify() {
        check_indices();
        if (errors_.empty()) check_values();
        if (errors_.empty()) check_equations();
        if (errors_.empty()) return {};
        return fail(std::move(errors_));
    }

private:
    void error(const char* code, const std::string& summary, const std::string& found) {
        Diagnostic diagnostic;
        diagnostic.code = code;
        diagnostic.summary = summary;
        diagnostic.found = found;
        errors_.push_back(std::move(diagnostic));
    }

    template <typename List>
    static bool in(const List& list, int64_t index) {
        return index >= 0 && index < static_cast<int64_t>(list.size());
    }

    // Everything that an index names exists; values stand behind their operands.
    void check_indices() {
        auto bad = [&](const std::string& what) {
            error("schedules.index", "the kernel names something that it does not have", what);
        };
        auto coordinate = [&](const Coordinate& c, int64_t before) {
            for (const auto& [axis, factor] : c.axes) {
                if (!in(kernel_.axes, axis)) bad("an axis in a coordinate");
            }
            for (const auto& [part, factor] : c.values) {
                if (!in(kernel_.values, part) || part >= before) bad("a value in a coordinate");
            }
        };
        for (size_t i = 0; i < kernel_.values.size(); i++) {
            const Value& v = kernel_.values[i];
            for (ValueIndex operand : v.operands) {
                if (operand < 0 || operand >= static_cast<ValueIndex>(i))
                    bad("an operand of value " + std::to_string(i));
            }
            bool reads = v.kind == Value::Kind::read || v.kind == Value::Kind::guarded_read;
            if (reads && !in(kernel_.tensors, v.tensor)) bad("the tensor of value " + std::to_string(i));
            for (const Coordinate& c : v.coordinates) coordinate(c, static_cast<int64_t>(i));
        }
        for (const KernelEquation& e : kernel_.equations) {
            if (!in(kernel_.tensors, e.tensor) || !in(kernel_.values, e.right))
                bad("the tensor or right side of an equation");
            for (AxisIndex axis : e.axes) {
                if (!in(kernel_.axes, axis)) bad("an axis of an equation");
            }
            for (AxisIndex axis : e.reduced) {
                if (!in(kernel_.axes, axis)) bad("a reduced axis");
            }
            if (e.ordered != -1 && !in(kernel_.axes, e.ordered)) bad("an ordered axis");
            for (const Coordinate& c : e.left)
                coordinate(c, e.update || e.ordered >= 0 ? static_cast<int64_t>(kernel_.values.size()) : 0);
        }
        for (AxisIndex axis : kernel_.common) {
            if (!in(kernel_.axes, axis)) bad("a common axis");
        }
        for (const KernelAxis& axis : kernel_.axes) {
            if (axis.extent < 0 || axis.hint < 0) bad("a negative extent of " + axis.name);
        }
        for (const KernelTensor& tensor : kernel_.tensors) {
            for (const BufferDimension& d : tensor.dimensions) {
                if (d.extent < 0 || d.margin_before < 0 || d.margin_after < 0)
                    bad("a negative extent of " + tensor.name);
            }
        }
    }

    DType type(ValueIndex index) const { return kernel_.value(index).dtype; }

    void mismatch(ValueIndex index, const std::string& what) {
        error("schedules.type", "the operands of a value do not fit it", what + " of value " + std::to_string(index));
    }

    void check_values() {
        for (size_t i = 0; i < kernel_.values.size(); i++) check_value(static_cast<ValueIndex>(i), kernel_.values[i]);
    }

    void check_value(ValueIndex index, const Value& v) {
        size_t operands = 0, coordinates = 0;
        switch (v.kind) {
        case Value::Kind::integer:
        case Value::Kind::real: break;
        case Value::Kind::coordinate:
        case Value::Kind::inside: coordinates = 1; break;
        case Value::Kind::scalar: operands = v.operands.size(); break;  // check_types
        case Value::Kind::cast: operands = 1; break;
        case Value::Kind::select: operands = 3; break;
        case Value::Kind::read: coordinates = kernel_.tensor(v.tensor).dimensions.size(); break;
        case Value::Kind::guarded_read:
            operands = 1;
            coordinates = kernel_.tensor(v.tensor).dimensions.size();
            break;
        }
        if (v.operands.size() != operands || v.coordinates.size() != coordinates) return mismatch(index, "the number");
        for (const Coordinate& c : v.coordinates) {
            for (const auto& [part, factor] : c.values) {
                if (!is_integer(type(part))) mismatch(index, "a coordinate's dtype");
            }
        }
        check_types(index, v);
    }

    void check_types(ValueIndex index, const Value& v) {
        if (v.kind == Value::Kind::coordinate && !is_integer(v.dtype)) mismatch(index, "the dtype");
        if (v.kind == Value::Kind::inside && !is_bool(v.dtype)) mismatch(index, "the dtype");
        if (v.kind == Value::Kind::real && !is_float(v.dtype)) mismatch(index, "the dtype");
        if (v.kind == Value::Kind::integer && is_float(v.dtype)) mismatch(index, "the dtype");
        if (v.kind == Value::Kind::select) {
            bool fits =
                is_bool(type(v.operands[0])) && type(v.operands[1]) == v.dtype && type(v.operands[2]) == v.dtype;
            if (!fits) mismatch(index, "the dtypes");
        }
        bool reads = v.kind == Value::Kind::read || v.kind == Value::Kind::guarded_read;
        if (reads && v.dtype != kernel_.tensor(v.tensor).dtype) mismatch(index, "the dtype");
        if (v.kind == Value::Kind::guarded_read) {
            const Value& literal = kernel_.value(v.operands[0]);
            bool is_literal = literal.kind == Value::Kind::integer || literal.kind == Value::Kind::real;
            if (!is_literal || literal.dtype != v.dtype) mismatch(index, "the literal");
        }
        if (v.kind != Value::Kind::scalar) return;
        std::vector<DType> types;
        for (ValueIndex operand : v.operands) types.push_back(type(operand));
        if (!is_typed_real(v.op, v.dtype, types)) mismatch(index, "the dtypes");
    }

    void check_equations() {
        std::set<TensorIndex> written;
        std::set<AxisIndex> done;  // ordered axes whose scan has ended
        AxisIndex running = -1;
        for (const KernelEquation& e : kernel_.equations) {
            const std::string& name = kernel_.tensor(e.tensor).name;
            if (kernel_.tensor(e.tensor).role == KernelTensor::Role::input) {
                error("schedules.role", "an input is written", name);
            }
            if (e.left.size() != kernel_.tensor(e.tensor).dimensions.size()) {
                error("schedules.index", "a left side has another number of coordinates than its tensor has dimensions",
                      name);
                continue;
            }
            if (e.ordered != running && running >= 0) done.insert(running);
            running = e.ordered;
            if (done.contains(running)) error("schedules.scope", "the equations of a scan stand apart", name);
            check_scope(e, name);
            check_bounds(e, name);
            if (!e.reducer && !e.update && !e.reduced.empty())
                error("schedules.scope", "reduced axes without a reducer", name);
            if (e.update)
                check_update(e, name,
                             written.contains(e.tensor) || kernel_.tensor(e.tensor).role == KernelTensor::Role::in_out);
            for (const ReadAccess& read : reads_of(kernel_, e.right)) {
                const KernelTensor& t = kernel_.tensor(read.tensor);
                if (t.role == KernelTensor::Role::local && !written.contains(read.tensor)) {
                    error("schedules.scope", "a local is read before it is computed", t.name);
                }
            }
            if (e.reducer && !accepts(*e.reducer, type(e.right)))
                error("schedules.type", "the reduction does not take terms of this type", name);
            if (e.reducer && is_argument(*e.reducer) && e.reduced.empty()) {
                error("schedules.scope", "an argument reduction without an axis", name);
            }
            written.insert(e.tensor);
        }
    }

    void check_scope(const KernelEquation& e, const std::string& name) {
        std::set<AxisIndex> scope(e.axes.begin(), e.axes.end());
        const size_t ordered = e.ordered >= 0 ? 1 : 0;
        if (ordered) scope.insert(e.ordered);
        if (std::find(kernel_.common.begin(), kernel_.common.end(), e.ordered) != kernel_.common.end())
            error("schedules.scope", "an ordered axis is a common one", name);
        if (e.update) scope.insert(e.reduced.begin(), e.reduced.end());
        for (const Coordinate& c : e.left) {
            for (const auto& [axis, factor] : c.axes) {
                if (!scope.contains(axis)) error("schedules.scope", "an axis on the left is not the equation's", name);
            }
            // Of a scan's step alone it may: steps are kept in turn.
            const bool plain = e.ordered >= 0 && std::none_of(c.values.begin(), c.values.end(), [&](const auto& part) {
                                   return contains_read(kernel_, part.first);
                               });
            if (!c.values.empty() && !e.update && !plain)
                error("schedules.scope", "a left side depends on a value", name);
        }
        scope.insert(e.reduced.begin(), e.reduced.end());
        if (scope.size() != e.axes.size() + ordered + e.reduced.size())
            error("schedules.scope", "an axis occurs twice", name);
        auto check = [&](ValueIndex index) {
            for (const Coordinate& c : kernel_.value(index).coordinates) {
                for (const auto& [axis, factor] : c.axes) {
                    if (!scope.contains(axis))
                        error("schedules.scope", "an axis on the right is not the equation's", name);
                }
            }
        };
        visit(kernel_, e.right, check);
        for (const Coordinate& c : e.left) {
            for (const auto& [part, factor] : c.values) visit(kernel_, part, check);
        }
    }

    // A selection without a reducer, of a tensor that has been filled; tasks own what they update by axes of their own.
    void check_update(const KernelEquation& e, const std::string& name, bool filled) {
        if (e.reducer || kernel_.value(e.right).kind != Value::Kind::select)
            error("schedules.update", "an update is no selection, or has a reducer", name);
        if (!filled) error("schedules.update", "a tensor is updated before it is filled", name);
        for (const Coordinate& c : e.left) {
            for (const auto& [part, factor] : c.values) {
                if (!is_integer(type(part))) error("schedules.type", "a coordinate on the left is no integer", name);
            }
        }
    }

    bool inside(TensorIndex tensor, const std::vector<Coordinate>& coordinates) const {
        for (size_t d = 0; d < coordinates.size(); d++) {
            auto range = interval(kernel_, coordinates[d]);
            const BufferDimension& dimension = kernel_.tensor(tensor).dimensions[d];
            if (!range) continue;  // empty, or checked when it runs
            if (range->first < -dimension.margin_before) return false;
            if (range->second >= dimension.extent + dimension.margin_after) return false;
        }
        return true;
    }

    bool runs(const KernelEquation& e) const {
        if (e.ordered >= 0 && kernel_.axis(e.ordered).extent == 0) return false;
        for (const auto* list : {&e.axes, &e.reduced}) {
            for (AxisIndex axis : *list) {
                if (kernel_.axis(axis).extent == 0) return false;
            }
        }
        return true;
    }

    // Plain reads that no select may skip stay inside their buffers; left sides too, but for those of updates, which
    // their conditions keep inside.
    void check_bounds(const KernelEquation& e, const std::string& name) {
        if (!runs(e)) return;
        if (!e.update && !inside(e.tensor, e.left))
            error("schedules.bounds", "an equation writes outside of its tensor", name);
        std::vector<bool> seen(kernel_.values.size());
        std::vector<ValueIndex> open{e.right};
        while (!open.empty()) {
            ValueIndex at = open.back();
            open.pop_back();
            if (seen[static_cast<size_t>(at)]) continue;
            seen[static_cast<size_t>(at)] = true;
            const Value& v = kernel_.value(at);
            if (v.kind == Value::Kind::read && !inside(v.tensor, v.coordinates)) {
                error("schedules.bounds", "a read leaves its tensor and has no guard",
                      kernel_.tensor(v.tensor).name + " in " + name);
            }
            bool lazy = v.kind == Value::Kind::select;
            for (size_t i = 0; i < v.operands.size() && !(lazy && i > 0); i++) open.push_back(v.operands[i]);
            for (const Coordinate& c : v.coordinates) {
                for (const auto& [part, factor] : c.values) open.push_back(part);
            }
        }
    }

    const Kernel& kernel_;
    Diagnostics errors_;
};

}  // namespace

Result<void> verify(const Kernel& kernel) { return Verifier(kernel).verify(); }

}  // namespace heddle::schedules
