// One use of an operator as a document has it: an operation, or, of an operator with `each`, the operations that it
// became. Two parameters of ours say of an operation which part of its use it is; no parameter of a template is named
// so:
//
//     "$each": {"of": "result[0]", "value": 1}       `of` is one text in all operations of the use
//     "$elements": {"inputs": {"tensors": [1]}}      which tensors of variadic operands: left out where 0, 1, 2 and on
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "interchange/issues.h"

namespace heddle::interchange {

using DocumentParameters = std::vector<std::pair<std::string, std::string>>;  // name and JSON text

// The two parameters, as far as the operation has need of them.
void add_part_parameters(const Operation& operation, DocumentParameters& parameters);
bool is_part_parameter(const std::string& name);

// What is asked of one tensor: the hull of what the operations select of it.
struct UsedTensor {
    std::string id;
    DocumentRange selected;
};

struct OperatorUse {
    struct Part {
        size_t node = 0;
        std::optional<EachPart> each;
        std::map<std::string, std::vector<int64_t>> inputs, outputs;  // `$elements`

        // The number within its operand of a tensor that the operation lists at `position`.
        int64_t element(const char* side, const std::string& name, size_t position) const;
    };
    struct Problem {
        size_t node = 0;
        std::vector<std::string> steps;  // within the body
        std::string reason;
    };
    using Operands = std::map<std::string, std::map<int64_t, UsedTensor>>;  // by name and element

    const Template* metakernel = nullptr;
    std::vector<Part> parts;  // in the order of the document
    Operands inputs, outputs;
    std::optional<Problem> problem;  // the first: the operations do not belong together
};

// Of all operations whose kernel is an operator of the library, in the order of their first nodes.
std::vector<OperatorUse> operator_uses(Checked& checked);

}  // namespace heddle::interchange
