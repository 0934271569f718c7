// Whether the parts of a graph document fit together, and whether an environment allows them. Every mismatch is an
// issue of its own; one run finds them all, up to `most_issues`.
//
// | code | what is wrong |
// |---|---|
// | interchange.node_type, .tag_type, .unknown_dtype, .unknown_kernel | the environment does not allow it |
// | interchange.unknown_tensor | a selection is of a tensor that is not there |
// | interchange.tensor_mismatch | a selection has another rank than its tensor, or reaches outside of it |
// | interchange.cycle | a simple cycle of tensors and operations: each is listed, up to `most_cycles` |
// | interchange.no_index | a signature, or an index of an application, without an index of the operation |
// | interchange.signature | a signature whose names, numbers or ranks are not those of its operation |
// | interchange.selection | a selection differs from the projection of the index |
// | interchange.not_injective | an output's projection maps two points of the index to one cell |
// | interchange.orphan_application | its operation is not there |
// | interchange.application_mismatch | operands of an application are not those of its operation |
// | interchange.application_outside | its index or a selection is not within its operation's |
// | interchange.gap | points of an index, or cells of a tensor, that no application or operation makes |
// | interchange.overlap | points of an index, or cells of a tensor, that two of them make |
// | interchange.operator_refuses | the library's operator, applied again, refuses the operands |
// | interchange.operator_differs | applied again, it has another index, other projections or other outputs |
// | interchange.limit | something is too large to be checked, or there are more issues |
//
// What a tensor's makers leave out counts as a gap only if it has a maker: others are inputs. Applications of one
// operation must cover its index exactly; without an index, its outputs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "interchange/document.h"
#include "interchange/dialect.h"
#include "language/library.h"
#include "support/diagnostic.h"

namespace heddle::interchange {

inline constexpr size_t most_issues = 100, most_cycles = 50;
inline constexpr size_t largest_rank = 64;             // of what has a signature
inline constexpr int64_t largest_search = 30'000'000;  // numbers looked at for covers and collisions, of one document

struct ValidationOptions {
    Dialect dialect;
    const Library* library = nullptr;          // needed where the dialect says `library`
    std::shared_ptr<const SourceText> source;  // the document's text, for places; null: it was made by a program
};

struct Validation {
    Diagnostics issues;  // params `path` (of the JSON text), `node` (an id) and what the issue is about
    size_t applied_again = 0;
    std::vector<std::string> not_applied_again;  // operations (label or id) of known operators, and why not
};

Validation validate(const GraphDocument& document, const ValidationOptions& options);

}  // namespace heddle::interchange
