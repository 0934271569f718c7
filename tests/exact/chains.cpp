#include "exact/chains.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "expr/scalar_op.h"
#include "language/functions.h"

namespace heddle::exact {
namespace {

// `#` stands for the operand.
constexpr std::array<const char*, 28> exact_forms = {"abs(#)",
                                                     "-(#)",
                                                     "sign(#)",
                                                     "floor(#)",
                                                     "ceil(#)",
                                                     "round(#)",
                                                     "trunc(#)",
                                                     "sqrt(#)",
                                                     "recip(#)",
                                                     "max(0, #)",
                                                     "max(#, 0)",
                                                     "min(0, #)",
                                                     "min(#, 0)",
                                                     "(# > 0 ? # : 0)",
                                                     "(# < 0 ? 0 : #)",
                                                     "clamp(#, -1, 1)",
                                                     "(#) * (#)",
                                                     "(#) - 1",
                                                     "2 - (#)",
                                                     "(#) * 0.1",
                                                     "(#) / 3",
                                                     "(is_nan(#) ? 1 : #)",
                                                     "(is_inf(#) ? 0 : #)",
                                                     "max(1, #)",
                                                     "min(2, max(-2, #))",
                                                     "(# == 0 ? 1 : #)",
                                                     "copysign(#, -1)",
                                                     "fma(#, #, -1)"};

std::string applied(std::string_view form, const std::string& to) {
    std::string text;
    for (char c : form) text += c == '#' ? to : std::string(1, c);
    return text;
}

std::vector<std::string> mathematical_forms() {
    std::vector<std::string> forms;
    for (const ScalarOpInfo& row : all_scalar_ops()) {
        const bool one_float =
            row.operands == 1 && row.accepts == type_sets::floats && row.kind == ScalarClass::arithmetic;
        if (one_float && row.ulps > 0.5 && function_named(row.name)) forms.push_back(fmt::format("{}(#)", row.name));
    }
    for (const char* form :
         {"exp(-(#))", "pow(#, 1.5)", "atan2(#, 2)", "hypot(#, 1)", "1 / (1 + exp(#))", "(#) * sigmoid(#)"})
        forms.emplace_back(form);
    return forms;
}

// Outer forms of one inner expression of x.
Case of_inner(const std::string& inner, const std::vector<std::string>& outer, DType dtype, uint64_t number) {
    Case made;
    made.name = fmt::format("{} of {}", inner, name(dtype));
    std::string outputs, body, results;
    for (size_t k = 0; k < outer.size(); k++) {
        const std::string output = fmt::format("y{}", k), text = applied(outer[k], inner);
        outputs += fmt::format("{}{}: {}", k ? ", " : "", output, name(dtype));
        results += (k ? ", " : "") + output;
        body += fmt::format("    {} = {}\n", output, text);
        made.texts[output] = text;
    }
    made.templates =
        fmt::format("chain:\n  inputs: {{x: \"{}[$n]\"}}\n  index: \"[$n]\"\n  outputs: {{{}}}\n  body: |\n{}\n",
                    name(dtype), outputs, body);
    made.calls = {results + " = chain(x)"};
    made.inputs.emplace_back("x", reals(dtype, awkward_size(number), number));
    return made;
}

}  // namespace

std::vector<Case> exact_triples(DType dtype) {
    const std::vector<std::string> outer(exact_forms.begin(), exact_forms.end());
    std::vector<Case> cases;
    for (const char* first : exact_forms) {
        for (const char* second : exact_forms)
            cases.push_back(of_inner(applied(second, applied(first, "x")), outer, dtype, cases.size()));
    }
    return cases;
}

std::vector<Case> pairs_of_functions(DType dtype) {
    const std::vector<std::string> functions = mathematical_forms();
    std::vector<std::string> all = functions;
    all.insert(all.end(), exact_forms.begin(), exact_forms.end());
    std::vector<Case> cases;
    constexpr size_t together = 12;  // code grows with them
    size_t number = 0;
    for (size_t i = 0; i < all.size(); i++) {
        const auto& outer = i < functions.size() ? all : functions;
        for (size_t begin = 0; begin < outer.size(); begin += together) {
            number++;
            const std::vector<std::string> some(
                outer.begin() + static_cast<ptrdiff_t>(begin),
                outer.begin() + static_cast<ptrdiff_t>(std::min(outer.size(), begin + together)));
            cases.push_back(of_inner(applied(all[i], "x"), some, dtype, number));
            cases.back().exact = false;
        }
    }
    return cases;
}

namespace {

constexpr std::array narrow = {DType::float16,        DType::bfloat16,   DType::float8e4m3fn,
                               DType::float8e4m3fnuz, DType::float8e5m2, DType::float8e5m2fnuz};

// Around each value halfway between two of a type with so many bits: below, at and above, by as little as there is.
void add_ties(std::vector<double>& values, int bits, int exponent) {
    for (int last = 0; last < 8; last++) {
        const double tie = std::ldexp(1 + (2 * last + 1) * std::ldexp(1, -bits), exponent);
        for (const double near : {tie, std::nextafter(tie, 0), std::nextafter(tie, 2 * tie),
                                  static_cast<double>(std::nextafter(static_cast<float>(tie), 0.0f))})
            values.push_back(near);
    }
}

Case casts_of(const TensorData& data) {
    Case made;
    made.name = fmt::format("casts of {}", name(data.dtype()));
    std::string outputs, body, results;
    for (size_t k = 0; k < narrow.size(); k++) {
        const std::string output = fmt::format("y{}", k);
        outputs += fmt::format("{}{}: {}", k ? ", " : "", output, name(narrow[k]));
        results += (k ? ", " : "") + output;
        body += fmt::format("    {} = cast(x, {})\n", output, name(narrow[k]));
        made.texts[output] = fmt::format("cast(x, {})", name(narrow[k]));
    }
    made.templates =
        fmt::format("cast_all:\n  inputs: {{x: \"{}[$n]\"}}\n  index: \"[$n]\"\n  outputs: {{{}}}\n  body: |\n{}\n",
                    name(data.dtype()), outputs, body);
    made.calls = {results + " = cast_all(x)"};
    made.inputs.emplace_back("x", data);
    return made;
}

}  // namespace

std::vector<Case> casts() {
    std::vector<Case> cases;
    std::vector<double> values;
    for (int exponent = -30; exponent < 64; exponent++) {
        for (const DType dtype : narrow) add_ties(values, info(dtype).format.mantissa_bits + 1, exponent);
    }
    for (const DType dtype : {DType::float32, DType::float64}) {
        TensorData data(dtype, {static_cast<int64_t>(2 * values.size())});
        for (size_t i = 0; i < values.size(); i++) {
            data.set_real(static_cast<int64_t>(2 * i), values[i]);
            data.set_real(static_cast<int64_t>(2 * i + 1), -values[i]);
        }
        cases.push_back(casts_of(data));
    }
    for (const DType dtype : {DType::int8, DType::int16, DType::int32, DType::int64, DType::uint8, DType::uint16,
                              DType::uint32, DType::uint64}) {
        std::vector<int64_t> whole;
        for (const double value : values) {
            if (value < 1 || value >= 0x1p63) continue;
            for (int64_t move = -2; move <= 2; move++) {
                const int64_t near = static_cast<int64_t>(value) + move;
                whole.insert(whole.end(), {near, -near});
            }
        }
        TensorData data(dtype, {static_cast<int64_t>(whole.size())});
        for (size_t i = 0; i < whole.size(); i++) data.set_integer(static_cast<int64_t>(i), whole[i]);
        cases.push_back(casts_of(data));
    }
    return cases;
}

}  // namespace heddle::exact
