#include "backends/c/c_code.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace heddle::backends {
namespace {

using codegen::CodeOp;

// The C type of a scalar in a register, or of an element of memory.
std::string scalar_type(DType dtype) { return dtype == DType::float16 ? "_Float16" : std::string(info(dtype).c_name); }

std::string lane_type(DType dtype) { return dtype == DType::boolean ? "int8_t" : scalar_type(dtype); }
std::string vector_name(DType dtype, int width) { return fmt::format("{}_x{}", name(dtype), width); }

DType unsigned_of_width(DType dtype) {
    switch (bytes(dtype)) {
    case 1: return DType::uint8;
    case 2: return DType::uint16;
    case 4: return DType::uint32;
    default: return DType::uint64;
    }
}

DType signed_of_width(DType dtype) {
    switch (bytes(dtype)) {
    case 1: return DType::int8;
    case 2: return DType::int16;
    case 4: return DType::int32;
    default: return DType::int64;
    }
}

}  // namespace

std::string CCode::type(DType dtype, int width) {
    if (width == 1) return scalar_type(dtype);
    vectors_.insert({dtype, width});
    return vector_name(dtype, width);
}

std::string CCode::type_definitions() const {
    std::string text;
    std::set<DType> stored = {DType::int64};  // of what a failing kernel reports
    for (const schedules::Memory& memory : tree_.memories) stored.insert(memory.dtype);
    for (const DTypeInfo& row : all_dtypes()) {  // not every compiler knows halves
        if (!stored.contains(row.dtype)) continue;
        text += fmt::format("typedef {} element_{} __attribute__((may_alias));\n", scalar_type(row.dtype), row.name);
    }
    for (const auto& [dtype, width] : vectors_) {
        text += fmt::format(
            "typedef {0} {1} __attribute__((vector_size({2})));\n"
            "typedef {1} {1}_in_memory __attribute__((aligned({3}), may_alias));\n",
            lane_type(dtype), vector_name(dtype, width), bytes(dtype) * width, bytes(dtype));
    }
    return text;
}

std::string CCode::memory_type(MemoryId memory) const {
    return fmt::format("element_{}", name(tree_.memory(memory).dtype));
}
std::string CCode::memory_name(MemoryId memory) const { return fmt::format("m{}", memory); }

void CCode::line(const std::string& text) {
    text_.append(static_cast<size_t>(indent_) * 4, ' ');
    text_ += text;
    text_ += '\n';
}
void CCode::comment(const std::string& text) { line("// " + text); }

CCode::Value CCode::inline_value(DType dtype, int width, std::string text) {
    names_.push_back(std::move(text));
    return {dtype, width, names_.size() - 1};
}

CCode::Value CCode::fresh(DType dtype, int width, const std::string& text) {
    const std::string name = fmt::format("v{}", next_++);
    line(fmt::format("const {} {} = {};", type(dtype, width), name, text));
    return inline_value(dtype, width, name);
}

CCode::Value CCode::define(DType dtype, int width, const std::string& text) {
    const std::string key = type(dtype, width) + text;
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    made_.push_back(key);
    return known_[key] = fresh(dtype, width, text);
}

// What a block defines is not known behind it.
void CCode::inside(const Action& block) {
    const size_t before = made_.size();
    indent_++;
    block();
    indent_--;
    for (; made_.size() > before; made_.pop_back()) known_.erase(made_.back());
}

CCode::Value CCode::by_lane(DType dtype, int width, const std::string& text, const std::string& condition) {
    const std::string name = fmt::format("v{}", next_++);
    line(fmt::format("{} {} = {{0}};", type(dtype, width), name));
    const std::string guard = condition.empty() ? "" : fmt::format("if ({}) ", condition);
    line(fmt::format("for (int l = 0; l < {}; l++) {}{}[l] = {};", width, guard, name, text));
    return inline_value(dtype, width, name);
}

// Kernels in one file may have the same functions.
void CCode::add_function(const std::string& name, const std::string& text) {
    functions_ += fmt::format("#ifndef HEDDLE_{0}\n#define HEDDLE_{0}\n{1}#endif\n", name, text);
}

