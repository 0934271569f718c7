// The points of the target's requirements, by their numbers.
#include "reading.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace heddle {
namespace {

constexpr const char* published = R"({"kind":"cuda","arch":"sm_90","host":{"kind":"cpu","mcpu":"znver4"}})";

TEST(Targets1, TheDeviceWithItsHostParsesPrintsAndParsesBackEqual) {
    const Target target = read(published);
    EXPECT_EQ(target.kind, "cuda");
    EXPECT_EQ(target.arch, "sm_90");
    ASSERT_TRUE(target.host);
    EXPECT_EQ(target.host->cpu, "znver4");
    EXPECT_EQ(target.level(), TargetLevel::device_with_host);
    for (const auto form : {TargetText::written, TargetText::expanded, TargetText::complete}) {
        const Target again = read(print(target, form));
        EXPECT_EQ(print(again, form), print(target, form));
        if (form != TargetText::complete) {
            EXPECT_TRUE(is_same(again, target)) << canonical_bytes(again) << canonical_bytes(target);
        }
    }
    EXPECT_EQ(
        print(read(R"({"kind":"cuda","arch":"sm_90","host":{"kind":"cpu","cpu":"znver4"}})"), TargetText::written),
        print(target, TargetText::written));
}

TEST(Targets5, AHostIsChosenAndRecordedWhereNoneIsGiven) {
    const Target target = with_default_host(read(R"({"kind": "cuda", "arch": "sm_90"})"));
    ASSERT_TRUE(target.host);
    EXPECT_EQ(target.host->kind, "cpu");
    EXPECT_EQ(origin_text(target.origins.at("host")), "default of kind cuda");
    EXPECT_EQ(origin_text(target.host->origins.at("arch")), "default of kind cuda");
    EXPECT_TRUE(is_same(read(print(target, TargetText::written)), target));
    // What has one keeps it, and what needs none gets none.
    const Target own = read(published);
    EXPECT_TRUE(is_same(with_default_host(own), own));
    EXPECT_FALSE(with_default_host(read(R"({"cpu": "znver4"})")).host);
    for (const KindFacts& kind : target_kinds()) {
        if (!kind.needs_host) continue;
        Target device;
        device.kind = kind.name;
        EXPECT_TRUE(with_default_host(device).host) << kind.name;
    }
}

TEST(Targets5, ASecondHostIsAnErrorThatNamesBoth) {
    const Target device = read(published);
    EXPECT_TRUE(with_host(device, read(R"({"cpu": "znver4"})")));
    const auto conflict = with_host(device, read(R"({"cpu": "cortex-a72"})"));
    EXPECT_EQ(code_of(conflict), "target.host_conflict");
    EXPECT_EQ(said(conflict),
              "'cuda sm_90' has the host 'cpu x86_64 znver4', and 'cpu aarch64 cortex-a72' is a second one");
    EXPECT_EQ(code_of(with_host(device, device)), "target.value");
    const auto joined = join(device, read(R"({"kind": "cuda", "host": {"cpu": "cortex-a72"}})"));
    EXPECT_EQ(code_of(joined), "target.conflict");
    EXPECT_EQ(said(joined), "$.host.cpu is both 'znver4' and 'cortex-a72'");
    // A GPU launches nothing.
    EXPECT_EQ(code_of(parse(R"({"kind": "cuda", "host": {"kind": "webgpu"}})")), "target.value");
    EXPECT_EQ(code_of(parse(R"({"host": {"host": {"kind": "cpu"}}})")), "target.value");
}

TEST(Targets9, TheSameTextIsTheSameBytesAndDetectionIsACallOfItsOwn) {
    const std::string one = canonical_bytes(read(published));
    ASSERT_EQ(setenv("XDG_CONFIG_HOME", "/nowhere", 1), 0);
    EXPECT_EQ(canonical_bytes(read(published)), one);
    EXPECT_EQ(one,
              "heddle target 1\n"
              R"({"arch":"sm_90","host":{"arch":"x86_64","cpu":"znver4","fma_latency":4,"fma_per_cycle":1.0,)"
              R"("kind":"cpu","l1_bytes":32768,"l2_bytes":1048576,"loads_per_cycle":1.0,"vector_bytes":64,)"
              R"("vector_registers":32},"kind":"cuda","maximum_workgroup":1024,"maximum_workgroups_axis":65535,)"
              R"("registers_per_core":65536,"subgroup_lanes":32,"workgroup_bytes":232448})"
              "\n");
    EXPECT_EQ(detect_host().name, "host");
}

TEST(Targets10, ATagNamesADeviceASystemOrAPartOfOne) {
    const auto& tags = TargetTags::built_in();
    for (const char* name :
         {"aws/c5", "arm/rasp4b", "nvidia/jetson-nano", "nvidia/jetson-nano:cuda", "nvidia/jetson-nano:cpu"}) {
        const auto target = tags.target(name);
        ASSERT_TRUE(target) << name << render(target.error());
        EXPECT_EQ(target->tag, name);
        EXPECT_NE(print(*target, TargetText::written).find(name), std::string::npos);
        EXPECT_TRUE(is_same(read(print(*target, TargetText::written)), *target)) << name;
        EXPECT_TRUE(is_same(read(print(*target, TargetText::expanded)), *target)) << name;
    }
    const Target nano = *tags.target("nvidia/jetson-nano");
    EXPECT_EQ(nano.level(), TargetLevel::machine);
    const Target gpu = *tags.target("nvidia/jetson-nano:cuda");
    EXPECT_EQ(gpu.arch, "sm_53");
    ASSERT_TRUE(gpu.host);
    EXPECT_EQ(gpu.host->cpu, "cortex-a57");
    EXPECT_EQ(tags.target("nvidia/jetson-nano:cpu")->level(), TargetLevel::device);
    const auto part = tags.target("nvidia/jetson-nano:cudo");
    EXPECT_EQ(code_of(part), "target.unknown_part");
    EXPECT_EQ(said(part), "'nvidia/jetson-nano' has no part 'cudo'; the nearest is 'cuda'");
    EXPECT_EQ(code_of(tags.target("aws/c5:cpu")), "target.unknown_part");
    EXPECT_EQ(gpu.name, "nvidia/jetson-nano:cuda");
    EXPECT_EQ(tags.target("aws/c5.large")->name, "aws/c5.large");
    EXPECT_EQ(read(R"({"cpu": "znver4"})").name, "znver4");
    // Where a target may stand, a tag may stand.
    const Target host = read(R"({"kind": "cuda", "arch": "sm_75", "host": "aws/c5"})");
    EXPECT_EQ(host.host->tag, "aws/c5");
    EXPECT_EQ(host.host->cores, 36);
    EXPECT_EQ(read(R"("aws/c5")").cores, 36);
}

TEST(Targets11, OverridesMergeDeeplyAndPrintAsTheTagAndThem) {
    const Target target = read(R"({"tag": "nvidia/jetson-nano:cuda", "host": {"num-cores": 2}, "cores": 3})");
    EXPECT_EQ(target.arch, "sm_53");
    EXPECT_EQ(target.cores, 3);
    EXPECT_EQ(target.host->cores, 2);
    EXPECT_EQ(target.host->cpu, "cortex-a57");  // beside it the tag's
    EXPECT_EQ(print(target, TargetText::written),
              "{\n  \"tag\": \"nvidia/jetson-nano:cuda\",\n  \"cores\": 3,\n  \"host\": {\n    \"cores\": 2\n  }\n}\n");
    EXPECT_TRUE(is_same(read(print(target, TargetText::written)), target));
    EXPECT_TRUE(is_same(read(print(target, TargetText::expanded)), target));
    EXPECT_EQ(origin_text(target.origins.at("cores")), "override");
    EXPECT_EQ(origin_text(target.origins.at("arch")), "tag nvidia/jetson-nano:cuda");
    EXPECT_EQ(origin_text(target.host->origins.at("cores")), "override");
    EXPECT_EQ(origin_text(target.host->origins.at("cpu")), "tag nvidia/jetson-nano:cuda");
    // What follows from a field follows from its override.
    const Target other = read(R"({"tag": "aws/c5", "cpu": "haswell"})");
    EXPECT_EQ(other.vector_bytes, 32);
    EXPECT_EQ(origin_text(other.origins.at("vector_bytes")), "from cpu haswell");
    // Into a device of a system; another tag takes the old one's place.
    const Target deep = read(R"({"tag": "nvidia/jetson-nano", "devices": {"cuda": {"target": {"cores": 2}}}})");
    EXPECT_EQ(deep.devices[1].target->cores, 2);
    EXPECT_EQ(deep.devices[1].target->arch, "sm_53");
    EXPECT_EQ(read(R"({"tag": "nvidia/jetson-nano:cuda", "host": "aws/c7g"})").host->cpu, "neoverse-v1");
}

TEST(Targets12, WhatIsUnknownHasItsPathAndTheNearestNameOnOneLine) {
    const auto first_line = [](const std::string& text) {
        const auto target = parse(text);
        return target ? "" : render(target.error()).substr(0, render(target.error()).find('\n'));
    };
    EXPECT_EQ(first_line(R"({"tag": "aws/c55"})"),
              "t.json:1:9: error[target.unknown_tag]: $.tag: there is no tag 'aws/c55'; the nearest is 'aws/c5'");
    EXPECT_EQ(first_line(R"({"kind": "cude"})"),
              "t.json:1:10: error[target.unknown_kind]: $.kind: there is no kind 'cude'; the nearest is 'cuda'");
    EXPECT_EQ(first_line(R"({"kind": "cuda", "host": {"l2_byte": 1}})"),
              "t.json:1:38: error[target.unknown_key]: $.host.l2_byte: a target has no field 'l2_byte'; the nearest is "
              "'l2_bytes'");
    EXPECT_EQ(first_line(R"({"kind": "cuda", "host": {"cpu": "znver44"}})"),
              "t.json:1:34: error[target.unknown_value]: $.host.cpu: a target of kind 'cpu' has no cpu 'znver44'; the "
              "nearest is 'znver4'");
    EXPECT_EQ(
        first_line(R"({"kind": "cuda", "arch": "sm_91"})").find("t.json:1:26: error[target.unknown_value]: $.arch: "),
        0u);
    EXPECT_EQ(code_of(parse(R"({"arch": "aarch64", "cpu": "znver4"})")), "target.unknown_value");
    EXPECT_EQ(code_of(parse(R"({"os": "linus"})")), "target.unknown_value");
    EXPECT_EQ(code_of(parse(R"({"abi": "gnus"})")), "target.unknown_value");
    EXPECT_NE(said(parse(R"({"features": "+avx22"})")).find("nearest is 'avx2'"), std::string::npos);
    EXPECT_NE(said(parse(R"({"devices": {"a": {"targe": "aws/c5"}}})")).find("$.devices.a"), std::string::npos);
    const auto error = parse(R"({"kind": "cuda", "host": {"l2_byte": 1}})").error().front();
    EXPECT_EQ(error.params,
              (std::vector<std::pair<std::string, std::string>>{{"path", "$.host.l2_byte"}, {"nearest", "l2_bytes"}}));
    // A field of another level, or another kind.
    EXPECT_EQ(code_of(parse(R"({"kind": "cuda", "vector_bytes": 64})")), "target.level");
    EXPECT_EQ(code_of(parse(R"({"kind": "machine", "cores": 4, "devices": {"a": {"target": "aws/c5"}}})")),
              "target.level");
    EXPECT_EQ(code_of(parse(R"({"kind": "machine"})")), "target.missing");
    EXPECT_EQ(code_of(parse(R"({"kind": "library"})")), "target.missing");
    EXPECT_EQ(code_of(parse(R"({"schema": 2})")), "target.schema");
    EXPECT_TRUE(parse(R"({"schema": 1})"));
    EXPECT_EQ(code_of(parse(R"({"mcpu": "znver4", "cpu": "znver4"})")), "target.key");
}

class TargetFolder : public testing::Test {
protected:
    TargetFolder() { std::filesystem::create_directories(folder_); }
    ~TargetFolder() override { std::filesystem::remove_all(folder_); }
    void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
    Result<TargetTags> tags() {
        TargetTags all = TargetTags::built_in();
        if (auto added = all.add_folder(folder_.string()); !added) return fail(std::move(added.error()));
        return all;
    }
    const std::filesystem::path folder_ =
        std::filesystem::path(testing::TempDir()) / ("heddle_targets_" + std::to_string(getpid()));
};

using Targets13 = TargetFolder;

TEST_F(Targets13, ThereAreFortyTagsAndMoreAndEachIsWhole) {
    const auto& tags = TargetTags::built_in();
    EXPECT_GE(tags.all().size(), 40u);
    for (const auto& [name, tag] : tags.all()) {
        const auto target = tags.target(name);
        ASSERT_TRUE(target) << name << "\n" << render(target.error());
        EXPECT_FALSE(tag.means.empty()) << name;
        EXPECT_FALSE(tag.source.empty()) << name;
        EXPECT_TRUE(is_same(read(print(*target, TargetText::written)), *target)) << name;
        EXPECT_TRUE(is_same(read(print(*target, TargetText::expanded)), *target)) << name;
        for (const TargetPart& part : decompose(*target).parts) {
            const auto found = tags.target(name + ":" + part.name);
            if (target->level() == TargetLevel::device_with_host) continue;
            ASSERT_TRUE(found) << name << ":" << part.name;
            EXPECT_TRUE(is_same(*found, part.target)) << name << ":" << part.name;
        }
    }
}

TEST_F(Targets13, TheUsersFoldersAreSearchedToo) {
    write("mine.json",
          R"({"schema": 1, "tags": {"mine/box": {"means": "the box", "target": {"tag": "aws/c5", "cores": 3}},
                                                       "mine/two": {"target": {"tag": "mine/box", "l2_bytes": 4096}}}})");
    const auto all = tags();
    ASSERT_TRUE(all) << render(all.error());
    EXPECT_EQ(all->target("mine/box")->cores, 3);
    EXPECT_EQ(all->target("mine/two")->l2_bytes, 4096);
    EXPECT_EQ(all->target("mine/two")->cpu, "skylake-avx512");
    EXPECT_EQ(code_of(TargetTags::built_in().target("mine/box")), "target.unknown_tag");
    EXPECT_EQ(all->open("mine/box")->cores, 3);
    write("a_target.json", "{}");
    EXPECT_EQ(code_of(tags()), "target.tags");
}

