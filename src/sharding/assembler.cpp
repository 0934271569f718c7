#include "sharding/assembler.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/verify.h"
#include "sharding/body_copy.h"
#include "symbolic/projection.h"

namespace heddle::sharding {
namespace {

void drop_empty_equations(Body& body, const std::vector<TensorType>& outputs) {
    std::erase_if(body.equations, [&](const BodyEquation& equation) {
        bool empty =
            std::ranges::any_of(equation.variables, [&](VariableId id) { return body.variable(id).extent.value() == 0; });
        return empty && outputs[static_cast<size_t>(equation.output)].elements() > 0;
    });
}

void keep_read_inputs(Work& work) {
    auto read = tensors_read(work.body, static_cast<int32_t>(work.inputs.size()));
    std::vector<int32_t> kept;
    std::vector<TensorId> inputs;
    for (size_t i = 0; i < read.size(); ++i) {
        if (!read[i]) continue;
        kept.push_back(static_cast<int32_t>(i));
        inputs.push_back(work.inputs[i]);
    }
    work.body = compacted(std::move(work.body), kept);
    work.inputs = std::move(inputs);
}

// Row number `d` of a projection over a box of the index.
Range projected(const IndexProjection& projection, size_t d, const Box& index, int64_t extent) {
    if (d < projection.whole.size() && projection.whole[d]) return {0, extent};
    int64_t low = projection.offset[d], high = low;
    for (size_t axis = 0; axis < index.start.size(); ++axis) {
        int64_t step = projection.projection[d][axis];
        low += step * (step > 0 ? index.start[axis] : index.end[axis] - 1);
        high += step * (step > 0 ? index.end[axis] - 1 : index.start[axis]);
    }
    low = std::clamp<int64_t>(low, 0, extent);
    return {low, std::clamp(high + projection.shape[d], low, extent)};
}

Box projected(const IndexProjection& projection, const Box& index, const std::vector<int64_t>& extents) {
    Box box;
    for (size_t d = 0; d < extents.size(); ++d) {
        Range range = projected(projection, d, index, extents[d]);
        box.start.push_back(range.begin);
        box.end.push_back(range.end);
    }
    return box;
}

// The same projection where the index and the tensor start elsewhere.
IndexProjection moved(IndexProjection projection, const Box& index, const Box& region) {
    for (size_t d = 0; d < projection.offset.size(); ++d) {
        bool whole = d < projection.whole.size() && projection.whole[d];
        for (size_t axis = 0; axis < index.start.size(); ++axis)
            projection.offset[d] += projection.projection[d][axis] * index.start[axis];
        projection.offset[d] -= region.start[d];
        if (whole) projection.offset[d] = 0;
    }
    return projection;
}

}  // namespace

OperationId Assembler::add_operation(Operation operation) {
    std::string name = operation.name;
    for (int copy = 2; !names_.insert(operation.name).second; ++copy) operation.name = fmt::format("{} {}", name, copy);
    return graph_.add_operation(std::move(operation));
}

void Assembler::add_as_it_is(Operation operation) {
    names_.insert(operation.name);
    graph_.add_operation(std::move(operation));
}

OperationId Assembler::add(Work work) {
    keep_read_inputs(work);  // and no node that nothing uses
    Operation operation{.name = std::move(work.name),
                        .operator_name = std::move(work.operator_name),
                        .inputs = std::move(work.inputs),
                        .outputs = std::move(work.outputs),
                        .index = {},
                        .input_projections = {},
                        .output_projections = {},
                        .body = std::make_shared<const Body>(std::move(work.body)),
                        .params = std::move(work.params)};
    BodyAccesses accesses(*operation.body);
    operation.index = extended_index(accesses);
    for (size_t i = 0; i < operation.inputs.size(); ++i)
        operation.input_projections.push_back(
            derived_projection(accesses, static_cast<int32_t>(i), graph_.tensor(operation.inputs[i]).type.shape));
    for (size_t i = 0; i < operation.outputs.size(); ++i)
        operation.output_projections.push_back(written_projection(*operation.body, static_cast<int32_t>(i),
                                                                  graph_.tensor(operation.outputs[i]).type.shape));
    return add_operation(std::move(operation));
}

// to[...] = from[... + start], or `into` a box of a larger tensor: to[... + start] = from[...]
void Assembler::copy_box(TensorId from, TensorId to, const Box& box, bool into) {
    Work work{.name = fmt::format("{} {}", graph_.tensor(into ? to : from).name, text(box)),
              .operator_name = into ? "place" : "region",
              .body = {},
              .inputs = {from},
              .outputs = {to},
              .params = {}};
    BodyNodes nodes(work.body);
    BodyEquation equation;
    NodeList near, far;
    for (size_t d = 0; d < box.start.size(); ++d) {
        equation.variables.push_back(
            nodes.add_variable(fmt::format("i{}", d), Variable::Kind::index, box.end[d] - box.start[d]));
        near.push_back(nodes.variable(equation.variables.back()));
        far.push_back(plus(nodes, near.back(), box.start[d]));
    }
    equation.left = into ? far : near;
    equation.value = nodes.read(TensorIndex(0), graph_.tensor(from).type.dtype, into ? near : far);
    work.body.equations.push_back(std::move(equation));
    add(std::move(work));
}

TensorId Assembler::region_of(TensorId tensor, const Box& box) {
    const TensorType& type = graph_.tensor(tensor).type;
    if (box == Box::whole(type.extents())) return tensor;
    if (auto known = regions_.find({tensor, box}); known != regions_.end()) return known->second;
    TensorId part = piece_of(tensor, box);
    copy_box(tensor, part, box, false);
    return regions_[{tensor, box}] = part;
}

TensorId Assembler::piece_of(TensorId tensor, const Box& box) {
    const Tensor& whole = graph_.tensor(tensor);
    const Corner shape = box.shape();
    return graph_.add_tensor(whole.name + text(box), {whole.type.dtype, {shape.begin(), shape.end()}});
}

void Assembler::place(TensorId piece, TensorId tensor, const Box& box) {
    if (piece != tensor) copy_box(piece, tensor, box, true);
}

Placed Assembler::add_in_regions(Work work) {
    std::vector<TensorType> types;
    for (TensorId id : work.outputs) types.push_back(graph_.tensor(id).type);
    drop_empty_equations(work.body, types);
    keep_read_inputs(work);
    const Body& whole = work.body;
    Placed placed;
    BodyAccesses accesses(whole);
    std::vector<InputRegion> moves;
    Work local{.name = work.name,
               .operator_name = work.operator_name,
               .body = {},
               .inputs = {},
               .outputs = {},
               .params = work.params};
    for (size_t i = 0; i < work.inputs.size(); ++i) {
        const TensorIndex input(i);
        Region region{work.inputs[i], read_region(accesses, input, graph_.tensor(work.inputs[i]).type.extents())};
        region.unread = unread_elements(accesses, input, region.box);
        local.inputs.push_back(region_of(region.tensor, region.box));
        moves.push_back({input, region.box.start});
        placed.inputs.push_back(std::move(region));
    }
    BodyNodes nodes(local.body);
    BodyCopy copy(whole, nodes, local.body);
    copy.move_inputs(std::move(moves));
    for (size_t i = 0; i < whole.variables.size(); ++i) {
        const Variable& variable = whole.variables[i];
        copy.bind(VariableId(i), nodes.add_variable(variable.name, variable.kind, variable.extent), 0);
    }
    std::vector<WrittenBox> written = written_boxes(whole);
    size_t next = 0;
    for (const BodyEquation& equation : whole.equations) {
        TensorId target = work.outputs[static_cast<size_t>(equation.output)];
        Box box = Box::whole(graph_.tensor(target).type.shape);
        if (!box.is_empty()) box = written[next++].box;
        bool all = box == Box::whole(graph_.tensor(target).type.shape);
        BodyEquation made{
            static_cast<int32_t>(local.outputs.size()), equation.variables, {}, copy.copy(equation.value)};
        for (size_t d = 0; d < equation.left.size(); ++d)
            made.left.push_back(plus(nodes, copy.copy(equation.left[d]), -box.start[d]));
        local.body.equations.push_back(std::move(made));
        local.outputs.push_back(all ? target : piece_of(target, box));
        placed.outputs.push_back({target, std::move(box), 0});
    }
    std::vector<TensorId> pieces = local.outputs;
    placed.operation = add(std::move(local));
    for (size_t i = 0; i < pieces.size(); ++i) place(pieces[i], placed.outputs[i].tensor, placed.outputs[i].box);
    return placed;
}

Placed Assembler::add_opaque(const Operation& operation, const std::string& name, const Box& index,
                             const std::vector<Range>& folds, const std::vector<TensorId>& outputs) {
    Placed placed;
    Operation part = operation;
    part.name = name;
    part.folds.clear();
    part.gradient = nullptr;
    const Corner lengths = index.shape();
    size_t column = 0;
    for (IndexAxis& axis : part.index)
        if (!axis.extends()) axis.extent = Size(lengths[column++]);
    for (size_t i = 0; i < operation.inputs.size(); ++i) {
        TensorId tensor = operation.inputs[i];
        const IndexProjection& projection = operation.input_projections[i];
        Region region{tensor, projected(projection, index, graph_.tensor(tensor).type.extents())};
        part.input_projections[i] = moved(projection, index, region.box);
        for (size_t fold = 0; fold < folds.size(); ++fold) {
            for (auto [input, dimension] : operation.folds[fold].dimensions) {
                if (static_cast<size_t>(input) != i) continue;
                auto d = static_cast<size_t>(dimension);
                region.box.start[d] = folds[fold].begin;
                region.box.end[d] = folds[fold].end;
                part.input_projections[i].shape[d] = folds[fold].length();
            }
        }
        part.inputs[i] = region_of(tensor, region.box);
        placed.inputs.push_back(std::move(region));
    }
    for (size_t i = 0; i < operation.outputs.size(); ++i) {
        TensorId tensor = outputs[i];
        const IndexProjection& projection = operation.output_projections[i];
        Region region{tensor, projected(projection, index, graph_.tensor(tensor).type.extents())};
        bool all = region.box == Box::whole(graph_.tensor(tensor).type.shape);
        part.outputs[i] = all ? tensor : piece_of(tensor, region.box);
        part.output_projections[i] = moved(projection, index, region.box);
        placed.outputs.push_back(std::move(region));
    }
    std::vector<TensorId> pieces = part.outputs;
    placed.operation = add_operation(std::move(part));
    for (size_t i = 0; i < pieces.size(); ++i) place(pieces[i], placed.outputs[i].tensor, placed.outputs[i].box);
    return placed;
}

}  // namespace heddle::sharding