// What no operator of C does is a function of vectors, written once for each type: `text` says what lane l of its
// result is, where `condition` holds, by the parameters.
std::string CCode::helper(const std::string& name, DType dtype, int width, const std::string& parameters,
                          const std::string& text, const std::string& condition) {
    const std::string called = fmt::format("{}_{}", name, vector_name(dtype, width));
    if (!helpers_.insert(called).second) return called;
    const std::string vector = type(dtype, width);
    add_function(called, fmt::format("static inline {0} {1}({2}) {{\n    {0} v = {{0}};\n    for (int l = 0; l < {3}; "
                                     "l++) {4}v[l] = {5};\n    return v;\n}}\n",
                                     vector, called, parameters, width,
                                     condition.empty() ? "" : fmt::format("if ({}) ", condition), text));
    return called;
}

std::string CCode::lane_text(Value value) const { return value.width == 1 ? text(value) : text(value) + "[l]"; }

// Results are written through pointers.
codegen::Code::Values CCode::function(const std::string& name, std::span<const Value> arguments, codegen::Runs,
                                      const std::function<Values(std::span<const Value>)>& body) {
    const std::string called = fmt::format("{}_{}_x{}", name, heddle::name(arguments[0].dtype), arguments[0].width);
    auto found = results_.find(called);
    if (found == results_.end()) {
        std::string outside = std::exchange(text_, ""), head;
        const int indent = std::exchange(indent_, 1);
        const auto known = std::exchange(known_, {});
        const auto made = std::exchange(made_, {});
        Values own;
        for (const Value& argument : arguments) {
            const std::string taken = fmt::format("a{}", own.size());
            head += fmt::format("{} {}, ", type(argument.dtype, argument.width), taken);
            own.push_back(inline_value(argument.dtype, argument.width, taken));
        }
        found = results_.emplace(called, body(own)).first;
        for (size_t i = 0; i < found->second.size(); i++) {
            const Value& result = found->second[i];
            head += fmt::format("{}{}* r{}", i == 0 ? "" : ", ", type(result.dtype, result.width), i);
            line(fmt::format("*r{} = {};", i, text(result)));
        }
        add_function(called, fmt::format("static inline void {}({}) {{\n{}}}\n", called, head, text_));
        text_ = std::move(outside);
        indent_ = indent;
        known_ = known;
        made_ = made;
    }
    std::string given;
    Values results;
    for (const Value& argument : arguments) given += text(argument) + ", ";
    for (const Value& result : found->second) {
        const std::string made = fmt::format("v{}", next_++);
        line(fmt::format("{} {};", type(result.dtype, result.width), made));
        given += fmt::format("{}&{}", results.empty() ? "" : ", ", made);
        results.push_back(inline_value(result.dtype, result.width, made));
    }
    line(fmt::format("{}({});", called, given));
    return results;
}

CCode::Value CCode::integer(DType dtype, int64_t value) {
    if (dtype == DType::boolean) return inline_value(dtype, 1, value ? "(uint8_t)1" : "(uint8_t)0");
    const std::string digits =
        value == INT64_MIN ? "(-INT64_C(9223372036854775807) - 1)" : fmt::format("INT64_C({})", value);
    return inline_value(dtype, 1, dtype == DType::int64 ? digits : fmt::format("(({}){})", scalar_type(dtype), digits));
}

CCode::Value CCode::real(DType dtype, double value) {
    std::string text = fmt::format("{:a}", value);
    if (std::isnan(value))
        text = "__builtin_nan(\"\")";
    else if (std::isinf(value))
        text = value < 0 ? "-__builtin_inf()" : "__builtin_inf()";
    return inline_value(dtype, 1, fmt::format("(({}){})", scalar_type(dtype), text));
}

CCode::Value CCode::number(int64_t index) {
    numbers_.insert(index);
    return inline_value(DType::int64, 1, fmt::format("n{}", index));
}

CCode::Value CCode::iota(DType dtype, int width) {
    if (width == 1) return is_float(dtype) ? real(dtype, 0) : integer(dtype, 0);
    return by_lane(dtype, width, "l");
}

