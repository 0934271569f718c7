#include "backends/wgsl/wgsl_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace heddle::backends {
namespace {

using codegen::CodeOp;

bool is_signed(DType dtype) { return info(dtype).kind == DTypeClass::signed_integer; }

void collect_stores(const schedules::Block& block, std::set<schedules::MemoryId>& found) {
    for (const schedules::Statement& statement : block) {
        std::visit(
            [&](const auto& node) {
                if constexpr (requires { node.body; })
                    collect_stores(node.body, found);
                else if constexpr (std::is_same_v<std::decay_t<decltype(node)>, schedules::Store>)
                    found.insert(node.address.memory);
            },
            statement.node);
    }
}

}  // namespace

WgslCode::WgslCode(const schedules::Tree& tree, int lanes, WgslArrays arrays)
    : tree_(tree), lanes_(lanes), arrays_(arrays) {
    collect_stores(tree.body, stored_);
    task_begin_ = named(DType::int64, 1, "task", true);
    task_end_ = named(DType::int64, 1, "(task + 1i)", true);
    lane_ = named(DType::int64, lanes, "lane", false);
}

// Only stored types are their bits.
std::string WgslCode::type(DType dtype) const {
    if (is_bool(dtype)) return "bool";
    if (dtype == DType::float32 || dtype == DType::float64) return "f32";
    if (is_narrow(dtype) || !is_signed(dtype)) return "u32";
    return "i32";
}

bool WgslCode::are_uniform(std::initializer_list<Value> values) const {
    return std::ranges::all_of(values, [&](Value value) { return is_uniform(value); });
}

void WgslCode::line(const std::string& text) {
    text_.append(static_cast<size_t>(indent_) * 4, ' ');
    text_ += text;
    text_ += '\n';
}

// Names of tensors are the user's.
void WgslCode::comment(const std::string& text) {
    std::string plain;
    for (char c : text) plain += c >= ' ' && c <= '~' ? c : '?';
    line("// " + plain);
}

WgslCode::Value WgslCode::named(DType dtype, int width, std::string text, bool uniform) {
    names_.push_back({std::move(text), uniform});
    return {dtype, width, names_.size() - 1};
}

WgslCode::Value WgslCode::fresh(DType dtype, int width, const std::string& text, bool uniform) {
    const std::string name = fmt::format("v{}", next_++);
    line(fmt::format("let {}: {} = {};", name, type(dtype), text));
    return named(dtype, width, name, uniform);
}

// One text may be several types of ours in one of the language's.
WgslCode::Value WgslCode::define(DType dtype, int width, const std::string& text, bool uniform) {
    const std::string key = fmt::format("{} {} {}", name(dtype), width, text);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    made_.push_back(key);
    return known_[key] = fresh(dtype, width, text, uniform);
}

WgslCode::Captured WgslCode::captured(const Action& block) {
    std::string outside = std::exchange(text_, "");
    const bool waits = std::exchange(waits_, false);
    const size_t before = made_.size();
    indent_++;
    block();
    indent_--;
    for (; made_.size() > before; made_.pop_back()) known_.erase(made_.back());
    Captured made{std::exchange(text_, std::move(outside)), waits_};
    waits_ = waits_ || waits;
    return made;
}

// What invocations write to workgroup memory, and to a storage buffer, is seen by the others behind it.
void WgslCode::barrier() {
    line("workgroupBarrier();");
    waits_ = true;
}

WgslCode::Value WgslCode::agreed(Value value) {
    if (is_uniform(value)) return value;
    exchanges_ = waits_ = true;
    line(fmt::format("if (lane == 0i) {{ exchange[0] = {}; }}", as_bits(value)));
    return fresh(value.dtype, 1, from_bits(value.dtype, "workgroupUniformLoad(&exchange[0])"), true);
}

void WgslCode::add_function(const std::string& name, const std::string& text) {
    if (written_.insert(name).second) functions_ += text;
}

