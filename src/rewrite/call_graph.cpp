#include "rewrite/call_graph.h"

#include <algorithm>
#include <map>
#include <set>

namespace heddle::rewrite {
namespace {

constexpr int64_t largest_compared = 64;  // elements of constants that are one if they are equal

// Where each output's tensors stand in Call::results.
std::vector<std::pair<size_t, size_t>> result_ranges(const Call& call) {
    const auto& outputs = call.metakernel->outputs;
    size_t several = call.results.size() - (outputs.size() - 1);  // of the one output that may be variadic
    std::vector<std::pair<size_t, size_t>> ranges;
    size_t at = 0;
    for (const TensorSpec& output : outputs) {
        size_t count = output.variadic ? several : 1;
        ranges.emplace_back(at, at + count);
        at += count;
    }
    return ranges;
}

}  // namespace

Result<CallGraph> CallGraph::of_program(std::shared_ptr<const SourceText> text, const Library& library,
                                        const std::vector<ProgramInput>& inputs) {
    Session session(library);
    session.record_calls();
    auto applied = apply_program(session, std::move(text), inputs);
    if (!applied) return std::unexpected(applied.error());
    return CallGraph(std::move(session), std::move(applied->outputs), std::move(applied->names));
}

CallGraph::CallGraph(Session session, std::vector<TensorId> outputs, std::vector<std::string> names)
    : session_(std::move(session)) {
    for (TensorId input : session_.deciding_inputs()) decided_.emplace(input, *session_.decide(input));
    adopt_calls(0, outputs);
    set_outputs(std::move(outputs), std::move(names));
}

std::optional<CallGraph::Producer> CallGraph::producer(TensorId tensor) const {
    if (session_.known_value(tensor)) return std::nullopt;
    auto found = producers_.find(tensor);
    if (found == producers_.end()) return std::nullopt;
    return found->second;
}

std::vector<TensorId> CallGraph::results(int32_t number, size_t output) const {
    auto [first, last] = result_ranges(call(number))[output];
    const auto& all = call(number).results;
    return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(last)};
}

TensorId CallGraph::add_input(std::string name, TensorType type) {
    return session_.add_input(std::move(name), std::move(type));
}

void CallGraph::set_outputs(std::vector<TensorId> outputs, std::vector<std::string> names) {
    outputs_ = std::move(outputs);
    output_names_ = std::move(names);
}

// Depth first from the tensors, without recursion: programs may be long.
std::vector<int32_t> CallGraph::order_of(const std::vector<TensorId>& tensors) const {
    std::vector<int32_t> order;
    std::vector<char> state(calls_.size(), 0);  // 1: entered, 2: done
    std::vector<int32_t> open;
    auto push = [&](TensorId tensor) {
        auto made = producer(tensor);
        if (made && state[static_cast<size_t>(made->call)] == 0) open.push_back(made->call);
    };
    for (TensorId tensor : tensors) {
        push(tensor);
        while (!open.empty()) {
            int32_t number = open.back();
            char& visited = state[static_cast<size_t>(number)];
            if (visited == 0) {
                visited = 1;
                const Call& entered = call(number);
                for (size_t i = entered.inputs.size(); i-- > 0;) {
                    const auto& arguments = entered.inputs[i].tensors;
                    for (size_t j = arguments.size(); j-- > 0;) push(arguments[j]);
                }
                continue;
            }
            open.pop_back();
            if (visited == 1) order.push_back(number);
            visited = 2;
        }
    }
    return order;
}

std::string CallGraph::key_of(const Call& call) const {
    std::string key = std::to_string(reinterpret_cast<uintptr_t>(call.metakernel));
    for (const Argument& argument : call.inputs) {
        key += argument.given ? argument.list ? "[" : "(" : "-";
        for (TensorId tensor : argument.tensors) {
            const TensorData* value = session_.known_value(tensor);
            if (value && value->size() <= largest_compared) {
                key += "=" + type(tensor).text() + ":";
                key.append(reinterpret_cast<const char*>(value->data()), static_cast<size_t>(value->byte_size()));
            } else {
                key += std::to_string(tensor) + ",";
            }
        }
    }
    for (const auto& [name, value] : call.parameters) {
        if (!value.is_none()) key += ";" + name + ":" + value.print();
    }
    for (bool wanted : call.requested) key += wanted ? '1' : '0';
    return key;
}

// Takes over what the session recorded from `first` on; `results` name the tensors of the shared calls afterwards.
void CallGraph::adopt_calls(size_t first, std::vector<TensorId>& results) {
    std::unordered_map<TensorId, TensorId> shared;
    auto settle = [&](TensorId& tensor) {
        if (auto found = shared.find(tensor); found != shared.end()) tensor = found->second;
    };
    for (size_t i = first; i < session_.calls().size(); ++i) {
        Call call = session_.calls()[i];
        for (Argument& argument : call.inputs) std::for_each(argument.tensors.begin(), argument.tensors.end(), settle);
        auto number = static_cast<int32_t>(calls_.size());
        auto [same, fresh] = known_.try_emplace(key_of(call), number);
        if (!fresh) {
            const auto& others = this->call(same->second).results;
            for (size_t r = 0; r < others.size(); ++r) shared.emplace(call.results[r], others[r]);
            continue;
        }
        auto ranges = result_ranges(call);
        for (size_t output = 0; output < ranges.size(); ++output) {
            for (size_t r = ranges[output].first; r < ranges[output].second; ++r) {
                if (call.results[r] < 0) continue;
                producers_.try_emplace(call.results[r], Producer{number, static_cast<int32_t>(output),
                                                                 static_cast<int32_t>(r - ranges[output].first)});
            }
        }
        calls_.push_back(std::move(call));
    }
    std::for_each(results.begin(), results.end(), settle);
}

