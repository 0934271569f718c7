// Sums of turns: terms u * cos(angle) + v * sin(angle) of an angle that the axes alone say, as those of a Fourier or a
// cosine transform. How one such sum becomes several short ones: lower_turns.cpp.
#pragma once

#include <optional>

#include "equations/system.h"

namespace heddle::equations {

// A value with its sign aside, so that values that differ in it alone are one; zero if there is no value.
struct Signed {
    Expr value = nullptr;
    bool negative = false;
};

// of_cos * cos(angle) + of_sin * sin(angle)
struct Turned {
    Signed of_cos, of_sin;
};

// In turns: k * j * numerator / period + k * of_k + j * of_j + constant, of whole numbers k and j. So only what is left
// of each factor by one counts.
struct Angle {
    int64_t numerator = 0, period = 1;
    double of_k = 0, of_j = 0, constant = 0;
};

struct SumOfTurns {
    AxisId k = no_id, j = no_id;  // a reduced axis and a free one
    Angle angle;
    Turned turned;  // does not depend on j
};

// A cosine or sine whose angle is a polynomial of two axes that holds their product, at so many points that its sum may
// be worth cutting.
bool is_turn(const Arena& arena, Expr e);
std::optional<SumOfTurns> sum_of_turns(const System& system, const Equation& equation);

// In radians, at coordinates k and j.
Expr angle_at(Arena& arena, const Angle& angle, Expr k, Expr j);

}  // namespace heddle::equations
