// Systems and placements of programs. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "placing/placement.h"

namespace heddle {

// One CPU and two cards, each linked with it alone.
inline Target two_cards() {
    Target machine;
    machine.kind = "machine";
    auto cpu = std::make_shared<Target>();
    cpu->operations = 10e9;
    auto card = std::make_shared<Target>();
    card->kind = "cuda";
    card->operations = 1e12;
    card->cores = 100;
    card->bandwidth = 1e12;
    card->launch_seconds = 5e-6;
    machine.devices = {{.name = "cpu0", .target = cpu},
                       {.name = "gpu0",
                        .target = card,
                        .id = 0,
                        .host = "cpu0",
                        .scopes = {{"global", int64_t{1} << 30, 1e12}, {"texture", 1 << 20, 1e11}}},
                       {.name = "gpu1", .target = card, .id = 1, .host = "cpu0"}};
    machine.links = {{"cpu0", "gpu0", 10e9, 10e-6}, {"cpu0", "gpu1", 10e9, 10e-6}};
    return machine;
}

inline placing::System system_for(const Target& target) {
    auto made = placing::system_of(target);
    EXPECT_TRUE(made) << (made ? "" : render(made.error()));
    return made ? std::move(*made) : placing::System{};
}

// With annotations such as "y=gpu0"; what comes out has passed the check.
inline placing::Placement placed(const Graph& graph, const placing::System& system,
                                 const std::vector<std::string>& texts) {
    auto annotations = placing::parse_annotations(texts, graph, system);
    EXPECT_TRUE(annotations) << (annotations ? "" : render(annotations.error()));
    if (!annotations) return {};
    auto placement = placing::place(graph, system, *annotations);
    EXPECT_TRUE(placement) << (placement ? "" : render(placement.error()));
    if (!placement) return {};
    const auto fine = placing::verify(graph, system, *annotations, *placement);
    EXPECT_TRUE(fine) << (fine ? "" : render(fine.error()));
    return std::move(*placement);
}

}  // namespace heddle
