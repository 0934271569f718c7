#include "target/target.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>

namespace heddle {
namespace {

using Json = nlohmann::ordered_json;

// Every field once: reading, writing, the list of known keys and what each means come from here.
template <typename T, typename F>
void for_each_field(T& target, F f) {
    using enum FieldSource;
    f("name", target.name, design, "for people");
    f("cpu", target.cpu, design, "LLVM's name of the CPU to tune for; empty: none");
    f("features", target.features, flags, "instructions that there are, LLVM's names");
    f("vector_bytes", target.vector_bytes, flags, "bytes of a vector register");
    f("vector_registers", target.vector_registers, flags, "vector registers");
    f("fma_per_cycle", target.fma_per_cycle, speed, "multiply-adds of vectors a cycle");
    f("loads_per_cycle", target.loads_per_cycle, speed, "loads of vectors from L1 a cycle");
    f("fma_latency", target.fma_latency, speed, "cycles from a multiply-add to one that needs its result");
    f("maximum_rows", target.maximum_rows, design, "rows of a register tile, at most");
    f("l1_bytes", target.l1_bytes, system, "bytes of a core's L1 for data");
    f("l2_bytes", target.l2_bytes, system, "bytes of a core's L2");
    f("l3_bytes", target.l3_bytes, system, "bytes of L3");
    f("l2_bytes_per_cycle", target.l2_bytes_per_cycle, speed, "bytes that a core reads from L2 a cycle");
    f("l3_bytes_per_cycle", target.l3_bytes_per_cycle, speed, "bytes that a core reads from L3 a cycle");
    f("cores", target.cores, system, "cores");
    f("bandwidth", target.bandwidth, speed, "bytes that all cores read from memory a second");
    f("bandwidth_one_core", target.bandwidth_one_core, speed, "bytes that one core reads from memory a second");
    f("operations", target.operations, speed,
      "operations of 32 bits a second and core, all cores busy (a multiply-add is two)");
    f("launch_seconds", target.launch_seconds, speed,
      "seconds that short tasks on all cores take longer than their work");
    f("maximum_equations", target.maximum_equations, design, "equations of a kernel, at most");
    f("maximum_buffers", target.maximum_buffers, design, "buffers of a kernel, at most");
    if constexpr (std::is_const_v<T>) {
        if (target.kind == "cpu" && !target.memory_bytes) return;  // what a CPU has not
    }
    f("kind", target.kind, design, "which kind of device");
    f("arch", target.arch, design, "instruction set");
    f("os", target.os, design, "operating system");
    f("abi", target.abi, design, "calling convention");
    f("clock_hertz", target.clock_hertz, system, "cycles of a core a second");
    f("memory_bytes", target.memory_bytes, system, "bytes of memory");
    f("flash_bytes", target.flash_bytes, system, "bytes of code and constants");
    f("workgroup_bytes", target.workgroup_bytes, system, "bytes that a workgroup shares");
    f("maximum_workgroup", target.maximum_workgroup, system, "invocations of a workgroup, at most");
    f("subgroup_lanes", target.subgroup_lanes, system, "invocations that run together");
    f("registers_per_core", target.registers_per_core, system, "registers of 32 bits");
    f("maximum_binding_bytes", target.maximum_binding_bytes, system, "bytes of a buffer, at most");
    f("maximum_workgroups_axis", target.maximum_workgroups_axis, system, "workgroups along an axis, at most");
    f("library", target.library, design, "an outside library");
    f("version", target.version, design, "its version");
}

bool fits(const Json& value, const std::string&) { return value.is_string(); }
bool fits(const Json& value, int64_t) { return value.is_number_integer() && value.get<int64_t>() >= 0; }
bool fits(const Json& value, int) {
    return value.is_number_integer() && value.get<int64_t>() > 0 && value.get<int64_t>() <= INT32_MAX;
}
bool fits(const Json& value, double) { return value.is_number() && value.get<double>() >= 0; }

}  // namespace

Result<Target> parse_target(std::shared_ptr<const SourceText> text) {
    Json json = Json::parse(text->text(), nullptr, false);
    Place place{text, 0, 1};
    if (!json.is_object()) {
        return fail({.code = "target.syntax", .summary = "a target is a JSON object", .place = place});
    }
    Target target;
    std::vector<std::string> known;
    Diagnostics problems;
    for_each_field(target, [&](const char* key, auto& field, FieldSource, const char*) {
        known.push_back(key);
        if (!json.contains(key)) return;
        const Json& value = json[key];
        if (fits(value, field)) {
            value.get_to(field);
        } else {
            problems.push_back(
                {.code = "target.value",
                 .summary = "a field of a target has a wrong value",
                 .place = place,
                 .expected = std::is_same_v<std::decay_t<decltype(field)>, std::string> ? "text" : "a positive number",
                 .found = value.dump(),
                 .params = {{"path", std::string("$.") + key}}});
        }
    });
    const auto nested = [&](const Json& value) -> std::shared_ptr<const Target> {
        auto inner = parse_target(std::make_shared<SourceText>(text->name(), value.dump()));
        if (inner) return std::make_shared<const Target>(std::move(*inner));
        problems.insert(problems.end(), inner.error().begin(), inner.error().end());
        return nullptr;
    };
    if (json.contains("host")) target.host = nested(json["host"]);
    if (json.contains("devices") && json["devices"].is_array()) {
        for (const Json& device : json["devices"]) {
            if (device.is_object() && device.contains("target"))
                target.devices.push_back({device.value("name", ""), nested(device["target"])});
        }
    }
    known.insert(known.end(), {"host", "devices"});
    for (const auto& [key, value] : json.items()) {
        if (std::find(known.begin(), known.end(), key) != known.end()) continue;
        std::string near = nearest_name(key, known);
        problems.push_back({.code = "target.unknown_key",
                            .summary = "a target has no field '" + key + "'",
                            .place = place,
                            .remedy = near.empty() ? "" : "did you mean '" + near + "'?",
                            .params = {{"path", "$." + key}}});
    }
    if (!problems.empty()) return fail(std::move(problems));
    return target;
}

Result<Target> load_target(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) {
        return fail({.code = "target.unreadable", .summary = "cannot read the target file '" + path + "'"});
    }
    return parse_target(std::make_shared<SourceText>(path, text.str()));
}

std::vector<TargetField> fields_of(const Target& target) {
    std::vector<TargetField> fields;
    for_each_field(target, [&](const char* key, const auto& field, FieldSource source, const char* meaning) {
        fields.push_back({key, Json(field).dump(), source, meaning});
    });
    return fields;
}

std::string print(const Target& target, TargetText) {
    Json json;
    for_each_field(target, [&](const char* key, const auto& field, FieldSource, const char*) { json[key] = field; });
    if (target.host) json["host"] = Json::parse(print(*target.host));
    for (const SystemDevice& device : target.devices)
        json["devices"].push_back({{"name", device.name}, {"target", Json::parse(print(*device.target))}});
    return json.dump(2) + "\n";
}

}  // namespace heddle
