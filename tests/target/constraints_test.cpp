// Targets as constraints: joined, taken apart, asked, looked up by.
#include "reading.h"

#include <algorithm>
#include <random>

#include <nlohmann/json.hpp>

namespace heddle {
namespace {

// Partial targets that often have something in common, and often contradict each other.
class Partial {
public:
    explicit Partial(uint64_t seed) : random_(seed) {}

    Target next() {
        nlohmann::json json = nlohmann::json::object();
        const bool gpu = below(4) == 0;
        if (gpu) json["kind"] = "cuda";
        if (gpu && below(2)) json["arch"] = below(2) ? "sm_90" : "sm_80";
        if (gpu && below(2)) json["host"] = device();
        if (gpu && below(2)) json["maximum_workgroup"] = 512 * (1 + below(2));
        if (!gpu) json.update(device());
        if (below(8) == 0) json = machine();
        return read(json.dump());
    }

private:
    int below(int most) { return static_cast<int>(random_() % static_cast<uint64_t>(most)); }

    nlohmann::json device() {
        nlohmann::json json = nlohmann::json::object();
        const bool arm = below(4) == 0;
        if (below(3) == 0) json["arch"] = arm ? "aarch64" : "x86_64";
        if (below(3) == 0) json["cpu"] = arm ? "cortex-a72" : below(2) ? "znver4" : "haswell";
        if (!arm && below(3) == 0) json["features"] = below(2) ? "+avx2,+fma" : below(2) ? "-avx2" : "+aes";
        if (below(3) == 0) json["cores"] = 1 + below(2);
        if (below(4) == 0) json["l2_bytes"] = 1024 * (1 + below(2));
        if (below(4) == 0) json["options"] = {{"a", below(2) ? "1" : "2"}};
        if (below(5) == 0) json["library"] = below(2) ? "one" : "two";
        return json;
    }

    nlohmann::json machine() {
        nlohmann::json json;
        for (const char* name : {"a", "b"}) {
            if (below(2)) json["devices"][name] = {{"target", device()}, {"id", name[0] - 'a'}};
        }
        if (json.empty()) json["devices"]["a"] = {{"target", device()}, {"id", 0}};
        if (json["devices"].size() == 2 && below(2))
            json["links"] = {{{"from", "a"}, {"to", "b"}, {"bandwidth", 1 + below(2)}}};
        return json;
    }