TEST_F(Targets13, WrongFilesOfTagsAreRefused) {
    const auto code = [&](const std::string& text) {
        write("mine.json", text);
        return code_of(tags());
    };
    EXPECT_EQ(code("[]"), "target.tags");
    EXPECT_EQ(code(R"({"schema": 7, "tags": {}})"), "target.tags");
    EXPECT_EQ(code(R"({"schema": 1, "tags": {"a": {}}})"), "target.tags");
    EXPECT_EQ(code(R"({"schema": 1, "tags": {"a:b": {"target": {}}}})"), "target.tags");
    EXPECT_EQ(code(R"({"schema": 1, "tags": {"a": {"target": {}, "menas": ""}}})"), "target.tags");
    EXPECT_EQ(code(R"({"schema": 1, "tags": {"aws/c5": {"target": {}}}})"), "target.tag_twice");
    EXPECT_EQ(code_of(TargetTags().add_folder("/no/such/folder")), "target.unreadable");
    // Tags that stand for themselves, and for very many.
    write("mine.json", R"({"schema": 1, "tags": {"a": {"target": {"tag": "b"}}, "b": {"target": {"tag": "a"}}}})");
    EXPECT_EQ(code_of(tags()->target("a")), "target.tag_depth");
    std::string many = R"({"schema": 1, "tags": {"t0": {"target": {"cpu": "znver4"}})";
    for (int depth = 1; depth < 8; depth++) {
        many += ", \"t" + std::to_string(depth) + "\": {\"target\": {\"devices\": {";
        for (int i = 0; i < 40; i++) {
            many += (i ? ", \"d" : "\"d") + std::to_string(i) + R"(": {"target": "t)" + std::to_string(depth - 1) +
                    "\", \"id\": " + std::to_string(i) + "}";
        }
        many += "}}}";
    }
    write("mine.json", many + "}}");
    EXPECT_EQ(code_of(tags()->target("t7")), "target.limit");
}

TEST(Targets14, TwoCpusTwoGpusAndAnAcceleratorPrintAndParseBack) {
    const Target machine = read(large_machine);
    EXPECT_EQ(machine.level(), TargetLevel::machine);
    ASSERT_EQ(machine.devices.size(), 5u);
    EXPECT_EQ(machine.devices[2].scopes.size(), 2u);
    EXPECT_EQ(machine.devices[2].scopes[0].bandwidth, 3.3e12);
    EXPECT_EQ(machine.devices[3].id, 1);
    EXPECT_FALSE(machine.links[1].both_ways);
    for (const auto form : {TargetText::written, TargetText::expanded, TargetText::complete}) {
        const Target again = read(print(machine, form));
        EXPECT_EQ(print(again, form), print(machine, form));
    }
    EXPECT_TRUE(is_same(read(print(machine, TargetText::written)), machine));
}

TEST(Targets14, OneDeviceMayHaveTwoTargetsAndOneTargetTwoDevices) {
    const Target two = read(R"({"devices": {
        "wide": {"target": {"cpu": "znver4"}, "id": 0}, "narrow": {"target": {"cpu": "x86-64-v3"}, "id": 0},
        "other": {"target": {"cpu": "znver4"}, "id": 1}}})");
    EXPECT_EQ(two.devices[0].id, two.devices[1].id);
    EXPECT_FALSE(is_same(*two.devices[0].target, *two.devices[1].target));
    EXPECT_TRUE(is_same(*two.devices[0].target, *two.devices[2].target));
    // The same twice is a mistake, and so are numbers that an order of keys would give.
    EXPECT_EQ(code_of(parse(R"({"devices": {"a": {"target": {"cpu": "znver4"}, "id": 0},
                                            "b": {"target": {"cpu": "znver4"}, "id": 0}}})")),
              "target.system");
    EXPECT_EQ(code_of(parse(R"({"devices": {"a": {"target": {"cpu": "znver4"}},
                                            "b": {"target": {"cpu": "znver4"}, "id": 1}}})")),
              "target.missing");
}