CCode::Value CCode::broadcast(Value scalar, int width) {
    if (width == 1) return scalar;
    const std::string called = fmt::format("broadcast_{}", vector_name(scalar.dtype, width));
    if (helpers_.insert(called).second) {
        std::string lanes;
        for (int l = 0; l < width; l++) lanes += is_bool(scalar.dtype) ? "-(x & 1), " : "x, ";
        add_function(called, fmt::format("static inline {0} {1}({2} x) {{\n    return ({0}){{{3}}};\n}}\n",
                                         type(scalar.dtype, width), called, scalar_type(scalar.dtype), lanes));
    }
    return define(scalar.dtype, width, fmt::format("{}({})", called, text(scalar)));
}

CCode::Value CCode::lane(Value vector, int lane) {
    return define(vector.dtype, 1, fmt::format("{}[{}]{}", text(vector), lane, is_bool(vector.dtype) ? " & 1" : ""));
}

CCode::Value CCode::shuffle(Value a, Value b, std::span<const int> lanes) {
    std::string chosen;
    for (int k : lanes) chosen += fmt::format(", {}", k);
    const auto width = static_cast<int>(lanes.size());
    if (width > 1 && a.width > 1)
        return define(a.dtype, width, fmt::format("__builtin_shufflevector({}, {}{})", text(a), text(b), chosen));
    std::string elements;
    for (int k : lanes) {
        const Value& from = k < a.width ? a : b;
        elements += fmt::format("{}{}[{}]", elements.empty() ? "" : ", ", text(from), k < a.width ? k : k - a.width);
    }
    return define(a.dtype, width, "{" + elements + "}");
}

// Without sign, so that overflow wraps.
CCode::Value CCode::integer_operation(const std::string& op, Value a, Value b) {
    const std::string result = type(a.dtype, a.width);
    const std::string wrapping = a.width == 1 ? "uint64_t" : type(unsigned_of_width(a.dtype), a.width);
    return define(a.dtype, a.width,
                  fmt::format("({})(({}){} {} ({}){})", result, wrapping, text(a), op, wrapping, text(b)));
}

CCode::Value CCode::compare(const std::string& op, Value a, Value b) {
    const std::string test = fmt::format("{} {} {}", text(a), op, text(b));
    if (a.width == 1) return define(DType::boolean, 1, test);
    if (bytes(a.dtype) == 1) {
        return define(DType::boolean, a.width, fmt::format("({})({})", type(DType::boolean, a.width), test));
    }
    return define(DType::boolean, a.width,
                  fmt::format("__builtin_convertvector({}, {})", test, type(DType::boolean, a.width)));
}

CCode::Value CCode::operation(CodeOp op, Value a, Value b) {
    const bool real = is_float(a.dtype);
    const auto plain = [&](const char* o) {
        return define(a.dtype, a.width, fmt::format("({})({} {} {})", type(a.dtype, a.width), text(a), o, text(b)));
    };
    const auto arithmetic = [&](const char* o) { return real ? plain(o) : integer_operation(o, a, b); };
    const auto function = [&](const char* name) {
        const std::string call = fmt::format("{}{}({})", name, a.dtype == DType::float32 ? "f" : "", lane_text(a));
        return a.width == 1 ? define(a.dtype, 1, call) : by_lane(a.dtype, a.width, call);
    };
    switch (op) {
    case CodeOp::add: return arithmetic("+");
    case CodeOp::subtract: return arithmetic("-");
    case CodeOp::multiply: return arithmetic("*");
    case CodeOp::divide: return plain("/");
    case CodeOp::remainder: return plain("%");
    case CodeOp::bit_and: return plain("&");
    case CodeOp::bit_or: return plain("|");
    case CodeOp::bit_xor:
        if (is_bool(a.dtype) && a.width > 1) return compare("!=", a, b);
        return plain("^");
    case CodeOp::shift_left: return integer_operation("<<", a, b);
    case CodeOp::shift_right: return plain(">>");
    case CodeOp::equal: return compare("==", a, b);
    case CodeOp::not_equal: return compare("!=", a, b);
    case CodeOp::less: return compare("<", a, b);
    case CodeOp::less_equal: return compare("<=", a, b);
    case CodeOp::negate: return define(a.dtype, a.width, fmt::format("-({})", text(a)));
    case CodeOp::square_root: return function("heddle_sqrt");
    case CodeOp::floor: return function("heddle_floor");
    case CodeOp::ceil: return function("heddle_ceil");
    case CodeOp::round: return function("heddle_rint");
    case CodeOp::truncate: return function("heddle_trunc");
    case CodeOp::count_bits: return count_bits(a);
    case CodeOp::dot_pairs: return dot_pairs(a, b);
    case CodeOp::scale: return scale(a, b);
    case CodeOp::exponent_of: return function("__builtin_logb");
    case CodeOp::significand_of: return significand_of(a);
    case CodeOp::reciprocal_root_estimate: return reciprocal_root_estimate(a);
    }
    return a;
}

