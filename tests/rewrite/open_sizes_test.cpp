// Every shipped operator with one of its sizes open: one plan holds for the sizes of a class, or it is known why not; and
// it computes what the plan of each size does.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "helpers/running.h"
#include "helpers/shipped.h"
#include "plan/instantiate.h"
#include "plan/plan.h"
#include "rewrite/made_up.h"
#include "target/tags.h"
#include "zspace/size_facts.h"

namespace heddle::rewrite {
namespace {

using Names = std::map<std::string, int64_t>;

// HEDDLE_TEST_USES: of each operator so many, by other parameters; HEDDLE_TEST_OPERATOR: of one alone; HEDDLE_TEST_SHOW: a
// line for each size (docs/developing.md).
size_t number_of_uses() {
    const char* text = std::getenv("HEDDLE_TEST_USES");
    return text ? static_cast<size_t>(std::atoi(text)) : 1;
}
bool is_asked_for(const std::string& name) {
    const char* text = std::getenv("HEDDLE_TEST_OPERATOR");
    return !text || name == text;
}

// By name, `onnx X` of the standard's own domain.
std::vector<std::pair<std::string, const Template*>> operators() {
    std::vector<std::pair<std::string, const Template*>> all;
    for (const std::string& name : library().names()) all.emplace_back(name, *library().find(name));
    for (const std::string& name : library().onnx_names()) {
        if (const auto found = find_onnx(library(), name, 25)) all.emplace_back("onnx " + name, *found);
    }
    std::erase_if(all, [](const auto& one) { return !is_asked_for(one.first); });
    return all;
}

// The first that work, with other parameters each.
std::vector<MadeUpUse> uses_of(const Template& metakernel, size_t count) {
    constexpr size_t most_tries = 60;
    std::vector<MadeUpUse> found;
    MadeUpUses uses(metakernel, library(), true);
    for (size_t i = 0; i < most_tries * count && found.size() < count; ++i) {
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

std::set<std::string> dimensions_of(const MadeUpUse& use) {
    std::set<std::string> names;
    for (const auto& [name, place] : use.named) names.insert(name);
    return names;
}

// One dimension is open, the others are as they are, or so many times as large. Nothing where such sizes are refused, where
// data decide, or where there are too many elements.
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
    constexpr int64_t most_elements = int64_t{1} << 26;
    for (const auto& [name, types] : sized.tensors) {
        for (const TensorType& type : types) {
            if (type.elements().number() > most_elements) return std::nullopt;
        }
    }
    AppliedUse applied(metakernel, library(), sized);
    SizeFacts facts;
    const RecordingFacts recording(facts);
    auto graph = applied.graph();
    if (!graph) return std::nullopt;
    const auto decides = [&](TensorId input) { return graph->tensor(input).constant.has_value(); };
    if (std::ranges::any_of(graph->inputs, decides)) return std::nullopt;
    graph->dimension_names = {{"n", size}};
    graph->facts = std::move(facts);
    return graph;
}

struct Outcome {
    int sizes = 0;                  // for which there is a program
    std::vector<SizeFacts> plans;
    std::set<std::string> broken;  // facts for which a plan does not hold at another size
};

struct Case {
    const char* tag;
    std::vector<int64_t> sizes;  // of one class (zspace/size_class.h)
    int64_t times;
};

Outcome planned(const Template& metakernel, const MadeUpUse& use, const std::string& open, const Case& of) {
    const Target target = *TargetTags::built_in().target(of.tag);
    Outcome outcome;
    for (int64_t size : of.sizes) {
        bool held = false;
        for (const SizeFacts& facts : outcome.plans) {
            const SizeFact* broken = facts.broken_by({{"n", size}});
            held = held || !broken;
            if (broken) outcome.broken.insert(broken->text());
        }
        if (held) {
            outcome.sizes++;
            continue;
        }
        const auto graph = graph_at(metakernel, use, open, size, of.times);
        if (!graph) continue;
        const auto plan = plan::make_plan(*graph, target);
        EXPECT_TRUE(plan) << metakernel.name << " " << open << " = " << size << (plan ? "" : render(plan.error()));
        if (!plan || !plan->facts) continue;
        outcome.sizes++;
        outcome.plans.push_back(*plan->facts);
    }
    return outcome;
}

// Where a class needs more plans than two, which is what a comparison of two sizes makes of it: by operator, and how the
// name of the dimension begins.
const std::map<std::string, const char*>& known() {
    static const std::map<std::string, const char*> reasons = {
        {"attention d", "the scale is a root of the size, as a parameter"},
        {"linear_attention d", "the scale is a root of the size, as a parameter"},
        {"split n", "as many results as there are parts"},
        {"rotary_embedding d", "features are compared with thirds of them"},
    };
    return reasons;
}

bool is_known(const std::string& what) {
    return std::ranges::any_of(known(), [&](const auto& entry) { return what.starts_with(entry.first); });
}

TEST(OpenSizes, AClassNeedsFewPlans) {
    constexpr size_t few = 2;
    std::vector<Case> cases;
    for (const char* tag : {"x86-64-v4", "x86-64-v3"}) {
        for (int64_t times : {1, 8}) {
            cases.push_back({tag, {600, 601, 612, 623, 640}, times});
            cases.push_back({tag, {20, 21, 24, 27, 31}, times});
        }
    }
    std::set<std::string> found;
    int64_t planned_at = 0;
    for (const auto& [name, metakernel] : operators()) {
        for (const MadeUpUse& use : uses_of(*metakernel, number_of_uses())) {
            for (const std::string& open : dimensions_of(use)) {
                for (const Case& of : cases) {
                    const Outcome outcome = planned(*metakernel, use, open, of);
                    planned_at += outcome.sizes > 0;
                    const std::string what = name + " " + open;
                    std::string line = fmt::format("{}\t{}\t{}..{}\t{}\t{} plans of {} sizes", what, of.tag, of.sizes.front(),
                                                   of.sizes.back(), of.times, outcome.plans.size(), outcome.sizes);
                    for (const std::string& fact : outcome.broken) line += "\t" + fact.substr(0, 100);
                    if (std::getenv("HEDDLE_TEST_SHOW")) std::printf("%s\t%s\n", line.c_str(), use.text().c_str());
                    if (outcome.plans.size() <= few) continue;
                    found.insert(what);
                    EXPECT_TRUE(is_known(what)) << line << "\n" << use.text();
                }
            }
        }
    }
    std::printf("%lld classes of sizes\n", static_cast<long long>(planned_at));
    if (std::getenv("HEDDLE_TEST_OPERATOR")) return;
    EXPECT_GE(planned_at, 5000);
    for (const auto& [begin, reason] : known()) {
        const auto begins = [&](const std::string& what) { return what.starts_with(begin); };
        EXPECT_TRUE(std::ranges::any_of(found, begins)) << begin << " needs few plans now";
    }
}

Result<std::vector<TensorData>> run(plan::Plan plan, const std::vector<TensorData>& feeds) {
    static const auto pool = std::make_shared<ThreadPool>(1);
    return runtime::Session(compiled(std::move(plan), 1), pool).run(feeds);
}

// Whether there was something to compare.
bool expect_same(const Template& metakernel, const MadeUpUse& use, const std::string& open, int64_t here, int64_t there) {
    const auto graph = graph_at(metakernel, use, open, here, 1), other = graph_at(metakernel, use, open, there, 1);
    if (!graph || !other) return false;
    plan::Plan plan = plan_of(*graph);
    if (!plan.facts || plan.facts->broken_by({{"n", there}})) return false;
    EXPECT_TRUE(plan::instantiate(plan, {{"n", there}}));
    const auto sound = verify(plan);
    EXPECT_TRUE(sound) << (sound ? "" : render(sound.error()));
    std::mt19937_64 random(3);
    std::vector<TensorData> feeds;
    for (TensorId id : other->inputs) feeds.push_back(made_up(other->tensor(id).type, random, 1));
    const auto found = run(std::move(plan), feeds), wanted = run(plan_of(*other), feeds);
    EXPECT_EQ(found.has_value(), wanted.has_value()) << use.text();  // neither: an index is outside
    for (size_t o = 0; found && wanted && o < wanted->size(); ++o) {
        const TensorData &a = (*found)[o], &b = (*wanted)[o];
        EXPECT_EQ(a.shape(), b.shape()) << use.text();
        if (a.shape() != b.shape()) continue;
        EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(b.byte_size())), 0)
            << "output " << o << " of " << use.text();
    }
    return true;
}

TEST(OpenSizes, APlanOfAClassComputesWhatThatOfASizeDoes) {
    int compared = 0;
    for (const auto& [name, metakernel] : operators()) {
        for (const MadeUpUse& use : uses_of(*metakernel, number_of_uses())) {
            for (const std::string& open : dimensions_of(use)) {
                SCOPED_TRACE(name + " " + open);
                compared += expect_same(*metakernel, use, open, 24, 31);
            }
        }
    }
    std::printf("%d plans compared\n", compared);
    EXPECT_GE(compared, std::getenv("HEDDLE_TEST_OPERATOR") ? 0 : 500);
}

}  // namespace
}  // namespace heddle::rewrite
