// Puts work into a graph as operations at places that touch only regions. A tensor of the whole program exists as
// pieces: boxes of it, each a tensor of its own at the place that computes it. What reads a box of it elsewhere, or of
// several pieces, gets them brought and put together there; what is brought to a place once is not brought again.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "sharding/body_copy.h"
#include "sharding/pieces.h"
#include "sharding/regions.h"

namespace heddle::sharding {

// What one application touches of a tensor.
struct Region {
    TensorId tensor = no_id;
    Box box;
    std::optional<int64_t> unread = 0;  // elements of the box that it does not need; nothing: not counted
};

// A body over whole tensors of the graph.
struct Work {
    std::string name, operator_name;
    Body body;
    std::vector<TensorId> inputs, outputs;
    std::map<std::string, std::string> params;
};

struct Placed {
    OperationId operation = no_id;
    std::vector<Region> inputs, outputs;
};

// What some work at a place reads and makes of the program's tensors, in the order of the work.
struct Touched {
    PlaceId place;
    std::vector<std::pair<TensorId, Box>> reads, makes;
    OperationId of = no_id;  // of the program
};

class Assembler {
public:
    // Operations are added to `graph`, whose tensors are all there already. Its inputs and constants are at every place;
    // what is an input no more lies as add_input says.
    // `counts_unread`: what regions hold that is not needed, which takes long.
    Assembler(Graph& graph, bool counts_unread);

    // As it is, with its projections derived; its tensors are the place's own.
    OperationId add(Work work, PlaceId place);
    // Equations without points are left out, if anything else is written.
    Placed add_in_regions(Work work, PlaceId place);
    // Of an operation without a body: what its projections say of a box of its index, and of a part of each of its
    // folds.
    Placed add_opaque(const Operation& operation, const std::string& name, const Box& index,
                      const std::vector<Range>& folds, const std::vector<TensorId>& outputs, PlaceId place);
    // An input of the place, which is this box of an input of the program. All of these come before any operation.
    TensorId add_input(TensorId tensor, const Box& box, PlaceId place);
    // A tensor of the place that holds the box, and nothing but the box.
    TensorId exactly(TensorId tensor, const Box& box, PlaceId place);
    // A tensor of the place that holds all of this one.
    TensorId whole(TensorId tensor, PlaceId place);
    // A tensor of the place that operations added hereafter make of this box.
    TensorId made(TensorId tensor, const Box& box, PlaceId place);
    // Operations that were added to the graph otherwise are at this place.
    void locate(PlaceId place) {
        places_.resize(graph_.operations.size(), place);
        turns_.resize(graph_.operations.size(), turn_);
        of_.resize(graph_.operations.size(), work_for_);
    }
    // What is added from here on is work for this operation of the program; no_id: for who gets its outputs.
    void begin(OperationId of) { work_for_ = of; }
    // Of what is added from here on (Cut::turns).
    void take_turn(int32_t turn) { turn_ = turn; }

    Graph& graph() { return graph_; }
    const std::vector<Touched>& touched() const { return touched_; }
    const std::vector<PlaceId>& places() const { return places_; }  // by OperationId
    const std::vector<int32_t>& turns() const { return turns_; }
    const std::vector<OperationId>& of() const { return of_; }
    // Tensors that are no more than a box of a tensor of the program.
    struct Slice {
        TensorId of;
        Box box;
    };
    // Of an input or a constant, which no operation makes.
    const std::map<TensorId, Slice>& slices() const { return slices_; }
    // Of what an operation makes, and others read: all that is brought to other places is among these.
    const std::map<TensorId, Slice>& shared() const { return shared_; }

private:
    struct Local {
        TensorId own;
        Corner origin;
    };

    OperationId add_operation(Operation operation, PlaceId place);
    // A tensor of the place that holds the box, and nothing but the box.
    Local local(TensorId tensor, const Box& box, PlaceId place);
    TensorId only(TensorId tensor, const Box& box, PlaceId place);
    TensorId gathered(TensorId tensor, const Box& box, PlaceId place);
    TensorId part_of(const Piece& piece, TensorId tensor, const Box& box);
    TensorId target_of(TensorId tensor, const Box& box);
    TensorId named(TensorId tensor, const Box& box);
    void copy(const Box& box, const Local& from, const Local& to, PlaceId place);

    // What is touched next: the last, where that is this place's and of the same operation.
    Touched& touched_at(PlaceId place);
    void read_at(TensorId tensor, const Box& box, PlaceId place);

    Graph& graph_;
    const bool counts_unread_;
    std::vector<PlaceId> places_;
    std::vector<int32_t> turns_;
    int32_t turn_ = 0;
    std::vector<OperationId> of_;
    OperationId work_for_ = no_id;
    std::vector<Touched> touched_;
    std::set<std::string> names_;
    std::set<TensorId> given_;
    std::set<TensorId> inputs_;  // of places
    std::set<TensorId> taken_;  // tensors of the program whose number holds all of it at some place
    Pieces pieces_;
    std::map<std::pair<TensorId, Box>, TensorId> parts_;  // boxes of tensors that were sliced where they were made
    std::map<TensorId, Slice> slices_, shared_;
};

}  // namespace heddle::sharding
