// Small programs for the command line: operators applied to named inputs.
//
//     y = swish(x); z = add2(y, x)          softmax(x, axis: 1)          values, indices = top_k(x, k: 3)
//
// The results of the last statement are the outputs. A single expression needs no name: it is `result`, or, if it is a
// call of an operator with several outputs, all of them under the template's names. Everything that the `graph:` of a
// template may hold may stand here. A bare name of an operator is the user's, if one of their libraries has it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "language/library.h"
#include "support/diagnostic.h"
#include "symbolic/session.h"

namespace heddle {

struct ProgramInput {
    std::string name;
    TensorType type;
    std::vector<int64_t> start = {};  // where its range begins (graph.h)
};

// A program's results in a session.
struct AppliedProgram {
    std::vector<std::string> names;  // as the program has them, "parts0", "parts1" of a list
    std::vector<TensorId> outputs;
};

// Adds inputs and operations to `session`, whose `calls` then has the calls of the text. Codes as below.
Result<AppliedProgram> apply_program(Session& session, std::shared_ptr<const SourceText> text,
                                     const std::vector<ProgramInput>& inputs);

// Codes: symbolic.program (nothing to do, or an input named twice), those of parsing, and those of Session::apply, all
// with places in `text`.
Result<Graph> build_program(std::shared_ptr<const SourceText> text, const Library& library,
                            const std::vector<ProgramInput>& inputs);

}  // namespace heddle
