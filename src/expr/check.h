// The rules that every expression keeps: which kinds stand where, operands, types, reads.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "expr/arena.h"
#include "support/diagnostic.h"

namespace heddle::expr {

enum class Stage : uint8_t { body, system, kernel };

bool stands_in(Kind kind, Stage stage);

// What an expression has that does not fit its kind: the number of its operands, or a type.
struct Misfit {
    bool number = false;
    std::string expected, found;
};
// What is read, as far as types go.
struct Source {
    DType dtype = DType::float32;
    size_t rank = 0;  // coordinates
};
// Of an expression that stands in this stage and has operands of these types; `source`: of one that reads.
std::optional<Misfit> misfit(const Expression& e, std::span<const DType> operands, Stage stage, Source source = {});

// Where the expressions stand.
struct Surroundings {
    Stage stage = Stage::system;
    std::function<std::optional<ReadableTensor>(TensorIndex)> tensor;  // nothing: there is none
    // Whether the coordinate of a read without a guard may lie outside. Not asked under a selection, which may skip the
    // read; empty: nothing is computed.
    std::function<bool(Expr read, size_t dimension)> leaves;
};

// What is wrong with the expressions and all that they are made of: expr.kind, expr.type, expr.reference,
// expr.out_of_range, without a place.
Diagnostics check(const std::vector<Expr>& roots, const Surroundings& where);

}  // namespace heddle::expr