    std::mt19937_64 random_;
};

std::string bytes_of(const Result<Target>& target) { return target ? canonical_bytes(*target) : "conflict"; }

TEST(Targets16, JoinsAreAssociativeAndCommutativeAndRefuseConflicts) {
    Partial partial(16);
    int joined = 0, refused = 0;
    for (int round = 0; round < 1500; round++) {
        const Target a = partial.next(), b = partial.next(), c = partial.next();
        const auto ab = join(a, b), ba = join(b, a), bc = join(b, c);
        EXPECT_EQ(bytes_of(ab), bytes_of(ba)) << print(a) << print(b);
        EXPECT_EQ(bytes_of(join(a, a)), canonical_bytes(a)) << print(a);
        const auto left = ab ? join(*ab, c) : ab, right = bc ? join(a, *bc) : bc;
        EXPECT_EQ(bytes_of(left), bytes_of(right)) << canonical_bytes(a) << canonical_bytes(b) << canonical_bytes(c);
        (left ? joined : refused)++;
        if (!ab) {
            EXPECT_EQ(ab.error().front().params.front().first, "path");
            continue;
        }
        // What is of both satisfies each, as long as the other one does not take away what its CPU has.
        for (const Target* one : {&a, &b}) {
            if (print(*ab).find("-avx2") != std::string::npos) continue;
            EXPECT_EQ(unsatisfied(*one, *ab), std::vector<std::string>()) << print(*one) << print(*ab);
        }
        EXPECT_EQ(bytes_of(with_defaults(a, b)), bytes_of(ab));
    }
    EXPECT_GT(joined, 100);
    EXPECT_GT(refused, 100);
}

TEST(Targets16, DefaultsFillWhatIsOpenAndAreAssociative) {
    Partial partial(61);
    int filled = 0;
    for (int round = 0; round < 1500; round++) {
        const Target a = partial.next(), b = partial.next(), c = partial.next();
        const auto ab = with_defaults(a, b), bc = with_defaults(b, c);
        if (!ab || !bc) continue;
        const auto left = with_defaults(*ab, c), right = with_defaults(a, *bc);
        if (!left || !right) continue;
        EXPECT_EQ(bytes_of(left), bytes_of(right)) << canonical_bytes(a) << canonical_bytes(b) << canonical_bytes(c);
        filled++;
        const auto known = [](const Target& target, const char* name) {
            return is_known(target, *find_target_field(name));
        };
        EXPECT_EQ(known(*ab, "cores"), known(a, "cores") || known(b, "cores"));
        if (known(a, "cores")) {
            EXPECT_EQ(ab->cores, a.cores);
        }
    }
    EXPECT_GT(filled, 300);
    // What follows from other fields does so anew.
    EXPECT_EQ(with_defaults(read(R"({"cores": 3})"), read(R"({"cpu": "haswell"})"))->vector_bytes, 32);
}

TEST(Targets16, AConflictNamesTheFieldAndBothValues) {
    EXPECT_EQ(said(join(read(R"({"cores": 3})"), read(R"({"cores": 4})"))), "$.cores is both 3 and 4");
    EXPECT_EQ(said(join(read(R"({"features": "+avx2"})"), read(R"({"features": "-avx2"})"))),
              "$.features is both +avx2 and -avx2");
    EXPECT_EQ(
        said(join(read(R"({"arch": "aarch64"})"), read(R"({"cpu": "znver4"})"))).find("$.cpu is both 'znver4' and"),
        0u);
    EXPECT_EQ(said(join(read(R"({"kind": "cuda"})"), read(R"({"vector_bytes": 32})"))),
              "$.vector_bytes is both 32 and no field of kind 'cuda'");
}

// Down to single devices and up again, at each level.
Target there_and_back(const Target& target) {
    Decomposition parts = decompose(target);
    for (TargetPart& part : parts.parts) part.target = there_and_back(part.target);
    std::ranges::reverse(parts.parts);
    const auto again = recompose(parts);
    EXPECT_TRUE(again) << render(again.error());
    return again ? *again : Target{};
}

std::string cluster() {
    return std::string(R"({"machines": {"one": {"target": )") + large_machine +
           R"(}, "two": {"target": "nvidia/jetson-nano"}, "three": {"target": {"tag": "aws/c5", "cores": 2}}},
           "links": [{"from": "one/gpu0", "to": "two", "bandwidth": 1e9, "latency": 1e-4}]})";
}

TEST(Targets18, AClusterComesApartIntoMachinesDevicesWithHostsAndDevicesAndTogetherAgain) {
    const Target whole = read(cluster());
    EXPECT_EQ(whole.level(), TargetLevel::cluster);
    const Decomposition machines = decompose(whole);
    ASSERT_EQ(machines.parts.size(), 3u);
    EXPECT_EQ(machines.parts[0].target.level(), TargetLevel::machine);
    const Decomposition devices = decompose(machines.parts[0].target);
    ASSERT_EQ(devices.parts.size(), 5u);
    EXPECT_EQ(devices.parts[2].name, "gpu0");
    EXPECT_EQ(devices.parts[2].target.level(), TargetLevel::device_with_host);
    EXPECT_EQ(devices.parts[2].target.host->cores, 8);
    EXPECT_EQ(devices.parts[4].target.host->cores, 4);
    const Decomposition alone = decompose(devices.parts[2].target);
    ASSERT_EQ(alone.parts.size(), 2u);
    EXPECT_EQ(alone.parts[0].target.level(), TargetLevel::device);
    EXPECT_TRUE(decompose(alone.parts[0].target).parts.empty());

    const Target again = there_and_back(whole);
    EXPECT_TRUE(is_same(again, whole)) << canonical_bytes(again) << canonical_bytes(whole);
    for (const auto form : {TargetText::written, TargetText::expanded, TargetText::complete})
        EXPECT_EQ(print(again, form), print(whole, form));
    for (const auto& [name, tag] : TargetTags::built_in().all()) {
        const Target target = *TargetTags::built_in().target(name);
        EXPECT_EQ(print(there_and_back(target), TargetText::written), print(target, TargetText::written)) << name;
        EXPECT_TRUE(is_same(there_and_back(target), target)) << name;
    }
}

