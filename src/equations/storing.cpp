#include "equations/storing.h"

#include <algorithm>

#include <fmt/format.h>

namespace heddle::equations {
namespace {

Diagnostic wrong_choice(std::string summary, std::string expected, std::string remedy) {
    return {.code = "equations.choice",
            .summary = std::move(summary),
            .expected = std::move(expected),
            .remedy = std::move(remedy)};
}

std::vector<std::string> names_with_choice(const System& system) {
    std::vector<std::string> names;
    for (const SystemTensor& tensor : system.tensors) {
        if (has_storing_choice(system, tensor)) names.push_back(tensor.name);
    }
    return names;
}

SystemTensor* tensor_named(System& system, const std::string& name) {
    std::vector<SystemTensor*> found;
    for (SystemTensor& tensor : system.tensors) {
        if (tensor.name == name) return &tensor;
        if (tensor.name.ends_with("." + name)) found.push_back(&tensor);
    }
    return found.size() == 1 ? found[0] : nullptr;
}

}  // namespace

bool has_storing_choice(const System& system, const SystemTensor& tensor) {
    if (tensor.kind != SystemTensor::Kind::computed || tensor.is_output || tensor.dead) return false;
    return tensor.equations.size() == 1 && system.equation(tensor.equations[0]).scan < 0;
}

Result<StoringChoice> parse_storing_choice(std::string_view text) {
    const size_t equals = text.rfind('=');
    const std::string_view word = equals == std::string_view::npos ? "" : text.substr(equals + 1);
    if (equals == 0 || (word != "stored" && word != "inlined"))
        return fail(wrong_choice(fmt::format("'{}' says not of a tensor what it becomes", text.substr(0, 100)),
                                 "NAME=stored or NAME=inlined",
                                 "heddle explain OPERATOR ... --equations lists the names"));
    return StoringChoice{std::string(text.substr(0, equals)), word == "stored" ? Storing::stored : Storing::inlined};
}

Result<void> choose_storing(System& system, const std::vector<StoringChoice>& choices) {
    for (const StoringChoice& choice : choices) {
        SystemTensor* tensor = tensor_named(system, choice.tensor);
        if (tensor && has_storing_choice(system, *tensor)) {
            tensor->storing = choice.storing;
            continue;
        }
        const auto names = names_with_choice(system);
        const std::string near = nearest_name(choice.tensor, names);
        return fail(wrong_choice(tensor ? fmt::format("there is no choice of what becomes of '{}'", choice.tensor)
                                        : fmt::format("no value inside of the program is called '{}'", choice.tensor),
                                 "a value that one operation makes and others read",
                                 near.empty() ? "heddle explain OPERATOR ... --equations lists the names"
                                              : fmt::format("did you mean {}?", near)));
    }
    return {};
}

Result<void> check_storing(const System& system) {
    for (const SystemTensor& tensor : system.tensors) {
        if (tensor.storing == Storing::stored && tensor.dead)
            return fail(wrong_choice(fmt::format("'{}' cannot be stored: no equation of its own is left", tensor.name),
                                     "a value that something computes and something else reads", "leave out the choice"));
        if (tensor.storing == Storing::inlined && !tensor.dead)
            return fail(wrong_choice(fmt::format("'{}' cannot be computed by its readers", tensor.name),
                                     "an elementwise value, of which each read is known where it is compiled",
                                     "leave out the choice, or ask for its operands"));
    }
    return {};
}

}  // namespace heddle::equations
