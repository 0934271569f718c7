// The rules of a system, checked after every pass in tests and on every text that is read.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "equations/system.h"
#include "expr/check.h"
#include "zspace/box.h"
#include "zspace/checked.h"
#include "zspace/linear_equation.h"

namespace heddle::equations {
namespace {

constexpr size_t problem_limit = 16;

class SystemVerifier {
public:
    explicit SystemVerifier(const System& system) : system_(system), arena_(*system.arena) {}

    Result<void> run() {
        check_references();
        if (problems_.empty()) {
            for (size_t i = 0; i < system_.equations.size() && problems_.size() < problem_limit; i++) {
                if (!system_.equations[i].dead) check_equation(static_cast<int32_t>(i));
            }
        }
        if (problems_.empty()) {
            for (size_t t = 0; t < system_.tensors.size(); t++) check_cover(TensorIndex(t));
        }
        if (problems_.empty()) check_acyclic();
        if (!problems_.empty()) return fail(std::move(problems_));
        return {};
    }

private:
    void problem(std::string code, std::string summary, std::string expected = "", std::string found = "") {
        if (problems_.size() >= problem_limit) return;
        problems_.push_back({.code = std::move(code),
                             .summary = std::move(summary),
                             .place = {},
                             .expected = std::move(expected),
                             .found = std::move(found)});
    }
    bool has_tensor(TensorIndex t) const { return t >= 0 && static_cast<size_t>(t) < system_.tensors.size(); }
    bool has_axis(AxisId a) const { return a >= 0 && static_cast<size_t>(a) < arena_.axis_count(); }
    std::string where(const Equation& equation) const {
        return fmt::format("equation {} of '{}'", equation.piece, system_.tensor(equation.tensor).name);
    }

    void check_references() {
        std::set<std::string> names;
        for (const SystemTensor& tensor : system_.tensors) {
            if (!names.insert(tensor.name).second)
                problem("equations.duplicate_name", fmt::format("two tensors are named '{}'", tensor.name));
            const bool sound = std::all_of(tensor.opaque_inputs.begin(), tensor.opaque_inputs.end(),
                                           [&](TensorIndex t) { return has_tensor(t); });
            if (!sound)
                problem("equations.reference", fmt::format("'{}' reads a tensor that does not exist", tensor.name));
            const bool right = !tensor.constant ||
                               (tensor.constant->dtype() == tensor.dtype && tensor.constant->shape() == numbers_of(tensor.shape));
            if (!right) problem("equations.type", fmt::format("the values of '{}' are not of its type", tensor.name));
        }
        for (size_t i = 0; i < system_.equations.size(); i++) {
            const Equation& equation = system_.equations[i];
            if (equation.dead) continue;
            if (!has_tensor(equation.tensor) || equation.right == nullptr) {
                problem("equations.reference", fmt::format("equation {} has no tensor or no right side", i));
                continue;
            }
            const auto& list = system_.tensor(equation.tensor).equations;
            if (std::find(list.begin(), list.end(), static_cast<int32_t>(i)) == list.end()) {
                problem("equations.reference", where(equation) + " is not in its tensor's list");
            }
            for (const std::vector<AxisId>* axes : {&equation.axes, &equation.reduced}) {
                if (!std::all_of(axes->begin(), axes->end(), [&](AxisId a) { return has_axis(a); })) {
                    problem("equations.reference", where(equation) + " has an axis that does not exist");
                }
            }
        }
    }

    void check_equation(int32_t index) {
        const Equation& equation = system_.equation(index);
        const SystemTensor& tensor = system_.tensor(equation.tensor);
        std::set<AxisId> scope;
        size_t count = 0;
        for (const std::vector<AxisId>* list : {&equation.axes, &equation.reduced}) {
            scope.insert(list->begin(), list->end());
            count += list->size();
        }
        if (scope.size() != count) problem("equations.scope", where(equation) + " has one axis twice");
        if (!equation.reducer && !equation.reduced.empty())
            problem("equations.scope", where(equation) + " reduces without a reduction");
        for (AxisId axis : equation.right->axes) {
            if (!scope.contains(axis))
                problem("equations.scope", where(equation) + " uses an axis that it does not have", "",
                        arena_.axis(axis).name);
        }
        if (equation.left.size() != tensor.shape.size()) {
            problem("equations.type",
                    where(equation) + " has another number of coordinates than its tensor dimensions");
            return;
        }
        check_left(equation);
        const DType term = equation.right->dtype;
        if (equation.reducer && (is_complex(term) || !accepts(*equation.reducer, term)))
            problem("equations.type", where(equation) + " reduces terms that it cannot", "", std::string(name(term)));
        const DType result = equation.reducer && is_argument(*equation.reducer) ? DType::int64 : term;
        if (result != tensor.dtype)
            problem("equations.type", where(equation) + " has a value of another type", std::string(name(tensor.dtype)),
                    std::string(name(result)));
        check_expressions(equation);
        if (problems_.empty() && equation.scan >= 0) check_scan(equation);
    }

