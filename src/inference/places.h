// Several places that run each program of an engine together (docs/machines.md). What makes them is above this room
// (running/places.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "inference/value.h"
#include "plan/plan.h"
#include "support/diagnostic.h"
#include "support/tensor_data.h"
#include "zspace/box.h"

namespace heddle::inference {

class Places;

// A tensor that lies over places as boxes of it, as a run has left it there.
struct SpreadTensor {
    struct Part {
        int32_t place;
        Box box;
        TensorData here;  // without memory: it is in another process
    };
    std::string name;  // for messages
    DType dtype;
    std::vector<int64_t> shape;
    std::vector<Part> parts;  // each element in at least one
    std::shared_ptr<Places> places;

    bool is_here() const;  // all of it is in this process
};

// A program of one graph, cut over the places.
class PlacedProgram {
public:
    virtual ~PlacedProgram() = default;
    // Whether it was made for spread inputs that lie so. What is not spread it takes always.
    virtual bool takes(const std::vector<Value>& inputs) const = 0;
    // Of processes each calls it, with the same inputs, and gets all outputs; of those that are states its parts.
    virtual Result<std::vector<Value>> run(const std::vector<Value>& inputs) = 0;
};

class Places : public std::enable_shared_from_this<Places> {
public:
    virtual ~Places() = default;
    // Of processes each calls it, with the same graph, for inputs that lie so. An output that is a state is the input the next
    // time: it stays where it is. Code running.spread: a spread input lies at other places than these.
    virtual Result<std::shared_ptr<PlacedProgram>> compile(const Graph& graph,
                                                           const std::vector<plan::Donation>& states,
                                                           const std::vector<Value>& inputs) = 0;
    // All of it, at each process: all call it, at the same point. Codes: those of transport.h, behind them running.gather.
    virtual Result<TensorData> gather(const SpreadTensor& tensor) = 0;
    // The same where it is_here, without a word to others.
    virtual TensorData whole(const SpreadTensor& tensor) const = 0;
};

}  // namespace heddle::inference
