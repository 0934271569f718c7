// A call graph as the text of a program.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "rewrite/call_graph.h"
#include "support/spelling.h"

namespace heddle::rewrite {
namespace {

class Writer {
public:
    Writer(const CallGraph& graph, const std::vector<std::string>& output_names)
        : graph_(graph), output_names_(output_names) {
        for (TensorId input : graph.session().graph().inputs) {
            names_[input] = graph.session().graph().tensor(input).name;
            taken_.insert(names_[input]);
        }
        for (const std::string& name : output_names) taken_.insert(name);
    }

    std::string write() {
        std::string text;
        for (int32_t number : graph_.order()) text += statement(number) + "\n";
        for (size_t i = 0; i < output_names_.size(); ++i) {
            std::string name = name_of(graph_.outputs()[i]);
            if (name != output_names_[i]) text += fmt::format("{} = {}\n", output_names_[i], name);
        }
        return text;
    }

private:
    std::string fresh_name() {
        for (;;) {
            std::string name = fmt::format("v{}", ++number_);
            if (taken_.insert(name).second) return name;
        }
    }

    // The name that the tensor has as an output, if no other tensor has taken it.
    std::string result_name(TensorId tensor) {
        for (size_t i = 0; i < output_names_.size(); ++i) {
            if (graph_.outputs()[i] == tensor && written_.insert(output_names_[i]).second) return output_names_[i];
        }
        return fresh_name();
    }

    std::string name_of(TensorId tensor) {
        if (auto known = names_.find(tensor); known != names_.end()) return known->second;
        if (const TensorData* value = graph_.session().known_value(tensor)) return constant(tensor, *value);
        auto made = graph_.producer(tensor);
        return fmt::format("{}[{}]", lists_.at(made->call), made->element);
    }

    std::string constant(TensorId tensor, const TensorData& value) {
        constexpr int64_t listed = 16;
        const bool no_text = is_complex(value.dtype()) || value.shape().size() > 1 || value.size() > listed;
        if (value.shape().empty() && !no_text) return element_text(value, 0);
        if (no_text) return graph_.session().graph().tensor(tensor).name;  // a constant that is no text
        std::vector<std::string> elements;
        for (int64_t i = 0; i < value.size(); ++i) elements.push_back(element_text(value, i));
        return fmt::format("[{}]", fmt::join(elements, ", "));
    }

    // A list that is all of a variadic result is written as that.
    std::string list_text(const std::vector<TensorId>& tensors) {
        auto first = tensors.empty() ? std::nullopt : graph_.producer(tensors[0]);
        if (first && lists_.contains(first->call) &&
            graph_.results(first->call, static_cast<size_t>(first->output)) == tensors)
            return lists_.at(first->call);
        std::vector<std::string> names;
        for (TensorId tensor : tensors) names.push_back(name_of(tensor));
        return names.size() == 1 ? names[0] : fmt::format("[{}]", fmt::join(names, ", "));
    }

    std::string call_text(const Call& call) {
        std::vector<std::string> parts;
        size_t given = call.inputs.size();
        while (given > 0 && !call.inputs[given - 1].given) --given;
        for (size_t i = 0; i < given; ++i) {
            const Argument& argument = call.inputs[i];
            parts.push_back(!argument.given ? "none"
                            : argument.list ? list_text(argument.tensors)
                                            : name_of(argument.tensors[0]));
        }
        for (const auto& [name, value] : call.parameters) parts.push_back(fmt::format("{}: {}", name, value.print()));
        std::string library = call.metakernel->library.empty() ? "" : call.metakernel->library + "::";
        return fmt::format("{}{}({})", library, call.metakernel->name, fmt::join(parts, ", "));
    }

    std::string statement(int32_t number) {
        const Call& call = graph_.call(number);
        std::string text = call_text(call);
        std::vector<std::string> names;
        std::string only;
        for (size_t output = 0; output < call.requested.size(); ++output) {
            auto results = graph_.results(number, output);
            if (call.metakernel->outputs[output].variadic) {
                names.push_back(lists_[number] = fresh_name());
            } else if (results[0] >= 0) {
                only = names.empty() && output > 0 ? fmt::format("[{}]", output) : "";
                names.push_back(names_[results[0]] = result_name(results[0]));
            }
        }
        return fmt::format("{} = {}{}", fmt::join(names, ", "), text, only);
    }

    const CallGraph& graph_;
    const std::vector<std::string>& output_names_;
    std::map<TensorId, std::string> names_;
    std::map<int32_t, std::string> lists_;  // of calls with a variadic result
    std::set<std::string> taken_, written_;
    int number_ = 0;
};

}  // namespace

std::string CallGraph::text() const { return Writer(*this, output_names_).write(); }

}  // namespace heddle::rewrite
