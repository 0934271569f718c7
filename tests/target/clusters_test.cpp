// Clusters whose entries stand for several machines; machines as several processes; hosts that are found by themselves.
#include <set>

#include "reading.h"
#include "target/processes.h"

namespace heddle {
namespace {

constexpr const char* four_nodes = R"({"machines": {"node": {"target": "nvidia/jetson-nano", "count": 4},
                                                    "store": {"target": "aws/c5"}},
  "links": [{"from": "node/cuda", "to": "node/cuda", "bandwidth": 1e9, "latency": 1e-5},
            {"from": "node", "to": "store", "bandwidth": 2e9, "both_ways": false}]})";

TEST(TargetClusters, AnEntryMayStandForSeveralMachines) {
    const Target cluster = read(four_nodes);
    ASSERT_EQ(cluster.machines.size(), 2u);
    EXPECT_EQ(cluster.machines[0].count, 4);
    EXPECT_EQ(cluster.machines[0].machine_name(3), "node3");
    EXPECT_EQ(cluster.machines[1].machine_name(0), "store");
    for (const auto form : {TargetText::written, TargetText::expanded, TargetText::complete})
        EXPECT_EQ(print(read(print(cluster, form)), form), print(cluster, form));
    EXPECT_TRUE(is_same(read(print(cluster, TargetText::written)), cluster));
    EXPECT_NE(hash_text(cluster), hash_text(read(R"({"machines": {"node": {"target": "nvidia/jetson-nano"},
                                                                  "store": {"target": "aws/c5"}}})")));
    // One is what nobody writes.
    EXPECT_EQ(hash_text(read(R"({"machines": {"a": {"target": "aws/c5", "count": 1}}})")),
              hash_text(read(R"({"machines": {"a": {"target": "aws/c5"}}})")));
}

TEST(TargetClusters, ComeApartAndTogetherWithTheirCounts) {
    const Target cluster = read(four_nodes);
    const Decomposition parts = decompose(cluster);
    ASSERT_EQ(parts.parts.size(), 2u);
    EXPECT_EQ(parts.parts[0].target.level(), TargetLevel::machine);
    const auto again = recompose(parts);
    ASSERT_TRUE(again) << render(again.error());
    EXPECT_TRUE(is_same(*again, cluster));
    EXPECT_EQ(print(*again, TargetText::written), print(cluster, TargetText::written));
}

TEST(TargetClusters, EachMachineByItselfHasItsLinks) {
    const Target each = each_machine(read(four_nodes));
    ASSERT_EQ(each.machines.size(), 5u);
    EXPECT_EQ(each.machines[3].name, "node3");
    std::set<std::pair<std::string, std::string>> both, one_way;
    for (const SystemLink& link : each.links) (link.both_ways ? both : one_way).emplace(link.from, link.to);
    EXPECT_EQ(both.size(), 6u);  // each pair once
    EXPECT_TRUE(both.contains({"node0/cuda", "node3/cuda"}));
    EXPECT_EQ(one_way, (std::set<std::pair<std::string, std::string>>{
                           {"node0", "store"}, {"node1", "store"}, {"node2", "store"}, {"node3", "store"}}));
    // It is a cluster as any other, and as such stays as it is.
    EXPECT_TRUE(is_same(read(print(each, TargetText::expanded)), each));
    EXPECT_TRUE(is_same(each_machine(each), each));
    EXPECT_EQ(each_machine(read(four_nodes), 2).machines.size(), 3u);
    EXPECT_TRUE(is_same(each_machine(read("{}")), read("{}")));
    // Between devices that differ each two machines are linked in both orders.
    const Target crossed = each_machine(read(R"({"machines": {"n": {"target": "nvidia/dgx-a100", "count": 3}},
        "links": [{"from": "n/gpu0", "to": "n/gpu1", "bandwidth": 1}]})"));
    EXPECT_EQ(crossed.links.size(), 6u);
}

