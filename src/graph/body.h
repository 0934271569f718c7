// The typed body of one operation: its arithmetic with every static resolved, every list expanded, every cast and
// rounding written out. Symbolic execution makes it; the evaluator interprets it (it is the oracle); equations are
// lowered from it.
//
// A body is a set of equations over variables. Expressions are nodes of one acyclic graph, operands before users; a
// node that several equations use is computed once per point by whoever cares. A `let` without array brackets is
// nothing but a shared node; `let g[j < n]` is a Local.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "expr/expression.h"
#include "support/dtype.h"
#include "support/inline_vector.h"
#include "support/source_text.h"
#include "zspace/size.h"

namespace heddle {

using NodeId = expr::ExpressionId;
using expr::LocalId;
using expr::TensorIndex;
using expr::VariableId;
using NodeList = InlineVector<NodeId, 4>;
using VariableList = InlineVector<VariableId, 4>;

struct Variable {
    enum class Kind : uint8_t {
        index,      // an axis of the operation index space
        parallel,   // a left-hand `j`, a `for c < n:`, or an axis of a local
        reduction,  // bound by a reduction node
        ordered,    // a scan's axis: bound by equations and, first of their variables, by states
    };
    std::string name;
    Kind kind = Kind::index;
    Size extent;  // values 0 <= v < extent
};

// Operands are numbers of nodes, as `Body::nodes` lists them. Reads are of inputs of the operation, row-major from
// their start.
using Node = expr::Expression;

// `let g[j < n] = value`, or any value with axes of its own. It has one value per point of its variables *and* of the
// free variables that `value` uses. All of them are worked out: none may read outside but by data, which is then an
// error of the whole program, whether the element is asked for or not.
struct Local {
    std::string name;
    DType dtype = DType::float32;
    VariableList variables;
    NodeId value;
    // A state of a scan: `variables[0]` is the scan's axis t. As an array its first dimension has one element more than
    // t has values: element 0 is `initial`, element t + 1 is `value` at t, which may read what is `previous` to t. It
    // uses no variables but its own, and `initial` all of them but t.
    NodeId initial = no_id;

    bool is_state() const { return initial >= 0; }
};

// output[left...] = value, for every point of `variables` (index axes first, then parallel ones, outermost first).
// The left side obeys the cover rule: each variable of extent > 1 in exactly one coordinate, mixed radix, plus a
// constant.
struct BodyEquation {
    int32_t output = 0;  // of the operation
    VariableList variables;
    NodeList left;
    NodeId value;  // of the output's dtype
};

// What the template's author calls a node, by `let`: for people only.
struct NodeName {
    NodeId node;
    std::string name;
};

// Where its text has a read that data may lead outside of what is read.
struct ReadPlace {
    NodeId node;
    Place place;
};

struct Body {
    std::vector<Variable> variables;
    std::vector<Node> nodes;
    std::vector<Local> locals;
    std::vector<BodyEquation> equations;
    std::vector<NodeName> names;    // of some nodes; the first of a node counts
    std::vector<ReadPlace> places;  // the same

    const Node& node(NodeId id) const { return nodes[id]; }
    const Variable& variable(VariableId id) const { return variables[id]; }
    const Local& local(LocalId id) const { return locals[id]; }
    // Of a local as an array.
    Size extent(const Local& local, size_t dimension) const {
        return variable(local.variables[dimension]).extent + (local.is_state() && dimension == 0 ? 1 : 0);
    }
};

// Readable, stable text, for explain and tests: one equation a line, in the template language's own notation.
std::string print(const Body& body, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

}  // namespace heddle