    // A scan's equations run along axes of one extent, one dimension of what they make being its steps; they read one
    // another at this step or an earlier one.
    void check_scan(const Equation& equation) {
        const bool own = std::find(equation.axes.begin(), equation.axes.end(), equation.ordered) != equation.axes.end();
        const bool counted =
            own && std::any_of(equation.left.begin(), equation.left.end(), [&](Expr left) {
                const CoordinateForm form = linear_form(left);
                return form.terms.size() == 1 && form.terms[0].first->axes == std::vector{equation.ordered};
            });
        if (!counted)
            return problem("equations.scan", where(equation) + " has no dimension that counts its scan's steps");
        const int64_t steps = arena_.extent(equation.ordered);
        if (scan_steps_.try_emplace(equation.scan, steps).first->second != steps)
            return problem("equations.scan", where(equation) + " has another number of steps than its scan");
        for (Expr read : reads(equation)) {
            for (int32_t maker : system_.tensor(read->tensor()).equations) {
                const Equation& made = system_.equation(maker);
                if (made.dead || made.scan != equation.scan) continue;
                const auto step = step_of_read(equation, read, made);
                if (step && *step <= 0 && read->kind == Kind::read) continue;
                return problem("equations.scan",
                               fmt::format("{} reads '{}' at a step that is not known or still to come",
                                           where(equation), system_.tensor(read->tensor()).name));
            }
        }
    }

    // The cover rule: mixed radix in the equation's axes plus an offset, or an axis the other way round; fills boxes_.
    void check_left(const Equation& equation) {
        const SystemTensor& tensor = system_.tensor(equation.tensor);
        // Without points of its own it writes nothing; a reduction of no terms still writes its neutral element.
        if (std::ranges::any_of(equation.axes, [&](AxisId axis) { return arena_.extent(axis) == 0; })) return;
        Box box;
        std::set<AxisId> used;
        for (size_t d = 0; d < equation.left.size(); d++) {
            const CoordinateForm form = linear_form(equation.left[d]);
            RadixDigits<AxisId> digits;
            Size first = form.constant;
            for (const auto& [atom, factor] : form.terms) {
                const auto axis = atom->axis();
                const bool turned = form.terms.size() == 1 && factor == -1;
                if (atom->kind != Kind::variable || (factor < 0 && !turned) ||
                    std::find(equation.axes.begin(), equation.axes.end(), axis) == equation.axes.end() ||
                    !used.insert(axis).second) {
                    return problem("equations.cover",
                                   where(equation) + " has a left side that is no mixed radix of its axes");
                }
                if (turned) first -= maximum(arena_.extent(axis) - 1, 0);
                digits.push_back({axis, factor, arena_.extent(axis)});
            }
            const auto radix = mixed_radix(std::move(digits));
            if (!radix.fits()) {
                return problem("equations.cover",
                               where(equation) + " has a left side that is no mixed radix of its axes");
            }
            const auto end = checked_add(first, radix.extent);
            if (first < 0 || !end || (*end > tensor.shape[d] && equation.points(arena_) > 0)) {
                return problem("equations.cover", where(equation) + " writes outside of its tensor");
            }
            box.start.push_back(first);
            box.end.push_back(*end);
        }
        for (AxisId axis : equation.axes) {
            if (arena_.extent(axis) != 1 && !used.contains(axis)) {
                return problem("equations.cover", where(equation) + " has an axis that its left side does not use", "",
                               arena_.axis(axis).name);
            }
        }
        boxes_[equation.tensor].push_back(std::move(box));
    }

    void check_cover(TensorIndex index) {
        const SystemTensor& tensor = system_.tensor(index);
        if (tensor.kind != SystemTensor::Kind::computed) {
            if (boxes_.contains(index))
                problem("equations.cover", fmt::format("'{}' is not computed, but has equations", tensor.name));
            return;
        }
        if (tensor.dead && !boxes_.contains(index)) return;  // nothing reads it: check_expressions
        std::vector<Box>& boxes = boxes_[index];
        std::erase_if(boxes, [](const Box& box) { return box.is_empty(); });
        if (overlapping(boxes))
            return problem("equations.cover", fmt::format("two equations of '{}' write one element", tensor.name));
        const Size written = total_volume(boxes), all = Box::whole(tensor.shape).volume();
        if (written != all) {
            problem("equations.cover", fmt::format("the equations of '{}' do not cover it", tensor.name),
                    std::to_string(all), std::to_string(written));
        }
    }

    void check_expressions(const Equation& equation) {
        Surroundings where{.stage = Stage::system, .tensor = [&](TensorIndex t) { return readable(t); }, .leaves = {}};
        if (equation.points(arena_) > 0) where.leaves = [&](Expr read, size_t d) { return leaves(system_, read, d); };
        for (Diagnostic& found : check({equation.right}, where))
            problem(found.code, this->where(equation) + " " + found.summary, found.expected, found.found);
    }

    std::optional<ReadableTensor> readable(TensorIndex t) const {
        if (!has_tensor(t) || system_.tensor(t).dead) return std::nullopt;
        return ReadableTensor{t, system_.tensor(t).dtype, system_.tensor(t).shape};
    }

    void check_acyclic() {
        const auto live = std::count_if(system_.equations.begin(), system_.equations.end(),
                                        [](const Equation& e) { return !e.dead; });
        if (static_cast<int64_t>(system_.order().size()) != live)
            problem("equations.cycle", "equations depend on one another in a circle");
    }

    const System& system_;
    const Arena& arena_;
    std::map<TensorIndex, std::vector<Box>> boxes_;
    std::map<int32_t, int64_t> scan_steps_;
    Diagnostics problems_;
};

}  // namespace

Result<void> verify(const System& system) { return SystemVerifier(system).run(); }

}  // namespace heddle::equations
