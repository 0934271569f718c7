#include "backends/wgsl/wgsl_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "codegen/functions.h"

namespace heddle::backends {
namespace {

using schedules::Expression;
using schedules::Number;
using schedules::Tree;

bool is_long(DType dtype) { return dtype == DType::int64 || dtype == DType::uint64; }

// The largest magnitudes that integers may have, by rough rules.
class Magnitudes {
public:
    // `numbers`: a launch's. `held`: of memories, before it.
    Magnitudes(const Tree& tree, std::span<const int64_t> numbers, std::vector<double> held)
        : tree_(tree), numbers_(numbers), terms_(tree.accumulators.size(), no_id), held_(std::move(held)) {
        find_terms(tree.body);
        // What is put into a memory bounds what it holds, if that stands when what is read is so large.
        for (int round = 0; round < most_rounds; round++) {
            if (find_all(); !widen_memories()) return;
        }
        for (const schedules::Store* store : stores_) held_[store->address.memory] = most_read;
        find_all();
    }
    double most(size_t expression) const { return most_[expression]; }
    const std::vector<double>& held() const { return held_; }

private:
    void find_all() {
        most_.clear();
        for (const Expression& e : tree_.expressions) most_.push_back(of(e));
    }

    // Whether something is put into a memory that is larger than its bound, which then is that.
    bool widen_memories() {
        bool changed = false;
        for (const schedules::Store* store : stores_) {
            double& most = held_[store->address.memory];
            std::vector<schedules::ExpressionId> values = store->beside;
            values.insert(values.end(), {store->value, store->filling});
            for (const schedules::ExpressionId value : values) {
                if (value < 0 || most_[value] <= most) continue;
                most = most_[value];
                changed = true;
            }
        }
        return changed;
    }

    void find_terms(const schedules::Block& block) {
        for (const schedules::Statement& statement : block) {
            std::visit(
                [&](const auto& node) {
                    if constexpr (requires { node.body; })
                        find_terms(node.body);
                    else if constexpr (std::is_same_v<std::decay_t<decltype(node)>, schedules::Update>)
                        terms_[node.accumulator] = node.value;
                    else if constexpr (std::is_same_v<std::decay_t<decltype(node)>, schedules::Store>)
                        stores_.push_back(&node);
                },
                statement.node);
        }
    }

    // The least or greatest of terms is one of them, or the end of the range; a place is one.
    double of_accumulator(const Expression& e) const {
        const schedules::Accumulator& accumulator = tree_.accumulator(e.accumulator_id());
        if (!is_long(e.dtype)) return of_type(e.dtype);
        if (accumulator.state) return INFINITY;
        if (is_argument(accumulator.reducer)) return 0x1p30;
        const bool extreme = accumulator.reducer == Reducer::minimum || accumulator.reducer == Reducer::maximum;
        const schedules::ExpressionId term = terms_[e.accumulator_id()];
        const bool known = extreme && term >= 0 && static_cast<size_t>(term) < most_.size();
        return known ? std::max(most_[term], 0x1p31) : INFINITY;
    }

    double operand(const Expression& e, size_t i) const { return most_[e.operands[i]]; }

    static double of_type(DType dtype) {
        if (is_long(dtype)) return most_read;
        const bool is_signed = info(dtype).kind == DTypeClass::signed_integer;
        return std::ldexp(1, info(dtype).bits - (is_signed ? 1 : 0)) - (is_signed ? 0 : 1);
    }

    double of(const Expression& e) const {
        if (!is_integer(e.dtype)) return 0;
        const double own = unbounded(e);
        // Narrower types wrap, as they do everywhere.
        return is_long(e.dtype) ? own : std::min(own, of_type(e.dtype));
    }

    double unbounded(const Expression& e) const {
        switch (e.kind) {
        case Expression::Kind::integer: return std::abs(static_cast<double>(e.integer));
        case Expression::Kind::number: return of_number(e.number);
        case Expression::Kind::index: {
            double sum = e.affine.terms.empty() ? 0 : most_places;
            for (const auto& [value, factor] : e.affine.values)
                sum += most_[value] * of_number(factor);
            return sum + of_number(e.affine.constant);
        }
        case Expression::Kind::cast: {
            const Expression& from = tree_.expression(e.operands[0]);
            if (is_bool(from.dtype)) return 1;
            return is_float(from.dtype) ? 0x1p31 - 1 : operand(e, 0);  // saturates
        }
        case Expression::Kind::select: return std::max(operand(e, 1), operand(e, 2));
        case Expression::Kind::check: return operand(e, 0);
        case Expression::Kind::let: return most_[tree_.let(e.let_id()).value];
        case Expression::Kind::scalar: return of_operation(e);
        case Expression::Kind::load:
            return is_long(e.dtype) ? std::min(held_[e.address.memory], most_read) : of_type(e.dtype);
        case Expression::Kind::accumulator:
        case Expression::Kind::before:
        case Expression::Kind::carried: return of_accumulator(e);
        default: return is_long(e.dtype) ? INFINITY : of_type(e.dtype);
        }
    }

