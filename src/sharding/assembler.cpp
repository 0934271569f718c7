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

Assembler::Assembler(Graph& graph, bool counts_unread) : graph_(graph), counts_unread_(counts_unread) {
    given_.insert(graph.inputs.begin(), graph.inputs.end());
    for (size_t t = 0; t < graph.tensors.size(); ++t)
        if (graph.tensors[t].constant && graph.tensors[t].producer < 0) given_.insert(TensorId(t));
}

OperationId Assembler::add_operation(Operation operation, PlaceId place) {
    std::string name = operation.name;
    for (int copy = 2; !names_.insert(operation.name).second; ++copy) operation.name = fmt::format("{} {}", name, copy);
    const OperationId id = graph_.add_operation(std::move(operation));
    locate(place);
    return id;
}

OperationId Assembler::add(Work work, PlaceId place) {
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
    return add_operation(std::move(operation), place);
}

// to[x - to's origin] = from[x - from's origin] for all x of the box.
void Assembler::copy(const Box& box, const Local& from, const Local& to, PlaceId place) {
    const bool gathers = graph_.tensor(to.own).type.elements() != box.volume();
    Work work{.name = fmt::format("{} {}", graph_.tensor(gathers ? to.own : from.own).name, text(box)),
              .operator_name = gathers ? "place" : "region",
              .body = {},
              .inputs = {from.own},
              .outputs = {to.own},
              .params = {}};
    BodyNodes nodes(work.body);
    BodyEquation equation;
    NodeList source;
    for (size_t d = 0; d < box.start.size(); ++d) {
        equation.variables.push_back(
            nodes.add_variable(fmt::format("i{}", d), Variable::Kind::index, box.end[d] - box.start[d]));
        const NodeId step = nodes.variable(equation.variables.back());
        equation.left.push_back(plus(nodes, step, box.start[d] - to.origin[d]));
        source.push_back(plus(nodes, step, box.start[d] - from.origin[d]));
    }
    equation.value = nodes.read(TensorIndex(0), graph_.tensor(from.own).type.dtype, source);
    work.body.equations.push_back(std::move(equation));
    add(std::move(work), place);
}

TensorId Assembler::named(TensorId tensor, const Box& box) {
    const Tensor& whole = graph_.tensor(tensor);
    const Corner shape = box.shape();
    return graph_.add_tensor(whole.name + text(box), {whole.type.dtype, {shape.begin(), shape.end()}});
}

// What holds a box at one place: all of a tensor has the tensor's own number at the first place that makes it.
TensorId Assembler::target_of(TensorId tensor, const Box& box) {
    const TensorType& type = graph_.tensor(tensor).type;
    if (!(box == Box::whole(type.shape))) return named(tensor, box);
    return taken_.insert(tensor).second ? tensor : graph_.add_tensor(graph_.tensor(tensor).name, TensorType(type));
}

// This box alone, at the place of the piece.
TensorId Assembler::part_of(const Piece& piece, TensorId tensor, const Box& box) {
    // What is sent is made by an operation.
    if (piece.box == box && piece.origin == box.start && !inputs_.contains(piece.own)) {
        shared_.try_emplace(piece.own, tensor, box);
        return piece.own;
    }
    auto [known, fresh] = parts_.try_emplace({piece.own, box});
    if (fresh) {
        known->second = named(tensor, box);
        copy(box, {piece.own, piece.origin}, {known->second, box.start}, piece.place);
        shared_.try_emplace(known->second, tensor, box);
    }
    return known->second;
}

Assembler::Local Assembler::local(TensorId tensor, const Box& box, PlaceId place) {
    read_at(tensor, box, place);
    const Piece* piece = given_.contains(tensor) ? nullptr : pieces_.holding(tensor, box, place);
    if (piece) return {piece->own, piece->origin};
    return {only(tensor, box, place), box.start};
}

TensorId Assembler::exactly(TensorId tensor, const Box& box, PlaceId place) {
    read_at(tensor, box, place);
    return only(tensor, box, place);
}

Touched& Assembler::touched_at(PlaceId place) {
    if (touched_.empty() || touched_.back().place != place || touched_.back().of != work_for_)
        touched_.push_back({place, {}, {}, work_for_});
    return touched_.back();
}

