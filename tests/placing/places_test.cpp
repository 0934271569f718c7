// Places of clusters and machines, and links between them: beside all machines written out one by one.
#include "placing/places.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "helpers/codes.h"
#include "target/canonical.h"
#include "target/decompose.h"
#include "target/processes.h"
#include "target/tags.h"

namespace heddle::placing {
namespace {

Target read(const std::string& text) {
    auto target = parse_target(std::make_shared<SourceText>("t.json", text));
    EXPECT_TRUE(target) << text << "\n" << render(target.error());
    return target ? *target : Target{};
}

Places places(const Target& target, const std::string& kind = {}) {
    auto found = places_of(target, kind);
    EXPECT_TRUE(found) << render(found.error());
    return found ? std::move(*found) : Places{};
}

std::vector<std::string> names(const Places& places) {
    std::vector<std::string> names;
    for (size_t p = 0; p < places.size(); p++) names.push_back(places.at(p).name);
    return names;
}

constexpr const char* two_kinds = R"({"machines": {
    "big": {"target": {"devices": {
        "cpu": {"target": {"cpu": "znver4"}},
        "g10": {"target": "nvidia/t4", "id": 1}, "g9": {"target": "nvidia/t4", "id": 0}},
      "links": [{"from": "cpu", "to": "g10", "bandwidth": 10e9, "latency": 1e-5},
                {"from": "cpu", "to": "g9", "bandwidth": 10e9, "latency": 1e-5},
                {"from": "g9", "to": "g10", "bandwidth": 50e9, "latency": 2e-6}]}, "count": 3},
    "alone": {"target": "aws/c5"}},
  "links": [{"from": "big/g9", "to": "big/g9", "bandwidth": 5e9, "latency": 3e-5}]})";

TEST(Places, AreDevicesMachineByMachine) {
    const Places all = places(read(two_kinds));
    EXPECT_EQ(names(all), (std::vector<std::string>{"alone/cpu", "big0/g9", "big0/g10", "big1/g9", "big1/g10",
                                                    "big2/g9", "big2/g10"}));
    const Place place = all.at(3);
    EXPECT_EQ(place.machine, "big1");
    EXPECT_EQ(place.device, "g9");
    EXPECT_EQ(place.target->arch, "sm_75");
    ASSERT_TRUE(place.target->host);
    EXPECT_EQ(place.target->host->cpu, "znver4");
    EXPECT_EQ(place.memory_bytes, 17179869184);
    EXPECT_EQ(all.groups().size(), 3u);
    EXPECT_EQ(all.groups()[1].machines, 3);
    EXPECT_EQ(names(places(read(two_kinds), "cpu")),
              (std::vector<std::string>{"alone/cpu", "big0/cpu", "big1/cpu", "big2/cpu"}));
}

TEST(Places, LinksAreTheTargetsOrSaidToBeAssumed) {
    const Places all = places(read(two_kinds));
    const PlaceLink beside = all.link(1, 2);
    EXPECT_EQ(beside.bandwidth, 50e9);
    EXPECT_EQ(beside.latency, 2e-6);
    // The narrowest of what is on the way, and all latencies.
    const PlaceLink far = all.link(2, 6);
    EXPECT_EQ(far.bandwidth, 5e9);
    EXPECT_DOUBLE_EQ(far.latency, 3e-5 + 2 * 2e-6);
    EXPECT_DOUBLE_EQ(far.seconds(5000000), far.latency + 1e-3);
    EXPECT_EQ(all.way(2, 6), (std::vector<std::string>{"big0/g10", "big0/g9", "big1/g9", "big1/g10"}));
    EXPECT_TRUE(far.is_said);
    const PlaceLink none = all.link(0, 1);
    EXPECT_FALSE(none.is_said);
    EXPECT_EQ(none.bandwidth, assumed_network_bandwidth);
    EXPECT_EQ(none.latency, assumed_network_latency);
    EXPECT_TRUE(all.way(0, 1).empty());
    EXPECT_EQ(all.link(4, 4).seconds(1 << 30), 0);
    // Within a machine bytes go over the host.
    const Places unlinked = places(read(R"({"devices": {"c": {"target": {}}, "a": {"target": "nvidia/t4", "id": 0},
                                                        "b": {"target": "nvidia/t4", "id": 1}}})"));
    EXPECT_EQ(unlinked.link(0, 1).bandwidth, assumed_link_bandwidth);
    EXPECT_FALSE(unlinked.link(0, 1).is_said);
}

