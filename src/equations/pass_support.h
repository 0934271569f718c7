// What the passes over a system share: facts about right sides, boxes, composition of reads with the equations that
// make them, and removal of what nothing needs. Rules: docs/equations.md, "Substitution".
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "equations/system.h"
#include "zspace/box.h"

namespace heddle::equations {

// Of a right side's value: coordinates and conditions on coordinates cost nothing here.
struct ValueFacts {
    int operations = 0;      // in operations of one cycle's throughput
    bool expensive = false;  // holds an operation not worth doing twice
    int nodes = 0;           // all distinct nodes, coordinates included
};

// Facts by expression, each worked out once. Valid as long as the arena.
class FactCache {
public:
    const ValueFacts& of(Expr right);

private:
    std::unordered_map<Expr, ValueFacts> facts_;
};

inline bool depends(Expr e, AxisId axis) { return std::ranges::binary_search(e->axes, axis); }

Box box_of(const Equation& equation);                    // what the left side covers
Box box_of_read(const SystemTensor& tensor, Expr read);  // what the coordinates can reach, within the tensor

// The one equation that makes every element that `read` can reach, or -1: several, none, or partly none.
int32_t maker_of(const System& system, Expr read);
// All equations that make an element that `read` can reach. A read that reaches nothing (a sum over nothing) is one of
// the buffer all the same: then all of the tensor's.
std::vector<int32_t> makers_of(const System& system, Expr read);

// One digit of a dimension's mixed radix: coordinate = sum of axis * radix, plus an offset.
struct Digit {
    AxisId axis = no_id;
    Size radix = 1;
};
std::vector<Digit> digits_of(Expr left);  // outermost first
// What each digit's axis is where the left coordinate has the value `coordinate`, outermost first.
std::vector<std::pair<AxisId, Expr>> digits_at(Arena& arena, Expr left, Expr coordinate);
// What each axis of `equation` is at the element `coordinates` of its tensor; they must lie in the equation's box.
Arena::Substitution axes_at(Arena& arena, const Equation& equation, std::span<const Expr> coordinates);

Expr row_major_address(const System& system, Expr read);

// Whether cutting axes can remove every division of the read's coordinates: its row-major address has no floor or
// remainder, or each one left is solved by cuts that form a chain of divisors for each axis.
class CleanCache {
public:
    bool is_clean(const System& system, Expr read);

private:
    std::unordered_map<Expr, bool> known_;
};

// Axes for canonical forms: the k-th of an extent.
class CanonicalAxes {
public:
    explicit CanonicalAxes(Arena& arena) : arena_(arena) {}
    AxisId get(size_t position, AxisId like);

private:
    Arena& arena_;
    std::map<std::tuple<size_t, int64_t, OriginPointer, bool, int64_t, int64_t, int64_t>, AxisId> made_;
};

// `root` with each read (its coordinates already replaced) given to `replace`; null keeps it.
using ReadReplacement = std::function<Expr(Expr read)>;
Expr replace_reads(Arena& arena, Expr root, const ReadReplacement& replace);

// Substitutes the right sides of the chosen equations (by index) into every read that one of them makes alone. A clean
// read is kept where the result would not be clean, and one at an index from data where the result would not check it;
// the tensor is then marked `keep_name`.
void inline_equations(System& system, const std::vector<bool>& chosen);

// The number of a reduction's term, row-major over its axes; how many terms there are, as far as 64 bits say.
Expr number_of_term(Arena& arena, std::span<const AxisId> reduced);
Size count_of_terms(const Arena& arena, std::span<const AxisId> reduced);

// An axis of so many points, and what is known of a named extent in its class.
Axis axis_of_extent(const System& system, std::string name, const Size& extent);

// Points at the size class's representative, by which all choices are made; without an origin the extents.
double hint_points(const Arena& arena, const std::vector<AxisId>& axes);
double hint_points(const System& system,
                   const Equation& equation);  // where its right side is worked out: a scatter's terms

// Gives the reduction of the only equation of a tensor, outside of scans, a tensor of its own, of `term` and its dtype;
// the equation is left with its left side, over axes that `renaming` gives. Returns what it reads now.
Expr name_reduction(System& system, int32_t index, const std::string& suffix, Expr term, Arena::Substitution& renaming);

bool reads_inside(const System& system, Expr value);  // every read of it, wherever it is worked out
// Gives each read of `root`, and coordinates that are below 0 wherever selections ask for it, those that are `known` so
// everywhere among them; a read that several ways lead to is given for each. False if `visit` says so, or if there are
// too many ways.
using GuardedRead = std::function<bool(Expr read, const std::vector<Expr>& below_zero)>;
bool visit_guarded_reads(Arena& arena, Expr root, const GuardedRead& visit, std::vector<Expr> known = {});
// coordinate < 0 follows from one of the others; of a minimum or maximum, from what is known of its operands.
bool follows(Arena& arena, Expr coordinate, const std::vector<Expr>& below_zero);
// Every read, where the value's own selections ask for it.
bool reads_inside_where_asked(const System& system, Expr value);
// All that must hold, in order. What is only worked out where an earlier part holds is one of its own if it `may` be.
std::vector<Expr> conditions_of(Expr condition, const std::function<bool(Expr)>& may);
// Both hold; where a read of `then` may lie outside, `then` is worked out only where `first` holds.
Expr lazy_conjunction(const System& system, Expr first, Expr then);
// Of a reduction whose terms are a product (or sum, or difference) of two factors over a reduced axis: the equation's
// axes that move the first factor alone, and those that move the second alone. Nothing for others.
struct ProductAxes {
    std::vector<AxisId> rows, columns, reduced;  // reduced: those that both factors have
};
ProductAxes product_axes(const Equation& equation);
bool is_view(const Equation& equation);  // a read, nothing else
// Of a scan, and only this step of it reads what it makes: no state, and nothing waits for it behind the scan.
bool stays_in_step(const System& system, const Equation& equation, const std::vector<int32_t>& readers);
// Marks equations dead that have no points or that no output needs, and takes dead ones out of their tensors' lists.
void prune(System& system);

}  // namespace heddle::equations
