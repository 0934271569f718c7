#include "equations/checked_indices.h"

#include <algorithm>

#include "expr/arena_interval.h"
#include "support/far_index.h"
#include "zspace/checked.h"

namespace heddle::equations {

CheckedIndices::CheckedIndices(System& system, Expr read) : system_(system), read_(read) {
    for (size_t d = 0; read->kind == Kind::read && d < read->parts().size(); d++) {
        const bool inside = interval(read->parts()[d]).within(0, extent(d) - 1);
        if (!inside && read->parts()[d]->has_reads) checked_.push_back(d);
    }
}

// `fails(node, k, index, extent)`: coordinate k of the read `node` is outside where the index is.
bool CheckedIndices::fail_in(Expr value, Expr read, const auto& fails) const {
    if (checked_.empty()) return true;
    const std::vector<Expr> computed = walk(value, Skipped::left_out);
    return std::ranges::all_of(checked_, [&](size_t d) {
        return std::ranges::any_of(computed, [&](Expr node) {
            for (size_t k = 0; node->kind == Kind::read && k < node->parts().size(); k++)
                if (fails(node, k, read->parts()[d], extent(d))) return true;
            return false;
        });
    });
}

bool CheckedIndices::fail_in(Expr value) const {
    return fail_in(value, read_, [&](Expr node, size_t k, Expr index, const Size& extent) {
        const Expr coordinate = node->parts()[k];
        const Size own = system_.tensor(node->tensor()).shape[k];
        if (coordinate == index) return own == extent;
        return coordinate->kind == Kind::floor_divide && coordinate->parts()[0] == index &&
               checked_multiply(own, coordinate->integer) == extent;
    });
}

Expr CheckedIndices::sent_far() const {
    Arena& arena = *system_.arena;
    std::vector<Expr> parts(read_->parts().begin(), read_->parts().end());
    for (size_t d : checked_)
        parts[d] = arena.select(arena.inside(parts[d], extent(d)), parts[d], arena.integer(far_index));
    return arena.read(read_->tensor(), read_->dtype, std::move(parts));
}

bool CheckedIndices::far_in(Expr value, Expr sent) const {
    return fail_in(value, sent, [&](Expr node, size_t k, Expr index, const Size&) {
        const Expr coordinate = node->parts()[k];
        if (system_.tensor(node->tensor()).shape[k] > far_index_reach) return false;
        const bool divided = coordinate->kind == Kind::floor_divide;
        const auto form = linear_form(divided ? coordinate->parts()[0] : coordinate);
        const Size factor = form.coefficient(index);
        const auto range = [&](Expr atom) { return atom == index ? Interval::point(0) : interval(atom); };
        return (divided ? factor > 0 : factor != 0) &&
               interval_of(form, range).within(-far_index_reach, far_index_reach);
    });
}

}  // namespace heddle::equations
