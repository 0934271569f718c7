// Ranges of the loops around bands, and of rows in them.
#include "schedules/builder.h"
#include "zspace/checked.h"

namespace heddle::schedules {
namespace {

using Role = NumberId::Role;

}  // namespace

// Bounds are of one turn each: where they are alike at some sizes, they are other numbers still.
Number Assembly::of_bands(Role role, int32_t which, const Size& value) {
    const auto first = static_cast<int32_t>(open_bands->of->first), turn = static_cast<int32_t>(open_bands->turn);
    return numbers.integer(value, {role, {NumberSubject::Kind::bands, first, role == Role::bound ? turn : -1, which}});
}

Range Assembly::seams() { return {{bound(Number{})}, {bound(Number{false, 2})}}; }

// Block b has its turn where round = first + 2 b, its seams in the next one.
Range Assembly::blocks_of_bands() {
    const Bands& bands = *open_bands->of;
    const Size steps = maximum(kernel.axis(groups[bands.first].ordered).extent, 0);
    const Number before = of_bands(Role::offset, 0, -rounds->turns[bands.first].first);
    const auto turn = [&](VariableId round) {
        return bound({before, {{round, 1, {false, 1}}, {open_bands->seam, -1, {false, 1}}}, {}}, {false, 2});
    };
    const Number blocks = of_bands(Role::count, 0, ceil_divide(steps, bands.steps));
    return {{bound(Number{}), turn(round_.first)}, {bound(blocks), turn(round_.second)}};
}

Range Assembly::bands_of_part() {
    const Number count = of_bands(Role::count, 1, open_bands->of->count);
    const Number parts = numbers.integer(rounds->parts, {Role::count, {NumberSubject::Kind::parts}});
    const auto of = [&](VariableId part) { return bound({{}, {{part, 1, count}}, {}}, parts); };
    return {{of(part_.first)}, {of(part_.second)}};
}

Range Assembly::steps_of_block() {
    const Bands& bands = *open_bands->of;
    const Number steps = of_bands(Role::step, 0, bands.steps);
    const Term first = {open_bands->block, 1, steps};
    return {{bound({{}, {first}, {}})}, {bound({steps, {first}, {}}), bound(extent(groups[bands.first].ordered))}};
}

// Band b begins at row E(b) = ceil(b rows / count), and lacks c = slope * stage rows on both sides. Its seam with the
// next one has the rows E(b + 1) - c .. E(b + 1) + c; behind the last band those beyond the last row are the first
// ones: `turned`. Which of both it is, a large number decides: each bound is the greatest of two, one of which is then
// far below.
Range Assembly::rows_of_band() {
    const Bands& bands = *open_bands->of;
    const AxisId axis = bands.axis;
    const Size rows = maximum(kernel.axis(axis).extent, 0);
    const Size stage = bands.slope * bands.count, large = 4 * (rows + 1) * bands.count;
    const Number count = of_bands(Role::divisor, 0, bands.count);
    const auto edge = [&](int32_t which, const Size& constant, const Size& seam, int64_t shrink) {
        Affine affine;
        const Size moved = shrink * stage;
        affine.constant = of_bands(Role::bound, which, constant + moved * open_bands->turn);
        affine.terms = {{open_bands->block, 1, of_bands(Role::coefficient, which, -moved * bands.turns * bands.steps)},
                        {open_bands->step, 1, of_bands(Role::stride, which, moved * bands.turns)},
                        {open_bands->band, 1, of_bands(Role::extent, 0, rows)},
                        {open_bands->seam, 1, of_bands(Role::place, which, seam)},
                        {open_bands->turned, -1, of_bands(Role::extent, 1, rows * bands.count)}};
        return bound(std::move(affine), count);
    };
    return {{bound(Number{}), edge(0, 0, -large, 1), edge(1, rows - large, large, -1)},
            {bound(extent(axis)), edge(2, rows, large, -1), edge(3, rows + large, -large, 1)}};
}

}  // namespace heddle::schedules