TEST(Targets18, PartsThatDoNotFitAreRefused) {
    const Target machine = read(large_machine);
    Decomposition parts = decompose(machine);
    parts.parts.pop_back();
    EXPECT_EQ(code_of(recompose(parts)), "target.system");
    parts = decompose(machine);
    parts.parts.push_back({"more", read("{}")});
    EXPECT_EQ(code_of(recompose(parts)), "target.system");
    parts.parts.back().name = "npu";
    EXPECT_EQ(code_of(recompose(parts)), "target.system");
    parts = decompose(machine);
    parts.parts[2].target.host = std::make_shared<const Target>(read(R"({"cpu": "haswell"})"));
    EXPECT_EQ(code_of(recompose(parts)), "target.host_conflict");
    EXPECT_EQ(said(recompose(parts)),
              "'gpu0' has the host 'cpu x86_64 haswell', and in the machine 'big', which is 'cpu x86_64 znver4'");
    EXPECT_EQ(code_of(recompose(decompose(decompose(machine).frame))), "target.system");
    // A part that has changed is taken.
    parts = decompose(machine);
    parts.parts[3].target.cores = 7;
    EXPECT_EQ(recompose(parts)->devices[3].target->cores, 7);
}

TEST(Targets22, RecordsAreFoundByWorkloadAndTheNearestTargetThatTheyHoldFor) {
    TargetRecords records;
    const auto add = [&](const char* target, const char* contents) {
        records.add("conv 3x3", {read(target), contents});
    };
    add(R"("skylake-avx512")", "of skylake-avx512");
    EXPECT_FALSE(records.find("conv 3x3", read(R"("cortex-a72")")));
    EXPECT_FALSE(records.find("conv 5x5", read(R"("skylake-avx512")")));
    // By any route to the same target.
    const auto exact = records.find("conv 3x3", read(R"({"abi": "gnu", "os": "linux", "mcpu": "skylake-avx512"})"));
    ASSERT_TRUE(exact);
    EXPECT_TRUE(exact->exact);
    EXPECT_EQ(exact->reason, "a record of 'cpu x86_64 skylake-avx512' itself");

    // znver4 is none of them, and it is what x86-64-v3 asks for.
    const Target znver4 = read(R"("znver4")");
    EXPECT_FALSE(records.find("conv 3x3", znver4));
    add(R"({"kind": "cpu"})", "of any CPU");
    add(R"({"cpu": "x86-64-v3"})", "of x86-64-v3");
    add(R"({"cpu": "x86-64-v2"})", "of x86-64-v2");
    add(R"({"cpu": "haswell"})", "of haswell");
    EXPECT_EQ(records.size(), 5u);
    const auto near = records.find("conv 3x3", znver4);
    ASSERT_TRUE(near);
    EXPECT_FALSE(near->exact);
    EXPECT_EQ(near->record->contents, "of x86-64-v3");
    EXPECT_EQ(near->reason.find("a record of 'cpu x86_64 x86-64-v3', which 'znver4' satisfies; beyond it: "), 0u)
        << near->reason;
    EXPECT_NE(std::ranges::find(near->beyond, "$.cpu"), near->beyond.end());
    EXPECT_EQ(records.find("conv 3x3", read(R"("cortex-a72")"))->record->contents, "of any CPU");
    // A machine with more of what is counted.
    const Target c5 = *TargetTags::built_in().target("aws/c5.large");
    EXPECT_EQ(records.find("conv 3x3", c5)->record->contents, "of skylake-avx512");
    records.add("conv 3x3", {c5, "of c5.large"});
    EXPECT_EQ(records.find("conv 3x3", *TargetTags::built_in().target("aws/c5.xlarge"))->record->contents,
              "of c5.large");
    EXPECT_EQ(records.find("conv 3x3", read(R"("skylake-avx512")"))->record->contents, "of skylake-avx512");
    records.add("conv 3x3", {c5, "of c5.large again"});
    EXPECT_EQ(records.find("conv 3x3", c5)->record->contents, "of c5.large again");
    EXPECT_EQ(records.size(), 6u);
}