TEST(Places, OfEachLevel) {
    EXPECT_EQ(names(places(read("{}"))), (std::vector<std::string>{"cpu"}));
    EXPECT_EQ(names(places(read(R"({"kind": "cuda", "host": {"cpu": "znver4"}})"))),
              (std::vector<std::string>{"cuda"}));
    EXPECT_EQ(places(read("\"nvidia/jetson-nano\"")).at(0).target->host->cpu, "cortex-a57");
    // Several devices of one memory are one place; libraries are none; who hosts only these is one.
    EXPECT_EQ(names(places(read(R"({"devices": {
                  "wide": {"target": {"cpu": "znver4"}, "id": 0}, "narrow": {"target": {"cpu": "x86-64-v3"}, "id": 0},
                  "other": {"target": {}, "id": 1},
                  "cc": {"target": {"kind": "library", "library": "cc"}, "host": "wide"}}})"))),
              (std::vector<std::string>{"narrow", "other"}));
    const Places four = places(*as_processes(read(R"({"cores": 8, "bandwidth_one_core": 20e9})"), 4));
    EXPECT_EQ(four.size(), 4u);
    EXPECT_EQ(four.at(3).name, "process3/cpu");
    EXPECT_EQ(four.at(3).target->cores, 2);
    EXPECT_EQ(four.link(0, 3).bandwidth, 10e9);
    EXPECT_TRUE(four.link(0, 3).is_said);
    EXPECT_EQ(places(*as_processes(read("{}"), 1)).at(0).name, "process/cpu");
}

TEST(Places, OfVeryManyMachinesAreFewFigures) {
    const Places all = places(read(R"({"tag": "nvidia/superpod-h100", "machines": {"node": {"count": 65536}}})"));
    EXPECT_EQ(all.size(), 65536u * 8);
    EXPECT_EQ(all.at(all.size() - 1).name, "node65535/gpu7");
    EXPECT_EQ(all.link(0, 7).bandwidth, 450e9);
    EXPECT_EQ(all.link(0, all.size() - 8).latency, 5e-6);
    EXPECT_DOUBLE_EQ(all.link(0, all.size() - 1).latency, 8e-6);
    int64_t pairs = 0;
    for (const auto& each : all.link_classes()) pairs += each.pairs;
    EXPECT_EQ(pairs, int64_t{65536} * 8 * (int64_t{65536} * 8 - 1));
}

TEST(Places, WhatHasNoneOrTooManyKindsIsRefused) {
    EXPECT_EQ(code_of(places_of(read("\"nvidia/dgx-a100\""), "metal")), "placing.places");
    EXPECT_EQ(code_of(places_of(read(R"({"kind": "library", "library": "cc"})"))), "placing.places");
    std::string many = R"({"machines": {)";
    for (int i = 0; i < 400; i++)
        many += (i ? ", \"m" : "\"m") + std::to_string(i) + R"(": {"target": "aws/c5", "count": 9})";
    EXPECT_EQ(code_of(places_of(read(many + "}}"))), "placing.locations");
    // Where operations are placed, machines are looked at one by one.
    EXPECT_EQ(code_of(system_of(read("\"nvidia/superpod-h100\""))), "placing.locations");
    EXPECT_EQ(code_of(system_of(read(R"({"machines": {"a": {"target": "aws/c5", "count": 60000}},
                                         "links": [{"from": "a", "to": "a", "bandwidth": 1}]})"))),
              "placing.locations");
    const auto sixteen = system_of(read("\"aws/c5-cluster\""));
    ASSERT_TRUE(sixteen) << render(sixteen.error());
    EXPECT_EQ(sixteen->devices.size(), 16u);
    EXPECT_EQ(sixteen->links.size(), 240u);
}

TEST(Places, OfAllTagsAreThoseOfTheirMachines) {
    for (const auto& [name, tag] : TargetTags::built_in().all()) {
        const auto found = places_of(*TargetTags::built_in().target(name));
        ASSERT_TRUE(found) << name << render(found.error());
        const auto all = names(*found);
        EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size()) << name;
        for (const auto& each : found->link_classes()) {
            EXPECT_TRUE(each.link.is_said) << name;
            EXPECT_GT(each.link.bandwidth, 0) << name;
        }
    }
}

// ---- random clusters, beside a search over all machines

class RandomCluster {
public:
    explicit RandomCluster(uint64_t seed) : random_(seed) {}