    double of_operation(const Expression& e) const {
        switch (e.op) {
        case ScalarOp::add:
        case ScalarOp::subtract: return operand(e, 0) + operand(e, 1);
        case ScalarOp::multiply: return operand(e, 0) * operand(e, 1);
        case ScalarOp::minimum:
        case ScalarOp::maximum: return std::max(operand(e, 0), operand(e, 1));
        case ScalarOp::modulo:
        case ScalarOp::truncate_remainder: return operand(e, 1);
        case ScalarOp::floor_divide:
        case ScalarOp::truncate_divide:
        case ScalarOp::negate:
        case ScalarOp::absolute:
        case ScalarOp::shift_right: return operand(e, 0);
        case ScalarOp::sign: return 1;
        case ScalarOp::bit_and:
        case ScalarOp::bit_or:
        case ScalarOp::bit_xor: return of_bits(std::max(operand(e, 0), operand(e, 1)));
        case ScalarOp::bit_not: return of_bits(operand(e, 0));
        default: return is_long(e.dtype) ? INFINITY : of_type(e.dtype);
        }
    }

    // Of bits of numbers that are no larger: what fits 32 bits still does.
    static double of_bits(double most) {
        constexpr double greatest = 0x1p31;
        if (most > greatest) return INFINITY;
        return most < 1 ? 1 : std::min(greatest, std::exp2(std::floor(std::log2(most)) + 1));
    }

    // An extent, or a literal of the data. Of a kernel alone it is not known.
    double of_number(const Number& number) const {
        if (!number.launch) return std::abs(static_cast<double>(number.value));
        const auto at = static_cast<size_t>(number.value);
        return at < numbers_.size() ? std::abs(static_cast<double>(numbers_[at])) : most_places;
    }

    static constexpr double most_places = 0x1p28;  // of a buffer that every device has
    static constexpr int most_rounds = 4;

    const Tree& tree_;
    std::span<const int64_t> numbers_;
    std::vector<schedules::ExpressionId> terms_;  // of each accumulator
    std::vector<const schedules::Store*> stores_;
    std::vector<double> most_, held_;  // of expressions; of what memories hold
};

bool has_lanes(const schedules::Block& block, int lanes) {
    return std::ranges::all_of(block, [&](const schedules::Statement& statement) {
        return std::visit(
            [&](const auto& node) {
                if constexpr (requires { node.body; }) {
                    if constexpr (requires { node.width; }) {
                        if (node.width != lanes && node.width != 1) return false;
                    }
                    return has_lanes(node.body, lanes);
                } else {
                    return true;
                }
            },
            statement.node);
    });
}

}  // namespace

Result<std::vector<double>> check_wgsl_integers(const Tree& tree, std::span<const int64_t> numbers,
                                                std::vector<double> held) {
    const Magnitudes magnitudes(tree, numbers, std::move(held));
    for (size_t i = 0; i < tree.expressions.size(); i++) {
        if (!is_long(tree.expressions[i].dtype) || magnitudes.most(i) <= 0x1p31) continue;
        return fail({.code = "backends.wgsl_integer",
                     .summary = "integers of 64 bits may be computed that do not fit 32",
                     .reason = "WGSL has integers of 32 bits",
                     .remedy = "compute in int32, or leave this to the host",
                     .params = {{"kernel", tree.name}}});
    }
    return magnitudes.held();
}

Result<void> check_wgsl(const Tree& tree, int lanes) {
    const auto refuse = [&](const char* code, std::string summary, std::string reason, std::string remedy) {
        return fail({.code = code,
                     .summary = std::move(summary),
                     .reason = std::move(reason),
                     .remedy = std::move(remedy),
                     .params = {{"kernel", tree.name}}});
    };
    for (const schedules::Memory& memory : tree.memories) {
        if (memory.dtype == DType::float64)
            return refuse("backends.wgsl_type", fmt::format("'{}' is float64", memory.name), "WebGPU has no float64",
                          "compute in float32");
    }
    if (!has_lanes(tree.body, lanes))
        return refuse("backends.wgsl_construct", "a kernel is scheduled for other lanes than those of workgroups",
                      fmt::format("a workgroup has {} lanes", lanes), "plan for the target that it is compiled for");
    for (const Expression& e : tree.expressions) {
        if (e.dtype == DType::float64)
            return refuse("backends.wgsl_type", "a value is computed in float64", "WebGPU has no float64",
                          "compute in float32");
        if (e.kind == Expression::Kind::scalar && is_float(e.dtype) &&
            codegen::recipe(e.op, DType::float32, codegen::Units::plain) &&
            !codegen::recipe(e.op, DType::float32, codegen::Units::single))
            return refuse("backends.wgsl_function",
                          fmt::format("there is no code for {} without float64", info(e.op).name),
                          "WebGPU has no float64", "leave this function to the host");
        if (e.kind == Expression::Kind::cast && is_long(e.dtype) &&
            tree.expression(e.operands[0]).dtype == DType::uint32)
            return refuse("backends.wgsl_integer", "a uint32 becomes an integer of 64 bits",
                          "WGSL has integers of 32 bits", "compute in int32, or leave this to the host");
    }
    return {};
}

}  // namespace heddle::backends
