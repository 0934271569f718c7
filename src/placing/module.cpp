#include "placing/module.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace heddle::placing {

ValueId Function::add_value(std::string wanted, TensorType type, MemoryId memory) {
    std::string unique = wanted;
    const auto taken = [&] { return std::ranges::find(values, unique, &Value::name) != values.end(); };
    for (size_t number = 1; taken(); number++) unique = fmt::format("{}_{}", wanted, number);
    values.push_back({std::move(unique), std::move(type), memory, std::nullopt});
    return last_id<ValueId>(values);
}

FunctionId Module::find(const std::string& name) const {
    const auto found = std::ranges::find(functions, name, &Function::name);
    return found == functions.end() ? FunctionId() : FunctionId(found - functions.begin());
}

FunctionId Module::add_function(Function function) {
    const std::string wanted = function.name;
    for (size_t number = 1; find(function.name) != no_id; number++)
        function.name = fmt::format("{}_{}", wanted, number);
    functions.push_back(std::move(function));
    return last_id<FunctionId>(functions);
}

Function function_of(std::string name, std::shared_ptr<const Graph> graph, std::shared_ptr<const Target> target) {
    Function function{.name = std::move(name), .target = std::move(target)};
    Step step{.graph = graph};
    for (TensorId t : graph->inputs)
        function.parameters.push_back(function.add_value(graph->tensor(t).name, graph->tensor(t).type));
    step.inputs = function.parameters;
    for (TensorId t : graph->outputs)
        step.outputs.push_back(function.add_value(graph->tensor(t).name, graph->tensor(t).type));
    function.results = step.outputs;
    function.steps.push_back(std::move(step));
    return function;
}

namespace {

// Operations of one location and turn that can run as one: `level` counts the changes of location on the way to them. A turn comes
// behind those before it of the same level, so while one place is at a level of it, another is at the level before of the next turn.
struct Part {
    int level = 0, turn = 0;
    Location location;
    std::vector<OperationId> operations;
};

class Partition {
public:
    Partition(const Graph& graph, const Placement& placement) : graph_(graph), placement_(placement) {
        makers_.resize(graph.tensors.size());
        for (size_t o = 0; o < graph.operations.size(); o++) {
            for (TensorId t : graph.operations[o].outputs) makers_[t].push_back(o);
        }
        level_.assign(graph.operations.size(), 0);
        turn_ = placement.turns;
        turn_.resize(graph.operations.size(), 0);
        find_receivers();
        while (raise()) {
        }
    }

    std::vector<Part> parts() const {
        std::map<std::tuple<int, int, Location>, Part> parts;
        for (size_t o = 0; o < level_.size(); o++) {
            if (!placement_.slices.empty() && placement_.slices[o]) continue;
            const Location& at = placement_.operations[o];
            Part& part = parts[{level_[o] + turn_[o], level_[o], at}];
            part.level = level_[o];
            part.turn = turn_[o];
            part.location = at;
            part.operations.push_back(OperationId(o));
        }
        std::vector<Part> list;
        for (auto& [key, part] : parts) list.push_back(std::move(part));
        return list;
    }

private:
    // What reads something of another process, or writes a tensor with what does, begins a part: what is before it there need
    // not wait, and others need not wait for both. (Else two places, of which one once waits for the other, would go on in
    // turn: each in parts of two layers, of which the second is what the other waits for.)
    void find_receivers() {
        receives_.assign(graph_.operations.size(), false);
        if (placement_.others.empty()) return;  // one process waits for each launch and copy
        for (size_t o = 0; o < receives_.size(); o++)
            for (TensorId t : graph_.operations[o].inputs)
                for (size_t maker : makers_[t])
                    if (placement_.operations[maker] != placement_.operations[o]) receives_[o] = true;
        for (const std::vector<size_t>& makers : makers_) {
            const bool any = std::ranges::any_of(makers, [&](size_t maker) { return receives_[maker]; });
            for (size_t maker : makers)
                if (any) receives_[maker] = true;
        }
    }

