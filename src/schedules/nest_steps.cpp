// The steps of a scan by vectors (vector_steps.h): running accumulators along the lanes.
#include <map>

#include "schedules/nest_builder.h"

namespace heddle::schedules {

AccumulatorId Nest::start_running(Block& block, EquationIndex index) {
    const KernelEquation& e = equation(index);
    Accumulator accumulator;
    accumulator.name = assembly_.kernel.tensor(e.tensor).name;
    accumulator.reducer = e.vector_steps.reducer;
    accumulator.dtype = assembly_.kernel.tensor(e.tensor).dtype;
    accumulator.width = group_.width;
    accumulator.running = true;
    tree_.accumulators.push_back(accumulator);
    const auto id = last_id<AccumulatorId>(tree_.accumulators);
    block.push_back({Start{id, expressions_.defined(e.vector_steps.of)}});
    return id;
}

// What is before the first step, then all steps by vectors, then what is left behind the last one.
Block Nest::vector_steps() {
    using VectorPart = VectorSteps::Part;
    std::map<TensorIndex, AccumulatorId> running;
    Block block;
    std::vector<EquationIndex> steps, behind;
    for (EquationIndex index : group_.equations()) {
        const KernelEquation& e = equation(index);
        const bool before = e.vector_steps.part == VectorPart::plain && !contains(e.axes, group_.vector_steps);
        if (before)
            define(block, index, expressions_.value(right(index)));
        else
            (e.vector_steps.part == VectorPart::last ? behind : steps).push_back(index);
    }
    for (EquationIndex index : steps) {
        if (equation(index).vector_steps.part == VectorPart::running)
            running[equation(index).tensor] = start_running(block, index);
    }
    append(block, lanes([&] {
        Block body;
        for (EquationIndex index : steps) {
            const KernelEquation& e = equation(index);
            if (e.vector_steps.part == VectorPart::before) {
                define(body, index, of_accumulator(Expression::Kind::before, running.at(e.vector_steps.of)));
                continue;
            }
            ExpressionId value = expressions_.value(right(index));
            if (e.vector_steps.part == VectorPart::running) {
                const AccumulatorId accumulator = running.at(e.tensor);
                Update update;
                update.accumulator = accumulator;
                update.value = value;
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

}  // namespace heddle::schedules
