// The types of an operator's results, and its results by its body: one application in a graph of its own.
#pragma once

#include "flavours/registry.h"
#include "symbolic/session.h"

namespace heddle::flavours {

struct TypedApplication {
    heddle::Session session;
    std::vector<TensorId> results;

    std::vector<TensorType> types() const;
    // `inputs` are the arguments' data. The session is spent.
    Result<std::vector<TensorData>> evaluate(const std::vector<TensorData>& inputs);
};

// An argument whose data is known is a constant where the template opens it (`flavour: concrete` on an input).
Result<TypedApplication> type_application(const Template& metakernel, const Library& library,
                                          const std::vector<Value>& arguments, const Parameters& parameters);

}  // namespace heddle::flavours