// A result is returned; several are a structure.
codegen::Code::Values WgslCode::function(const std::string& name, std::span<const Value> arguments, codegen::Runs,
                                         const std::function<Values(std::span<const Value>)>& body) {
    const std::string called = fmt::format("{}_{}", name, heddle::name(arguments[0].dtype));
    auto found = results_.find(called);
    if (found == results_.end()) {
        std::string outside = std::exchange(text_, ""), head, result;
        const int indent = std::exchange(indent_, 1);
        const auto known = std::exchange(known_, {});
        const auto made = std::exchange(made_, {});
        Values own;
        for (const Value& argument : arguments) {
            const std::string taken = fmt::format("a{}", own.size());
            head += fmt::format("{}{}: {}", own.empty() ? "" : ", ", taken, type(argument.dtype));
            own.push_back(named(argument.dtype, argument.width, taken, false));
        }
        found = results_.emplace(called, body(own)).first;
        const Values& results = found->second;
        std::string returned, fields;
        for (const Value& value : results) {
            returned += (returned.empty() ? "" : ", ") + text(value);
            fields += fmt::format(" r{}: {},", &value - results.data(), type(value.dtype));
        }
        const bool one = results.size() == 1;
        if (!one) add_function(called + " results", fmt::format("struct {}_results {{{} }}\n", called, fields));
        line(one ? fmt::format("return {};", returned) : fmt::format("return {}_results({});", called, returned));
        add_function(called, fmt::format("fn {}({}) -> {} {{\n{}}}\n", called, head,
                                         one ? type(results[0].dtype) : called + "_results", text_));
        text_ = std::move(outside);
        indent_ = indent;
        known_ = known;
        made_ = made;
    }
    std::string given;
    bool uniform = true;
    for (const Value& argument : arguments) {
        given += (given.empty() ? "" : ", ") + text(argument);
        uniform = uniform && is_uniform(argument);
    }
    const std::string call = fmt::format("{}({})", called, given);
    const int width = arguments[0].width;
    if (found->second.size() == 1) return {define(found->second[0].dtype, width, call, uniform)};
    const std::string all = fmt::format("v{}", next_++);
    line(fmt::format("let {} = {};", all, call));
    Values results;
    for (const Value& value : found->second)
        results.push_back(named(value.dtype, width, fmt::format("{}.r{}", all, results.size()), uniform));
    return results;
}

// Of 64 bits, both ends of the range are those of 32, and so is what bounds these.
WgslCode::Value WgslCode::integer(DType dtype, int64_t value) {
    if (is_bool(dtype)) return named(dtype, 1, value ? "true" : "false", true);
    if (type(dtype) == "u32") {
        if (bytes(dtype) == 8 && value == -1) value = UINT32_MAX;
        if (bytes(dtype) == 8 && static_cast<uint64_t>(value) > UINT32_MAX)
            missing_.insert(fmt::format("the integer {}", static_cast<uint64_t>(value)));
        const auto low = static_cast<uint32_t>(bytes(dtype) < 4 ? wrapped_to(dtype, value) : value);
        return named(dtype, 1, fmt::format("{}u", low), true);
    }
    if (bytes(dtype) == 8 && (value == INT64_MAX || value == int64_t{1} << 31)) value = INT32_MAX;
    if (bytes(dtype) == 8 && value == INT64_MIN) value = INT32_MIN;
    if (value != static_cast<int32_t>(value)) {
        if (bytes(dtype) == 8) missing_.insert(fmt::format("the integer {}", value));
        value = static_cast<int32_t>(value);
    }
    if (value == INT32_MIN) return named(dtype, 1, "(-2147483647i - 1i)", true);
    return named(dtype, 1, value < 0 ? fmt::format("({}i)", value) : fmt::format("{}i", value), true);
}

