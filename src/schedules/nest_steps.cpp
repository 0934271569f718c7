// The steps of a scan in one nest (vector_steps.h): running accumulators along the lanes, or states in registers.
#include <map>

#include "schedules/nest_builder.h"

namespace heddle::schedules {

using VectorPart = VectorSteps::Part;

AccumulatorId Nest::start_running(Block& block, EquationIndex index) {
    const KernelEquation& e = equation(index);
    Accumulator accumulator;
    accumulator.name = assembly_.kernel.tensor(e.tensor).name;
    accumulator.reducer = e.vector_steps.reducer;
    accumulator.dtype = assembly_.kernel.tensor(e.tensor).dtype;
    accumulator.width = group_.width;
    accumulator.vectors = group_.vectors;
    accumulator.running = !group_.in_turn;
    accumulator.state = group_.in_turn;
    tree_.accumulators.push_back(accumulator);
    const auto id = last_id<AccumulatorId>(tree_.accumulators);
    block.push_back({Start{id, expressions_.defined(e.vector_steps.of)}});
    return id;
}

// What is before the first step; what comes at each, and behind the last one.
Nest::PartsOfSteps Nest::define_first(Block& block) {
    PartsOfSteps parts;
    for (EquationIndex index : group_.equations()) {
        const KernelEquation& e = equation(index);
        const bool before = e.vector_steps.part == VectorPart::plain && !contains(e.axes, group_.vector_steps);
        if (before)
            define(block, index, expressions_.value(right(index)));
        else
            (e.vector_steps.part == VectorPart::last ? parts.behind : parts.steps).push_back(index);
    }
    return parts;
}

// What is before the first step, then all steps by vectors, then what is left behind the last one.
Block Nest::vector_steps() {
    std::map<TensorIndex, AccumulatorId> running;
    Block block;
    const auto [steps, behind] = define_first(block);
    for (EquationIndex index : steps) {
        if (equation(index).vector_steps.part == VectorPart::running)
            running[equation(index).tensor] = start_running(block, index);
    }
    append(block, lanes([&, &steps = steps] {
               Block body;
               for (EquationIndex index : steps) {
                   const KernelEquation& e = equation(index);
                   if (e.vector_steps.part == VectorPart::before) {
                       define(body, index, of_accumulator(Expression::Kind::before, running.at(e.vector_steps.of)));
                       continue;
                   }
                   if (e.update) {
                       append(body, store_update(index));
                       continue;
                   }
                   ExpressionId value = expressions_.value(right(index));
                   if (e.vector_steps.part == VectorPart::running) {
                       const AccumulatorId accumulator = running.at(e.tensor);
                       Update update;
                       update.accumulator = accumulator;
                       update.value = value;
                       if (e.vector_steps.factor >= 0) update.factor = expressions_.defined(e.vector_steps.factor);
                       body.push_back({update});
                       value = of_accumulator(Expression::Kind::accumulator, accumulator);
                   }
                   define(body, index, value);
               }
               return body;
           }));
    for (EquationIndex index : behind)
        define(block, index, of_accumulator(Expression::Kind::carried, running.at(equation(index).vector_steps.of)));
    return block;
}

// The same, where the steps run one after another inside the tile. All of them take what the step before has left:
// states change behind everything else.
Block Nest::steps_in_turn() {
    std::map<TensorIndex, AccumulatorId> states;
    Block block;
    const PartsOfSteps parts = define_first(block);
    for (EquationIndex index : parts.steps) {
        if (equation(index).vector_steps.part == VectorPart::running)
            states[equation(index).tensor] = start_running(block, index);
    }
    For loop;
    loop.variable = assembly_.variable(assembly_.axis_name(group_.vector_steps), Variable::Kind::loop);
    loop.range = range(group_.vector_steps);
    expressions_.bind(group_.vector_steps, loop.variable);
    Block changes;
    for (EquationIndex index : parts.steps) {
        const KernelEquation& e = equation(index);
        if (e.vector_steps.part == VectorPart::before) {
            define(loop.body, index, of_accumulator(Expression::Kind::before, states.at(e.vector_steps.of)));
            continue;
        }
        define(loop.body, index, expressions_.value(right(index)));
        if (e.vector_steps.part != VectorPart::running) continue;
        Update update;
        update.accumulator = states.at(e.tensor);
        update.value = expressions_.defined(e.tensor);
        changes.push_back({update});
    }
    append(loop.body, std::move(changes));
    loop.until = ends_of_steps(loop.body, states);
    expressions_.unbind(group_.vector_steps);
    block.push_back({std::move(loop)});
    for (const auto& [tensor, state] : states) block.push_back({Finish{state}});
    for (EquationIndex index : parts.behind) {
        const AccumulatorId state = states.at(equation(index).vector_steps.of);
        define(block, index, of_accumulator(Expression::Kind::accumulator, state));
    }
    return block;
}

// A block of steps goes back into rows that are far apart: a few of them at a time, each as far as the block goes, as
// its inputs are read. More rows at once are more than prefetchers follow, and may have places in the caches in common.
bool Nest::fills_rows_of_buffer() const {
    const auto role = assembly_.kernel.tensor(equation(group_.equations().front()).tensor).role;
    return group_.transposed && group_.block >= 0 && role != KernelTensor::Role::local;
}

}  // namespace heddle::schedules
