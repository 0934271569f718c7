// Applies templates from text and evaluates what they become, for the tests of bodies and projections.
#pragma once

#include <gtest/gtest.h>

#include "evaluate/evaluate.h"
#include "helpers/files.h"
#include "helpers/library.h"
#include "symbolic/session.h"

namespace heddle::body_test {

struct Given {
    bool present = true;
    bool list = false;
    std::vector<TensorData> tensors;
};

struct Outcome {
    std::vector<TensorData> outputs;
    Graph graph;
    std::vector<TensorData> feeds;
};

// Inputs are graph inputs; those of a `concrete` input are constants.
inline Result<Outcome> apply(const Library& library, const std::string& name, const std::vector<Given>& inputs,
                             const std::map<std::string, StaticValue>& parameters) {
    auto metakernel = library.find(name);
    if (!metakernel) return fail(metakernel.error());
    Session session(library);
    std::vector<Argument> arguments;
    std::vector<TensorData> feeds;
    for (size_t i = 0; i < inputs.size(); ++i) {
        std::vector<TensorId> ids;
        for (const TensorData& tensor : inputs[i].tensors) {
            if ((*metakernel)->inputs[i].flavour == Flavour::concrete) {
                ids.push_back(session.add_constant((*metakernel)->inputs[i].name, tensor));
                continue;
            }
            std::vector<Size> shape(tensor.shape().begin(), tensor.shape().end());
            ids.push_back(session.add_input((*metakernel)->inputs[i].name, {tensor.dtype(), shape}));
            feeds.push_back(tensor);
        }
        arguments.push_back(!inputs[i].present ? Argument() : inputs[i].list ? Argument(ids) : Argument(ids[0]));
    }
    auto made = session.apply(**metakernel, arguments, parameters);
    if (!made) return fail(made.error());
    std::vector<TensorId> wanted;
    for (TensorId id : *made)
        if (id >= 0) wanted.push_back(id);
    Outcome outcome;
    std::vector<TensorId> all_inputs = session.graph().inputs;
    outcome.graph = session.finish(wanted);
    // An input that nothing reads may be gone.
    if (auto sound = verify(outcome.graph); !sound) return fail(sound.error());
    std::vector<TensorData> kept;
    if (outcome.graph.inputs.size() == feeds.size())
        kept = feeds;
    else
        return fail(Diagnostic{.code = "test.inputs", .summary = "an input was dropped"});
    auto values = evaluate_graph(outcome.graph, kept, Precision::body);
    if (!values) return fail(values.error());
    outcome.feeds = std::move(kept);
    for (TensorId id : outcome.graph.outputs) outcome.outputs.push_back((*values)[static_cast<size_t>(id)]);
    return outcome;
}

inline TensorData tensor(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
    TensorData data(dtype, std::move(shape));
    for (size_t i = 0; i < values.size(); ++i) data.set_real(static_cast<int64_t>(i), values[i]);
    return data;
}

// 0, 1, 2 ...
inline TensorData counting(DType dtype, std::vector<int64_t> shape) {
    TensorData data(dtype, std::move(shape));
    for (int64_t i = 0; i < data.size(); ++i) data.set_integer(i, i);
    return data;
}

}  // namespace heddle::body_test
