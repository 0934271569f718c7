#include "schedules/neighbours.h"

#include <algorithm>

#include "expr/arena_interval.h"
#include "expr/remake.h"
#include "zspace/checked.h"

namespace heddle::schedules {
namespace {

class Chooser {
public:
    Chooser(const Kernel& kernel, const RightSides& before, AxisId axis)
        : arena_(*kernel.arena), axis_(axis), before_(before) {}

    RightSides chosen() {
        result_.inside = before_.inside;
        Arena::Memo memo;
        for (const auto& [index, right] : before_.of) {
            result_.of[index] = expr::remade(
                right, memo, [&](Expr e) { return depends_on(e, axis_) ? nullptr : e; },
                [&](Expr e) { return e->parts(); },
                [&](Expr e, std::vector<Expr> operands) {
                    if (e->kind == Kind::variable) return e;
                    Expr made = arena_.rebuild(e, std::move(operands));
                    const bool reads = e->kind == Kind::read || e->kind == Kind::guarded_read;
                    return reads ? choice(made, guards_inside(e)) : made;
                });
        }
        return std::move(result_);
    }

private:
    static constexpr int64_t most_quotients = 3;  // before the extent, in it, behind it

    std::vector<size_t> guards_inside(Expr read) const {
        std::vector<size_t> dimensions;
        for (size_t d = 0; d < read->parts().size(); d++) {
            if (before_.inside.contains({read->id, d})) dimensions.push_back(d);
        }
        return dimensions;
    }

    // Innermost first: what is taken of it may be taken of another one.
    Expr undecided(Expr read) const {
        for (Expr coordinate : coordinates_of(read)) {
            if (coordinate->has_reads) continue;
            for (Expr e : expr::operands_first(coordinate)) {
                const bool chooses = e->kind == Kind::minimum || e->kind == Kind::maximum || e->kind == Kind::modulo;
                if (chooses && depends_on(e, axis_)) return e;
            }
        }
        return nullptr;
    }

    Expr choice(Expr read, const std::vector<size_t>& inside) {
        Expr asked = undecided(read);
        if (!asked) {
            for (size_t d : inside) result_.inside.insert({read->id, d});
            return read;
        }
        Expr first = asked->parts()[0];
        if (asked->kind == Kind::modulo) return wrapped(read, asked, first, inside);
        Expr second = asked->parts()[1];
        if (asked->kind == Kind::maximum) std::swap(first, second);
        Expr condition = arena_.less(asked->parts()[0], asked->parts()[1]);
        return arena_.select(condition, with(read, asked, first, inside), with(read, asked, second, inside));
    }

    Expr wrapped(Expr read, Expr asked, Expr dividend, const std::vector<size_t>& inside) {
        const Interval range = expr::interval(dividend);
        const Size& divisor = asked->integer;
        if (!range.known() || divisor < 1) return read;
        // How many multiples it passes is all that is told of the sizes, and of many not even that.
        const Size least = floor_divide(range.low, divisor), most = floor_divide(range.high, divisor);
        if (most - least >= most_quotients || !checked_multiply(divisor, most + 1)) return read;
        Expr result = nullptr;
        for (int64_t passed = most - least; passed >= 0; passed--) {
            const Size begin = (least + passed) * divisor;
            Expr here = with(read, asked, arena_.add(dividend, arena_.integer(0 - begin)), inside);
            if (!result) {
                result = here;
                continue;
            }
            result = arena_.select(arena_.less(dividend, arena_.integer(begin + divisor)), here, result);
        }
        return result;
    }

    // The read with something else in place of a part of its coordinates.
    Expr with(Expr read, Expr part, Expr other, const std::vector<size_t>& inside) {
        Arena::Memo memo;
        Expr made = expr::remade(
            read, memo, [&](Expr e) { return e == part              ? other
                                             : depends_on(e, axis_) ? nullptr
                                                                    : e; },
            [&](Expr e) { return e->parts(); },
            [&](Expr e, std::vector<Expr> operands) {
                return e->kind == Kind::variable ? e : arena_.rebuild(e, std::move(operands));
            });
        return choice(made, inside);
    }

    Arena& arena_;
    const AxisId axis_;
    const RightSides& before_;
    RightSides result_;
};

}  // namespace

RightSides with_neighbours(const Kernel& kernel, const RightSides& sides, AxisId axis) {
    return Chooser(kernel, sides, axis).chosen();
}

}  // namespace heddle::schedules
