#include "placing/box_work.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "evaluate/work.h"
#include "graph/verify.h"

namespace heddle::placing {

Box written_by(Body body, const Box& range) {
    const VariableList& variables = body.equations.front().variables;
    const auto ends = [&](const Corner& extents) {
        for (size_t i = 0; i < variables.size(); i++)
            body.variables[static_cast<size_t>(variables[i].number())].extent = extents[i];
        return written_boxes(body).front().box.end;
    };
    Corner first = range.start;
    for (Size& extent : first) extent = extent + 1;
    Box box{ends(first), ends(range.end)};
    for (Size& coordinate : box.start) coordinate = coordinate - 1;
    return box;
}

Result<BoxWork> work_of_box(const Graph& own, const std::vector<sharding::Axis>& axes, const InProgram& in,
                            const Box& box) {
    // The parts before and behind are one box each: however many there are, this one does the same.
    std::vector<Box> boxes(1);
    std::vector<bool> is_cut;
    for (size_t axis = 0; axis < axes.size(); axis++) {
        const int64_t begin = box.start[axis], end = box.end[axis], extent = axes[axis].extent.value();
        is_cut.push_back(begin > 0 || end < extent);
        if (is_cut.back() && axes[axis].ordered) {
            return fail({.code = "placing.scale",
                         .summary = fmt::format("parts of axis '{}' of '{}' wait for one another", axes[axis].name,
                                                own.operations[0].name),
                         .remedy = "cut another axis of it"});
        }
        std::vector<Box> longer;
        for (const Box& before : boxes) {
            for (const auto& [from, to] : {std::pair(int64_t{0}, begin), {begin, end}, {end, extent}}) {
                if (from == to && extent > 0) continue;
                if (extent == 0 && !longer.empty()) continue;
                longer.push_back(before);
                longer.back().start.push_back(from);
                longer.back().end.push_back(to);
            }
        }
        boxes = std::move(longer);
    }
    const auto placed = sharding::place(own, {{.boxes = std::move(boxes), .places = {}}}, {});
    if (!placed) return fail(placed.error());
    const Graph& graph = placed->graph;
    const sharding::Sharding& sharded = placed->operations.front();
    BoxWork made;
    for (const Tensor& tensor : graph.tensors) made.element_bytes.push_back(bytes(tensor.type.dtype));
    made.stages.resize(sharded.combinations.size() + 1);
    std::vector<const sharding::Application*> of_stage(made.stages.size());
    for (const sharding::Application& application : sharded.applications) {
        if (!contains(application.index, box)) continue;
        of_stage[application.stage] = &application;
        BoxWork::Stage& stage = made.stages[application.stage];
        for (const sharding::Region& region : application.inputs) stage.reads.emplace_back(region.tensor, region.box);
        for (const sharding::Region& region : application.outputs) stage.makes.emplace_back(region.tensor, region.box);
        stage.work.operations += scalar_operations(*graph.operation(application.operation).body);
        add_bytes(stage.reads, made.element_bytes, in, stage.work);
        add_bytes(stage.makes, made.element_bytes, in, stage.work);
        stage.kernels++;
    }
    for (size_t c = 0; c < sharded.combinations.size(); c++) {
        const sharding::Combination& combination = sharded.combinations[c];
        BoxWork::Combining& own_part = made.combinings.emplace_back();
        own_part.result = combination.result;
        own_part.axes = combination.axes;
        for (size_t axis = 0; axis < axes.size() && of_stage[c]; axis++) {
            const Box& index = of_stage[c]->index;
            const bool whole = index.start[axis] == 0 && index.end[axis] == axes[axis].extent.value();
            if (is_cut[axis] && !whole && std::ranges::count(combination.axes, axis) == 0) own_part.kept.insert(axis);
        }
        if (made.stages[c].makes.empty()) {
            return fail({.code = "placing.scale",
                         .summary = fmt::format("which partial results of '{}' a place makes is not known",
                                                own.operations[0].name),
                         .remedy = "cut another axis of it"});
        }
        const Box stack = made.stages[c].makes.front().second;
        for (size_t d = combination.axes.size(); d < stack.rank(); d++) {
            own_part.range.start.push_back(stack.start[d]);
            own_part.range.end.push_back(stack.end[d]);
        }
        own_part.body = *graph.operation(combination.operation).body;
        for (TensorId t : combination.partial) own_part.partial_bytes += made.element_bytes[t];
        const double elements =
            static_cast<double>(int64_t{Box::whole(graph.tensor(combination.partial.front()).type.shape).volume()});
        own_part.operations = elements > 0 ? scalar_operations(own_part.body) / elements : 0;
    }
    return made;
}

}  // namespace heddle::placing
