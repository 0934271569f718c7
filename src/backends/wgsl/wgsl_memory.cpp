// Loads and stores. Elements of a buffer: 32 bits are a word of its type; 64 bits are two words, of which the first is
// the value where the second has nothing but its sign; 8 and 16 bits are parts of words, which are written by atomic
// operations, since neighbours share them. An element of an array is a word, whatever its type.
#include <fmt/format.h>

#include "backends/wgsl/wgsl_code.h"

namespace heddle::backends {

using schedules::Memory;

namespace {

bool is_array(const Memory& memory) { return memory.kind == Memory::Kind::array; }

}  // namespace

bool WgslCode::is_written(MemoryId memory) const { return stored_.contains(memory); }

std::string WgslCode::buffer_type(MemoryId memory) const {
    const DType dtype = tree_.memory(memory).dtype;
    const int64_t size = bytes(dtype);
    if (size < 4) return is_written(memory) ? "array<atomic<u32>>" : "array<u32>";
    if (size == 8) return "array<i32>";
    return fmt::format("array<{}>", type(dtype));
}

std::string WgslCode::base(MemoryId memory) const {
    return fmt::format("{}{}", is_array(tree_.memory(memory)) ? "a" : "b", memory);
}

std::string WgslCode::place(const Address& address) const {
    std::string index = base(address.memory);
    const auto add = [&](const std::string& part) { index += " + " + part; };
    if (text(address.index) != "0i") add(text(address.index));
    for (Value move : address.moves) add(text(move));
    if (address.offset != 0) add(fmt::format("({}i)", address.offset));
    return index;
}

// What a word of a buffer holds, of an element that has parts or several: a function for each buffer.
std::string WgslCode::load_function(MemoryId memory) {
    const DType dtype = tree_.memory(memory).dtype;
    const std::string name = fmt::format("load_m{}", memory), own = type(dtype);
    const int64_t size = bytes(dtype);
    std::string steps;
    if (size == 8) {
        reports_ = true;
        // A half of what 32 bits hold: a sum of two is inside, too.
        const bool is_signed = info(dtype).kind == DTypeClass::signed_integer;
        steps = fmt::format(
            "    let low = m{0}[2i * i];\n    let high = m{0}[2i * i + 1i];\n"
            "    if (high != {1} || u32(low + 0x40000000i) >= 0x80000000u) {{\n"
            "        if (atomicAdd(&report.status[0], 1i) == 0i) {{ atomicStore(&report.status[1], launch[0].z); "
            "atomicStore(&report.status[2], -1i); atomicStore(&report.status[3], low); atomicStore(&report.status[4], high); }}\n"
            "    }}\n    return {2};\n",
            memory, is_signed ? "(low >> 31u)" : "0i", is_signed ? "low" : "bitcast<u32>(low)");
    } else {
        const char* word = is_written(memory) ? "atomicLoad(&m{}[{}])" : "m{}[{}]";
        const std::string where = size == 1 ? "u32(i) >> 2u" : "u32(i) >> 1u";
        const std::string shift = size == 1 ? "(u32(i) & 3u) * 8u" : "(u32(i) & 1u) * 16u";
        std::string value = fmt::format("(({} >> ({})) & {}u)", fmt::format(fmt::runtime(word), memory, where), shift,
                                        size == 1 ? 0xff : 0xffff);
        if (own == "bool") value += " != 0u";
        if (own == "i32") value = wrapped(dtype, fmt::format("bitcast<i32>({})", value));
        steps = fmt::format("    return {};\n", value);
    }
    add_function(name, fmt::format("fn {}(i: i32) -> {} {{\n{}}}\n", name, own, steps));
    return name;
}

std::string WgslCode::store_function(MemoryId memory) {
    const DType dtype = tree_.memory(memory).dtype;
    const std::string name = fmt::format("store_m{}", memory), own = type(dtype);
    const int64_t size = bytes(dtype);
    std::string steps;
    if (size == 8) {
        const bool is_signed = info(dtype).kind == DTypeClass::signed_integer;
        steps = fmt::format("    m{0}[2i * i] = {1};\n    m{0}[2i * i + 1i] = {2};\n", memory,
                            is_signed ? "value" : "bitcast<i32>(value)", is_signed ? "value >> 31u" : "0i");
    } else {
        const std::string where = size == 1 ? "u32(i) >> 2u" : "u32(i) >> 1u";
        const std::string shift = size == 1 ? "(u32(i) & 3u) * 8u" : "(u32(i) & 1u) * 16u";
        const std::string bits = own == "bool"  ? "select(0u, 1u, value)"
                                 : own == "i32" ? "bitcast<u32>(value)"
                                                : "value";
        const int mask = size == 1 ? 0xff : 0xffff;
        steps = fmt::format(
            "    let shift = {1};\n    atomicAnd(&m{0}[{2}], ~({3}u << shift));\n"
            "    atomicOr(&m{0}[{2}], ({4} & {3}u) << shift);\n",
            memory, shift, where, mask, bits);
    }
    add_function(name, fmt::format("fn {}(i: i32, value: {}) {{\n{}}}\n", name, own, steps));
    return name;
}

std::string WgslCode::element(MemoryId memory, const std::string& index) {
    const Memory& m = tree_.memory(memory);
    if (is_array(m)) return from_bits(m.dtype, fmt::format("{}[{}]", scratch(), index));
    if (bytes(m.dtype) == 4) return fmt::format("m{}[{}]", memory, index);
    return fmt::format("{}({})", load_function(memory), index);
}

// What the language's analysis takes for the same in all invocations: where it is only read.
bool WgslCode::reads_uniformly(MemoryId memory) const {
    return !is_array(tree_.memory(memory)) && !is_written(memory) && bytes(tree_.memory(memory).dtype) == 4;
}

// A place outside of a buffer reads something of it, by the language's rules, and is not chosen; but of two words it
// would be reported.
WgslCode::Value WgslCode::loaded(MemoryId memory, const std::string& index, int width, std::optional<Value> mask,
                                 bool uniform) {
    const DType dtype = tree_.memory(memory).dtype;
    const std::string own = type(dtype), none = own == "bool"  ? "false"
                                                : own == "f32" ? "0f"
                                                : own == "u32" ? "0u"
                                                               : "0i";
    if (!mask) return fresh(dtype, width, element(memory, index), uniform);
    if (bytes(dtype) == 8 && !is_array(tree_.memory(memory))) {
        const std::string name = fmt::format("v{}", next_++);
        line(fmt::format("var {}: {} = {};", name, own, none));
        line(fmt::format("if ({}) {{ {} = {}; }}", text(*mask), name, element(memory, index)));
        return named(dtype, width, name, false);
    }
    return fresh(dtype, width, fmt::format("select({}, {}, {})", none, element(memory, index), text(*mask)),
                 uniform && is_uniform(*mask));
}

void WgslCode::stored(MemoryId memory, const std::string& index, Value value, const std::string& condition) {
    const Memory& m = tree_.memory(memory);
    std::string store;
    if (is_array(m))
        store = fmt::format("{}[{}] = {};", scratch(), index, as_bits(value));
    else if (bytes(m.dtype) == 4)
        store = fmt::format("m{}[{}] = {};", memory, index, text(value));
    else
        store = fmt::format("{}({}, {});", store_function(memory), index, text(value));
    line(condition.empty() ? store : fmt::format("if ({}) {{ {} }}", condition, store));
}

WgslCode::Value WgslCode::load(const Address& address, int width, std::optional<Value> mask) {
    bool uniform = width == 1 && reads_uniformly(address.memory) && is_uniform(address.index);
    for (Value move : address.moves) uniform = uniform && is_uniform(move);
    return loaded(address.memory, place(address) + (width > 1 ? " + lane" : ""), width, mask, uniform);
}

// One for all is stored once.
void WgslCode::store(const Address& address, Value value, std::optional<Value> mask, bool) {
    std::string condition = mask ? text(*mask) : "";
    if (value.width == 1) condition = condition.empty() ? "lane == 0i" : fmt::format("lane == 0i && {}", condition);
    stored(address.memory, place(address) + (value.width > 1 ? " + lane" : ""), value, condition);
}

WgslCode::Value WgslCode::gather(MemoryId memory, Value indices, std::optional<Value> mask) {
    return loaded(memory, fmt::format("{} + {}", base(memory), text(indices)), indices.width, mask, false);
}

void WgslCode::scatter(MemoryId memory, Value indices, Value value, std::optional<Value> mask) {
    stored(memory, fmt::format("{} + {}", base(memory), text(indices)), value, mask ? text(*mask) : "");
}

void WgslCode::store_compressed(const Address&, Value, Value, Value, Value) {
    missing_.insert("a store of lanes side by side");
}

// In words.
WgslCode::Value WgslCode::address_of(const Address&) { return integer(DType::int64, 0); }
void WgslCode::prefetch(Value, int) {}

void WgslCode::place_array(MemoryId memory, Value offset, Value origin) {
    const char* task = arrays_ == WgslArrays::storage ? "scratch_base + " : "";
    line(fmt::format("let a{} = {}({} / 4i) - {};", memory, task, text(offset), text(origin)));
}

}  // namespace heddle::backends
