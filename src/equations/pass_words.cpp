// Reductions of small elements go by words of several: bools by their bits, pairs of 16-bit integers by the machine's
// sum of two products. Each factor of the term is packed along the reduced axis, once, into a tensor of words; what the
// factor's other axes are does not matter. Rules: docs/equations.md, "Words".
#include <algorithm>
#include <optional>

#include "equations/passes.h"
#include "equations/integer_ranges.h"
#include "equations/pass_support.h"
#include "equations/scatter.h"

namespace heddle::equations {
namespace {

// How many elements are a word, and what its type is.
struct Form {
    int64_t elements;
    DType dtype;
};
constexpr Form bits{32, DType::uint32}, pairs{2, DType::int32};

// A part of a term that is packed: of a whole tensor, where it is an element of one with `axis` for a coordinate, else
// of the points of its own axes.
struct Factor {
    Expr value = nullptr, read = nullptr;  // `read`: of the first kind
    size_t dimension = 0;                  // of the read's tensor
};

class WordPacker {
public:
    WordPacker(System& system, const WordLimits& limits)
        : system_(system), arena_(*system.arena), limits_(limits), ranges_(system) {}

    bool run() {
        bool any = false;
        for (int32_t index : system_.order()) any = pack(index) || any;
        return any;
    }

private:
    bool pack(int32_t index) {
        const Equation& equation = system_.equation(index);
        const SystemTensor& tensor = system_.tensor(equation.tensor);
        if (!equation.reducer || equation.scan >= 0 || tensor.prepared || tensor.equations.size() != 1) return false;
        points_ = hint_points(system_, equation);
        if (points_ < limits_.work || scatter_of(system_, equation)) return false;
        std::vector<AxisId> axes = equation.reduced;
        std::ranges::stable_sort(axes, std::greater(), [&](AxisId axis) { return arena_.hint(axis); });
        for (AxisId axis : axes) {
            axis_ = axis;
            if (pack_truths(index) || pack_products(index)) return true;
        }
        return false;
    }

    // any(f), all(f) = !any(!f), and counts: sums of a truth.
    bool pack_truths(int32_t index) {
        const Equation& equation = system_.equation(index);
        const Reducer reducer = *equation.reducer;
        const DType result = equation.right->dtype;
        Expr truth = equation.right;
        if (reducer == Reducer::all)
            truth = arena_.scalar(ScalarOp::logical_not, DType::boolean, {truth});
        else if (reducer == Reducer::sum)
            truth = is_integer(result) ? counted(truth) : nullptr;
        else if (reducer != Reducer::any)
            return false;
        if (truth == nullptr || !is_bool(truth->dtype) || !prepare(index, bits)) return false;
        if (!by_bits(truth) || factors_.empty()) return false;
        Expr word = words_of(truth);
        if (padded_ && holds_without(truth)) {  // of elements behind the end nothing is true
            factors_.push_back({.value = arena_.truth(true)});
            word = arena_.scalar(ScalarOp::bit_and, form_.dtype, {word, word_of(index, factors_.back())});
        }
        const bool counts = reducer == Reducer::sum;
        if (counts) word = arena_.scalar(ScalarOp::count_bits, form_.dtype, {word});
        Arena::Substitution renaming;
        const Expr total = name_reduction(system_, index, "_words", word, renaming);
        reduce_words(system_.equations.back(), counts ? Reducer::sum : Reducer::any);
        const ScalarOp test = reducer == Reducer::all ? ScalarOp::equal : ScalarOp::not_equal;
        system_.equation(index).right =
            counts ? arena_.cast(result, total)
                   : arena_.scalar(test, DType::boolean, {total, arena_.literal(form_.dtype, 0)});
        return true;
    }
    // What a sum of ones and zeros counts.
    static Expr counted(Expr term) {
        if (is_bool(term->dtype)) return term;
        if (term->kind == Kind::cast) return counted(term->parts()[0]);
        if (term->kind != Kind::select) return nullptr;
        const auto is = [](Expr e, int64_t value) { return e->kind == Kind::integer && e->integer == value; };
        return is(term->parts()[1], 1) && is(term->parts()[2], 0) ? term->parts()[0] : nullptr;
    }

