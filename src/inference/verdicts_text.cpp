// Verdicts on tensors, for programs and for people.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "inference/compare_tensors.h"

namespace heddle::inference {
namespace {

using Json = nlohmann::ordered_json;

// How many tensors outside of their bound are listed.
constexpr size_t listed_failures = 10;
constexpr int allowed_ratio = 4;  // evaluate/compare.h

Json verdict_json(const Verdict& v) {
    return {{"tensor", v.name},
            {"type", v.type},
            {"operation", v.operation},
            {"element", v.place},
            {"found", v.found},
            {"expected", v.expected},
            {"bound", v.bound},
            {"worst_ratio", v.comparison.worst_ratio},
            {"failures", v.comparison.failures},
            {"undecided", v.comparison.undecided}};
}

struct Summary {
    std::vector<const Verdict*> failures;
    const Verdict* worst = nullptr;
    int64_t undecided = 0;

    explicit Summary(const std::vector<Verdict>& verdicts) {
        for (const Verdict& v : verdicts) {
            if (!v.comparison.equal) failures.push_back(&v);
            if (!worst || v.comparison.worst_ratio > worst->comparison.worst_ratio) worst = &v;
            undecided += v.comparison.undecided;
        }
    }
    double ratio() const { return worst ? worst->comparison.worst_ratio : 0; }
};

}  // namespace

bool all_within(const std::vector<Verdict>& verdicts) {
    return std::ranges::all_of(verdicts, [](const Verdict& verdict) { return verdict.comparison.equal; });
}

std::string verdicts_json(const std::vector<Verdict>& verdicts, const std::string& with) {
    const Summary summary(verdicts);
    Json json = {{"with", with},
                 {"compared", verdicts.size()},
                 {"worst_ratio", summary.ratio()},
                 {"allowed_ratio", allowed_ratio},
                 {"worst_tensor", summary.worst ? Json(summary.worst->name) : Json(nullptr)},
                 {"undecided_elements", summary.undecided}};
    json["failures"] = Json::array();
    for (const Verdict* v : summary.failures) json["failures"].push_back(verdict_json(*v));
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string verdicts_text(const std::vector<Verdict>& verdicts, const std::string& with) {
    if (verdicts.empty()) return "nothing to compare: what the outputs need is known already, or has no elements\n";
    const Summary summary(verdicts);
    const auto& failures = summary.failures;
    std::string text = fmt::format(
        "compared {} tensors with {}: {}\n", verdicts.size(), with,
        failures.empty() ? "all within their bounds" : fmt::format("{} outside of their bounds", failures.size()));
    text += fmt::format("worst |a - b| is {:.3g} times the bound e on rounding, of {} ({} is allowed)\n",
                        summary.ratio(), summary.worst->name, allowed_ratio);
    if (summary.undecided > 0)
        text += fmt::format("{} elements are undecided: a comparison or rounding lies within its bound of a switch\n",
                            summary.undecided);
    for (size_t i = 0; i < std::min(failures.size(), listed_failures); i++) {
        const Verdict& v = *failures[i];
        text += fmt::format("{}{}: {}{}\n  element [{}]: found {}, expected {}, bound {:.3g}; {} elements differ\n",
                            i == 0 ? "first: " : "", v.name, v.type,
                            v.operation.empty() ? "" : fmt::format(", of operation '{}'", v.operation),
                            fmt::join(v.place, ", "), v.found, v.expected, v.bound, v.comparison.failures);
    }
    return text;
}

std::vector<OutputVerdict> compare_outputs(const std::vector<std::string>& names, const std::vector<TensorData>& found,
                                           const std::vector<TensorData>& expected) {
    std::vector<OutputVerdict> verdicts;
    for (size_t i = 0; i < found.size(); i++) {
        const TensorData &a = found[i], &b = expected[i];
        OutputVerdict verdict{.name = names[i],
                              .comparison = compare_model(a.reals(), b.reals(), model_tolerance(a.dtype()))};
        const bool fits = a.shape() == b.shape() && a.dtype() == b.dtype();
        verdict.equal = verdict.comparison.equal && fits;
        verdict.text = fits ? verdict.comparison.text()
                            : fmt::format("different: found {}[{}], expected {}[{}]", name(a.dtype()),
                                          fmt::join(a.shape(), ", "), name(b.dtype()), fmt::join(b.shape(), ", "));
        verdicts.push_back(std::move(verdict));
    }
    return verdicts;
}

std::string outputs_json(const std::vector<OutputVerdict>& verdicts, const std::string& with) {
    Json list = Json::array();
    for (const OutputVerdict& verdict : verdicts) {
        const ModelComparison& comparison = verdict.comparison;
        list.push_back({{"output", verdict.name},
                        {"equal", verdict.equal},
                        {"greatest", comparison.greatest},
                        {"maximum_difference", comparison.maximum_difference},
                        {"relative_maximum", comparison.relative_maximum},
                        {"relative_norm", comparison.relative_norm},
                        {"rows", comparison.rows},
                        {"argmax_differences", comparison.argmax_differences},
                        {"text", verdict.text}});
    }
    const bool equal = std::ranges::all_of(verdicts, &OutputVerdict::equal);
    return Json{{"with", with}, {"equal", equal}, {"outputs", std::move(list)}}.dump(2);
}

}  // namespace heddle::inference