CCode::Value CCode::count_bits(Value a) {
    const std::string call = fmt::format("__builtin_popcountll({})", lane_text(a));
    return a.width == 1 ? define(a.dtype, 1, call) : by_lane(a.dtype, a.width, call);
}

// The sum of two products wraps.
CCode::Value CCode::dot_pairs(Value a, Value b) {
    const std::string products =
        fmt::format("(int32_t)((uint32_t)((int16_t){0} * (int16_t){1}) + (uint32_t)(({0} >> 16) * ({1} >> 16)))",
                    lane_text(a), lane_text(b));
    return a.width == 1 ? define(a.dtype, 1, products) : by_lane(a.dtype, a.width, products);
}

CCode::Value CCode::scale(Value a, Value exponent) {
    const char* suffix = a.dtype == DType::float32 ? "f" : "";
    const std::string scaled =
        fmt::format("__builtin_ldexp{0}({1}, (int)__builtin_fmin{0}(__builtin_fmax{0}({2}, -9999), 9999))", suffix,
                    lane_text(a), lane_text(exponent));
    return a.width == 1 ? define(a.dtype, 1, scaled) : by_lane(a.dtype, a.width, scaled);
}

CCode::Value CCode::significand_of(Value a) {
    const std::string name = a.dtype == DType::float32 ? "significandf" : "significand";
    const std::string type = lane_type(a.dtype), suffix = a.dtype == DType::float32 ? "f" : "";
    if (helpers_.insert(name).second) {
        add_function(name, fmt::format("static inline {0} heddle_{1}({0} x) {{\n    int exponent;\n"
                                       "    if (!(x >= 0)) return __builtin_nan{2}(\"\");\n"
                                       "    if (x == 0 || __builtin_isinf(x)) return 1;\n"
                                       "    const {0} half = __builtin_frexp{2}(x, &exponent);\n"
                                       "    return half < ({0})0.75 ? 2 * half : half;\n}}\n",
                                       type, name, suffix));
    }
    const std::string call = fmt::format("heddle_{}({})", name, lane_text(a));
    return a.width == 1 ? define(a.dtype, 1, call) : by_lane(a.dtype, a.width, call);
}

CCode::Value CCode::reciprocal_root_estimate(Value a) {
    const bool wide = a.dtype == DType::float64;
    const std::string vector =
        wide ? "__attribute__((vector_size(16))) double" : "__attribute__((vector_size(16))) float";
    const std::string name = wide ? "root_estimate" : "root_estimatef";
    if (helpers_.insert(name).second) {
        add_function(name,
                     fmt::format("static inline {0} heddle_{1}({0} x) {{\n    typedef {2} vector;\n"
                                 "    const vector v = {{x}};\n    return __builtin_ia32_rsqrt14s{3}(v, v)[0];\n}}\n",
                                 lane_type(a.dtype), name, vector, wide ? "d" : "s"));
    }
    const std::string call = fmt::format("heddle_{}({})", name, lane_text(a));
    return a.width == 1 ? define(a.dtype, 1, call) : by_lane(a.dtype, a.width, call);
}

CCode::Value CCode::look_up(const codegen::LookUpTable& table, Value index) {
    std::string elements;
    for (float element : table) elements += fmt::format("{:a}f, ", element);
    const std::string found = fmt::format("((const float[16]){{{}}})[{} & 15]", elements, lane_text(index));
    return index.width == 1 ? define(DType::float32, 1, found) : by_lane(DType::float32, index.width, found);
}