    // sum(a b) in 32 bits, where 16 hold all values of a and b.
    bool pack_products(int32_t index) {
        const Equation& equation = system_.equation(index);
        const Expr term = equation.right;
        const bool product = term->kind == Kind::scalar && term->op == ScalarOp::multiply;
        if (equation.reducer != Reducer::sum || term->dtype != pairs.dtype || !product) return false;
        if (!prepare(index, pairs)) return false;
        for (Expr factor : term->parts()) {
            if (!holds(DType::int16, ranges_.of(factor)) || !add_factor(factor)) return false;
        }
        if (factors_.size() != 2) return false;  // one beside itself
        const Expr word =
            arena_.scalar(ScalarOp::dot_pairs, form_.dtype, {word_of(index, factors_[0]), word_of(index, factors_[1])});
        system_.equation(index).right = word;
        reduce_words(system_.equation(index), Reducer::sum);
        return true;
    }

    bool prepare(int32_t index, Form form) {
        form_ = form;
        factors_.clear();
        memo_.clear();
        const Axis& axis = arena_.axis(axis_);
        padded_ = axis.named || axis.extent % form.elements != 0;
        index_ = index;
        word_axis_ = no_id;
        return axis.extent > 1 && static_cast<double>(arena_.hint(axis_)) >= limits_.terms;
    }

    bool moves(Expr value) const { return std::ranges::binary_search(value->axes, axis_); }

    // Whether each part of a truth is packed, or joins parts that are.
    bool by_bits(Expr truth) {
        if (truth->kind == Kind::integer) return true;
        if (add_factor(truth)) return true;
        if (truth->kind == Kind::select) return std::ranges::all_of(truth->parts(), [&](Expr e) { return by_bits(e); });
        return joins_bits(truth) && std::ranges::all_of(truth->parts(), [&](Expr e) { return by_bits(e); });
    }
    static bool joins_bits(Expr e) {
        if (e->kind == Kind::conjunction) return true;
        if (e->kind != Kind::scalar || !is_bool(e->parts()[0]->dtype)) return false;
        switch (e->op) {
        case ScalarOp::logical_and:
        case ScalarOp::bit_and:
        case ScalarOp::logical_or:
        case ScalarOp::bit_or:
        case ScalarOp::logical_xor:
        case ScalarOp::bit_xor:
        case ScalarOp::not_equal:
        case ScalarOp::equal:
        case ScalarOp::logical_not:
        case ScalarOp::bit_not: return true;
        default: return false;
        }
    }

    Expr words_of(Expr truth) {
        if (truth->kind == Kind::integer) return arena_.literal(form_.dtype, truth->integer != 0 ? UINT32_MAX : 0);
        if (const auto found = std::ranges::find(factors_, truth, &Factor::value); found != factors_.end())
            return word_of(index_, *found);
        const auto of = [&](size_t i) { return words_of(truth->parts()[i]); };
        const auto join = [&](ScalarOp op, std::vector<Expr> parts) {
            return arena_.scalar(op, form_.dtype, std::move(parts));
        };
        const auto inverse = [&](Expr word) { return join(ScalarOp::bit_not, {word}); };
        if (truth->kind == Kind::select) {
            const Expr then = join(ScalarOp::bit_and, {of(0), of(1)});
            const Expr otherwise = truth->parts()[2];
            if (otherwise->kind == Kind::integer && otherwise->integer == 0) return then;
            return join(ScalarOp::bit_or, {then, join(ScalarOp::bit_and, {inverse(of(0)), of(2)})});
        }
        if (truth->kind == Kind::conjunction) return join(ScalarOp::bit_and, {of(0), of(1)});
        switch (truth->op) {
        case ScalarOp::logical_and:
        case ScalarOp::bit_and: return join(ScalarOp::bit_and, {of(0), of(1)});
        case ScalarOp::logical_or:
        case ScalarOp::bit_or: return join(ScalarOp::bit_or, {of(0), of(1)});
        case ScalarOp::equal: return inverse(join(ScalarOp::bit_xor, {of(0), of(1)}));
        case ScalarOp::logical_not:
        case ScalarOp::bit_not: return inverse(of(0));
        default: return join(ScalarOp::bit_xor, {of(0), of(1)});
        }
    }

