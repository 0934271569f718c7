#include "cli/check_text.h"

#include <sstream>

#include <fmt/format.h>

#include "equations/fusion.h"
#include "equations/passes.h"
#include "plan/class_proof.h"
#include "plan/plan.h"
#include "schedules/schedule.h"
#include "support/file.h"

namespace heddle::cli {
namespace {

using TextPointer = std::shared_ptr<const SourceText>;

// Of the first line that is no comment.
std::string first_word(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string word;
        if (words >> word && !word.starts_with("#")) return word;
    }
    return {};
}

// What verifiers find has no place in a text: then it is the file's.
Result<std::string> in_file(Result<std::string> result, const TextPointer& source) {
    if (result) return result;
    for (Diagnostic& problem : result.error()) {
        if (!problem.place.source) problem.place = {source, 0, 0};
    }
    return result;
}

Result<std::string> check_system(const TextPointer& source, const Target& target) {
    auto system = equations::parse_system(source);
    if (!system) return fail(system.error());
    if (auto sound = equations::verify(*system); !sound) return fail(sound.error());
    const size_t written = system->order().size();
    equations::optimise(*system);
    const auto partition = equations::fuse(*system, target, {});
    return fmt::format("{} equations, {} after substitution, in {} kernels", written, system->order().size(),
                       partition.kernels.size());
}

Result<std::string> check_kernel(const TextPointer& source, const Target& target) {
    auto kernel = schedules::parse_kernel(source);
    if (!kernel) return fail(kernel.error());
    auto scheduled = schedules::schedule(*kernel, target);
    if (!scheduled) return fail(scheduled.error());
    return fmt::format("{} equations; on this machine:\n{}", kernel->equations.size(),
                       schedules::summary(scheduled->tree, scheduled->launch.numbers));
}

Result<std::string> check_tree(const TextPointer& source, const Target& target) {
    auto tree = schedules::parse_tree(source);
    if (!tree) return fail(tree.error());
    return fmt::format("{} buffers, {} launch numbers, key {}", (*tree)->buffers(), (*tree)->numbers.size(),
                       schedules::key(**tree, target));
}

// Constants are not in a plan's text: one that has some is refused for want of them.
Result<std::string> check_plan(const TextPointer& source, const Target&) {
    auto plan = plan::parse_plan(source, {});
    if (!plan) return fail(plan.error());
    const plan::ClassProof proof = plan::prove_class(*plan);
    std::string text = fmt::format("{} launches, {} kernels; for all of its sizes {} of {} statements are proved", plan->launches(),
                                   plan->trees.size(), proof.statements - static_cast<int64_t>(proof.unproved.size()), proof.statements);
    for (const std::string& what : proof.unproved) text += "\n  not proved: " + what;
    return text;
}

}  // namespace

Result<std::string> check_text(const std::string& path, const Target& target) {
    constexpr int64_t most_bytes = 64 << 20;
    auto text = read_file(path, most_bytes);
    if (!text) return fail(text.error());
    const auto source = std::make_shared<const SourceText>(path, std::move(*text));
    const std::string word = first_word(std::string(source->text()));
    if (word == "system") return in_file(check_system(source, target), source);
    if (word == "kernel") return in_file(check_kernel(source, target), source);
    if (word == "scheduled") return in_file(check_tree(source, target), source);
    if (word == "plan:") return in_file(check_plan(source, target), source);
    return fail({.code = "cli.text_form",
                 .summary = "a text that is none of the compiler's forms",
                 .place = {source, 0, word.size()},
                 .expected = "system, kernel, scheduled or plan: as the first word",
                 .found = word.empty() ? "nothing" : word,
                 .remedy = "templates are in files .yaml, models in files .onnx"});
}

}  // namespace heddle::cli