TEST(TargetClusters, WrongCountsAreRefused) {
    const auto code = [](const std::string& inside) {
        return code_of(parse(R"({"machines": {"node": {"target": "aws/c5", "count": )" + inside));
    };
    EXPECT_EQ(code("2}}}"), "ok");
    EXPECT_EQ(code("0}}}"), "target.value");
    EXPECT_EQ(code("-1}}}"), "target.value");
    EXPECT_EQ(code("1.5}}}"), "target.value");
    EXPECT_EQ(code("\"2\"}}}"), "target.value");
    EXPECT_EQ(code("65536}}}"), "ok");
    EXPECT_EQ(code("65537}}}"), "target.limit");
    EXPECT_EQ(code("2147483647}, \"b\": {\"target\": \"aws/c5\", \"count\": 2147483647}}}"), "target.limit");
    // The names of its machines are names like others.
    EXPECT_EQ(code(R"(2}, "node1": {"target": "aws/c5"}}})"), "target.system");
    EXPECT_EQ(code(R"(2}, "node2": {"target": "aws/c5"}}})"), "ok");
    EXPECT_EQ(code(R"(2}, "node01": {"target": "aws/c5"}}})"), "ok");
    EXPECT_EQ(code(R"(2}, "node99999999999999999999": {"target": "aws/c5"}}})"), "ok");
    EXPECT_EQ(code(R"(11}, "node1": {"target": "aws/c5", "count": 2}}})"), "target.system");  // node10
    EXPECT_EQ(code(R"(10}, "node1": {"target": "aws/c5", "count": 2}}})"), "ok");
    EXPECT_EQ(code(R"(9}, "node0": {"target": "aws/c5", "count": 2}}})"), "ok");
    EXPECT_EQ(code(R"(2}}, "links": [{"from": "node", "to": "node", "bandwidth": 1}]})"), "ok");
    EXPECT_EQ(code(R"(1}}, "links": [{"from": "node", "to": "node", "bandwidth": 1}]})"), "target.system");
    EXPECT_EQ(code(R"(2}}, "links": [{"from": "node", "to": "node1", "bandwidth": 1}]})"), "target.system");
    EXPECT_EQ(code_of(parse(R"({"devices": {"a": {"target": "aws/c5", "count": 2}}})")), "target.unknown_key");
}

TEST(TargetClusters, MoreMachinesSatisfyWhatAsksForFewer) {
    const Target few = read(R"({"machines": {"n": {"target": "aws/c5", "count": 2}}})"),
                 many = read(R"({"machines": {"n": {"target": "aws/c5", "count": 5}}})");
    EXPECT_TRUE(unsatisfied(few, many).empty());
    ASSERT_EQ(unsatisfied(many, few).size(), 1u);
    EXPECT_EQ(unsatisfied(many, few).front(), "$.machines.n.count is 2, not at least 5");
    EXPECT_EQ(said(join(few, many)), "$.machines.n.count is both 2 and 5");
    EXPECT_EQ(with_defaults(few, many)->machines[0].count, 2);
    EXPECT_TRUE(is_same(*join(few, few), few));
    const auto rows = difference(few, many);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].path, "$.machines.n.count");
}

TEST(TargetClusters, TagsOfClustersTakeAnotherCount) {
    const Target pod = read(R"({"tag": "nvidia/superpod-h100", "machines": {"node": {"count": 127}}})");
    EXPECT_EQ(pod.machines[0].count, 127);
    EXPECT_EQ(pod.machines[0].target->devices.size(), 9u);
    const auto& tags = TargetTags::built_in();
    EXPECT_EQ(tags.target("nvidia/superpod-h100:node:gpu3")->level(), TargetLevel::device_with_host);
    EXPECT_TRUE(is_same(*tags.target("nvidia/superpod-h100:node31"), *tags.target("nvidia/superpod-h100:node")));
    for (const char* part : {"node32", "node-1", "node03", "node3x", "node99999999999999", "nod"})
        EXPECT_EQ(code_of(tags.target(std::string("nvidia/superpod-h100:") + part)), "target.unknown_part") << part;
}