    // The truth where none of the packed parts holds.
    bool holds_without(Expr truth) const {
        if (truth->kind == Kind::integer) return truth->integer != 0;
        if (std::ranges::find(factors_, truth, &Factor::value) != factors_.end()) return false;
        const auto of = [&](size_t i) { return holds_without(truth->parts()[i]); };
        if (truth->kind == Kind::select) return of(0) ? of(1) : of(2);
        if (truth->kind == Kind::conjunction) return of(0) && of(1);
        switch (truth->op) {
        case ScalarOp::logical_and:
        case ScalarOp::bit_and: return of(0) && of(1);
        case ScalarOp::logical_or:
        case ScalarOp::bit_or: return of(0) || of(1);
        case ScalarOp::equal: return of(0) == of(1);
        case ScalarOp::logical_not:
        case ScalarOp::bit_not: return !of(0);
        default: return of(0) != of(1);
        }
    }

    // Whether a part of the term has the axis, and so few points that packing it costs little beside the terms.
    bool add_factor(Expr value) {
        if (std::ranges::find(factors_, value, &Factor::value) != factors_.end()) return true;
        if (!moves(value)) return false;
        Factor factor = element_of(value);
        if (factor.read == nullptr && !reads_inside(system_, value)) return false;
        if (points_of(factor) * limits_.uses > points_) return false;
        factors_.push_back(factor);
        return true;
    }

    // An element of a tensor, in another type perhaps.
    Factor element_of(Expr value) const {
        Factor factor{.value = value};
        Expr read = value;
        while (read->kind == Kind::cast) read = read->parts()[0];
        if (!read->is_read() || system_.in_scan(read->tensor())) return factor;
        const bool guarded = read->kind == Kind::guarded_read;
        const auto is_zero = [](Expr e) { return e->kind == Kind::integer && e->integer == 0; };
        if (guarded && !is_zero(read->parts().back())) return factor;
        const SystemTensor& tensor = system_.tensor(read->tensor());
        const std::vector<Expr> coordinates = coordinates_of(read);
        const auto plain = [&](size_t d, AxisId axis) {
            return coordinates[d]->kind == Kind::variable && coordinates[d]->axes[0] == axis &&
                   tensor.shape[d] == arena_.extent(axis);
        };
        size_t found = 0;
        for (size_t d = 0; d < coordinates.size(); d++) {
            if (moves(coordinates[d])) {
                if (!plain(d, axis_)) return factor;
                factor.dimension = d;
                found++;
            } else if (tensor.shape[d].named() && !is_plain(coordinates[d], tensor.shape[d])) {
                return factor;
            }
        }
        if (found == 1) factor.read = read;
        return factor;
    }
    bool is_plain(Expr coordinate, const Size& extent) const {
        return coordinate->kind == Kind::variable && arena_.extent(coordinate->axes[0]) == extent;
    }

    double points_of(const Factor& factor) const {
        if (factor.read == nullptr) return hint_points(arena_, factor.value->axes);
        double points = 1;
        for (const Axis& axis : dimensions_of(factor))
            points *= static_cast<double>(axis.hint > 0 ? axis.hint : axis.extent.number());
        return points;
    }

