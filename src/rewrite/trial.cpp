#include "rewrite/trial.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "rewrite/made_up.h"
#include "rewrite/made_up_values.h"

namespace heddle::rewrite {
namespace {

constexpr int most_applications = 300, most_mended = 12;

// What says nothing of the template: values that are known in a graph only, what its author refuses, limits.
constexpr std::array<std::string_view, 4> of_authors = {"symbolic.not_concrete", "symbolic.requirement",
                                                        "symbolic.user_error", "symbolic.limit"};

// What other sizes, or shapes that fit the parts of a composition, may make right.
constexpr std::array<std::string_view, 14> of_sizes = {
    "symbolic.dtype_set", "symbolic.shape_mismatch", "symbolic.input_rank",      "symbolic.shape_conflict",
    "symbolic.broadcast", "symbolic.extent",         "symbolic.range",           "symbolic.length",
    "symbolic.overflow",  "symbolic.axis_range",     "symbolic.inexact_division", "symbolic.division_by_zero",
    "symbolic.parameter_length", "symbolic.missing_parameter"};

// What is found when all has its type.
constexpr std::array<std::string_view, 3> of_proofs = {"symbolic.footprint", "symbolic.cover", "symbolic.ipf"};

template <size_t N>
bool is_of(const Diagnostic& problem, const std::array<std::string_view, N>& codes) {
    return std::ranges::find(codes, problem.code) != codes.end();
}

enum class Stage : uint8_t { proofs, types, sizes, authors };

// The earliest of its problems.
Stage stage_of(const Diagnostics& problems) {
    auto all = [&](const auto& codes) {
        return std::ranges::all_of(problems, [&](const Diagnostic& problem) { return is_of(problem, codes); });
    };
    return all(of_authors) ? Stage::authors : all(of_sizes) ? Stage::sizes : all(of_proofs) ? Stage::proofs : Stage::types;
}

void add_context(Diagnostics& problems, const std::string& context) {
    for (Diagnostic& problem : problems) problem.contexts.push_back({context, {}});
}

bool has_elements(const MadeUpUse& use) {
    return std::ranges::all_of(use.tensors, [](const auto& input) {
        return std::ranges::all_of(input.second, [](const TensorType& type) { return type.elements() > 0; });
    });
}

// Tries uses until one works that is not too small to say much.
class Search {
public:
    Search(const Template& metakernel, const Library& library, bool whole)
        : metakernel_(metakernel), library_(library), uses_(metakernel, library, whole) {}

    void fix(const std::string& parameter, StaticValue value) { uses_.fix(parameter, std::move(value)); }

    // Whether one was seen to work.
    bool run() {
        while (applications_ < most_applications) {
            auto use = uses_.next();
            if (!use) break;
            for (int mended = 0; use && mended < most_mended; ++mended) {
                Diagnostics problems = failure_of(*use);
                if (problems.empty()) {
                    if (use->plain) return works_in_general(*use);
                    if (has_elements(*use)) small_ = std::move(use);
                    break;
                }
                auto next = uses_.mended(*use, problems);
                if (!next) uses_.failed(problems);
                add(std::move(problems), *use);
                use = std::move(next);
            }
        }
        return false;
    }

    // What is wrong whatever it is applied to; empty where that is not known.
    Diagnostics mistakes() const {
        if (failure_.empty() || stage_ == Stage::authors) return {};
        if (small_ && stage_ != Stage::proofs) return {};
        // Nothing but sizes, but whatever they were it was the same.
        constexpr int enough = 8;
        if (stage_ == Stage::sizes && (failures_.size() > 1 || applications_ < enough)) return {};
        Diagnostics problems = failure_;
        add_context(problems, fmt::format("applied to {}; {}", failed_on_,
                                          !chance_.empty() ? fmt::format("only {} work", chance_)
                                          : small_ ? fmt::format("only small sizes work, as {}", small_->text())
                                                   : std::string("every use that was tried fails")));
        return problems;
    }

    // No use is right, by its types: not those of the usual dtypes, either.
    bool has_wrong_types() const { return stage_ == Stage::types && usual_ && !small_; }

    std::string why() const {
        if (!failure_.empty()) return failure_[0].summary;
        return uses_.misfit().empty() ? "nothing fits its inputs" : uses_.misfit()[0].summary;
    }
    bool has_data_extent() const { return !failure_.empty() && failure_[0].code == "symbolic.data_extent"; }

private:
    Diagnostics failure_of(const MadeUpUse& use) {
        ++applications_;
        return AppliedUse(metakernel_, library_, use).failure();
    }

