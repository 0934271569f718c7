// Right sides and coordinates of the equations of systems and kernels: expressions of which equal ones are one.
// Coordinates are always in linear form over atoms; an expression knows its axes and its interval. Algorithms:
// docs/equations.md, "Substitution".
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <ranges>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "expr/expression.h"
#include "support/intern_table.h"
#include "zspace/linear_form.h"

namespace heddle::expr {

class Arena;
struct Interned;
using Expr = const Interned*;             // kept in an Arena: equal expressions are one pointer
using CoordinateForm = LinearForm<Expr>;  // by the atoms' ids

struct Axis {
    std::string name;  // a hint for people; several axes may share one
    Size extent = 1;
    bool named = false;  // has an origin: never dropped at one, never a baked fact
    int64_t factor = 0;  // named axes: the number known to divide the extent, else `extent`
    int64_t hint = 0;  // named axes: the extent at the size class's representative, by which costs decide; 0: `extent`
    int64_t most = 0;  // named axes: what the extent does not exceed in its size class; 0: not known
};

// Finds operands in their arena.
struct ById {
    const Arena* arena;
    Expr operator()(ExpressionId id) const;
};

// An expression of an arena, and what is known of it.
struct Interned : Expression {
    const Arena* arena = nullptr;
    ExpressionId id;                            // order of making; canonical orders use it
    std::vector<Size> coefficients;          // linear; guarded_read: the extents of the tensor
    std::vector<AxisId> axes;                // all axes that occur, sorted
    Size low = INT64_MIN, high = INT64_MAX;  // of an int64 expression; INT64_MIN and INT64_MAX: not known
    int32_t nodes = 1;                          // of the expression written as a graph, an upper bound
    bool has_reads = false;                     // it is one, or one lies below
    bool has_named_sizes = false;               // a literal, coefficient or extent of an axis below is one with an origin

    // The operands.
    auto parts() const { return std::views::transform(std::span(operands.begin(), operands.end()), ById{arena}); }
};

// What an arena makes of what is asked for.
enum class Building : uint8_t {
    canonical,   // conditions and guards are decided by intervals, quotients and remainders are simplified
    as_written,  // nothing but linear forms, so that the structure depends on no extent
};

// Makes and keeps expressions. Not thread-safe. Pointers stay valid as long as the arena.
class Arena {
public:
    explicit Arena(Building building = Building::canonical) : canonical_(building == Building::canonical) {}
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    AxisId add_axis(Axis axis);
    const Axis& axis(AxisId id) const { return axes_[id]; }
    const Size& extent(AxisId id) const { return axis(id).extent; }
    int64_t hint(AxisId id) const { return axis(id).hint > 0 ? axis(id).hint : axis(id).extent.number(); }
    void forget_hints() {
        for (Axis& axis : axes_) axis.hint = 0;
    }
    size_t axis_count() const { return axes_.size(); }
    Expr at(ExpressionId id) const { return &pool_[id]; }
    size_t size() const { return pool_.size(); }

    Expr integer(const Size& value);
    Expr literal(DType dtype, const Size& value, bool from_template = true);
    Expr real(DType dtype, double value, bool from_template = true);
    Expr axis_value(AxisId id);  // canonical: coordinate 0 for an unnamed axis of extent one
    // Linear arithmetic.
    Expr add(Expr a, Expr b, const Size& scale = 1);  // a + scale * b
    Expr scale(Expr a, const Size& factor);
    Expr floor_divide(Expr a, const Size& divisor);
    Expr modulo(Expr a, const Size& divisor);
    Expr minimum(Expr a, Expr b);
    Expr maximum(Expr a, Expr b);
    // Conditions: decided where intervals decide them.
    Expr less(Expr a, Expr b);  // coordinates
    Expr conjunction(Expr a, Expr b);
    Expr inside(Expr coordinate, const Size& extent);  // 0 <= coordinate < extent
    Expr truth(bool value);
    // Values.
    Expr scalar(ScalarOp op, DType dtype, std::vector<Expr> operands);
    Expr cast(DType dtype, Expr value);
    Expr select(Expr condition, Expr then, Expr otherwise);
    Expr read(TensorIndex tensor, DType dtype, std::vector<Expr> coordinates);
    // `shape` decides at once where every coordinate is inside or one is outside. A value that is not a literal makes a
    // selection of it.
    Expr guarded_read(TensorIndex tensor, DType dtype, std::vector<Expr> coordinates, Expr otherwise,
                      const std::vector<Size>& shape);

    // Says what an int64 tensor's elements lie between, before it is read: coordinates read from it are then known to be
    // inside.
    void declare_range(TensorIndex tensor, const Size& low, const Size& high) { ranges_[tensor] = {low, high}; }

    // The like of an expression, which may be of another arena, over operands of this one, through the builders above.
    // Axes have none.
    Expr copy(Expr expression, std::vector<Expr> operands);
    // The same of an expression of this arena.
    Expr rebuild(Expr expression, std::vector<Expr> operands);
    // Replaces axes by coordinates; each node once.
    using Substitution = std::unordered_map<AxisId, Expr>;
    Expr substitute(Expr expression, const Substitution& substitution);
    // The same for many expressions under one substitution: `memo` keeps what was rebuilt.
    using Memo = std::unordered_map<Expr, Expr>;
    Expr substitute(Expr expression, const Substitution& substitution, Memo& memo);

private:
    using Terms = decltype(CoordinateForm::terms);

    Expr intern(Expression expression, std::vector<Size> coefficients = {});
    Expr linear(const Size& constant, Terms terms);
    Expr joined(const std::vector<Expr>& conditions);
    bool recombine(Size& constant, Terms& terms);
    Expr divide(Kind kind, Expr a, const Size& divisor);
    Expr division(Kind kind, Expr a, const Size& divisor);  // as it is asked for
    Expr make_floor_divide(Expr a, const Size& divisor);
    Expr extreme_of(Expr way, Expr below, Expr above);
    Expr make_modulo(Expr a, const Size& divisor);
    Expr simplified(ScalarOp op, DType dtype, const std::vector<Expr>& operands);
    Expr simplified_cast(DType dtype, Expr value);

    const bool canonical_;
    std::vector<Axis> axes_;
    std::deque<Interned> pool_;
    InternTable table_;
    std::unordered_map<TensorIndex, Interval> ranges_;
    std::map<std::tuple<Kind, ExpressionId, int64_t, OriginPointer>, Expr> divisions_;  // what floor_divide and modulo gave
};

// A tensor as reads see it.
struct ReadableTensor {
    TensorIndex index = no_id;
    DType dtype = DType::float32;
    std::vector<Size> shape;
};

inline Expr ById::operator()(ExpressionId id) const { return arena->at(id); }

CoordinateForm linear_form(Expr coordinate);

// Of a read, without what stands for elements outside.
std::vector<Expr> coordinates_of(Expr read);

std::vector<Expr> operands_of(Expr expression);

// Every distinct node below `root`, `root` first; or only those that are computed whatever selections choose.
enum class Skipped : uint8_t { taken, left_out };
std::vector<Expr> walk(Expr root, Skipped skipped = Skipped::taken);
// The reads among them.
std::vector<Expr> reads_below(Expr root);

}  // namespace heddle::expr