    std::string text() {
        std::string machines, links;
        const int entries = 1 + below(3);
        for (int e = 0; e < entries; e++) {
            const std::string name(1, static_cast<char>('a' + e));
            cards_.push_back(below(3));
            const int count = 1 + below(4);
            several_.push_back(count > 1);
            machines += (e ? ", \"" : "\"") + name + R"(": {"count": )" + std::to_string(count) + R"(, "target": )" +
                        machine(cards_.back()) + "}";
        }
        for (int l = below(4); l > 0; l--) {
            const int a = below(entries), b = below(entries);
            const std::string from = end(a), to = end(b);
            if (from == to && !several_[a]) continue;
            links += (links.empty() ? "{" : ", {") + ends(from, to) + figures() +
                     (below(3) ? "" : R"(, "both_ways": false)") + "}";
        }
        return R"({"machines": {)" + machines + R"(}, "links": [)" + links + "]}";
    }

private:
    int below(int most) { return static_cast<int>(random_() % static_cast<uint64_t>(most)); }
    std::string figures() {
        return R"(, "bandwidth": )" + std::to_string(1 + below(50)) + R"(e9, "latency": )" +
               std::to_string(1 + below(40)) + "e-6";
    }
    static std::string ends(const std::string& from, const std::string& to) {
        return R"("from": ")" + from + R"(", "to": ")" + to + "\"";
    }
    std::string end(int entry) {
        const std::string name(1, static_cast<char>('a' + entry));
        if (below(2)) return name;
        const int device = below(cards_[entry] + 1);
        return name + (device == 0 ? "/cpu" : "/g" + std::to_string(device));
    }
    std::string machine(int cards) {
        std::string devices = R"("cpu": {"target": {"cpu": "znver4"}})", links;
        for (int c = 1; c <= cards; c++) {
            const std::string name = "g" + std::to_string(c);
            devices += ", \"" + name + R"(": {"target": "nvidia/t4", "id": )" + std::to_string(c) + "}";
            if (below(4)) links += (links.empty() ? "{" : ", {") + ends("cpu", name) + figures() + "}";
            if (c > 1 && below(2)) links += (links.empty() ? "{" : ", {") + ends("g1", name) + figures() + "}";
        }
        return R"({"devices": {)" + devices + R"(}, "links": [)" + links + "]}";
    }
    std::mt19937_64 random_;
    std::vector<int> cards_;
    std::vector<bool> several_;
};

// Seconds of the usual message from one device to each, over links between devices by their names: Bellman and Ford.
std::map<std::string, double> seconds_from(const std::string& begin, const Target& cluster) {
    std::vector<std::tuple<std::string, std::string, double>> links;
    const auto add = [&](const SystemLink& link, const std::string& from, const std::string& to) {
        const double seconds = link.latency + static_cast<double>(usual_message_bytes) / link.bandwidth;
        links.emplace_back(from, to, seconds);
        if (link.both_ways) links.emplace_back(to, from, seconds);
    };
    for (const ClusterMachine& machine : cluster.machines) {
        for (const SystemLink& link : machine.target->links)
            add(link, machine.name + "/" + link.from, machine.name + "/" + link.to);
    }
    const auto device = [](const std::string& end) { return end.contains('/') ? end : end + "/cpu"; };
    for (const SystemLink& link : cluster.links) add(link, device(link.from), device(link.to));
    std::map<std::string, double> seconds = {{begin, 0}};
    for (bool changed = true; changed;) {
        changed = false;
        for (const auto& [from, to, more] : links) {
            if (!seconds.contains(from)) continue;
            const double there = seconds[from] + more;
            if (seconds.contains(to) && seconds[to] <= there) continue;
            seconds[to] = there;
            changed = true;
        }
    }
    return seconds;
}

TEST(Places, LinksOfRandomClustersAreThoseOfAllMachinesWrittenOut) {
    int said = 0, assumed = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        const std::string text = RandomCluster(seed).text();
        const Target cluster = read(text), each = each_machine(cluster);
        for (const char* kind : {"", "cpu"}) {
            const Places few = places(cluster, kind), all = places(each, kind);
            ASSERT_EQ(names(few), names(all)) << text;
            std::map<std::pair<double, double>, int64_t> counted;
            for (size_t a = 0; a < all.size(); a++) {
                const auto seconds = seconds_from(few.at(a).name, each);
                for (size_t b = 0; b < all.size(); b++) {
                    if (a == b) continue;
                    const PlaceLink link = few.link(a, b), other = all.link(a, b);
                    counted[{link.bandwidth, link.latency}]++;
                    EXPECT_EQ(link.is_said, seconds.contains(few.at(b).name)) << text << a << " " << b;
                    EXPECT_EQ(link.is_said, other.is_said) << text << a << " " << b;
                    (link.is_said ? said : assumed)++;
                    if (!link.is_said) continue;
                    // Which of two ways that take equally long is no matter.
                    const Target& machines = each;
                    double way = 0;
                    const auto names = all.way(a, b);
                    for (size_t n = 1; n < names.size(); n++) way += seconds_from(names[n - 1], machines)[names[n]];
                    EXPECT_NEAR(way, seconds.at(few.at(b).name), 1e-12) << text << a << " " << b;
                    EXPECT_NEAR(link.seconds(usual_message_bytes), other.seconds(usual_message_bytes), 1e-12)
                        << text << a << " " << b;
                }
            }
            for (const auto& known : few.link_classes())
                counted[{known.link.bandwidth, known.link.latency}] -= known.pairs;
            for (const auto& [figures, left] : counted) EXPECT_EQ(left, 0) << text;
        }
    }
    EXPECT_GT(said, 5000);
    EXPECT_GT(assumed, 1000);
}

}  // namespace
}  // namespace heddle::placing