CCode::Value CCode::look_up(Value table, Value index) {
    return by_lane(table.dtype, index.width, fmt::format("{}[{} & 15]", text(table), lane_text(index)));
}

namespace {

int vector_bytes(DType dtype, int width) { return static_cast<int>(bytes(dtype)) * width; }

bool has_fma_instruction(DType dtype, int width) {
    const int size = vector_bytes(dtype, width);
    return size == 16 || size == 32 || size == 64;
}

// Compilers make vectors of loops over lanes only where that is the last they do; this is most of what kernels do.
std::string fma_instruction(DType dtype, int width) {
    if (!has_fma_instruction(dtype, width)) return "";
    const bool single = dtype == DType::float32;
    const int size = vector_bytes(dtype, width);
    const std::string name =
        fmt::format("_mm{}_fmadd_{}", size == 16 ? "" : std::to_string(size * 8), single ? "ps" : "pd");
    std::string text =
        fmt::format("#if defined({})\n    return {}(a, b, c);\n", size == 64 ? "__AVX512F__" : "__FMA__", name);
    if (size == 16)
        text += fmt::format("#elif defined(__aarch64__)\n    return vfmaq_f{}(c, a, b);\n", single ? 32 : 64);
    return text + "#else\n";
}

// gcc makes one instruction of -fma(a, b, c), which gives 0 for -0: it is not to see that the two belong together.
constexpr const char* fused_alone = R"(    {0} v = heddle_fma{1}(a, b, c);
#if defined(__GNUC__) && !defined(__clang__) && (defined(__FMA__) || defined(__AVX512F__))
    __asm__("" : "+x"(v));
#elif defined(__GNUC__) && !defined(__clang__) && defined(__aarch64__)
    __asm__("" : "+w"(v));
#elif defined(__GNUC__) && !defined(__clang__) && defined(__riscv_flen)
    __asm__("" : "+f"(v));
#endif
    return v;
)";

}  // namespace

CCode::Value CCode::multiply_add(Value a, Value b, Value c) {
    std::string function = a.dtype == DType::float32 ? "heddle_fmaf" : "heddle_fma";
    if (a.width > 1) {
        const std::string vector = type(a.dtype, a.width), called = fmt::format("fma_{}", vector);
        if (helpers_.insert(called).second) {
            add_function(called, fmt::format("static inline {0} {1}({0} a, {0} b, {0} c) {{\n{2}    {0} v = {{0}};\n"
                                             "    for (int l = 0; l < {3}; l++) v[l] = {4}(a[l], b[l], c[l]);\n"
                                             "    return v;\n{5}}}\n",
                                             vector, called, fma_instruction(a.dtype, a.width), a.width, function,
                                             has_fma_instruction(a.dtype, a.width) ? "#endif\n" : ""));
        }
        function = called;
    } else {
        const char* const suffix = a.dtype == DType::float32 ? "f" : "";
        function = fmt::format("heddle_fused{}", suffix);
        if (helpers_.insert(function).second) {
            const std::string body = fmt::format(fmt::runtime(fused_alone), type(a.dtype, 1), suffix);
            add_function(function, fmt::format("static inline {0} {1}({0} a, {0} b, {0} c) {{\n{2}}}\n",
                                               type(a.dtype, 1), function, body));
        }
    }
    return define(a.dtype, a.width, fmt::format("{}({}, {}, {})", function, text(a), text(b), text(c)));
}

CCode::Value CCode::select(Value condition, Value then, Value otherwise) {
    if (condition.width == 1) {
        return define(then.dtype, then.width,
                      fmt::format("{} ? {} : {}", text(condition), text(then), text(otherwise)));
    }
    const std::string vector = type(then.dtype, then.width), mask = type(DType::boolean, then.width);
    const std::string called = fmt::format("select_{}", vector);
    if (helpers_.insert(called).second) {
        const std::string bits = type(signed_of_width(then.dtype), then.width);
        add_function(called, fmt::format("static inline {0} {1}({2} mask, {0} then, {0} otherwise) {{\n"
                                         "    const {3} m = __builtin_convertvector(mask, {3});\n"
                                         "    return ({0})((({3})then & m) | (({3})otherwise & ~m));\n}}\n",
                                         vector, called, mask, bits));
    }
    return define(then.dtype, then.width,
                  fmt::format("{}({}, {}, {})", called, text(condition), text(then), text(otherwise)));
}

