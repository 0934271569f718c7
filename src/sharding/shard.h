// Sharding: one operation as applications, each of which does the work of a box of the extended index and touches only
// the regions of the tensors that this box projects to (docs/sharding.md).
//
// Cutting an axis over which the body reduces gives partial results, one a part, which the same reducer combines; where
// a reduction's terms need the result of another (softmax's sum its maximum), the first is combined before the second
// begins. Everything is operations with typed bodies.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "sharding/assembler.h"
#include "sharding/axes.h"
#include "support/diagnostic.h"

namespace heddle::sharding {

inline constexpr size_t most_shards = 4'096;

struct Application {
    size_t shard = 0;  // the number of the box; work that several boxes share is the first one's
    PlaceId place;
    int32_t round = 0;  // of partial results; results come after the last
    size_t stage = 0;   // applications that are combined, or are results, together; ascending
    std::string part;   // "max over k", "states over t from 8", or "result"
    bool is_partial = false;  // what it makes is combined
    Box index;          // over the axes; all of those that this work does not depend on
    std::vector<Region> inputs, outputs;
    OperationId operation = no_id;  // in the placed graph; no_id: nobody reads what it makes
};

// Partial results becoming one.
struct Combination {
    int32_t round = 0;
    std::string combiner;      // a reducer, or an operator
    std::string part;          // "max over k"
    std::vector<size_t> axes;  // that it runs over
    // The first dimensions, one for each of `axes`, number the parts; of a declared axis each part has tensors of its
    // own.
    std::vector<TensorId> partial;
    std::vector<std::string> dimensions;  // what those are: "part of k", "rows"; none of a declared axis
    TensorId result = no_id;
    OperationId operation = no_id;
};

// What became of one operation.
struct Sharding {
    std::vector<Axis> axes;
    std::vector<Box> boxes;
    std::vector<Application> applications;
    std::vector<Combination> combinations;
};

// Cuts axes into so many parts each, the last of them smaller or empty: ceil(extent / parts) long. The others stay
// whole.
// Row-major over the axes. Codes: sharding.axis (there is none of this name, or given twice), sharding.parts (fewer
// than one), sharding.limit (more than `most_shards` boxes), and those of refusals (axes.h).
Result<std::vector<Box>> boxes_by(const Operation& operation, const std::vector<Axis>& axes,
                                  const std::vector<std::pair<std::string, int64_t>>& parts);

// How an operation is cut, and where its parts are computed.
struct Cut {
    // Over the axes of `axes_of`; each point of the extended index in exactly one. Those without points have no application.
    std::vector<Box> boxes;
    std::vector<std::vector<PlaceId>> places;  // of each box; several: each of them computes it. Empty: place 0, all
    // Of each box; empty: all in one turn. A place takes turns one after another, and sends what others wait for between them:
    // so that those may begin. (Parts of a batch go through a pipeline of places so.)
    std::vector<int32_t> turns = {};
    // A sum of exp(a - m) * b is computed in the same round as its maximum m, by each part's own maximum, and rescaled when
    // it is combined.
    bool rescale = false;
    // So many bytes go over a link while the first of a message is on its way: partial results that are not much larger are
    // sent whole to all that read the result, larger ones in shares.
    double round_bytes = 0;
};

// All of it in one box.
Cut uncut(const std::vector<Axis>& axes);

// What one place has made and another reads: a box of a tensor of the program, or of partial results.
struct Brought {
    TensorId tensor;
    Box box;
    TensorId own;  // in the graph of places: nothing but the box
    PlaceId from, to;
    OperationId reader;  // of the program, whose work is the first there to read it; no_id: it is an output
};

// What a tensor of partial results becomes.
struct PartOfResult {
    TensorId result;
    std::string name;      // of the result, where the program has it; of the operation that it is for
    std::string combiner;  // a reducer, or an operator
    std::string part;      // "max over k"
    size_t parts = 0;      // so many of the first dimensions number the parts
};

// Which inputs come as parts, and which outputs stay as parts, by their numbers: how they lie.
struct Spreads {
    std::map<TensorId, Spread> inputs = {};
    std::map<size_t, Spread> outputs = {};
    bool operator==(const Spreads&) const = default;
};

// A graph whose operations are at places: it means the same, and what an operation reads that another place has made is
// to be sent there. Its outputs are all that readers get. Tensors of the graph before keep their numbers.
struct PlacedGraph {
    Graph graph;
    std::vector<PlaceId> places = {};                  // by OperationId
    std::vector<int32_t> turns = {};                   // too
    std::vector<Sharding> operations = {};             // by OperationId of the graph before
    std::map<TensorId, Assembler::Slice> slices = {};  // boxes of inputs and constants
    std::vector<std::vector<TensorId>> outputs =
        {};  // by reader: what its graph's outputs are there, but those that stay
    // Parts of inputs and of outputs that stay, in the order of these, then as they lie.
    std::vector<std::pair<PlaceId, TensorId>> given = {}, kept = {};
    std::vector<Touched> touched = {};                 // of the graph before, in order
    std::vector<OperationId> of = {};                  // by OperationId: of the graph before; no_id: for outputs
    std::vector<Brought> brought = {};                 // in the order in which it is read, once to each place
    std::map<TensorId, PartOfResult> partial = {};     // which tensors hold partial results
};

// All operations cut, one Cut each. Inputs and constants are at all places; each of `readers` gets all outputs: but those
// that `spreads` names. Without readers all is made. `counts_unread`: what regions hold that is not needed, which takes long.
// Codes: sharding.cover (a box outside, a gap, an overlap), sharding.grid (boxes that are no grid where reductions are
// cut), sharding.fold (a declared axis and a derived reduction at once), sharding.limit, and those of refusals (axes.h).
Result<PlacedGraph> place(const Graph& graph, const std::vector<Cut>& cuts, const std::vector<PlaceId>& readers,
                          const Spreads& spreads = {}, bool counts_unread = false);

}  // namespace heddle::sharding
