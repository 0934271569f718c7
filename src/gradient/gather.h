// The adjoint of an access. Where forward reads element f(v) for points v, element p of the adjoint is the sum over all
// v with f(v) == p. For affine f the equalities are solved for variables, so that the sum gathers: it runs over what is
// left.
//
//   f(v)                                 solved for
//   i, c - i                             i
//   g * extent(c) + c                    g and c: mixed radix, as reshapes and groups have it
//   L // 6, L // 2 % 3, L % 2            L, one equality for three
//   i // 2, i % 2                        both digits of i, which becomes two variables
//   s * o + d * k                        the one of the larger extent, say o, where s divides the rest; k stays
//   ids[i], anything else                nothing: a filter of equalities, which is a scatter
#pragma once

#include <span>
#include <vector>

#include "gradient/terms.h"

namespace heddle::gradient {

// A value, where all conditions hold; elsewhere it is zero and must not be computed.
struct Part {
    NodeList conditions;  // ascending, distinct
    NodeId value = no_id;
};

// Where `coordinate` must be `target`, whose values are 0 <= target < extent.
struct Equality {
    NodeId coordinate = no_id;
    NodeId target = no_id;
    int64_t extent = 0;
    NodeId split = no_id;  // the coordinate after variables of it have become two
};

void add_condition(const Terms& terms, NodeList& conditions, NodeId condition);
// One bool node; -1 where there is no condition.
NodeId all_of(Terms& terms, std::span<const NodeId> conditions);
// The sum of two parts.
Part joined(Terms& terms, const Part& a, const Part& b);

// The sum of `part` over all points of `domain` where the equalities hold. Variables of `fixed` stay as they are.
Part gathered(Terms& terms, std::vector<Equality> equalities, std::span<const VariableId> domain,
              std::span<const VariableId> fixed, const Part& part);

}  // namespace heddle::gradient
