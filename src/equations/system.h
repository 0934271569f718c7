// A system of equations: what is computed, and no order. A graph is one system; a kernel is a part of it.
// Text form, grammar and rules: docs/equations.md.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expr/arena.h"
#include "graph/graph.h"

namespace heddle::equations {

using namespace expr;

// What becomes of a value that is made inside of a system: what costs say, or what was asked for (storing.h).
enum class Storing : uint8_t {
    by_cost,
    stored,   // it has a buffer
    inlined,  // each reader computes what it reads of it
};

struct SystemTensor {
    enum class Kind : uint8_t { input, constant, computed, opaque };
    std::string name;  // unique
    Kind kind = Kind::computed;
    DType dtype = DType::float32;
    std::vector<Size> shape;
    bool is_output = false;   // of the system, or an opaque operation reads it: needs a buffer
    bool prepared = false;    // made of constants only: computed once, in `prepare`
    bool dead = false;        // removed by a pass: no equation makes or reads it
    bool keep_name = false;   // a view whose composition would not be clean: stays a tensor
    bool in_parts = false;  // the first dimension counts parts of a reduction, which are tasks: its reader stands apart
    Storing storing = Storing::by_cost;
    std::optional<TensorData> constant;
    TensorId graph_tensor = no_id;   // of the graph it was lowered from, if it is a whole one
    OperationId operation = no_id;   // of the graph: it makes this, or this is a step of it; for people
    std::vector<int32_t> equations;  // that write it, disjoint boxes that cover it; indices into System::equations
    // Opaque: what its operation reads, in its order. An input: it comes only when these are there, since whoever gives it
    // waits for some of them.
    std::vector<TensorIndex> opaque_inputs;
    // Numbers of messages; -1: none. Of an output that with which somebody gets it before the end, of an input that with which
    // it comes while others are computed.
    int32_t leaves = -1, comes = -1;

    bool comes_from_elsewhere() const { return kind == Kind::opaque || comes >= 0; }
};

// tensor[left...] (reducer)= right, for every point of `axes`; right over `axes` and `reduced`.
struct Equation {
    TensorIndex tensor = no_id;
    std::vector<AxisId> axes;        // in order of the left side, outermost first
    std::vector<Expr> left;          // mixed radix in the equation's axes, plus an offset
    std::optional<Reducer> reducer;  // a reduction stands at the top of a pointwise right side
    std::vector<AxisId> reduced;     // outermost first
    Expr right = nullptr;            // of the tensor's dtype; of a reduction: the term's dtype, accumulated in
                                     // the accumulator type and rounded once. argmin, argmax: of the term
    int32_t piece = 0;               // of a name with several equations: which
    // Of a scan: its number, and the axis of `axes` whose points run in order. The scan's equations run together, step
    // after step; they may read one another's elements of this step, in order(), and of steps before.
    int32_t scan = -1;
    AxisId ordered = no_id;
    bool dead = false;  // removed by a pass

    int64_t points(const Arena& arena) const;  // of `axes` and `reduced`
};

struct System {
    std::shared_ptr<Arena> arena = std::make_shared<Arena>();
    std::vector<SystemTensor> tensors;
    std::vector<Equation> equations;
    std::vector<TensorIndex> inputs;
    std::vector<TensorIndex> outputs;
    std::map<std::string, int64_t> representatives;  // of the named dimensions' size classes: what hints are made of
    std::map<std::string, int32_t> name_numbers;     // of add_tensor: names taken

    SystemTensor& tensor(TensorIndex i) { return tensors[i]; }
    const SystemTensor& tensor(TensorIndex i) const { return tensors[i]; }
    Equation& equation(int32_t i) { return equations[static_cast<size_t>(i)]; }
    const Equation& equation(int32_t i) const { return equations[static_cast<size_t>(i)]; }

    TensorIndex add_tensor(SystemTensor tensor);  // makes the name unique
    int32_t add_equation(Equation equation);      // links it to its tensor
    // Live equations, producers before readers, else by index; those of a scan side by side, in the order of one step.
    // State read and written in one place counts as no edge.
    // Shorter than the number of live equations if they form a cycle.
    std::vector<int32_t> order() const;
    bool in_scan(TensorIndex tensor) const;  // one of its equations is of a scan
    // For each tensor the live equations that read it, each once.
    std::vector<std::vector<int32_t>> readers() const;
};

// What `reader` reads of `maker`, another equation of its scan or itself, by steps: 0 is this step, -1 the one before;
// nothing if that is no fixed step.
std::optional<int64_t> step_of_read(const Equation& reader, Expr read, const Equation& maker);

// The element that the equation of a scan makes, where selections at the top of its right side choose it: the equation
// says nothing of it then. Nobody asks for such an element (pass_demand.cpp).
bool leaves_open(const Equation& equation, Expr read);

// Whether the coordinate of a read is known to lie outside at times. What depends on data is checked when it runs.
bool leaves(const System& system, Expr read, size_t dimension);

// Every read of an equation's right side, each node once (indirect coordinates' reads included).
std::vector<Expr> reads(const Equation& equation);
// For each tensor the equations, dead ones left out, that read it, also as a coordinate of what they make; in order.
std::map<TensorIndex, std::vector<int32_t>> readers(const System& system);

// Text in and out: print(parse(print(s))) == print(s). Sizes are numbers in a system's text.
std::string print(const System& system, const std::string& name = "system");
Result<System> parse_system(std::shared_ptr<const SourceText> text);

// Cover rule, axes in scope, dtypes of operands, reads of coordinates inside their tensors where not guarded or under a
// selection, acyclic. A failure is our own mistake (after a pass) or a hostile text's.
Result<void> verify(const System& system);

// Lowers a graph: typed bodies to equations (docs/equations.md, "Lowering"). Complex tensors become reals of one more
// last dimension of 2 (graph/complex.h).
Result<System> lower(const Graph& graph);

// Costs of the system are from here on those of these sizes of the names, which the system is of; else of their classes'
// representatives, so that a plan serves all of a class.
void estimate_by(System& system, const std::map<std::string, int64_t>& sizes);

}  // namespace heddle::equations