TEST(Targets14, WhatDoesNotFitTogetherIsRefused) {
    const auto code = [](const std::string& inside) {
        return code_of(
            parse(R"({"devices": {"c": {"target": {"cpu": "znver4"}}, "g": {"target": {"kind": "cuda"}})" + inside));
    };
    EXPECT_EQ(code("}}"), "ok");
    EXPECT_EQ(code(R"(}, "links": [{"from": "c", "to": "h", "bandwidth": 1}]})"), "target.system");
    EXPECT_EQ(code(R"(}, "links": [{"from": "c", "to": "c", "bandwidth": 1}]})"), "target.system");
    EXPECT_EQ(code(R"(}, "links": [{"from": "c", "to": "g:local", "bandwidth": 1}]})"), "target.system");
    EXPECT_EQ(code(R"(}, "links": [{"from": "c", "to": "g"}]})"), "target.missing");
    EXPECT_EQ(code(R"(}, "links": [{"from": "c", "to": "g", "bandwidth": 0}]})"), "target.value");
    EXPECT_EQ(code(R"(, "x": {"target": {"kind": "webgpu"}, "host": "g"}}})"), "target.system");
    EXPECT_EQ(code(R"(, "x": {"target": {"kind": "webgpu"}, "host": "no"}}})"), "target.system");
    EXPECT_EQ(code(R"(, "x": {"target": "nvidia/jetson-nano"}}})"), "target.level");
    EXPECT_EQ(code(R"(, "x": {"target": {"kind": "webgpu", "host": {"cpu": "cortex-a72"}}}}})"),
              "target.host_conflict");
    EXPECT_EQ(code(R"(, "x": {"target": {"kind": "webgpu"}, "id": -1}}})"), "target.value");
    EXPECT_EQ(code(R"(, "x": {"target": {"kind": "webgpu"}, "scopes": {"a": {"bytes": 0}}}}})"), "target.value");
    EXPECT_EQ(code(R"(, "x:y": {"target": {"kind": "webgpu"}}}})"), "target.value");
    EXPECT_EQ(code_of(parse(R"({"devices": {"g": {"target": {"kind": "cuda"}}}})")), "target.system");  // who launches?
    EXPECT_EQ(code_of(parse(R"({"machines": {"a": {"target": {"machines": {"b": {"target": "aws/c5"}}}}}})")),
              "target.level");
}

}  // namespace
}  // namespace heddle