    // Operations that write one tensor are of one level: none of them reads what follows from it.
    bool raise() {
        bool raised = false;
        const auto at_least = [&](size_t operation, int level, int turn) {
            if (level_[operation] >= level && turn_[operation] >= turn) return;
            level_[operation] = std::max(level_[operation], level);
            turn_[operation] = std::max(turn_[operation], turn);
            raised = true;
        };
        for (size_t o = 0; o < level_.size(); o++) {
            for (TensorId t : graph_.operations[o].inputs) {
                for (size_t maker : makers_[t])
                    at_least(o,
                             level_[maker] + (receives_[o] || placement_.operations[maker] != placement_.operations[o]),
                             turn_[maker]);
            }
            for (TensorId t : graph_.operations[o].outputs) {
                for (size_t maker : makers_[t]) at_least(maker, level_[o], turn_[o]);
            }
        }
        return raised;
    }

    const Graph& graph_;
    const Placement& placement_;
    std::vector<std::vector<size_t>> makers_;
    std::vector<int> level_, turn_;  // of operations
    std::vector<bool> receives_;
};

class MixedBuilder {
public:
    MixedBuilder(std::string name, const Graph& graph, const System& system, const Placement& placement)
        : graph_(graph), system_(system), placement_(placement) {
        function_.name = std::move(name);
        function_.entry = true;
        inputs_.insert(graph.inputs.begin(), graph.inputs.end());
        for (const Copy& copy : placement.copies) routes_[{copy.tensor, copy.to}] = copy.route.memories;
    }

    Function build() {
        const std::set<TensorId> apart(placement_.given.begin(), placement_.given.end());
        for (TensorId t : graph_.inputs)
            if (!apart.contains(t)) function_.parameters.push_back(value(t, placement_.tensors[t]));
        for (MemoryId other : placement_.others)
            for (TensorId t : graph_.inputs)
                if (!apart.contains(t)) function_.parameters.push_back(value(t, other));
        for (TensorId t : placement_.given) function_.parameters.push_back(value(t, placement_.tensors[t]));
        const auto parts = Partition(graph_, placement_).parts();
        find_results(parts);
        for (size_t p = 0; p < parts.size(); p++) add_part(parts[p], wanted_[p]);
        if (placement_.results.empty())
            for (TensorId t : graph_.outputs) function_.results.push_back(result(t));
        for (size_t caller = 0; caller < placement_.results.size(); caller++) {
            const MemoryId memory = caller == 0 ? placement_.caller : placement_.others[caller - 1];
            for (TensorId t : placement_.results[caller]) function_.results.push_back(result_in(t, memory));
        }
        return std::move(function_);
    }

private:
    bool is_constant(TensorId t) const {
        return graph_.tensor(t).constant && graph_.tensor(t).producer < 0 && !inputs_.contains(t);
    }

    ValueId value(TensorId t, MemoryId memory) {
        const auto known = values_.find({t, memory});
        if (known != values_.end()) return known->second;
        const bool home = memory == placement_.tensors[t];
        const std::string name =
            home ? graph_.tensor(t).name : graph_.tensor(t).name + "@" + system_.memory(memory).text();
        const ValueId id = function_.add_value(name, graph_.tensor(t).type, memory);
        values_.emplace(std::pair{t, memory}, id);
        return id;
    }

    // The tensor there, copied where it is first asked for.
    ValueId brought(TensorId t, MemoryId memory) {
        const bool known = values_.contains({t, memory});
        const ValueId there = value(t, memory);
        if (known || memory == placement_.tensors[t]) return there;
        const ValueId home = value(t, placement_.tensors[t]);
        function_.steps.push_back(
            {.kind = Step::Kind::copy, .inputs = {home}, .outputs = {there}, .route = routes_.at({t, memory})});
        return there;
    }

    ValueId result(TensorId t) {
        if (is_constant(t)) {
            const ValueId id = value(t, placement_.tensors[t]);
            function_.values[id].constant = graph_.tensor(t).constant;
        }
        // An annotated output stays where it is.
        const bool copied = routes_.contains({t, placement_.caller});
        return brought(t, copied ? placement_.caller : placement_.tensors[t]);
    }

