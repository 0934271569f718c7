// Functions of functions, at sizes that fill no vector: what a compiler may take for something else.
#pragma once

#include <vector>

#include "exact/runner.h"

namespace heddle::exact {

// All triples of forms whose roundings are stated, as many cases as pairs of these.
std::vector<Case> exact_triples(DType dtype);
// Pairs of any two forms, a mathematical function at least among them: a dozen outer ones a case.
std::vector<Case> pairs_of_functions(DType dtype);
// Integers near where halves have their ties, and floats: each cast to each narrower type.
std::vector<Case> casts();

}  // namespace heddle::exact
