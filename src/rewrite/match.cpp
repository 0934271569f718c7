#include "rewrite/match.h"

#include <algorithm>
#include <limits>

#include "symbolic/environment.h"

namespace heddle::rewrite {
namespace {

using Kind = Syntax::Kind;

class Matcher {
public:
    Matcher(const CallGraph& graph, const Rule& rule) : graph_(graph), rule_(rule) {}

    Result<std::optional<Match>> match(int32_t call, const std::map<std::string, StaticValue>& given) {
        if (!fits(*rule_.match, call)) return std::nullopt;
        for (const auto& [pattern, number] : visited_) {
            const Call& made = graph_.call(number);
            auto environment = graph_.session().bind(*made.metakernel, made.inputs, made.parameters);
            if (!environment) return std::unexpected(environment.error());
            environments_.push_back(std::move(*environment));
        }
        if (!bind_parameters()) return std::nullopt;
        match_.values.insert(given.begin(), given.end());
        if (auto borrowed = borrow(); !borrowed) return std::unexpected(borrowed.error());
        for (const std::string& name : rule_.variables) match_.arguments.push_back(variables_.at(name));
        if (auto fine = conditions_hold(); !fine || !*fine) {
            if (!fine) return std::unexpected(fine.error());
            return std::nullopt;
        }
        replaced(call);
        return std::move(match_);
    }

private:
    // ---- calls and variables

    bool fits(const CallPattern& pattern, int32_t number) {
        const Call& call = graph_.call(number);
        if (call.metakernel != pattern.metakernel) return false;
        visited_.emplace_back(&pattern, number);
        for (size_t slot = 0; slot < pattern.inputs.size(); ++slot) {
            const auto& operands = pattern.inputs[slot];
            const Argument& argument = call.inputs[slot];
            if (!fits_list(operands, argument.tensors)) return false;
        }
        return true;
    }

    static bool is_list(const OperandPattern& operand) {
        return operand.kind == OperandPattern::Kind::list || operand.kind == OperandPattern::Kind::results;
    }

    bool fits_list(const std::vector<OperandPattern>& operands, const std::vector<TensorId>& tensors) {
        auto list = std::find_if(operands.begin(), operands.end(), is_list);
        bool open = list != operands.end();
        if (open ? tensors.size() + 1 < operands.size() : tensors.size() != operands.size()) return false;
        size_t length = tensors.size() + 1 - operands.size();  // of the open list
        size_t at = 0;
        for (const OperandPattern& operand : operands) {
            if (!is_list(operand)) {
                if (!fits_tensor(operand, tensors[at++])) return false;
                continue;
            }
            auto first = tensors.begin() + static_cast<std::ptrdiff_t>(at);
            std::vector<TensorId> part(first, first + static_cast<std::ptrdiff_t>(length));
            at += length;
            if (operand.kind == OperandPattern::Kind::list ? !fits_variable(operand.variable, Argument(part))
                                                           : !fits_results(*operand.call, part))
                return false;
        }
        return true;
    }

    bool fits_variable(const std::string& name, const Argument& argument) {
        auto [bound, fresh] = variables_.try_emplace(name, argument);
        return fresh || bound->second.tensors == argument.tensors;
    }

    bool fits_results(const CallPattern& pattern, const std::vector<TensorId>& tensors) {
        auto made = tensors.empty() ? std::nullopt : graph_.producer(tensors[0]);
        return made && graph_.results(made->call, static_cast<size_t>(made->output)) == tensors &&
               fits(pattern, made->call);
    }

    bool fits_tensor(const OperandPattern& operand, TensorId tensor) {
        if (operand.kind == OperandPattern::Kind::variable) return fits_variable(operand.variable, Argument(tensor));
        if (operand.kind == OperandPattern::Kind::value) return fits_value(*operand.value, tensor);
        auto made = graph_.producer(tensor);
        if (!made) return false;
        const CallPattern& pattern = *operand.call;
        if (pattern.result) {
            bool variadic = pattern.metakernel->outputs[static_cast<size_t>(made->output)].variadic;
            int64_t wanted = *pattern.result, count = 0;
            if (variadic) count = static_cast<int64_t>(graph_.results(made->call, 0).size());
            if (wanted < 0) wanted += count;
            if (wanted != (variadic ? made->element : made->output)) return false;
        }
        return fits(pattern, made->call);
    }

    bool fits_value(const Syntax& expression, TensorId tensor) {
        const TensorData* data = graph_.session().known_value(tensor);
        if (!data || is_complex(data->dtype()) || data->shape().size() != (expression.kind == Kind::list ? 1 : 0))
            return false;
        Template nothing;
        nothing.functions = rule_.source->functions;
        auto value = Environment(nothing).evaluate(expression);
        if (!value) return false;
        StaticValue::List elements = value->is_list() ? value->list() : StaticValue::List{*value};
        if (static_cast<int64_t>(elements.size()) != data->size()) return false;
        for (size_t i = 0; i < elements.size(); ++i) {
            double wanted = elements[i].is_boolean()  ? elements[i].boolean()
                            : elements[i].is_number() ? elements[i].number()
                                                      : std::numeric_limits<double>::quiet_NaN();
            if (is_bool(data->dtype()) != elements[i].is_boolean() || data->real_at(static_cast<int64_t>(i)) != wanted)
                return false;
        }
        return true;
    }