Result<std::vector<TensorId>> CallGraph::add(const Template& composition, const std::vector<Argument>& arguments,
                                             const std::map<std::string, StaticValue>& parameters,
                                             const std::vector<bool>& requested) {
    size_t before = session_.calls().size();
    ApplyOptions options;
    options.records_calls = true;
    options.requested = requested;
    auto results = session_.apply(composition, arguments, parameters, options);
    if (results) adopt_calls(before, *results);
    return results;
}

bool CallGraph::replace(const std::vector<TensorId>& from, const std::vector<TensorId>& to) {
    std::unordered_map<TensorId, TensorId> changed;
    for (size_t i = 0; i < from.size(); ++i) {
        if (from[i] >= 0 && to[i] >= 0 && from[i] != to[i]) changed.emplace(from[i], to[i]);
    }
    std::set<int32_t> makers;
    for (int32_t number : order_of(to)) makers.insert(number);
    auto concerns = [&](const std::vector<TensorId>& tensors) {
        return std::ranges::any_of(tensors, [&](TensorId tensor) { return changed.contains(tensor); });
    };
    auto settle = [&](TensorId& tensor) {
        if (auto found = changed.find(tensor); found != changed.end()) tensor = found->second;
    };
    std::set<int32_t> needed;
    for (int32_t number : order()) needed.insert(number);
    bool used = concerns(outputs_);
    std::for_each(outputs_.begin(), outputs_.end(), settle);
    for (size_t i = 0; i < calls_.size(); ++i) {
        auto& inputs = calls_[i].inputs;
        bool user = std::ranges::any_of(inputs, [&](const Argument& argument) { return concerns(argument.tensors); });
        if (!user || makers.contains(static_cast<int32_t>(i))) continue;
        used = used || needed.contains(static_cast<int32_t>(i));
        if (auto old = known_.find(key_of(calls_[i])); old != known_.end() && old->second == static_cast<int32_t>(i))
            known_.erase(old);
        for (Argument& argument : inputs) std::for_each(argument.tensors.begin(), argument.tensors.end(), settle);
        known_.try_emplace(key_of(calls_[i]), static_cast<int32_t>(i));
    }
    return used;
}

Result<Graph> CallGraph::expand(const std::vector<TensorId>& outputs) const {
    Session session(session_.library());
    std::unordered_map<TensorId, TensorId> made;
    for (TensorId input : session_.graph().inputs) {
        const Tensor& tensor = session_.graph().tensor(input);
        auto [added, fresh] = made.emplace(input, session.add_input(tensor.name, tensor.type, tensor.start));
        if (auto value = decided_.find(input); value != decided_.end()) {
            session.offer_value(added->second, value->second);
            session.decide(added->second);
        }
    }
    // Results of the program have its names for them, whatever calls make them now.
    std::unordered_map<TensorId, std::string> output_names;
    for (size_t i = 0; i < outputs_.size(); ++i) output_names.emplace(outputs_[i], output_names_[i]);
    auto name_of = [&](TensorId tensor) -> std::string {
        if (auto output = output_names.find(tensor); output != output_names.end()) return output->second;
        if (tensor < 0) return "";
        const std::string& name = session_.graph().tensor(tensor).name;
        return std::ranges::find(output_names_, name) == output_names_.end() ? name : "";
    };
    auto settled = [&](TensorId tensor) {
        auto [found, fresh] = made.try_emplace(tensor, -1);
        if (fresh) {
            const Tensor& constant = session_.graph().tensor(tensor);
            const auto* sizes = session_.known_sizes(tensor);
            found->second = sizes ? session.add_sizes(constant.name, constant.type, *sizes)
                                  : session.add_constant(constant.name, *session_.known_value(tensor));
        }
        return found->second;
    };
    for (int32_t number : order_of(outputs)) {
        const Call& call = this->call(number);
        std::vector<Argument> arguments = call.inputs;
        for (Argument& argument : arguments) {
            for (TensorId& tensor : argument.tensors) tensor = settled(tensor);
        }
        ApplyOptions options;
        options.requested = call.requested;
        for (TensorId result : call.results) options.names.push_back(name_of(result));
        if (!options.names.empty()) options.node_name = options.names[0];
        auto results = session.apply(*call.metakernel, arguments, call.parameters, options);
        if (!results) return std::unexpected(results.error());
        for (size_t r = 0; r < results->size(); ++r) made.emplace(call.results[r], (*results)[r]);
    }
    std::vector<TensorId> answers;
    for (TensorId output : outputs) answers.push_back(settled(output));
    return session.finish(std::move(answers));
}

}  // namespace heddle::rewrite
