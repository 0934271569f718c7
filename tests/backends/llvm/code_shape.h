// What the innermost loops of generated code are made of, read from assembly text (x86, AT&T spelling): the speed gate
// that tests can have.
#pragma once

#include <string>
#include <vector>

namespace heddle::backends {

struct LoopShape {
    int instructions = 0;
    int vector_loads = 0;  // also as an operand of arithmetic; neither broadcasts nor gathers
    int vector_stores = 0;
    int broadcasts = 0;  // from memory
    int fused_multiply_adds = 0;
    int shuffles = 0;
    int gathers = 0;  // and scatters
    int divisions = 0;
    int calls = 0;
    int branches = 0;  // but the loop's own
    int stack_accesses = 0;
};

// Loops without a loop inside, in the order of the text.
std::vector<LoopShape> innermost_loops(const std::string& assembly);

// Of the whole text: a kernel must have none.
int calls(const std::string& assembly);

}  // namespace heddle::backends