// Beside all names written out.
TEST(TargetClusters, NamesOccurTwiceWhereTheyAre) {
    int twice = 0;
    const std::vector<std::string> entries = {"n", "n0", "n1", "n10", "n01", "n2", "n1x"};
    for (const std::string& a : entries) {
        for (const std::string& b : entries) {
            for (const int count : {1, 2, 3, 11, 12, 21, 101}) {
                for (const int other : {1, 2, 11}) {
                    if (a == b) continue;
                    std::set<std::string> all;
                    for (int i = 0; i < count; i++) all.insert(ClusterMachine{a, nullptr, count}.machine_name(i));
                    for (int i = 0; i < other; i++) all.insert(ClusterMachine{b, nullptr, other}.machine_name(i));
                    const bool apart = all.size() == static_cast<size_t>(count + other);
                    twice += !apart;
                    const auto entry = [](const std::string& name, int number) {
                        return "\"" + name + R"(": {"target": "aws/c5", "count": )" + std::to_string(number) + "}";
                    };
                    EXPECT_EQ(code_of(parse(R"({"machines": {)" + entry(a, count) + ", " + entry(b, other) + "}}")),
                              apart ? "ok" : "target.system")
                        << a << count << b << other;
                }
            }
        }
    }
    EXPECT_GT(twice, 20);
}

// ---- processes

TEST(TargetProcesses, ShareAMachine) {
    const Target cpu = read(R"({"cpu": "znver4", "cores": 8, "bandwidth": 80e9, "bandwidth_one_core": 20e9,
                                "l2_bytes": 1048576, "l3_bytes": 33554432, "memory_bytes": 8000, "operations": 1e11})");
    const auto four = as_processes(cpu, 4);
    ASSERT_TRUE(four) << render(four.error());
    ASSERT_EQ(four->level(), TargetLevel::cluster);
    EXPECT_EQ(four->machines[0].count, 4);
    const Target& share = *four->machines[0].target;
    EXPECT_EQ(share.cores, 2);
    EXPECT_EQ(share.bandwidth, 20e9);
    EXPECT_EQ(share.bandwidth_one_core, 20e9);
    EXPECT_EQ(share.l3_bytes, 8388608);
    EXPECT_EQ(share.memory_bytes, 2000);
    EXPECT_EQ(share.operations, 1e11);
    EXPECT_EQ(share.cpu, "znver4");
    EXPECT_EQ(four->links[0].bandwidth, 10e9);
    EXPECT_EQ(four->links[0].latency, process_latency);
    EXPECT_TRUE(is_same(read(print(*four, TargetText::expanded)), *four));
    // More processes than cores share these, too, and wait for one.
    EXPECT_EQ(as_processes(cpu, 16)->links[0].latency, crowded_latency);
    const Target sixteen = *as_processes(cpu, 16)->machines[0].target;
    EXPECT_EQ(sixteen.cores, 1);
    EXPECT_EQ(sixteen.operations, 0.5e11);
    EXPECT_EQ(sixteen.bandwidth_one_core, 5e9);
    const auto one = as_processes(cpu, 1);
    EXPECT_TRUE(one->links.empty());
    EXPECT_EQ(one->machines[0].target->cores, 8);
    EXPECT_TRUE(is_same(read(print(*one, TargetText::written)), *one));
    // Figures that nobody says are shared as well; a tag that no longer says what they are is gone.
    EXPECT_EQ(as_processes(read(R"({"tag": "aws/c5"})"), 2)->machines[0].target->cores, 18);
    EXPECT_EQ(as_processes(read(R"({"tag": "aws/c5"})"), 2)->machines[0].target->tag, "");
    EXPECT_EQ(as_processes(read("{}"), 2)->machines[0].target->bandwidth, Target().bandwidth / 2);
}

TEST(TargetProcesses, ThreadsThatAreSaidAreCores) {
    const Target cpu = read(R"({"cpu": "znver4", "cores": 8, "bandwidth": 80e9, "bandwidth_one_core": 20e9})");
    EXPECT_EQ(with_cores(cpu, 2).cores, 2);
    EXPECT_EQ(with_cores(cpu, 2).bandwidth, 40e9);
    EXPECT_EQ(with_cores(cpu, 6).bandwidth, 80e9);
    EXPECT_TRUE(is_same(with_cores(cpu, 9), cpu));
}

