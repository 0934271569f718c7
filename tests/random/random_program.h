// Whole programs: graphs of shipped operators and of templates with random bodies, on awkward sizes.
//
// A program has a text, from which it can be run again (random_programs --file):
//
//     input x: float32[3, 33] normal          values: normal | whole | below N (0 to N - 1), by the input's number
//     adjoint                                  its gradient is the program
//     tangent                                  or its tangents are
//     batched                                  every second input has one more first axis
//     unfused                                  each equation is compiled as a kernel of its own, too
//     y = t0(x)
//     z, at = top_k(y, k: 2)
//     outputs y, z
//     ---
//     t0: ...                                  a template file
#pragma once

#include <string>
#include <vector>

#include "random/choices.h"
#include "support/diagnostic.h"
#include "support/dtype.h"

namespace heddle::random {

using Shape = std::vector<int64_t>;

struct Type {
    DType dtype = DType::float32;
    Shape shape;

    int64_t elements() const;
    std::string text() const;  // "float32[3, 33]"
};

struct Input {
    // `whole` are small whole numbers: what is computed of them is mostly exact, so that comparisons and orders are
    // decided.
    enum class Values : uint8_t { normal, whole, indices };
    std::string name;
    Type type;
    Values values = Values::normal;
    int64_t limit = 0;  // of indices
};

struct Call {
    std::vector<std::string> results;
    std::vector<Type> types;  // of the results; none of a call that was parsed
    std::string text;         // "top_k(y, k: 2)"
};

struct Section {
    std::string name, text;  // of a template
};

struct Program {
    std::vector<Input> inputs;
    bool adjoint = false, tangent = false, batched = false, unfused = false;
    std::vector<Call> calls;
    std::vector<std::string> outputs;  // of inputs and results
    std::vector<Section> templates;
};

Program random_program(Choices& choices);
// Up to eight movement and elementwise operations.
Program random_movement(Choices& choices);
// Without calls, templates and inputs that no output needs.
Program without_unused(const Program& program);
bool occurs(const std::string& name, const std::string& text);  // as a whole word

// For build_program, and the templates that it calls.
std::string calls_of(const Program& program);
std::string templates_of(const Program& program);

std::string print(const Program& program);
// Code random.syntax.
Result<Program> parse_program(const std::string& text);

}  // namespace heddle::random