    void add(Diagnostics problems, const MadeUpUse& use) {
        const Stage stage = stage_of(problems);
        failures_.insert({problems[0].code, problems[0].place.offset});
        const std::tuple<Stage, bool, size_t, bool> key(stage, !use.plain, problems.size(), !use.usual);
        if (!failure_.empty() && key_ <= key) return;
        key_ = key;
        stage_ = stage;
        usual_ = use.usual;
        failure_ = std::move(problems);
        failed_on_ = use.text();
    }

    // What differs by name may differ in size: a use says nothing if all that are less special are refused.
    bool works_in_general(const MadeUpUse& use) {
        if (metakernel_.is_composition()) return true;
        for (const Chance& chance : uses_.chances_of(use)) {
            std::optional<std::pair<Diagnostics, const MadeUpUse*>> refused;
            int count = 0;
            bool works = false;
            for (const MadeUpUse& other : chance.others) {
                Diagnostics problems = works ? Diagnostics{} : failure_of(other);
                works = works || problems.empty();
                if (works || stage_of(problems) >= Stage::sizes) continue;
                ++count;
                if (!refused) refused = {std::move(problems), &other};
            }
            if (works || count < 2) continue;
            chance_ = chance.only;
            failure_.clear();
            add(std::move(refused->first), *refused->second);
            return false;
        }
        return true;
    }

    const Template& metakernel_;
    const Library& library_;
    MadeUpUses uses_;
    int applications_ = 0;
    std::string chance_;  // what the uses that work owe it to
    std::optional<MadeUpUse> small_;
    std::set<std::pair<std::string, size_t>> failures_;
    Diagnostics failure_;
    std::string failed_on_;
    Stage stage_ = Stage::authors;
    bool usual_ = false;
    std::tuple<Stage, bool, size_t, bool> key_;
};

// An operator that works may still have a branch that cannot: with its optional inputs, or for one value of a choice.
Diagnostics wrong_branches(const Template& metakernel, const Library& library) {
    auto wrong = [&](bool whole, const Parameter* parameter, const StaticValue& value) {
        Search branch(metakernel, library, whole);
        if (parameter) branch.fix(parameter->name, value);
        return branch.run() || !branch.has_wrong_types() ? Diagnostics{} : branch.mistakes();
    };
    const bool has_optional = std::ranges::any_of(metakernel.inputs, &TensorSpec::optional);
    if (has_optional)
        if (Diagnostics problems = wrong(true, nullptr, {}); !problems.empty()) return problems;
    for (const Parameter& parameter : metakernel.params) {
        if (parameter.type.is_list || parameter.type.of || parameter.type.kind == ParameterType::Kind::dtype) continue;
        std::vector<StaticValue> values = scalars_of(metakernel, parameter.type);
        constexpr size_t likely = 2;  // of numbers: others may rightly be refused
        if (values[0].is_number()) values.resize(likely);
        for (const StaticValue& value : values)
            if (Diagnostics problems = wrong(has_optional, &parameter, value); !problems.empty()) return problems;
    }
    return {};
}

}  // namespace

Trial try_operator(const Template& metakernel, const Library& library) {
    Search least(metakernel, library, false), whole(metakernel, library, true);
    const bool has_optional = std::ranges::any_of(metakernel.inputs, &TensorSpec::optional);
    const bool least_works = least.run();
    if (least_works || (has_optional && whole.run())) return {wrong_branches(metakernel, library), {}};
    if (Diagnostics mistakes = least.mistakes(); !mistakes.empty()) {
        const bool is_declared = metakernel.body.empty() && metakernel.graph.empty();
        if (is_declared && least.has_data_extent()) return {};  // what runs it gives the shape as well
        return {std::move(mistakes), {}};
    }
    Diagnostic not_shown;
    not_shown.code = "rewrite.not_shown";
    not_shown.summary = fmt::format("{} is not shown to work: {}", metakernel.name, least.why());
    not_shown.place = metakernel.place;
    not_shown.expected = "a use that works, among those that were made up";
    not_shown.reason = "no tensors and parameters were found that fit all that its patterns, requirements and parts ask for";
    not_shown.remedy = "say in the patterns or under require which sizes and dtypes it takes, or give parameters defaults";
    return {{}, std::move(not_shown)};
}

std::optional<Graph> made_up_use(const Template& metakernel, const Library& library) {
    MadeUpUses uses(metakernel, library, true);
    for (int applications = 0; applications < most_applications; ++applications) {
        const auto use = uses.next();
        if (!use) break;
        if (!use->plain) continue;
        if (auto graph = AppliedUse(metakernel, library, *use).graph()) return graph;
    }
    return std::nullopt;
}

}  // namespace heddle::rewrite
