// Index projections: what the accesses of a body say about each tensor, the proof of a declared projection, and the
// cover rule of left sides (docs/language.md, "Projections").
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "symbolic/body_builder.h"
#include "symbolic/left_sides.h"
#include "symbolic/projection_accesses.h"

namespace heddle {

class BodyExpressions;

struct ProjectedTensor {
    std::string name;
    Corner extents;
    const TensorSpec* spec = nullptr;
};
Corner extents_of(const TensorType& type);

// A finished body with what messages need.
struct ProjectedBody {
    const Body* body = nullptr;
    std::vector<ProjectedTensor> inputs, outputs;
    std::vector<TensorReference> references;  // of `outputs`
    std::vector<const Place*> places;         // of each equation
    std::vector<const Place*> read_places;    // of each node that reads, in the template; others have none
};

// The index extended by reductions, and the projection of each tensor, after the footprint proof and the cover rule.
// Appends the box of each equation to `written`.
Result<OperationProjections> project(Environment& environment, const ProjectedBody& body,
                                     std::vector<EquationBox>& written);

// The summary of the accesses to one tensor: per dimension the common coefficients, the least offset and the hull.
IndexProjection derived_projection(const BodyAccesses& accesses, int32_t input, std::span<const Size> extents);

// The same of what the left sides write of output number `output`.
IndexProjection written_projection(const Body& body, int32_t output, std::span<const Size> extents);

// The index axes, then one axis a reduction variable; variables of one combiner that read alike are one axis.
std::vector<IndexAxis> extended_index(const BodyAccesses& accesses);

// ---- the cover rule (projection_cover.cpp)

// The box of the left side of equation number `equation`; nothing if it writes nothing. `ranges` is over all values of
// all variables. Code: symbolic.cover.
Result<std::optional<EquationBox>> equation_box(const Environment& environment, const ProjectedBody& body,
                                                RangeEvaluator& ranges, size_t equation);

// What to say of an element that is not written once by left sides that are no boxes. Code: symbolic.cover.
Diagnostic left_fault(const Environment& environment, std::span<const LeftSide> sides, const LeftFault& fault,
                      const std::string& output, std::span<const Place* const> places);

// ---- declared projections (projection_declared.cpp)

// The declared projections of one operation.
class IpfEvaluator {
public:
    explicit IpfEvaluator(Environment& environment);
    ~IpfEvaluator();
    // The value of an `ipf` of any notation for a tensor of these extents. Codes: symbolic.ipf, and those of
    // expressions.
    Result<IndexProjection> of(const ProjectedTensor& tensor);

private:
    Environment& environment_;
    Body body_;                                     // of the expressions
    std::unique_ptr<BodyExpressions> expressions_;  // made when an entry is first more than a number
};

// Whether `declared` holds everything that `derived` does, at every index point; what is outside the tensor does not
// count. A note where it holds more. `clipped` says that accesses are guarded.
Result<Diagnostics> check_declared(const Environment& environment, const ProjectedTensor& tensor,
                                   const IndexProjection& declared, const IndexProjection& derived,
                                   std::span<const int64_t> index, bool clipped);

// The projection of a bare tensor: dimensions named like index axes take those coordinates, others are whole.
IndexProjection projection_by_name(const Environment& environment, const BoundTensor& tensor);

}  // namespace heddle