TEST(Targets22, RecordsOfClustersAreFoundByTheirMachinesAtAnySpeedOfLinks) {
    const auto cluster = [](int count, const char* bandwidth) {
        return read(R"({"machines": {"n": {"target": "aws/c5", "count": )" + std::to_string(count) +
                    R"(}}, "links": [{"from": "n", "to": "n", "latency": 1e-5, "bandwidth": )" + bandwidth + "}]}");
    };
    TargetRecords records;
    records.add("cut of resnet", {cluster(4, "1e9"), "of four"});
    EXPECT_FALSE(records.find("cut of resnet", cluster(3, "1e9")));
    EXPECT_TRUE(records.find("cut of resnet", cluster(4, "1e9"))->exact);
    const auto faster = records.find("cut of resnet", cluster(4, "2e9"));
    ASSERT_TRUE(faster);
    EXPECT_FALSE(faster->exact);
    EXPECT_TRUE(faster->beyond.empty());
    EXPECT_EQ(faster->reason, "a record of 'cluster', which 'cluster' satisfies, at other speeds");
    EXPECT_EQ(records.find("cut of resnet", cluster(8, "1e9"))->beyond, std::vector<std::string>{"$.machines.n.count"});
    EXPECT_FALSE(records.find("cut of resnet", read(R"({"machines": {"n": {"target": "aws/c6g", "count": 4}}})")));
}

TEST(Targets22, WhatIsMissingIsSaid) {
    EXPECT_EQ(unsatisfied(read(R"({"cpu": "skylake-avx512"})"), read(R"({"cpu": "haswell"})")).front(),
              "$.cpu is 'haswell', not 'skylake-avx512'");
    EXPECT_EQ(unsatisfied(read(R"({"cores": 4})"), read(R"({"cores": 2})")),
              std::vector<std::string>{"$.cores is 2, not at least 4"});
    EXPECT_EQ(unsatisfied(read(R"({"cores": 4})"), read("{}")),
              std::vector<std::string>{"$.cores is not known, not at least 4"});
    EXPECT_EQ(unsatisfied(read(R"({"features": "+avx2"})"), read(R"({"cpu": "x86-64-v2"})")),
              std::vector<std::string>{"$.features lack avx2"});
    EXPECT_EQ(unsatisfied(read(R"({"features": "+avx2"})"), read(R"({"cpu": "znver4"})")), std::vector<std::string>());
    EXPECT_EQ(unsatisfied(read(R"({"kind": "cuda"})"), read("{}")),
              std::vector<std::string>{"$.kind is cpu, not cuda"});
    EXPECT_FALSE(unsatisfied(read(large_machine), read(R"("nvidia/jetson-nano")")).empty());
    EXPECT_TRUE(unsatisfied(read(large_machine), read(large_machine)).empty());
}

// The members of all objects in another order.
nlohmann::ordered_json shuffled(const nlohmann::ordered_json& json, std::mt19937_64& random) {
    if (!json.is_object()) return json;
    std::vector<std::pair<std::string, nlohmann::ordered_json>> members;
    for (const auto& [name, value] : json.items()) members.emplace_back(name, shuffled(value, random));
    std::shuffle(members.begin(), members.end(), random);
    nlohmann::ordered_json again = nlohmann::ordered_json::object();
    for (auto& [name, value] : members) again[name] = std::move(value);
    return again;
}

TEST(Targets23, AnyOrderAndAnyRouteGivesTheSameBytesAndHash) {
    std::mt19937_64 random(23);
    std::vector<std::string> texts = {large_machine, cluster()};
    for (const auto& [name, tag] : TargetTags::built_in().all()) texts.push_back("\"" + name + "\"");
    for (const std::string& text : texts) {
        const Target target = read(text);
        const auto json = nlohmann::ordered_json::parse(print(target, TargetText::expanded));
        for (int i = 0; i < 4; i++) {
            const Target again = read(shuffled(json, random).dump());
            EXPECT_EQ(canonical_bytes(again), canonical_bytes(target)) << text;
            EXPECT_EQ(hash_text(again), hash_text(target));
        }
    }
    // JSON, a tag with overrides, code, other names.
    const std::string hash = hash_text(read(R"({"cpu": "skylake-avx512", "os": "linux", "abi": "gnu", "cores": 4})"));
    EXPECT_EQ(hash_text(read(R"({"tag": "skylake-avx512", "cores": 4})")), hash);
    EXPECT_EQ(hash_text(read(R"({"num-cores": 4, "tag": "skylake-avx512", "features": "+avx512f,+fma"})")), hash);
    EXPECT_EQ(
        hash_text(read(R"({"num-cores": 4, "tag": "skylake-avx512", "features": ["fma", "avx2"], "name": "mine"})")),
        hash);
    Target made = read(R"("skylake-avx512")");
    made.cores = 4;
    EXPECT_EQ(hash_text(made), hash);
    EXPECT_EQ(hash.size(), 32u);
    EXPECT_EQ(hash, "c39119542ad7e4b135f473deacdc547e");  // on every system
    EXPECT_NE(hash_text(read(R"({"tag": "skylake-avx512", "cores": 5})")), hash);
    EXPECT_NE(hash_text(read(R"({"tag": "skylake-avx512", "cores": 4, "features": "-avx2"})")), hash);
    // Detection.
    const Target host = detect_host();
    EXPECT_EQ(hash_text(read(print(host, TargetText::expanded))), hash_text(host));
}

