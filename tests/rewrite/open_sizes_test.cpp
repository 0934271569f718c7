// Every shipped operator with one of its sizes open: one plan holds for all sizes of a class, or it is known why not.
#include <cstdlib>

#include "helpers/running.h"
#include "helpers/shipped.h"
#include "plan/plan.h"
#include "rewrite/made_up.h"
#include "target/tags.h"
#include "zspace/size_facts.h"

namespace heddle::rewrite {
namespace {

constexpr size_t most_uses = 60;
// Of one class each (zspace/size_class.h).
const std::vector<std::vector<int64_t>> ranges = {{600, 601, 612, 623, 640}, {20, 21, 24, 27, 31}};

// The first that work, with other parameters each.
std::vector<MadeUpUse> uses_of(const Template& metakernel, size_t count) {
    std::vector<MadeUpUse> found;
    MadeUpUses uses(metakernel, library(), true);
    for (size_t i = 0; i < most_uses * count && found.size() < count; ++i) {
        auto use = uses.next();
        if (!use) break;
        AppliedUse applied(metakernel, library(), *use);
        if (!applied.graph()) {
            uses.failed(applied.failure());
            continue;
        }
        const auto same = [&](const MadeUpUse& other) {
            return std::ranges::equal(other.parameters, use->parameters, [](const auto& a, const auto& b) {
                return a.first == b.first && a.second.print() == b.second.print();
            });
        };
        if (std::ranges::none_of(found, same)) found.push_back(std::move(*use));
    }
    return found;
}

// One name of a use's dimensions is open, the others are as they are, or so many times as large.
std::optional<Graph> graph_at(const Template& metakernel, const MadeUpUse& use, const std::string& open, int64_t size,
                              int64_t times) {
    MadeUpUse sized = use;
    for (const auto& [name, place] : use.named) {
        if (use.values.contains(place.input)) {
            if (name == open) return std::nullopt;  // the values would have to be others
            continue;
        }
        auto& shape = sized.tensors.at(place.input)[place.tensor].shape;
        if (place.dimension >= shape.size()) return std::nullopt;  // mended: of another rank now
        Size& dimension = shape[place.dimension];
        dimension = name == open ? named_size("n", size) : Size(dimension.number() * times);
    }
    AppliedUse applied(metakernel, library(), sized);
    SizeFacts facts;
    const RecordingFacts recording(facts);
    auto graph = applied.graph();
    const auto decides = [&](TensorId input) { return graph->tensor(input).constant.has_value(); };
    if (!graph || std::ranges::any_of(graph->inputs, decides)) return std::nullopt;
    graph->dimension_names = {{"n", size}};
    graph->facts = std::move(facts);
    return graph;
}

struct Outcome {
    int sizes = 0;
    std::vector<SizeFacts> plans;
    std::set<std::string> broken;  // facts for which a plan does not hold
};

Outcome planned(const Template& metakernel, const MadeUpUse& use, const std::string& open,
                const std::vector<int64_t>& sizes, int64_t times, const Target& target) {
    Outcome outcome;
    for (int64_t size : sizes) {
        const std::map<std::string, int64_t> names = {{"n", size}};
        bool held = false;
        for (const SizeFacts& facts : outcome.plans) {
            const SizeFact* broken = facts.broken_by(names);
            held = held || !broken;
            if (broken) outcome.broken.insert(broken->text());
        }
        outcome.sizes++;
        if (held) continue;
        const auto graph = graph_at(metakernel, use, open, size, times);
        if (!graph) {
            outcome.sizes--;
            continue;
        }
        auto plan = plan::make_plan(*graph, target);
        EXPECT_TRUE(plan) << metakernel.name << " " << open << " = " << size << (plan ? "" : render(plan.error()));
        if (plan && plan->facts) outcome.plans.push_back(*plan->facts);
    }
    return outcome;
}

void survey(const Template& metakernel, const std::string& called, const std::string& only) {
    if (!only.empty() && called != only) return;
    const char* many = std::getenv("HEDDLE_TEST_USES");
    for (const MadeUpUse& made : uses_of(metakernel, many ? std::atoi(many) : 1)) {
    const MadeUpUse* use = &made;
    std::set<std::string> names;
    for (const auto& [name, place] : use->named) names.insert(name);
    for (const std::string& name : names)
        for (const char* tag : {"x86-64-v4", "x86-64-v3"})
            for (const auto& sizes : ranges)
                for (int64_t times : {1, 8}) {
                    const auto target = TargetTags::built_in().target(tag);
                    const Outcome outcome = planned(metakernel, *use, name, sizes, times, *target);
                    std::printf("%s\t%s\t%s\t%lld\t%lld\t%d\t%zu\t", called.c_str(), name.c_str(), tag, static_cast<long long>(sizes[0]),
                                static_cast<long long>(times), outcome.sizes, outcome.plans.size());
                    for (const std::string& text : outcome.broken) std::printf("%.90s; ", text.c_str());
                    std::printf("\t%s\n", use->text().c_str());
                    std::fflush(stdout);
                }
    }
}

TEST(OpenSizes, OfShippedOperators) {
    const char* given = std::getenv("HEDDLE_TEST_OPERATOR");
    const std::string only = given ? given : "";
    for (const std::string& name : library().names()) survey(**library().find(name), name, only);
    for (const std::string& name : library().onnx_names()) {
        const auto found = find_onnx(library(), name, 25);
        if (found) survey(**found, "onnx " + name, only);
    }
}

}  // namespace
}  // namespace heddle::rewrite
