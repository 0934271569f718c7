#include "exact/exact_bodies.h"

#include <array>

#include <fmt/format.h>

namespace heddle::exact {
namespace {

constexpr std::array reals = {DType::float32, DType::float64, DType::float16, DType::bfloat16};
constexpr std::array integers = {DType::int8,  DType::int16,  DType::int32,  DType::int64,
                                 DType::uint8, DType::uint16, DType::uint32, DType::uint64};
constexpr std::array<const char*, 17> literals = {"1",      "2",        "3",       "0.5",  "0.1",     "7",
                                                  "0.25",   "1e-3",     "10",      "-1",   "1.0 / 3", "4096.5",
                                                  "2 ^ 20", "16777217", "1000003", "1e30", "-0.75"};

// Arrays and a state of static numbers: as one dtype, and of `shared` as two.
constexpr const char* static_arrays =
    "    let weights[e < 4] = e == 2 ? 0.1 : e / 3.0\n"
    "    let counts[e < 4] = e == 1 ? 7 : 3 - e\n"
    "    let shared[e < 4] = 2 * e + 1\n"
    "    scan t < 4:\n      decay[t] = 0.5 * decay[t - 1] + 0.25 from 1\n";

enum class Kind : uint8_t { real, integer, truth };

class Writer {
public:
    Writer(random::Choices& choices, DType real, DType integer)
        : choices_(choices),
          real_(info(real).arithmetic),
          real_name_(name(real_)),
          integer_(integer),
          integer_name_(name(integer)) {}

    std::vector<std::string> reads[3];  // by kind

    std::string of(Kind kind, int depth) {
        return kind == Kind::real ? real(depth) : kind == Kind::integer ? integer(depth) : truth(depth);
    }

private:
    std::string leaf(Kind kind) { return choices_.one_of(reads[static_cast<size_t>(kind)]); }
    // May be a literal or an array of such, beside something that is none.
    std::string beside(int depth) {
        if (choices_.once_in(12)) return element_of(choices_.one_of(std::array{"weights", "decay", "decay", "shared"}));
        return choices_.once_in(4) ? fmt::format("({})", choices_.one_of(literals)) : real(depth);
    }
    std::string integer_beside(int depth) {
        if (choices_.once_in(12)) return element_of(choices_.one_of(std::array{"counts", "counts", "shared"}));
        return choices_.once_in(4) ? std::to_string(choices_.below(100)) : integer(depth);
    }
    std::string element_of(const char* array) {
        return fmt::format("{}[{}]", array, choices_.once_in(2) ? "@n % 4" : std::to_string(choices_.below(4)));
    }

    std::string sum_or_difference(int depth) {
        const std::string a = real(depth), b = real(depth), c = beside(depth);
        switch (choices_.below(7)) {
        case 0: return fmt::format("({0} * {1} - {1} * {0})", a, b);
        case 1: return fmt::format("({} * {} + {})", a, b, c);
        case 2: return fmt::format("({} - {} * {})", c, a, b);
        case 3: return fmt::format("(({0} + {1}) - {0})", a, c);
        case 4: return fmt::format("({0} * {0} - {1} * {1})", a, b);
        case 5: return fmt::format("({} - floor({} / {}) * {})", a, a, c, c);
        default: return fmt::format("({0} * {2} + {1} * {2})", a, b, c);
        }
    }

    std::string real(int depth) {
        if (depth <= 0) return leaf(Kind::real);
        depth--;
        switch (choices_.below(16)) {
        case 0: return leaf(Kind::real);
        case 1:
            return fmt::format("({} {} {})", real(depth), choices_.one_of(std::array{"+", "-", "*", "/"}),
                               beside(depth));
        case 2:
            return fmt::format("({} {} {})", beside(depth), choices_.one_of(std::array{"+", "-", "*", "/"}),
                               real(depth));
        case 3:
        case 4:
        case 5: return sum_or_difference(depth);
        case 6: return fmt::format("fma({}, {}, {})", real(depth), beside(depth), beside(depth));
        case 7:
            return fmt::format(
                "{}({})",
                choices_.one_of(std::array{"abs", "-", "sqrt", "sign", "floor", "ceil", "round", "trunc", "recip"}),
                real(depth));
        case 8: return fmt::format("{}({}, {})", choices_.one_of(std::array{"min", "max"}), real(depth), beside(depth));
        case 9: return fmt::format("{}({}, {})", choices_.one_of(std::array{"max", "min"}), beside(depth), real(depth));
        case 10: return fmt::format("({} ? {} : {})", truth(depth), real(depth), beside(depth));
        case 11: return fmt::format("({} ? {} : {})", truth(depth), beside(depth), real(depth));
        case 12: return fmt::format("({} {} {})", real(depth), choices_.one_of(std::array{"%", "//"}), beside(depth));
        case 13: return fmt::format("({}) ^ {}", real(depth), choices_.below(4) + 2);
        case 14: return fmt::format("cast({}, {})", integer(depth), real_name_);
        default: return rounded(depth);
        }
    }