// Infinities and NaN cannot be written, nor computed from what is written: their bits are a variable.
WgslCode::Value WgslCode::real(DType dtype, double value) {
    if (is_narrow(dtype)) {
        missing_.insert("a literal of a stored type");
        return named(dtype, 1, "0u", true);
    }
    const auto single = static_cast<float>(value);
    const auto bits = std::bit_cast<uint32_t>(single);
    if (std::isnan(single)) return named(dtype, 1, "bitcast<f32>(not_a_number)", false);
    if (std::isinf(single)) {
        return named(dtype, 1, single > 0 ? "bitcast<f32>(infinity)" : "bitcast<f32>(infinity | 0x80000000u)", false);
    }
    if (bits == 0x80000000u) return named(dtype, 1, "bitcast<f32>(0x80000000u)", true);
    const std::string digits = fmt::format("{:a}f", single);
    return named(dtype, 1, single < 0 ? "(" + digits + ")" : digits, true);
}

WgslCode::Value WgslCode::number(int64_t index) { return named(DType::int64, 1, fmt::format("n{}", index), true); }

WgslCode::Value WgslCode::iota(DType dtype, int width) {
    if (width == 1) return is_float(dtype) ? real(dtype, 0) : integer(dtype, 0);
    return define(dtype, width, fmt::format("{}(lane)", type(dtype)), false);
}

WgslCode::Value WgslCode::broadcast(Value scalar, int width) {
    return named(scalar.dtype, width, text(scalar), is_uniform(scalar));
}

std::string WgslCode::as_bits(Value value) const {
    const std::string own = type(value.dtype);
    if (own == "bool") return fmt::format("select(0u, 1u, {})", text(value));
    return own == "u32" ? text(value) : fmt::format("bitcast<u32>({})", text(value));
}

std::string WgslCode::from_bits(DType dtype, const std::string& word) const {
    const std::string own = type(dtype);
    if (own == "bool") return fmt::format("({} != 0u)", word);
    return own == "u32" ? word : fmt::format("bitcast<{}>({})", own, word);
}

WgslCode::Value WgslCode::lane(Value vector, int lane) {
    exchanges_ = waits_ = true;
    line(fmt::format("if (lane == {}i) {{ exchange[0] = {}; }}", lane, as_bits(vector)));
    return fresh(vector.dtype, 1, from_bits(vector.dtype, "workgroupUniformLoad(&exchange[0])"), true);
}

// Which element a lane takes: the next ones of its own, one for all, or by a table.
WgslCode::Value WgslCode::shuffle(Value a, Value b, std::span<const int> lanes) {
    std::vector<int> from;  // in the exchange, where b lies behind all lanes
    for (int k : lanes) from.push_back(k < a.width ? k : lanes_ + k - a.width);
    const int width = static_cast<int>(from.size());
    bool own = true, steps = true, one = true;
    for (int l = 0; l < width; l++) {
        own = own && from[static_cast<size_t>(l)] == l;
        steps = steps && from[static_cast<size_t>(l)] == from[0] + l;
        one = one && from[static_cast<size_t>(l)] == from[0];
    }
    if (own) return named(a.dtype, width, text(a), is_uniform(a));
    exchanges_ = true;
    line(fmt::format("exchange[lane] = {};", as_bits(a)));
    if (std::ranges::any_of(from, [&](int k) { return k >= lanes_; }))
        line(fmt::format("exchange[lane + {}i] = {};", lanes_, as_bits(b)));
    barrier();
    std::string place;
    if (one) {
        place = fmt::format("{}i", from[0]);
    } else if (steps) {
        place = fmt::format("min(lane + {}i, {}i)", from[0], 2 * lanes_ - 1);
    } else {
        std::string elements, key = "places";
        for (int l = 0; l < lanes_; l++) {
            const int k = l < width ? from[static_cast<size_t>(l)] : 0;
            elements += fmt::format("{}{}i", l == 0 ? "" : ", ", k);
            key += fmt::format("_{}", k);
        }
        const auto [known, is_new] = known_.try_emplace(key);
        if (is_new) {
            const std::string table = fmt::format("places{}", next_++);
            functions_ +=
                fmt::format("var<private> {}: array<i32, {}> = array<i32, {}>({});\n", table, lanes_, lanes_, elements);
            known->second = named(DType::int32, 1, table, false);
        }
        place = text(known->second) + "[lane]";
    }
    const Value taken = fresh(a.dtype, width, from_bits(a.dtype, fmt::format("exchange[{}]", place)), false);
    barrier();
    return taken;
}

