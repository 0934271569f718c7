// --bind: sizes for dimensions that a model, or the types of a call's inputs, leave open.
#pragma once

#include <string>
#include <vector>

#include "frontends/onnx/model.h"
#include "support/diagnostic.h"

namespace heddle::cli {

// What may be bound, and which of it has no number yet.
struct BindableDimensions {
    std::vector<std::string> all, open;
};
BindableDimensions dimensions_of(const onnx::OnnxModel& model);
// Of texts of --input-type: "x=float32[batch, seq=4]" has both, and seq has its number.
BindableDimensions dimensions_in(const std::vector<std::string>& input_types);

// NAME=WHAT each, without commas: '*=WHAT' is all open ones that are not named. What does not parse stays, for those who
// read it. Code cli.unknown_dimension.
Result<std::vector<std::string>> resolve_bindings(const std::vector<std::string>& texts,
                                                  const BindableDimensions& dimensions);

}  // namespace heddle::cli