CCode::Value CCode::convert(Value value, DType dtype) {
    if (value.width == 1) return define(dtype, 1, fmt::format("({}){}", scalar_type(dtype), text(value)));
    if (dtype == DType::float16 || value.dtype == DType::float16) {
        return by_lane(dtype, value.width, fmt::format("({}){}", lane_type(dtype), lane_text(value)));
    }
    return define(dtype, value.width,
                  fmt::format("__builtin_convertvector({}, {})", text(value), type(dtype, value.width)));
}

CCode::Value CCode::reinterpret(Value value, DType dtype) {
    if (value.width > 1)
        return define(dtype, value.width, fmt::format("({}){}", type(dtype, value.width), text(value)));
    return define(dtype, 1,
                  fmt::format("((union {{ {} from; {} to; }}){{{}}}).to", scalar_type(value.dtype), scalar_type(dtype),
                              text(value)));
}

CCode::Value CCode::any(Value mask) {
    if (mask.width == 1) return mask;
    const std::string name = fmt::format("v{}", next_++);
    line(fmt::format("uint8_t {} = 0;", name));
    line(fmt::format("for (int l = 0; l < {}; l++) {} |= {}[l] & 1;", mask.width, name, text(mask)));
    return inline_value(DType::boolean, 1, name);
}

CCode::Value CCode::again(Value value) { return value; }

std::string CCode::pointer(const Address& address) const {
    std::string index = text(address.index);
    for (Value move : address.moves) index += " + " + text(move);
    return fmt::format("({} + ({} + {}))", memory_name(address.memory), index, address.offset);
}

CCode::Value CCode::load(const Address& address, int width, std::optional<Value> mask) {
    const DType dtype = tree_.memory(address.memory).dtype;
    if (width == 1) {
        const std::string element = fmt::format("{}*{}", is_bool(dtype) ? "0 != " : "", pointer(address));
        return fresh(dtype, 1, mask ? fmt::format("{} ? {} : 0", text(*mask), element) : element);
    }
    if (!mask && !is_bool(dtype))
        return fresh(dtype, width, fmt::format("*(const {}_in_memory*){}", type(dtype, width), pointer(address)));
    std::string parameters = fmt::format("const {}* p", memory_type(address.memory)), given = pointer(address);
    if (mask) {
        parameters += fmt::format(", {} mask", type(DType::boolean, width));
        given += ", " + text(*mask);
    }
    const std::string function = helper(mask ? "load_masked" : "load", dtype, width, parameters,
                                        is_bool(dtype) ? "-(p[l] != 0)" : "p[l]", mask ? "mask[l]" : "");
    return fresh(dtype, width, fmt::format("{}({})", function, given));
}

void CCode::store(const Address& address, Value value, std::optional<Value> mask, bool) {
    if (value.width == 1) {
        const std::string guard = mask ? fmt::format("if ({}) ", text(*mask)) : "";
        line(fmt::format("{}*{} = {};", guard, pointer(address), text(value)));
        return;
    }
    if (!mask && !is_bool(value.dtype)) {
        line(fmt::format("*({}_in_memory*){} = {};", type(value.dtype, value.width), pointer(address), text(value)));
        return;
    }
    const std::string name = fmt::format("p{}", next_++);
    line(fmt::format("{}* const {} = {};", memory_type(address.memory), name, pointer(address)));
    line(fmt::format("for (int l = 0; l < {}; l++) {}{}[l] = {}{};", value.width,
                     mask ? fmt::format("if ({}) ", lane_text(*mask)) : "", name, lane_text(value),
                     is_bool(value.dtype) ? " & 1" : ""));
}

CCode::Value CCode::gather(MemoryId memory, Value indices, std::optional<Value> mask) {
    const DType dtype = tree_.memory(memory).dtype;
    const std::string element = fmt::format("{}[{}]", memory_name(memory), lane_text(indices));
    return by_lane(dtype, indices.width, is_bool(dtype) ? fmt::format("-({} != 0)", element) : element,
                   mask ? lane_text(*mask) : "");
}