TEST(Targets24, OneTableOfFieldsIsTheJsonSchemaOfAllLevels) {
    const auto schema = nlohmann::json::parse(target_json_schema());
    const auto& object = schema["definitions"]["target"]["anyOf"][1];
    for (const auto& field : target_fields()) {
        const auto& property = object["properties"][field.name];
        const std::string text = property.dump();
        EXPECT_NE(text.find(field.meaning), std::string::npos) << field.name;
        EXPECT_NE(text.find(field.unit), std::string::npos) << field.name;
    }
    const auto check = [&](const char* definition, const auto& fields) {
        const auto& entry = schema["definitions"][definition];
        EXPECT_EQ(entry["properties"].size(), fields.size());
        EXPECT_EQ(entry["additionalProperties"], false);
        for (const auto& field : fields) {
            EXPECT_TRUE(entry["properties"].contains(field.name)) << field.name;
            const auto required = entry.value("required", std::vector<std::string>());
            EXPECT_EQ(std::ranges::find(required, field.name) != required.end(), field.required) << field.name;
        }
    };
    check("device", device_fields());
    check("scope", scope_fields());
    check("link", link_fields());
    check("machine", machine_fields());
    // Which level has which field: what the schema rules out, the reader refuses as of another level.
    ASSERT_EQ(object["allOf"].size(), target_kinds().size());
    for (const auto& rule : object["allOf"]) {
        const std::string kind = rule["if"]["properties"]["kind"]["const"];
        for (const auto& field : target_fields()) {
            const auto& without = rule["then"]["properties"];
            const auto target = parse(R"({"kind": ")" + kind + R"(", ")" + field.name + R"(": null})");
            const bool ruled_out = without.contains(field.name) && without[field.name] == false;
            if (std::string_view(field.name) == "kind") continue;
            ASSERT_FALSE(target);
            EXPECT_EQ(codes(target).front() == "target.level", ruled_out) << kind << " " << field.name;
        }
    }
}

