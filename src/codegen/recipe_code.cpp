#include "codegen/recipe_code.h"

#include <algorithm>
#include <vector>

#include "codegen/arithmetic.h"

namespace heddle::codegen {
namespace {

DType dtype_of(StepType type) {
    switch (type) {
    case StepType::float32: return DType::float32;
    case StepType::float64: return DType::float64;
    case StepType::int32: return DType::int32;
    case StepType::int64: return DType::int64;
    case StepType::mask32:
    case StepType::mask64: return DType::boolean;
    }
    return DType::float32;
}

CodeValue run(Code& code, const Recipe& recipe, size_t step, std::span<const CodeValue> arguments, int width,
              const std::vector<CodeValue>& values) {
    const Step& s = recipe.steps[step];
    const auto v = [&](int i) { return values[static_cast<size_t>(s.operands[i])]; };
    const DType type = dtype_of(s.type);
    const auto op = [&](CodeOp o, CodeValue a, CodeValue b = {}) { return code.operation(o, a, b); };
    const auto integer = [&](CodeValue like, int64_t value) {
        return widened(code, code.integer(like.dtype, value), like.width);
    };
    const auto unsigned_shift = [&](CodeValue x) {
        const DType u = s.type == StepType::int64 ? DType::uint64 : DType::uint32;
        const CodeValue raw = code.reinterpret(x, u);
        return code.reinterpret(op(CodeOp::shift_right, raw, integer(raw, s.integer)), type);
    };
    switch (s.primitive) {
    case Primitive::argument: return arguments[static_cast<size_t>(s.integer)];
    case Primitive::constant:
        return widened(code, is_float(type) ? code.real(type, s.real) : code.integer(type, s.integer), width);
    case Primitive::add: return op(CodeOp::add, v(0), v(1));
    case Primitive::subtract: return op(CodeOp::subtract, v(0), v(1));
    case Primitive::multiply: return op(CodeOp::multiply, v(0), v(1));
    case Primitive::divide: return op(CodeOp::divide, v(0), v(1));
    case Primitive::multiply_add: return code.multiply_add(v(0), v(1), v(2));
    case Primitive::square_root: return op(CodeOp::square_root, v(0));
    case Primitive::pinned: return code.pinned(v(0));
    case Primitive::round_even: return op(CodeOp::round, v(0));
    case Primitive::scale: return op(CodeOp::scale, v(0), v(1));
    case Primitive::exponent_of: return op(CodeOp::exponent_of, v(0));
    case Primitive::significand_of: return op(CodeOp::significand_of, v(0));
    case Primitive::reciprocal_root_estimate: return op(CodeOp::reciprocal_root_estimate, v(0));
    case Primitive::look_up: return code.look_up(recipe.tables[static_cast<size_t>(s.integer)], v(0));
    case Primitive::widen:
    case Primitive::narrow:
    case Primitive::float_of_integer:
    case Primitive::integer_of_float: return code.convert(v(0), type);
    case Primitive::bits_of:
    case Primitive::float_of_bits: return code.reinterpret(v(0), type);
    case Primitive::integer_add: return op(CodeOp::add, v(0), v(1));
    case Primitive::integer_subtract: return op(CodeOp::subtract, v(0), v(1));
    case Primitive::mask_and:
    case Primitive::bit_and: return op(CodeOp::bit_and, v(0), v(1));
    case Primitive::mask_or:
    case Primitive::bit_or: return op(CodeOp::bit_or, v(0), v(1));
    case Primitive::bit_xor: return op(CodeOp::bit_xor, v(0), v(1));
    case Primitive::shift_left: return op(CodeOp::shift_left, v(0), integer(v(0), s.integer));
    case Primitive::shift_right: return unsigned_shift(v(0));
    case Primitive::shift_right_signed: return op(CodeOp::shift_right, v(0), integer(v(0), s.integer));
    case Primitive::less: return op(CodeOp::less, v(0), v(1));
    case Primitive::less_equal: return op(CodeOp::less_equal, v(0), v(1));
    case Primitive::equal:
    case Primitive::integer_equal: return op(CodeOp::equal, v(0), v(1));
    case Primitive::not_equal: return op(CodeOp::not_equal, v(0), v(1));
    case Primitive::mask_not: return op(CodeOp::bit_xor, v(0), integer(v(0), 1));
    case Primitive::select: return code.select(v(0), v(1), v(2));
    }
    return {};
}

// Makes the values of the selections that follow. The rare steps are a function of the steps before that they use;
// constants among these are written there again.
void run(Code& code, const Recipe& recipe, const RareSteps& rare, int width, std::vector<CodeValue>& values) {
    const auto step = [&](size_t i) -> const Step& { return recipe.steps[i]; };
    std::vector<size_t> before, constants;
    for (size_t i = rare.first; i < rare.last; i++) {
        for (int32_t operand : step(i).operands) {
            const auto used = static_cast<size_t>(operand);
            if (operand < 0 || used >= rare.first) continue;
            auto& list = step(used).primitive == Primitive::constant ? constants : before;
            if (std::ranges::find(list, used) == list.end()) list.push_back(used);
        }
    }
    std::vector<CodeValue> arguments;
    for (size_t i : before) arguments.push_back(values[i]);
    const auto body = [&](std::span<const CodeValue> given) {
        std::vector<CodeValue> own(recipe.steps.size());
        for (size_t k = 0; k < before.size(); k++) own[before[k]] = given[k];
        for (size_t i : constants) own[i] = run(code, recipe, i, {}, width, own);
        for (size_t i = rare.first; i < rare.last; i++) own[i] = run(code, recipe, i, {}, width, own);
        std::vector<CodeValue> results;
        for (size_t i = 0; i < rare.selections; i++)
            results.push_back(own[static_cast<size_t>(step(rare.last + i).operands[1])]);
        return results;
    };
    std::vector<Cell> chosen;
    for (size_t i = 0; i < rare.selections; i++)
        chosen.push_back(code.cell(values[static_cast<size_t>(step(rare.last + i).operands[2])]));
    const CodeValue mask = values[static_cast<size_t>(rare.mask)];
    code.rarely(code.any(mask), [&] {
        const std::vector<CodeValue> results = code.function(rare.name, arguments, Runs::rarely, body);
        for (size_t i = 0; i < rare.selections; i++)
            code.set(chosen[i], code.select(mask, results[i], code.get(chosen[i])));
    });
    for (size_t i = 0; i < rare.selections; i++) values[rare.last + i] = code.get(chosen[i]);
}

}  // namespace

CodeValue run(Code& code, const Recipe& recipe, std::span<const CodeValue> arguments) {
    const int width = arguments[0].width;
    std::vector<CodeValue> values(recipe.steps.size());
    const auto run_to = [&](size_t first, size_t last) {
        for (size_t i = first; i < last; i++) values[i] = run(code, recipe, i, arguments, width, values);
    };
    size_t at = 0;
    for (const RareSteps& rare : recipe.rare) {
        run_to(at, rare.first);
        run(code, recipe, rare, width, values);
        at = rare.last + rare.selections;
    }
    run_to(at, recipe.steps.size());
    return values[static_cast<size_t>(recipe.result)];
}

}  // namespace heddle::codegen