void CCode::scatter(MemoryId memory, Value indices, Value value, std::optional<Value> mask) {
    line(fmt::format("for (int l = 0; l < {}; l++) {}{}[{}] = {}{};", value.width,
                     mask ? fmt::format("if ({}) ", lane_text(*mask)) : "", memory_name(memory), lane_text(indices),
                     lane_text(value), is_bool(value.dtype) ? " & 1" : ""));
}

void CCode::store_compressed(const Address& address, Value value, Value mask, Value, Value) {
    line(fmt::format("for (int l = 0, n = 0; l < {}; l++) if ({}) {}[n++] = {};", value.width, lane_text(mask),
                     pointer(address), lane_text(value)));
}

CCode::Value CCode::address_of(const Address& address) {
    return define(DType::int64, 1, fmt::format("(int64_t)(intptr_t){}", pointer(address)));
}

void CCode::prefetch(Value address, int level) {
    line(fmt::format("__builtin_prefetch((const void*)(intptr_t){}, 0, {});", text(address), level == 1 ? 3 : 2));
}

void CCode::place_array(MemoryId memory, Value offset, Value origin) {
    line(fmt::format("{} = ({}*)(scratch + {}) - {};", memory_name(memory), memory_type(memory), text(offset),
                     text(origin)));
}

void CCode::report(int position, Value value) {
    line(fmt::format("((element_int64*)scratch)[{}] = {};", position, text(value)));
}

codegen::Cell CCode::cell(Value initial) {
    const std::string name = fmt::format("c{}", next_++);
    line(fmt::format("{} {} = {};", type(initial.dtype, initial.width), name, text(initial)));
    return {initial.dtype, initial.width, inline_value(initial.dtype, initial.width, name).handle};
}
CCode::Value CCode::get(const Cell& cell) { return fresh(cell.dtype, cell.width, names_[cell.handle]); }
void CCode::set(const Cell& cell, Value value) { line(fmt::format("{} = {};", names_[cell.handle], text(value))); }

codegen::Cells CCode::cells(DType dtype, int width, int64_t count) {
    const std::string name = fmt::format("c{}", next_++);
    line(fmt::format("{} {}[{}];", type(dtype, width), name, count));
    return {dtype, width, inline_value(dtype, width, name).handle};
}
CCode::Value CCode::get(const codegen::Cells& cells, Value index) {
    return fresh(cells.dtype, cells.width, fmt::format("{}[{}]", names_[cells.handle], text(index)));
}
void CCode::set(const codegen::Cells& cells, Value index, Value value) {
    line(fmt::format("{}[{}] = {};", names_[cells.handle], text(index), text(value)));
}

void CCode::repeat(Value first, Value end, int64_t step, const std::function<void(Value)>& body) {
    const std::string name = fmt::format("i{}", next_++);
    line(fmt::format("for (int64_t {} = {}; {} < {}; {} += {}) {{", name, text(first), name, text(end), name, step));
    inside([&] { body(inline_value(DType::int64, 1, name)); });
    line("}");
}

void CCode::repeat_while(const std::function<Value()>& condition, const Action& body) {
    line("for (;;) {");
    inside([&] {
        const Value holds = condition();
        line(fmt::format("if (!{}) break;", text(holds)));
        body();
    });
    line("}");
}

void CCode::branch(Value condition, const Action& then, const Action& otherwise) {
    line(fmt::format("if ({}) {{", text(condition)));
    inside(then);
    line("} else {");
    inside(otherwise);
    line("}");
}

void CCode::rarely(Value condition, const Action& then) {
    line(fmt::format("if (__builtin_expect({}, 0)) {{", text(condition)));
    inside(then);
    line("}");
}

void CCode::stop(int status) { line(fmt::format("return {};", status)); }

CCode::Value CCode::task_begin() { return inline_value(DType::int64, 1, "begin"); }
CCode::Value CCode::task_end() { return inline_value(DType::int64, 1, "end"); }

}  // namespace heddle::backends