TEST(Targets25, FiguresAreAskedOfTheConstraintAloneOrSaidToBeMissing) {
    const Target target = read(R"({"cpu": "skylake-avx512"})");
    EXPECT_EQ(ask(target, "vector_bytes")->value, "64");
    EXPECT_EQ(origin_text(ask(target, "vector_bytes")->origin), "from cpu skylake-avx512");
    EXPECT_EQ(ask(target, "l2_bytes")->value, "1048576");
    EXPECT_EQ(ask(target, "arch")->value, "\"x86_64\"");
    EXPECT_NE(ask(target, "features")->value.find("+avx512f,"), std::string::npos);
    const auto cores = ask(target, "cores");
    EXPECT_EQ(code_of(cores), "target.unknown_fact");
    EXPECT_EQ(cores.error().front().remedy, "add {\"cores\": ...}");
    EXPECT_EQ(ask(target, "memory_bytes").error().front().remedy, "add {\"memory_bytes\": ...}, in bytes");
    EXPECT_EQ(code_of(ask(target, "core")), "target.unknown_key");
    EXPECT_EQ(ask(read(R"({"tag": "aws/c5", "memory_bytes": 1000})"), "memory_bytes")->value, "1000");
    EXPECT_EQ(ask(read(R"({"kind": "cuda", "arch": "sm_53"})"), "workgroup_bytes")->value, "49152");
    // Features come with others, and go with them.
    EXPECT_NE(ask(read(R"({"arch": "x86_64", "features": "+avx512f"})"), "features")->value.find("+avx2,"),
              std::string::npos);
    EXPECT_EQ(ask(read(R"({"cpu": "skylake-avx512", "features": "-avx"})"), "vector_bytes")->value, "16");
    EXPECT_EQ(ask(read(R"({"cpu": "skylake-avx512", "features": "-popcnt"})"), "vector_bytes")->value, "64");
    EXPECT_EQ(hash_text(read(R"({"arch": "x86_64", "features": "+avx2"})")),
              hash_text(read(R"({"arch": "x86_64", "features": "+avx2,+avx,+sse4.2"})")));
    // A vector has what the features give it, whatever the CPU is.
    EXPECT_EQ(ask(read(R"({"cpu": "skylake-avx512", "features": "-avx512f"})"), "vector_bytes")->value, "32");
    EXPECT_EQ(ask(read(R"({"arch": "x86_64"})"), "vector_bytes")->value, "16");
    EXPECT_EQ(ask(read(R"({"arch": "aarch64"})"), "vector_registers")->value, "32");
    EXPECT_EQ(code_of(ask(Target{}, "vector_bytes")), "target.unknown_fact");
    // LLVM knows more CPUs than we know caches of; it is said which.
    EXPECT_EQ(code_of(ask(read(R"({"cpu": "knl"})"), "l2_bytes")), "target.unknown_fact");
    EXPECT_EQ(ask(read(R"({"cpu": "spacemit-x60"})"), "vector_bytes")->value, "32");
}

TEST(TargetFacts, EachCpuOfTheFiguresIsOneOfItsInstructionSet) {
    for (const char* arch : {"x86_64", "aarch64", "armv7", "thumb", "riscv64", "riscv32", "wasm32"}) {
        const InstructionSet* set = find_instruction_set(arch);
        ASSERT_TRUE(set) << arch;
        EXPECT_TRUE(set->cpus.contains(set->baseline)) << arch;
        for (const std::string& level : set->levels) EXPECT_TRUE(set->cpus.contains(level)) << level;
        for (const auto& [cpu, figures] : set->figures) {
            EXPECT_TRUE(set->cpus.contains(cpu)) << cpu;
            for (const JsonValue& figure : figures.items) EXPECT_TRUE(find_target_field(figure.name)) << figure.name;
        }
        for (const auto& [cpu, features] : set->cpus) {
            Target target;
            target.arch = arch;
            target.cpu = cpu;
            for (const std::string& feature : features_of(target))
                EXPECT_TRUE(set->features.contains(feature)) << feature;
            derive(target);
            EXPECT_GE(target.vector_bytes, 8) << cpu;
        }
    }
    for (const KindFacts& kind : target_kinds()) {
        for (const auto& [arch, figures] : kind.architectures) {
            for (const JsonValue& figure : figures.items) {
                const auto* field = find_target_field(figure.name);
                ASSERT_TRUE(field) << figure.name;
                EXPECT_TRUE(kind.has_group(field->group)) << figure.name;
            }
        }
    }
}

TEST(TargetFacts, TriplesAreLlvms) {
    const auto triple = [](const std::string& tag) { return llvm_triple(*TargetTags::built_in().target(tag)); };
    EXPECT_EQ(triple("aws/c5"), "x86_64-unknown-linux-gnu");
    EXPECT_EQ(triple("arm/rasp4b"), "armv7a-unknown-linux-gnueabihf");
    EXPECT_EQ(triple("arm/rasp4b64"), "aarch64-unknown-linux-gnu");
    EXPECT_EQ(triple("st/nucleo-f446re"), "thumbv7em-unknown-none-eabihf");
    EXPECT_EQ(triple("raspberry/pico"), "thumbv6m-unknown-none-eabi");
    EXPECT_EQ(triple("nordic/nrf5340-dk"), "thumbv8m.main-unknown-none-eabihf");
    EXPECT_EQ(triple("qemu/riscv64-virt"), "riscv64-unknown-none-elf");
    EXPECT_EQ(triple("starfive/visionfive2"), "riscv64-unknown-linux-gnu");
    EXPECT_EQ(triple("apple/m1:cpu"), "aarch64-apple-macos");
    EXPECT_EQ(triple("wasm32"), "wasm32-unknown-unknown");
    EXPECT_EQ(triple("nvidia/t4"), "");
}

