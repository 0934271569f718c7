#include "rewrite/made_up_use.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewrite/made_up_values.h"
#include "symbolic/session.h"

namespace heddle::rewrite {

std::string MadeUpUse::text() const {
    std::string text;
    for (const auto& [name, types] : tensors) {
        for (size_t i = 0; i < types.size(); ++i)
            text += fmt::format("{}{}: {}", text.empty() ? "" : ", ",
                                types.size() == 1 ? name : fmt::format("{}[{}]", name, i), types[i].text());
        if (const auto value = values.find(name); value != values.end()) {
            text += " =";
            for (int64_t i = 0; i < std::min<int64_t>(value->second.size(), 8); ++i)
                text += fmt::format(" {:g}", value->second.real_at(i));
        }
    }
    for (const auto& [name, value] : parameters)
        text += fmt::format("{}${} = {}", text.empty() ? "" : ", ", name, value.print());
    return text;
}

struct AppliedUse::State {
    const Template& metakernel;
    const MadeUpUse& use;
    Session session;
    std::vector<Argument> arguments;
};

AppliedUse::AppliedUse(const Template& metakernel, const Library& library, const MadeUpUse& use)
    : state_(new State{metakernel, use, Session(library), {}}) {
    for (const TensorSpec& input : metakernel.inputs) {
        const auto made = use.tensors.find(input.name);
        std::vector<TensorId> tensors;
        if (made != use.tensors.end())
            for (size_t i = 0; i < made->second.size(); ++i)
                tensors.push_back(state_->session.add_input(
                    input.variadic ? fmt::format("{}[{}]", input.name, i) : input.name, made->second[i]));
        const auto value = use.values.find(input.name);
        if (value != use.values.end() && !tensors.empty())
            state_->session.offer_value(tensors[0], value->second.clone());
        else  // what parts decide by follows from values, of which ones are as good as any
            for (TensorId tensor : tensors)
                if (auto ones = value_for(state_->session.graph().tensor(tensor).type, 1, {}))
                    state_->session.offer_value(tensor, std::move(*ones));
        if (tensors.empty())
            state_->arguments.emplace_back();
        else if (input.variadic)
            state_->arguments.emplace_back(std::move(tensors));
        else
            state_->arguments.emplace_back(tensors[0]);
    }
    while (!state_->arguments.empty() && !state_->arguments.back().given) state_->arguments.pop_back();
}

AppliedUse::~AppliedUse() = default;

Result<std::unique_ptr<Environment>> AppliedUse::bind() const {
    return state_->session.bind(state_->metakernel, state_->arguments, state_->use.parameters);
}

Diagnostics AppliedUse::failure() {
    auto applied = state_->session.apply(state_->metakernel, state_->arguments, state_->use.parameters);
    return applied ? Diagnostics{} : std::move(applied.error());
}

std::optional<Graph> AppliedUse::graph() {
    auto applied = state_->session.apply(state_->metakernel, state_->arguments, state_->use.parameters);
    if (!applied) return std::nullopt;
    return state_->session.finish(*applied);
}

}  // namespace heddle::rewrite