// All of some work's reads come before what it makes.
void Assembler::read_at(TensorId tensor, const Box& box, PlaceId place) {
    if (!touched_at(place).makes.empty()) touched_.push_back({place, {}, {}, work_for_});
    touched_.back().reads.emplace_back(tensor, box);
}

TensorId Assembler::only(TensorId tensor, const Box& box, PlaceId place) {
    if (const Piece* piece = pieces_.exactly(tensor, box, place)) return piece->own;
    TensorId own;
    if (given_.contains(tensor)) {
        if (box == Box::whole(graph_.tensor(tensor).type.shape)) return tensor;
        own = named(tensor, box);
        copy(box, {tensor, Corner(box.rank(), 0)}, {own, box.start}, place);
        slices_.emplace(own, Slice{tensor, box});
    } else {
        own = gathered(tensor, box, place);
    }
    pieces_.add(tensor, {box, place, own, box.start});
    return own;
}

TensorId Assembler::gathered(TensorId tensor, const Box& box, PlaceId place) {
    const auto parts = pieces_.sources(tensor, box, place);
    const auto brought = [&](const Piece& piece, const Box& part) {
        const TensorId own = part_of(piece, tensor, part);
        if (piece.place != place) pieces_.add(tensor, {part, place, own, part.start});
        return own;
    };
    if (parts.size() == 1 && parts[0].second == box) return brought(parts[0].first, box);
    const TensorId own = target_of(tensor, box);
    for (const auto& [piece, part] : parts) {
        if (piece.place == place)
            copy(part, {piece.own, piece.origin}, {own, box.start}, place);
        else
            copy(part, {brought(piece, part), part.start}, {own, box.start}, place);
    }
    return own;
}

TensorId Assembler::add_input(TensorId tensor, const Box& box, PlaceId place) {
    const TensorId own = named(tensor, box);
    graph_.inputs.push_back(own);
    inputs_.insert(own);
    pieces_.add(tensor, {box, place, own, box.start});
    return own;
}

TensorId Assembler::whole(TensorId tensor, PlaceId place) {
    return exactly(tensor, Box::whole(graph_.tensor(tensor).type.shape), place);
}

// The tensor that a place makes of this box.
TensorId Assembler::made(TensorId tensor, const Box& box, PlaceId place) {
    const TensorId own = target_of(tensor, box);
    touched_at(place).makes.emplace_back(tensor, box);
    pieces_.add(tensor, {box, place, own, box.start});
    return own;
}

Placed Assembler::add_in_regions(Work work, PlaceId place) {
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
        region.unread = counts_unread_ ? unread_elements(accesses, input, region.box) : std::nullopt;
        const Local own = this->local(region.tensor, region.box, place);
        local.inputs.push_back(own.own);
        moves.push_back({input, own.origin});
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
        BodyEquation made_here{
            static_cast<int32_t>(local.outputs.size()), equation.variables, {}, copy.copy(equation.value)};
        for (size_t d = 0; d < equation.left.size(); ++d)
            made_here.left.push_back(plus(nodes, copy.copy(equation.left[d]), -box.start[d]));
        local.body.equations.push_back(std::move(made_here));
        local.outputs.push_back(made(target, box, place));
        placed.outputs.push_back({target, std::move(box), 0});
    }
    placed.operation = add(std::move(local), place);
    return placed;
}

Placed Assembler::add_opaque(const Operation& operation, const std::string& name, const Box& index,
                             const std::vector<Range>& folds, const std::vector<TensorId>& outputs, PlaceId place) {
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
        part.inputs[i] = exactly(tensor, region.box, place);
        placed.inputs.push_back(std::move(region));
    }
    for (size_t i = 0; i < operation.outputs.size(); ++i) {
        TensorId tensor = outputs[i];
        const IndexProjection& projection = operation.output_projections[i];
        Region region{tensor, projected(projection, index, graph_.tensor(tensor).type.extents())};
        part.outputs[i] = made(tensor, region.box, place);
        part.output_projections[i] = moved(projection, index, region.box);
        placed.outputs.push_back(std::move(region));
    }
    placed.operation = add_operation(std::move(part), place);
    return placed;
}

}  // namespace heddle::sharding