    // By a narrower type and back.
    std::string rounded(int depth) {
        const std::string narrow = choices_.one_of(std::array{"float16", "bfloat16", "float32", "float16"});
        const std::string inner = choices_.once_in(3) ? integer(depth) : real(depth);
        const std::string text = fmt::format("cast({}, {})", inner, narrow);
        return real_ == DType::float32 ? text : fmt::format("cast({}, {})", text, real_name_);
    }

    std::string integer(int depth) {
        if (depth <= 0) return leaf(Kind::integer);
        depth--;
        switch (choices_.below(10)) {
        case 0: return leaf(Kind::integer);
        case 1:
        case 2:
            return fmt::format("({} {} {})", integer(depth), choices_.one_of(std::array{"+", "-", "*", "//", "%"}),
                               integer_beside(depth));
        case 3:
            return fmt::format(
                "{}({}, {})",
                choices_.one_of(std::array{"min", "max", "bit_and", "bit_or", "bit_xor", "trunc_div", "trunc_rem"}),
                integer(depth), integer_beside(depth));
        case 4:
            return fmt::format(
                "{}({})",
                choices_.one_of(std::array{"abs", "-", "sign", "bit_not", "popcount", "bit_length", "leading_zeros"}),
                integer(depth));
        case 5:
            return fmt::format("{}({}, {})", choices_.one_of(std::array{"shift_left", "shift_right"}), integer(depth),
                               choices_.below(9));
        case 6: return fmt::format("({} ? {} : {})", truth(depth), integer(depth), integer_beside(depth));
        case 7: return fmt::format("cast({}, {})", real(depth), integer_name_);
        case 8:
            return fmt::format("cast(cast({}, {}), {})", integer(depth), name(choices_.one_of(integers)),
                               integer_name_);
        default: return fmt::format("cast({}, {})", truth(depth), integer_name_);
        }
    }

    std::string truth(int depth) {
        if (depth <= 0) return leaf(Kind::truth);
        depth--;
        const auto comparison = choices_.one_of(std::array{"<", "<=", ">", ">=", "==", "!="});
        switch (choices_.below(6)) {
        case 0: return leaf(Kind::truth);
        case 1: return fmt::format("({} {} {})", integer(depth), comparison, integer_beside(depth));
        case 2: return not_a_number(depth);
        case 3: return fmt::format("({} {} {})", truth(depth), choices_.one_of(std::array{"&&", "||"}), truth(depth));
        default: return fmt::format("({} {} {})", real(depth), comparison, beside(depth));
        }
    }
    std::string not_a_number(int depth) {
        return choices_.once_in(3)
                   ? fmt::format("!{}", truth(depth))
                   : fmt::format("{}({})", choices_.one_of(std::array{"is_nan", "is_inf"}), real(depth));
    }

    random::Choices& choices_;
    DType real_;
    std::string_view real_name_;
    DType integer_;
    std::string_view integer_name_;
};

}  // namespace

Bodies random_bodies(random::Choices& choices, int count) {
    Bodies made;
    made.real = choices.one_of(reals);
    made.integer = choices.one_of(integers);
    Writer writer(choices, made.real, made.integer);
    const std::string types[] = {std::string(name(made.real)), std::string(name(made.integer)), "bool"};
    writer.reads[0] = {"a", "b", "c"};
    writer.reads[1] = {"i", "j"};
    writer.reads[2] = {"p", "q"};
    std::string inputs = fmt::format(
        "a: \"{0}[$n]\", b: \"{0}[$n]\", c: \"{0}[$n]\", i: \"{1}[$n]\", j: \"{1}[$n]\", p: \"bool[$n]\", q: "
        "\"bool[$n]\"",
        types[0], types[1]);
    std::string arguments = "a, b, c, i, j, p, q";
    for (const char* called : {"first", "second"}) {
        std::string outputs, body = static_arrays, results;
        std::vector<std::pair<size_t, std::string>> added;
        for (int k = 0; k < count / 2; k++) {
            const size_t kind = choices.weighted({6, 3, 1});
            const std::string output = fmt::format("{}_{}", called, k);
            const std::string text = writer.of(static_cast<Kind>(kind), static_cast<int>(choices.below(3)) + 2);
            outputs += fmt::format("{}{}: {}", k ? ", " : "", output, types[kind]);
            results += (k ? ", " : "") + output;
            body += fmt::format("    {} = {}\n", output, text);
            made.texts[output] = text;
            if (k < 3) added.emplace_back(kind, output);
        }
        made.templates += fmt::format("{}:\n  inputs: {{{}}}\n  index: \"[$n]\"\n  outputs: {{{}}}\n  body: |\n{}\n",
                                      called, inputs, outputs, body);
        made.calls.push_back(fmt::format("{} = {}({})", results, called, arguments));
        for (const auto& [kind, output] : added) {
            writer.reads[kind].push_back(output);
            inputs += fmt::format(", {}: \"{}[$n]\"", output, types[kind]);
            arguments += ", " + output;
        }
    }
    return made;
}

}  // namespace heddle::exact