    // The axes over which a factor is packed.
    std::vector<Axis> dimensions_of(const Factor& factor) const {
        std::vector<Axis> result;
        if (factor.read == nullptr) {
            for (AxisId axis : factor.value->axes) result.push_back(arena_.axis(axis));
            return result;
        }
        const SystemTensor& tensor = system_.tensor(factor.read->tensor());
        for (size_t d = 0; d < tensor.shape.size(); d++) {
            const Expr coordinate = factor.read->parts()[d];
            Axis axis{.name = "d" + std::to_string(d), .extent = tensor.shape[d]};
            if (is_plain(coordinate, tensor.shape[d])) axis = arena_.axis(coordinate->axes[0]);
            result.push_back(axis);
        }
        return result;
    }

    // As many words hold the axis. A named one has always one more than it fills: other sizes have the same equations.
    Size words(const Size& extent) const {
        return arena_.axis(axis_).named ? floor_divide(extent, form_.elements) + 1 : ceil_divide(extent, form_.elements);
    }
    Axis word_axis() const {
        Axis axis = arena_.axis(axis_);
        axis.extent = words(axis.extent);
        axis.factor = axis.named ? 1 : axis.extent.number();
        if (axis.hint > 0) axis.hint = words(axis.hint).number();
        return axis;
    }

    // Reads the word of the equation's term; makes its tensor first.
    Expr word_of(int32_t index, const Factor& factor) {
        if (const auto known = memo_.find(factor.value); known != memo_.end()) return known->second;
        if (word_axis_ == no_id) word_axis_ = arena_.add_axis(word_axis());
        const Expr word = arena_.axis_value(word_axis_);
        const std::vector<Axis> dimensions = dimensions_with_axis(factor);
        const SystemTensor& whole = system_.tensor(system_.equation(index).tensor);
        SystemTensor tensor{.name = whole.name + "_packed", .dtype = form_.dtype};
        tensor.operation = whole.operation;
        Equation made;
        std::vector<Expr> place, coordinates;  // of an element of the factor; of its word in the term
        for (size_t d = 0; d < dimensions.size(); d++) {
            const bool packed = d == packed_dimension(factor);
            const AxisId own = arena_.add_axis(packed ? word_axis() : dimensions[d]);
            made.axes.push_back(own);
            made.left.push_back(arena_.axis_value(own));
            tensor.shape.push_back(arena_.extent(own));
            if (packed)
                coordinates.push_back(word);
            else if (factor.read != nullptr)
                coordinates.push_back(factor.read->parts()[d]);
            else
                coordinates.push_back(arena_.axis_value(factor.value->axes[d]));
        }
        fill(made, factor);
        const std::vector<Size> shape = tensor.shape;
        made.tensor = system_.add_tensor(std::move(tensor));
        const TensorIndex packed = made.tensor;
        system_.add_equation(std::move(made));
        const bool guarded = factor.read != nullptr && factor.read->kind == Kind::guarded_read;
        const Expr none = arena_.literal(form_.dtype, 0);
        const Expr read = guarded ? arena_.guarded_read(packed, form_.dtype, coordinates, none, shape)
                                  : arena_.read(packed, form_.dtype, coordinates);
        return memo_[factor.value] = read;
    }
    // A truth of no elements has the axis alone.
    std::vector<Axis> dimensions_with_axis(const Factor& factor) const {
        if (factor.value->kind != Kind::integer) return dimensions_of(factor);
        return {arena_.axis(axis_)};
    }
    size_t packed_dimension(const Factor& factor) const {
        if (factor.read != nullptr) return factor.dimension;
        const auto& axes = factor.value->axes;
        return static_cast<size_t>(std::ranges::find(axes, axis_) - axes.begin());
    }