TEST(TargetExplain, EachValueSaysWhoSaysIt) {
    const auto rows = explain_target(read(R"({"tag": "nvidia/jetson-nano:cuda", "host": {"cores": 2}})"), false);
    const auto origin = [&](const std::string& path) {
        const auto found = std::ranges::find(rows, path, &TargetRow::path);
        return found == rows.end() ? "absent" : origin_text(found->origin);
    };
    EXPECT_EQ(origin("$.arch"), "tag nvidia/jetson-nano:cuda");
    EXPECT_EQ(origin("$.subgroup_lanes"), "from arch sm_53");
    EXPECT_EQ(origin("$.host.cores"), "override");
    EXPECT_EQ(origin("$.host.vector_bytes"), "from cpu cortex-a57");
    EXPECT_EQ(origin("$.launch_seconds"), "absent");
    const auto all = explain_target(read(R"({"cpu": "haswell"})"), true);
    const auto assumed = std::ranges::find(all, "$.bandwidth", &TargetRow::path);
    ASSERT_NE(assumed, all.end());
    EXPECT_EQ(origin_text(assumed->origin), "assumed");
    EXPECT_EQ(assumed->unit, "bytes/second");
}

TEST(TargetDifference, TwoTargetsDifferInTheFactsThatDiffer) {
    const auto rows = difference(read(R"({"cpu": "haswell", "cores": 4, "host": {"cores": 1}})"),
                                 read(R"({"cpu": "haswell", "cores": 8, "memory_bytes": 9})"));
    std::vector<std::string> texts;
    for (const TargetDifference& row : rows) texts.push_back(row.path + " " + row.a + " " + row.b);
    EXPECT_EQ(texts, (std::vector<std::string>{"$.cores 4 8", "$.host.cores 1 ", "$.memory_bytes  9"}));
    EXPECT_TRUE(difference(read(R"("aws/c5")"), read(print(read(R"("aws/c5")"), TargetText::expanded))).empty());
}

TEST(TargetTexts, HostileOnesAreRefused) {
    EXPECT_EQ(code_of(parse(std::string(100000, '['))), "target.limit");
    std::string hosts;
    for (int i = 0; i < 1000; i++) hosts += "{\"host\":";
    EXPECT_EQ(code_of(parse(hosts)), "target.limit");
    EXPECT_EQ(code_of(parse(std::string((1 << 20) + 1, ' '))), "target.limit");
    EXPECT_EQ(code_of(parse(R"({"cores": 1, "cores": 2})")), "target.key");
    for (const char* value : {"1e999", "1e400", "-1", "0", "1e30", "99999999999999999999999", "2147483648", "1.5",
                              "null", "true", "[]", "{}", "\"4\""}) {
        const std::string code = code_of(parse(std::string(R"({"cores": )") + value + "}"));
        EXPECT_TRUE(code == "target.value" || code == "target.syntax") << value << " " << code;
    }
    for (const char* text : {R"({"bandwidth": 1e999})",
                             R"({"bandwidth": 0})",
                             R"({"bandwidth": -1.0})",
                             R"({"tag": 4})",
                             R"({"tag": null})",
                             R"({"host": 4})",
                             R"({"host": []})",
                             R"({"devices": []})",
                             R"({"devices": {}})",
                             R"({"devices": {"a": 4}})",
                             R"({"devices": {"a": {"target": 4}}})",
                             R"({"kind": []})",
                             R"({"features": [1]})",
                             R"({"options": {"a": 1}})",
                             R"({"options": []})",
                             R"({"schema": "1"})",
                             R"({"devices": {"a": {"target": {}, "scopes": 1}}})",
                             R"({"devices": {"a": {"target": {}}}, "links": 1})",
                             R"({"devices": {"a": {"target": {}}}, "links": [1]})",
                             R"({"machines": {"a": null}})",
                             R"({"host": {"host": {"host": {}}}})",
                             "4",
                             "null",
                             "\"\"",
                             "\":\"",
                             "\"aws/c5:\"",
                             ""}) {
        EXPECT_FALSE(parse(text)) << text;
    }
}

}  // namespace
}  // namespace heddle