    // ---- parameters

    bool bind_name(const std::string& name, const StaticValue& value) {
        auto [bound, fresh] = match_.values.try_emplace(name, value);
        return fresh || bound->second == value;
    }

    bool is_binder(const Syntax& syntax) const {
        return syntax.kind == Kind::static_name && rule_.bound.contains(syntax.text);
    }

    // `perm: $p` and `starts: [$a, 0]` bind $p and $a to the values that the call has.
    bool bind_parameters() {
        for (size_t i = 0; i < visited_.size(); ++i) {
            for (const NamedArgument& argument : visited_[i].first->syntax->named) {
                const Syntax& written = *argument.value;
                auto value = environments_[i]->lookup(argument.name, argument.place);
                if (!value) return false;
                if (is_binder(written) && !bind_name(written.text, *value)) return false;
                if (written.kind != Kind::list) continue;
                if (!value->is_list() || value->list().size() != written.children.size()) return false;
                for (size_t j = 0; j < written.children.size(); ++j) {
                    const Syntax& element = *written.children[j];
                    if (is_binder(element) && !bind_name(element.text, value->list()[j])) return false;
                }
            }
        }
        return true;
    }

    Result<void> borrow() {
        for (const auto& [name, pattern] : rule_.borrowed) {
            auto value = environments_[pattern]->lookup(name, rule_.source->match->place);
            if (!value) return std::unexpected(value.error());
            match_.values.insert_or_assign(name, std::move(*value));
        }
        return {};
    }

    // Parameters with written values, those that must have their default, and what the rule requires.
    Result<bool> conditions_hold() {
        auto bound = graph_.session().bind(rule_.replacement, match_.arguments, match_.values);
        if (!bound) return std::unexpected(bound.error());
        for (size_t i = 0; i < visited_.size(); ++i) {
            auto same = parameters_agree(i, **bound);
            if (!same || !*same) return same;
        }
        for (const Requirement& requirement : rule_.source->requirements) {
            auto holds = (*bound)->evaluate(*requirement.condition);
            if (!holds) return std::unexpected(holds.error());
            if (!holds->is_boolean() || !holds->boolean()) return false;
        }
        return true;
    }

    // The pattern's values are brought to the form of the call's by binding the operator with them.
    Result<bool> parameters_agree(size_t number, Environment& bound) {
        const Call& call = graph_.call(visited_[number].second);
        if (call.metakernel->params.empty()) return true;
        std::map<std::string, StaticValue> wanted;
        for (const NamedArgument& argument : visited_[number].first->syntax->named) {
            auto value = bound.evaluate(*argument.value);
            if (!value) return std::unexpected(value.error());
            wanted.insert_or_assign(argument.name, std::move(*value));
        }
        auto as_written = graph_.session().bind(*call.metakernel, call.inputs, wanted);
        if (!as_written) return false;
        for (const Parameter& parameter : call.metakernel->params) {
            auto found = environments_[number]->lookup(parameter.name, parameter.place);
            auto expected = (*as_written)->lookup(parameter.name, parameter.place);
            if (!found || !expected || !(*found == *expected)) return false;
        }
        return true;
    }

    void replaced(int32_t number) {
        const CallPattern& root = *rule_.match;
        const auto& outputs = root.metakernel->outputs;
        const Call& call = graph_.call(number);
        if (!root.result) {
            match_.results = call.results;
            match_.requested = call.requested;
            return;
        }
        bool variadic = outputs.size() == 1 && outputs[0].variadic;
        auto results = graph_.results(number, variadic ? 0 : static_cast<size_t>(*root.result));
        int64_t at = variadic ? *root.result : 0;
        bool there = at < static_cast<int64_t>(results.size());
        match_.results = {there ? results[static_cast<size_t>(at)] : no_id};
        match_.requested = {true};
    }

    const CallGraph& graph_;
    const Rule& rule_;
    Match match_;
    std::map<std::string, Argument> variables_;
    std::vector<std::pair<const CallPattern*, int32_t>> visited_;  // in the order of Rule::patterns
    std::vector<std::unique_ptr<Environment>> environments_;       // of `visited_`
};

}  // namespace

Result<std::optional<Match>> match_at(const CallGraph& graph, const Rule& rule, int32_t call,
                                      const std::map<std::string, StaticValue>& given) {
    return Matcher(graph, rule).match(call, given);
}

}  // namespace heddle::rewrite