    // Of a constant each caller has its own.
    ValueId result_in(TensorId t, MemoryId memory) {
        if (!is_constant(t)) return brought(t, memory);
        const ValueId id = value(t, memory);
        function_.values[id].constant = graph_.tensor(t).constant;
        return id;
    }

    // What of each part others need.
    void find_results(const std::vector<Part>& parts) {
        std::vector<int> part_of(graph_.operations.size(), -1);
        for (size_t p = 0; p < parts.size(); p++) {
            for (OperationId o : parts[p].operations) part_of[o] = static_cast<int>(p);
        }
        std::vector<int> made_by(graph_.tensors.size(), -1);  // none of what each part slices for itself
        for (size_t o = 0; o < graph_.operations.size(); o++) {
            for (TensorId t : graph_.operations[o].outputs) made_by[t] = part_of[o];
        }
        slices_.assign(graph_.tensors.size(), no_id);
        for (size_t o = 0; o < placement_.slices.size(); o++) {
            if (placement_.slices[o]) slices_[graph_.operations[o].outputs[0]] = OperationId(o);
        }
        wanted_.resize(parts.size());
        for (size_t o = 0; o < graph_.operations.size(); o++) {
            for (TensorId t : graph_.operations[o].inputs) {
                if (made_by[t] >= 0 && made_by[t] != part_of[o]) wanted_[static_cast<size_t>(made_by[t])].insert(t);
            }
        }
        for (TensorId t : graph_.outputs) {
            if (made_by[t] >= 0) wanted_[static_cast<size_t>(made_by[t])].insert(t);
        }
    }

    std::vector<OperationId> with_slices(const std::vector<OperationId>& operations) const {
        std::set<OperationId> all(operations.begin(), operations.end());
        for (OperationId o : operations)
            for (TensorId t : graph_.operation(o).inputs)
                if (slices_[t] != no_id) all.insert(slices_[t]);
        return {all.begin(), all.end()};
    }

    void add_part(const Part& part, const std::set<TensorId>& wanted) {
        auto graph = std::make_shared<Graph>();
        graph->dimension_names = graph_.dimension_names;
        graph->facts = graph_.facts;
        std::map<TensorId, TensorId> inner;
        Step step{.device = part.location.device};
        const auto copied = [&](TensorId t) {
            Tensor tensor = graph_.tensor(t);
            tensor.producer = no_id;
            graph->tensors.push_back(std::move(tensor));
            return inner[t] = last_id<TensorId>(graph->tensors);
        };
        const std::vector<OperationId> operations = with_slices(part.operations);
        std::set<TensorId> made;
        for (OperationId o : operations)
            made.insert(graph_.operation(o).outputs.begin(), graph_.operation(o).outputs.end());
        for (OperationId o : operations) {
            Operation operation = graph_.operation(o);
            for (TensorId& t : operation.inputs) {
                const bool known = inner.contains(t);
                const TensorId id = known ? inner.at(t) : copied(t);
                if (!known && !made.contains(t) && !is_constant(t)) {
                    graph->inputs.push_back(id);
                    step.inputs.push_back(brought(t, part.location.memory));
                }
                t = id;
            }
            for (TensorId& t : operation.outputs) t = inner.contains(t) ? inner.at(t) : copied(t);
            graph->add_operation(std::move(operation));
        }
        for (TensorId t : wanted) {
            graph->outputs.push_back(inner.at(t));
            step.outputs.push_back(value(t, part.location.memory));
        }
        // What nobody wants is not computed.
        if (graph->outputs.empty()) return;
        step.graph = std::move(graph);
        function_.steps.push_back(std::move(step));
    }

    const Graph& graph_;
    const System& system_;
    const Placement& placement_;
    Function function_;
    std::set<TensorId> inputs_;
    std::map<std::pair<TensorId, MemoryId>, std::vector<MemoryId>> routes_;
    std::map<std::pair<TensorId, MemoryId>, ValueId> values_;
    std::vector<std::set<TensorId>> wanted_;  // by part
    std::vector<OperationId> slices_;         // by tensor: which operation slices it
};

}  // namespace

Function mixed_function(std::string name, const Graph& graph, const System& system, const Placement& placement) {
    return MixedBuilder(std::move(name), graph, system, placement).build();
}

}  // namespace heddle::placing
