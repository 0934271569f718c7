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

#include "expr/scalar_op.h"
#include "support/dtype.h"
#include "support/inline_vector.h"
#include "zspace/size.h"

namespace heddle {

using NodeId = int32_t;
using VariableId = int32_t;
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

struct Node {
    enum class Kind : uint8_t {
        integer,   // literal; coordinates, integers, bool (0 or 1)
        real,      // literal of a float type
        variable,  // the value of a variable, int64
        scalar,    // ScalarOp on operands of the types that its table row asks for
        cast,      // to `dtype`, by the rules of language.md section 6
        select,    // operands: condition, then, else. Lazy: the branch not taken may read out of bounds
        read,      // tensor `index` of the operation's inputs at coordinates (int64 operands), row-major from its start
        guarded_read,  // read; where a coordinate lies outside the tensor, the last operand instead. Lazy in the read
        local,         // local `index` at coordinates; a state's first is its step plus one
        previous,      // state `index` at the step before its scan's present one, at coordinates without the step
        reduce,        // `reducer` over `variables` of operands[0], where operands[1] (bool), if present, holds
    };
    Kind kind = Kind::integer;
    DType dtype = DType::float32;  // of the value. argmin and argmax: int64, row-major over `variables`
    ScalarOp op = ScalarOp::add;
    Reducer reducer = Reducer::sum;
    int32_t index = 0;    // variable, tensor or local
    int64_t integer = 0;  // literal
    double real = 0;      // literal
    NodeList operands;
    VariableList variables;     // reduce: outermost first
    bool from_template = true;  // a literal that a template wrote stays in a kernel's text; one from data leaves it
    OriginPointer origin;       // an integer literal that is computed from named dimensions: how; else null
};

// `let g[j < n] = value`, or any value with axes of its own. It has one value per point of its variables *and* of the
// free variables that `value` uses.
struct Local {
    std::string name;
    DType dtype = DType::float32;
    VariableList variables;
    NodeId value = 0;
    // A state of a scan: `variables[0]` is the scan's axis t. As an array its first dimension has one element more than
    // t has values: element 0 is `initial`, element t + 1 is `value` at t, which may read what is `previous` to t. It
    // uses no variables but its own, and `initial` all of them but t.
    NodeId initial = -1;

    bool is_state() const { return initial >= 0; }
};

// output[left...] = value, for every point of `variables` (index axes first, then parallel ones, outermost first).
// The left side obeys the cover rule: each variable of extent > 1 in exactly one coordinate, mixed radix, plus a
// constant.
struct BodyEquation {
    int32_t output = 0;  // of the operation
    VariableList variables;
    NodeList left;
    NodeId value = 0;  // of the output's dtype
};

struct Body {
    std::vector<Variable> variables;
    std::vector<Node> nodes;
    std::vector<Local> locals;
    std::vector<BodyEquation> equations;

    const Node& node(NodeId id) const { return nodes[static_cast<size_t>(id)]; }
    const Variable& variable(VariableId id) const { return variables[static_cast<size_t>(id)]; }
    // Of a local as an array.
    int64_t extent(const Local& local, size_t dimension) const {
        return variable(local.variables[dimension]).extent.value + (local.is_state() && dimension == 0);
    }
};

// Readable, stable text, for explain and tests: one equation a line, in the template language's own notation.
std::string print(const Body& body, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

}  // namespace heddle