// Narrow integers, by the low bits of a register.
std::string WgslCode::wrapped(DType dtype, const std::string& text) const {
    if (bytes(dtype) >= 4 || is_bool(dtype) || type(dtype) == "f32") return text;
    const int64_t bits = bytes(dtype) * 8;
    if (type(dtype) == "u32") return fmt::format("({} & {}u)", text, (1 << bits) - 1);
    return fmt::format("(({} << {}u) >> {}u)", text, 32 - bits, 32 - bits);
}

WgslCode::Value WgslCode::integer_operation(const char* op, Value a, Value b) {
    return define(a.dtype, a.width, wrapped(a.dtype, fmt::format("({} {} {})", text(a), op, text(b))),
                  are_uniform({a, b}));
}

// No implementation need know of NaN: by the bits.
WgslCode::Value WgslCode::is_nan(Value a) {
    return define(DType::boolean, a.width, fmt::format("((bitcast<u32>({}) & 0x7fffffffu) > 0x7f800000u)", text(a)),
                  is_uniform(a));
}

WgslCode::Value WgslCode::compare(const char* op, Value a, Value b) {
    return define(DType::boolean, a.width, fmt::format("({} {} {})", text(a), op, text(b)), are_uniform({a, b}));
}

WgslCode::Value WgslCode::operation(CodeOp op, Value a, Value b) {
    const bool real = is_float(a.dtype);
    const auto plain = [&](const char* o) {
        return define(a.dtype, a.width, fmt::format("({} {} {})", text(a), o, text(b)), are_uniform({a, b}));
    };
    const auto arithmetic = [&](const char* o) { return real ? plain(o) : integer_operation(o, a, b); };
    const auto function = [&](const char* name) {
        return define(a.dtype, a.width, fmt::format("{}({})", name, text(a)), is_uniform(a));
    };
    const auto shift = [&](const char* o) {
        const std::string amount = type(b.dtype) == "u32" ? text(b) : fmt::format("u32({})", text(b));
        return define(a.dtype, a.width, wrapped(a.dtype, fmt::format("({} {} {})", text(a), o, amount)),
                      are_uniform({a, b}));
    };
    switch (op) {
    case CodeOp::add: return arithmetic("+");
    case CodeOp::subtract: return arithmetic("-");
    case CodeOp::multiply: return arithmetic("*");
    case CodeOp::divide: return arithmetic("/");
    case CodeOp::remainder: return integer_operation("%", a, b);
    case CodeOp::bit_and: return plain(is_bool(a.dtype) ? "&&" : "&");
    case CodeOp::bit_or: return plain(is_bool(a.dtype) ? "||" : "|");
    case CodeOp::bit_xor: return plain(is_bool(a.dtype) ? "!=" : "^");
    case CodeOp::shift_left: return shift("<<");
    case CodeOp::shift_right: return shift(">>");
    case CodeOp::equal:
        if (real && a.handle == b.handle) return define(DType::boolean, a.width, "!" + text(is_nan(a)), is_uniform(a));
        return compare("==", a, b);
    case CodeOp::not_equal:
        if (real && a.handle == b.handle) return is_nan(a);
        return compare("!=", a, b);
    case CodeOp::less: return compare("<", a, b);
    case CodeOp::less_equal: return compare("<=", a, b);
    case CodeOp::negate:
        return define(a.dtype, a.width, fmt::format("bitcast<f32>(bitcast<u32>({}) ^ 0x80000000u)", text(a)),
                      is_uniform(a));
    case CodeOp::square_root: return function("sqrt");
    case CodeOp::floor: return function("floor");
    case CodeOp::ceil: return function("ceil");
    case CodeOp::round: return function("round");
    case CodeOp::truncate: return function("trunc");
    case CodeOp::count_bits: return function("countOneBits");
    case CodeOp::dot_pairs:
        return define(a.dtype, a.width,
                      fmt::format("((({0} << 16u) >> 16u) * (({1} << 16u) >> 16u) + ({0} >> 16u) * ({1} >> 16u))",
                                  text(a), text(b)),
                      are_uniform({a, b}));
    case CodeOp::scale:
    case CodeOp::exponent_of:
    case CodeOp::significand_of:
    case CodeOp::reciprocal_root_estimate: break;  // of other units
    }
    missing_.insert("an operation of other units");
    return a;
}

