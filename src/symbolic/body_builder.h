// From a template's body statements to a typed body: statics resolved, lists expanded, casts and roundings written out
// (docs/language.md, "Bodies"), every read proved inside its tensor, every left side within the cover rule, and the
// index projections derived ("Projections").
//
// Codes: symbolic.unknown_name, symbolic.not_given, symbolic.shadow, symbolic.rank, symbolic.type, symbolic.dtype,
// symbolic.stored_dtype, symbolic.coordinate, symbolic.guard, symbolic.output_read, symbolic.no_element,
// symbolic.static_extent, symbolic.extent, symbolic.reducer, symbolic.scan, symbolic.state_step, symbolic.table,
// symbolic.footprint, symbolic.cover, symbolic.ipf, symbolic.limit, and those of static expressions (operations.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/graph.h"
#include "symbolic/environment.h"
#include "zspace/box.h"

namespace heddle {

// What one equation writes of one output tensor.
struct EquationBox {
    TensorReference output;
    Box box;
    const Place* place = nullptr;  // of the equation
};

// The index and the projections of one operation.
struct OperationProjections {
    std::vector<IndexAxis> index;  // of the operation index, then one a reduction with its combiner, then scans
    std::vector<IndexProjection>
        inputs;  // one a tensor of `BodyResult::inputs`, over the index axes without a combiner
    std::vector<IndexProjection> outputs;  // one a tensor of `BodyResult::outputs`
    Diagnostics notes;  // declared projections that are larger than what the body reads: the surplus, not an error
};

struct BodyResult {
    std::shared_ptr<const Body> body;
    std::vector<TensorReference> inputs;   // what the body reads, in the template's order; read number i is inputs[i]
    std::vector<TensorReference> outputs;  // what it writes; an equation's `output` is a position here
    OperationProjections projections;
};

// The body of the operation that `environment` stands for (one value of its `each`). Outputs that were not requested
// have no equations. Appends to `written` the box of each equation that writes anything.
Result<BodyResult> build_body(Environment& environment, std::vector<EquationBox>& written);

// Whether the boxes that all operations of an application write are disjoint and fill every requested output.
// Code: symbolic.cover, with the gap or the two equations that overlap.
Result<void> check_cover(const Environment& environment, const std::vector<EquationBox>& written);

// Of a template without a body (a kernel elsewhere): the declared projections, by name where none is declared. `inputs`
// lists every tensor that was given and `outputs` every tensor that was requested, in the template's order.
struct DeclaredProjections {
    std::vector<TensorReference> inputs;
    std::vector<TensorReference> outputs;
    OperationProjections projections;
};
Result<DeclaredProjections> declared_projections(Environment& environment);

}  // namespace heddle