    // The right side that packs. A word's elements are as far apart as there are words, so that neighbouring words read
    // neighbouring elements; behind the end is nothing.
    void fill(Equation& made, const Factor& factor) {
        const Expr word = made.left[packed_dimension(factor)];
        const auto element = [&](Expr within) {
            const Expr place = arena_.add(word, within, words(arena_.extent(axis_)));
            const Expr value = value_at(made, factor, place);
            if (!padded_) return value;
            return arena_.select(arena_.less(place, arena_.integer(arena_.extent(axis_))), value,
                                 arena_.literal(value->dtype, 0));
        };
        if (form_.elements == bits.elements) {
            const AxisId bit = arena_.add_axis({.name = "bit", .extent = bits.elements});
            const Expr one = arena_.literal(form_.dtype, 1);
            const Expr place = arena_.cast(form_.dtype, arena_.axis_value(bit));
            made.reducer = Reducer::any;
            made.reduced = {bit};
            made.right = arena_.select(element(arena_.axis_value(bit)),
                                       arena_.scalar(ScalarOp::shift_left, form_.dtype, {one, place}),
                                       arena_.literal(form_.dtype, 0));
            return;
        }
        const auto with = [&](ScalarOp op, int64_t place, int64_t number) {
            return arena_.scalar(op, form_.dtype,
                                 {element(arena_.integer(place)), arena_.literal(form_.dtype, number)});
        };
        const Expr low = with(ScalarOp::bit_and, 0, 0xffff), high = with(ScalarOp::shift_left, 1, 16);
        made.right = arena_.scalar(ScalarOp::bit_or, form_.dtype, {low, high});
    }

    // The factor with `place` for the axis, and the axes of `made` for the others.
    Expr value_at(const Equation& made, const Factor& factor, Expr place) {
        Arena::Substitution at;
        if (factor.read == nullptr) {
            for (size_t d = 0; d < factor.value->axes.size(); d++) {
                const AxisId axis = factor.value->axes[d];
                at[axis] = axis == axis_ ? place : made.left[d];
            }
            return arena_.substitute(factor.value, at);
        }
        std::vector<Expr> coordinates = made.left;
        coordinates[factor.dimension] = place;
        Expr value = opened(arena_.read(factor.read->tensor(), factor.read->dtype, std::move(coordinates)));
        std::vector<Expr> casts;
        for (Expr e = factor.value; e != factor.read; e = e->parts()[0]) casts.push_back(e);
        for (auto cast = casts.rbegin(); cast != casts.rend(); ++cast) value = arena_.cast((*cast)->dtype, value);
        return value;
    }

    // What a cheap pointwise equation puts there: packing does it, and the tensor is not needed for that.
    Expr opened(Expr read) {
        const SystemTensor& tensor = system_.tensor(read->tensor());
        if (tensor.equations.size() != 1 || tensor.is_output) return read;
        const Equation& maker = system_.equation(tensor.equations[0]);
        const bool cheap = !maker.reducer && maker.scan < 0 && !facts_.of(maker.right).expensive;
        if (!cheap || facts_.of(maker.right).operations > most_operations) return read;
        return arena_.substitute(maker.right, axes_at(arena_, maker, coordinates_of(read)));
    }

    void reduce_words(Equation& equation, Reducer reducer) {
        equation.reducer = reducer;
        std::ranges::replace(equation.reduced, axis_, word_axis_);
    }

    static constexpr int most_operations = 8;  // of what is done again where it is packed

    System& system_;
    Arena& arena_;
    const WordLimits limits_;
    IntegerRanges ranges_;
    FactCache facts_;
    // Of the equation that is looked at.
    int32_t index_ = -1;
    AxisId axis_ = no_id, word_axis_ = no_id;
    Form form_ = bits;
    bool padded_ = false;
    double points_ = 0;
    std::vector<Factor> factors_;
    Arena::Memo memo_;
};

}  // namespace

void pack_words(System& system, const WordLimits& limits) {
    if (WordPacker(system, limits).run()) prune(system);
}

}  // namespace heddle::equations