WgslCode::Value WgslCode::pinned(Value value) {
    return define(value.dtype, value.width, fmt::format("bitcast<f32>(bitcast<i32>({}) | launch[1].x)", text(value)),
                  is_uniform(value));
}

WgslCode::Value WgslCode::multiply_add(Value a, Value b, Value c) {
    return define(a.dtype, a.width, fmt::format("fma({}, {}, {})", text(a), text(b), text(c)), are_uniform({a, b, c}));
}

WgslCode::Value WgslCode::select(Value condition, Value then, Value otherwise) {
    return define(then.dtype, then.width,
                  fmt::format("select({}, {}, {})", text(otherwise), text(then), text(condition)),
                  are_uniform({condition, then, otherwise}));
}

WgslCode::Value WgslCode::convert(Value value, DType dtype) {
    const auto made = [&](const std::string& text) { return define(dtype, value.width, text, is_uniform(value)); };
    if (value.dtype == DType::float16 && dtype == DType::float32)
        return made(fmt::format("unpack2x16float({}).x", text(value)));
    if (dtype == DType::float16) {
        // To nearest even, subnormals too: what packs halves may round either way.
        add_function("half_of", R"(fn half_of(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let magnitude = bits & 0x7fffffffu;
    let sign = (bits >> 16u) & 0x8000u;
    if (magnitude > 0x7f800000u) { return sign | 0x7e00u; }
    if (magnitude >= 0x477ff000u) { return sign | 0x7c00u; }
    if (magnitude >= 0x38800000u) {
        let rebased = magnitude - 0x38000000u;
        return sign | ((rebased + 0xfffu + ((rebased >> 13u) & 1u)) >> 13u);
    }
    if (magnitude < 0x33000000u) { return sign; }
    let shift = 126u - (magnitude >> 23u);
    let significand = (magnitude & 0x7fffffu) | 0x800000u;
    let rounded = (significand + (1u << (shift - 1u)) - 1u + ((significand >> shift) & 1u)) >> shift;
    return sign | rounded;
}
)");
        return made(fmt::format("half_of({})", text(value)));
    }
    if (type(dtype) == type(value.dtype)) {
        if (bytes(dtype) >= bytes(value.dtype)) return named(dtype, value.width, text(value), is_uniform(value));
        return made(wrapped(dtype, text(value)));
    }
    return made(wrapped(dtype, fmt::format("{}({})", type(dtype), text(value))));
}

WgslCode::Value WgslCode::reinterpret(Value value, DType dtype) {
    if (type(dtype) == type(value.dtype)) return named(dtype, value.width, text(value), is_uniform(value));
    return define(dtype, value.width, wrapped(dtype, fmt::format("bitcast<{}>({})", type(dtype), text(value))),
                  is_uniform(value));
}

// Lanes are asked each for itself: what follows of it skips work, and has no barrier.
WgslCode::Value WgslCode::any(Value mask) {
    return named(DType::boolean, 1, text(mask), mask.width == 1 && is_uniform(mask));
}

WgslCode::Value WgslCode::again(Value value) { return value; }

codegen::Cell WgslCode::cell(Value initial) {
    const std::string name = fmt::format("c{}", next_++);
    line(fmt::format("var {}: {} = {};", name, type(initial.dtype), text(initial)));
    return {initial.dtype, initial.width, named(initial.dtype, initial.width, name, is_uniform(initial)).handle};
}
WgslCode::Value WgslCode::get(const Cell& cell) {
    return fresh(cell.dtype, cell.width, names_[cell.handle].text, names_[cell.handle].uniform);
}
void WgslCode::set(const Cell& cell, Value value) {
    names_[cell.handle].uniform = names_[cell.handle].uniform && is_uniform(value);
    line(fmt::format("{} = {};", names_[cell.handle].text, text(value)));
}