TEST(TargetProcesses, WhatIsNoProcessorHasNone) {
    EXPECT_EQ(code_of(as_processes(read("\"nvidia/t4\""), 2)), "target.value");
    EXPECT_EQ(code_of(as_processes(read("\"nvidia/jetson-nano\""), 2)), "target.value");
    EXPECT_EQ(code_of(as_processes(read("{}"), 0)), "target.limit");
    EXPECT_EQ(code_of(as_processes(read("{}"), 1 << 20)), "target.limit");
}

// ---- hosts

TEST(Targets5, WhatRunsHereIsHostedHere) {
    const Target here = read(R"({"cpu": "znver4", "cores": 3})");
    const Target card = with_this_host(read("\"nvidia/t4\""), here);
    ASSERT_TRUE(card.host);
    EXPECT_EQ(card.host->cores, 3);
    EXPECT_EQ(host_text(card), "cpu x86_64 znver4: this machine, since none is given");
    EXPECT_TRUE(with_this_host(read(R"({"kind": "library", "library": "cc"})"), here).host);
    // What has one keeps it; what launches kernels needs none; a machine has its own.
    EXPECT_EQ(with_this_host(read("\"nvidia/jetson-nano:cuda\""), here).host->cpu, "cortex-a57");
    EXPECT_FALSE(with_this_host(read("{}"), here).host);
    EXPECT_TRUE(is_same(with_this_host(read("\"nvidia/jetson-nano\""), here), read("\"nvidia/jetson-nano\"")));
    const Target cluster = with_this_host(read(R"({"machines": {"a": {"target": "nvidia/t4"}}})"), here);
    EXPECT_EQ(cluster.machines[0].target->level(), TargetLevel::device_with_host);
}

TEST(Targets5, WhoSaysWhichHostIsSaid) {
    EXPECT_EQ(host_text(with_default_host(read(R"({"kind": "cuda"})"))),
              "cpu x86_64: kind cuda chooses it, since none is given");
    EXPECT_EQ(host_text(read("\"nvidia/jetson-nano:cuda\"")),
              "cpu aarch64 cortex-a57: the tag nvidia/jetson-nano:cuda says so");
    EXPECT_EQ(host_text(read(R"({"kind": "cuda", "host": {"cpu": "haswell"}})")), "cpu x86_64 haswell: as written");
    EXPECT_EQ(host_text(read(R"({"tag": "nvidia/t4", "host": {"cpu": "haswell"}})")),
              "cpu x86_64 haswell: as written beside the tag");
    EXPECT_EQ(host_text(read("{}")), "");
    const Target cluster = with_default_host(read(
        R"({"machines": {"a": {"target": "nvidia/t4"}, "b": {"target": "nvidia/jetson-nano"}, "c": {"target": "aws/c5"}}})"));
    EXPECT_EQ(cluster.machines[0].target->level(), TargetLevel::device_with_host);
    EXPECT_EQ(host_text(cluster), "a: cpu x86_64: kind cuda chooses it, since none is given");
    EXPECT_EQ(host_text(read("\"aws/c5-cluster\"")), "");
}

TEST(Targets5, AMachineWithoutAHostOrWithSeveralSaysWhatToWrite) {
    EXPECT_EQ(said(parse(R"({"devices": {"g": {"target": "nvidia/t4"}}})")),
              "$.devices.g.host: no device of the machine launches its kernels: add a 'cpu'");
    EXPECT_EQ(said(parse(R"({"devices": {"a": {"target": {}, "id": 0}, "b": {"target": {}, "id": 1},
                                         "g": {"target": "nvidia/t4"}}})")),
              "$.devices.g.host: it is to name the device that launches its kernels, one of a, b");
}

}  // namespace
}  // namespace heddle