codegen::Cells WgslCode::cells(DType dtype, int width, int64_t count) {
    const std::string name = fmt::format("c{}", next_++);
    line(fmt::format("var {}: array<{}, {}>;", name, type(dtype), count));
    return {dtype, width, named(dtype, width, name, false).handle};
}
WgslCode::Value WgslCode::get(const codegen::Cells& cells, Value index) {
    return fresh(cells.dtype, cells.width, fmt::format("{}[{}]", names_[cells.handle].text, text(index)), false);
}
void WgslCode::set(const codegen::Cells& cells, Value index, Value value) {
    line(fmt::format("{}[{}] = {};", names_[cells.handle].text, text(index), text(value)));
}

// A workgroup has one task.
void WgslCode::repeat(Value first, Value end, int64_t step, const std::function<void(Value)>& body) {
    if (first == task_begin_) return body(task_begin_);
    const std::string name = fmt::format("i_{}", next_++);
    const bool uniform = are_uniform({first, end});
    loops_++;
    const Captured made = captured([&] { body(named(DType::int64, 1, name, uniform)); });
    loops_--;
    if (made.waits) first = agreed(first), end = agreed(end);
    line(fmt::format("for (var {0}: i32 = {1}; {0} < {2}; {0} += {3}i) {{", name, text(first), text(end), step));
    text_ += made.text;
    line("}");
}

// Whether the body waits is known behind it: until then a mark stands for the condition.
void WgslCode::repeat_while(const std::function<Value()>& condition, const Action& body) {
    const std::string mark = fmt::format("\x01{}\n", next_++);
    Value holds;
    loops_++;
    Captured made = captured([&] {
        holds = condition();
        text_ += mark;
        body();
    });
    loops_--;
    const Captured decision = captured([&] {
        if (made.waits) holds = agreed(holds);
        line(fmt::format("if (!({})) {{ break; }}", text(holds)));
    });
    made.text.replace(made.text.find(mark), mark.size(), decision.text);
    line("loop {");
    text_ += made.text;
    line("}");
}

void WgslCode::branch(Value condition, const Action& then, const Action& otherwise) {
    const Captured first = captured(then), second = captured(otherwise);
    if (first.waits || second.waits) condition = agreed(condition);
    line(fmt::format("if ({}) {{", text(condition)));
    text_ += first.text;
    if (!second.text.empty()) {
        line("} else {");
        text_ += second.text;
    }
    line("}");
}

void WgslCode::rarely(Value condition, const Action& then) {
    branch(condition, then, [] {});
}

// In a loop, others may still read what the one before has stored.
void WgslCode::phase(const std::string& name) {
    comment("phase " + name);
    if (begun_ || loops_ > 0) {
        barrier();
        line("storageBarrier();");
    }
    begun_ = true;
}

// The kernel goes on behind it, since others wait at barriers: the first failing check of all is kept.
void WgslCode::report(int position, Value value) {
    reported_.resize(static_cast<size_t>(position) + 1, "0i");
    reported_[static_cast<size_t>(position)] = text(value);
}

void WgslCode::stop(int) {
    reports_ = true;
    std::string stores;
    for (size_t i = 0; i < reported_.size(); i++)
        stores += fmt::format(" atomicStore(&report.status[{}], {});", i + 2, reported_[i]);
    line(fmt::format("if (atomicAdd(&report.status[0], 1i) == 0i) {{ atomicStore(&report.status[1], launch[0].z);{} }}",
                     stores));
    reported_.clear();
}

WgslCode::Value WgslCode::task_begin() { return task_begin_; }
WgslCode::Value WgslCode::task_end() { return task_end_; }

}  // namespace heddle::backends
