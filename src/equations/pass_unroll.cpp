// Short axes that choose from lists are written out: an equation for each point, a sum that is a chain of additions.
// Then lists are numbers, coordinates move plainly, what several windows read is read once, and substitution sees all
// of it (docs/equations.md, "Written axes").
#include <algorithm>
#include <map>
#include <set>

#include "equations/passes.h"
#include "equations/pass_support.h"
#include "equations/scatter.h"
#include "equations/written_terms.h"
#include "support/union_find.h"

namespace heddle::equations {
namespace {

constexpr int64_t most_channels = 4;  // of a pixel
constexpr int64_t most_terms = 32;    // of one reduction
constexpr size_t most_nodes = 160;    // of a right side that is written out
constexpr size_t most_copied = 1200;  // of all copies of one equation

class AxisWriter {
public:
    explicit AxisWriter(System& system) : system_(system), arena_(*system.arena), classes_(arena_.axis_count()) {}
    void run();

private:
    bool is_short(AxisId axis) const {
        const Axis& a = arena_.axis(axis);
        return !a.named && a.extent >= 2 && a.extent <= longest_written_axis;
    }
    AxisId plain(Expr e) const { return e->kind == Kind::variable ? e->axes[0] : no_id; }
    void keep(AxisId axis) { kept_.insert(axis); }
    void join(AxisId a, AxisId b) {
        const auto [first, second] = std::minmax({classes_.root(a), classes_.root(b)});
        classes_.join(first, second);
    }
    bool may_be_parts(const Equation& equation, size_t d);
    void look_at_left(const Equation& equation);
    void look_at_reads(const Equation& equation);
    void look_at_dimension(Expr coordinate, Expr left, const Size& extent);
    void look_at_lists(const Equation& equation);
    bool is_window_of_state(const Equation& equation, AxisId axis) const;
    bool is_window_of_pixels(const Equation& equation) const;
    bool is_group_of_bytes(const Equation& equation, AxisId axis) const;
    bool is_table(TensorIndex tensor) const {
        return system_.tensor(tensor).constant && system_.tensor(tensor).graph_tensor < 0;
    }
    std::vector<AxisId> of_list(Expr e) const;
    bool is_written(AxisId axis) const { return is_short(axis) && written_.contains(classes_.root(axis)); }
    std::vector<AxisId> of(const std::vector<AxisId>& axes) const;
    void find_written();
    bool chooses_for_others(const Equation& equation) const;
    bool fits(const Equation& equation) const;
    void find_parts();
    TensorIndex part(TensorIndex whole, const std::vector<int64_t>& point);
    Expr read_of_part(Expr read);
    void write(int32_t index);

    System& system_;
    Arena& arena_;
    UnionFind<AxisId> classes_;
    std::set<AxisId> kept_, wanted_, written_;  // axes; axes; roots
    std::map<TensorIndex, std::vector<size_t>>
        dimensions_;  // of what becomes a tensor for each point: that are gone then
    std::map<std::pair<TensorIndex, std::vector<int64_t>>, TensorIndex> parts_;
};

// One coordinate is the axis. Pieces of an output are boxes, and do not lie between one another in memory; what is no
// output becomes a tensor for each point, if all of its equations (a state's first value, and its steps) have such an
// axis there.
bool AxisWriter::may_be_parts(const Equation& equation, size_t d) {
    const SystemTensor& tensor = system_.tensor(equation.tensor);
    const AxisId axis = plain(equation.left[d]);
    const auto is_moved = [&](Expr left) { return depends(left, axis); };
    if (std::ranges::count_if(equation.left, is_moved) > 1 || arena_.extent(axis) != tensor.shape[d]) return false;
    if (tensor.prepared || scatter_of(system_, equation)) return false;
    if (tensor.is_output) return tensor.equations.size() == 1 && equation.scan < 0 && d + 1 < equation.left.size();
    return std::ranges::all_of(tensor.equations, [&](int32_t index) {
        const AxisId other = plain(system_.equation(index).left[d]);
        if (other < 0 || !is_short(other) || arena_.extent(other) != arena_.extent(axis)) return false;
        join(axis, other);
        return true;
    });
}

void AxisWriter::look_at_left(const Equation& equation) {
    std::set<AxisId> parts;
    for (size_t d = 0; d < equation.left.size(); d++) {
        const AxisId axis = plain(equation.left[d]);
        if (axis >= 0 && is_short(axis) && may_be_parts(equation, d)) parts.insert(axis);
    }
    for (AxisId axis : equation.axes) {
        if (is_short(axis) && !parts.contains(axis)) keep(axis);
    }
}

// A reader of a dimension that an axis makes walks it as the axis does, or is at one of its points.
void AxisWriter::look_at_dimension(Expr coordinate, Expr left, const Size& extent) {
    for (AxisId made : left->axes) {
        if (!is_short(made)) continue;
        const AxisId axis = plain(coordinate);
        const bool point =
            coordinate->kind == Kind::integer && coordinate->integer >= 0 && coordinate->integer < extent;
        if (plain(left) != made || arena_.extent(made) != extent)
            keep(made);
        else if (axis >= 0 && arena_.extent(axis) == extent && is_short(axis))
            join(axis, made);
        else if (point)
            wanted_.insert(made);
        else
            keep(made);
    }
}

void AxisWriter::look_at_reads(const Equation& equation) {
    for (Expr read : reads(equation)) {
        const SystemTensor& tensor = system_.tensor(read->tensor());
        for (int32_t maker : tensor.equations) {
            const Equation& made = system_.equation(maker);
            for (size_t d = 0; d < made.left.size(); d++)
                look_at_dimension(read->parts()[d], made.left[d], tensor.shape[d]);
        }
    }
}

// A template's table of numbers, or a chain of selections, that short axes choose from; of a table also others' phases.
std::vector<AxisId> AxisWriter::of_list(Expr e) const {
    const bool chain = e->kind == Kind::select;
    if (!chain && (e->kind != Kind::read || !is_table(e->tensor()))) return {};
    std::vector<AxisId> found;
    for (Expr part : e->parts()) {
        const bool is_chosen = std::ranges::all_of(part->axes, [&](AxisId axis) { return is_short(axis); });
        if (is_chosen) found.insert(found.end(), part->axes.begin(), part->axes.end());
        if (!is_chosen && (chain || part->kind != Kind::modulo)) return {};
        if (chain) break;  // the condition
    }
    return found;
}

// A step's window over neighbours in a state: written out, it is a stream, whose border goes by vectors too.
bool AxisWriter::is_window_of_state(const Equation& equation, AxisId axis) const {
    if (equation.scan < 0 || !is_short(axis)) return false;
    return std::ranges::any_of(reads(equation), [&](Expr read) {
        const auto& makers = system_.tensor(read->tensor()).equations;
        const bool of_state =
            std::ranges::any_of(makers, [&](int32_t maker) { return system_.equation(maker).scan >= 0; });
        return of_state && std::ranges::any_of(coordinates_of(read),
                                               [&](Expr c) { return depends(c, axis) && c->axes.size() > 1; });
    });
}

// A window over pixels of few channels, which lie side by side: written out, a stream of whole vectors of neighbours.
bool AxisWriter::is_window_of_pixels(const Equation& equation) const {
    if (equation.scan >= 0 || equation.axes.size() < 2 || !is_short(equation.axes.back())) return false;
    const AxisId channel = equation.axes.back();
    return arena_.extent(channel) <= most_channels && std::ranges::all_of(reads(equation), [&](Expr read) {
               const auto coordinates = coordinates_of(read);
               return is_table(read->tensor()) || (!coordinates.empty() && plain(coordinates.back()) == channel);
           });
}

// The bytes of a group, one after the other (x[8 * n + k], k < 8): groups are shorter than vectors, and written out,
// the elements at one place of many groups are one. Shorter groups are joined with what is around them
// (joined_dimensions.h).
bool AxisWriter::is_group_of_bytes(const Equation& equation, AxisId axis) const {
    if (equation.scan >= 0 || equation.axes.empty() || !is_short(axis)) return false;
    const auto all = reads(equation);
    return !all.empty() && std::ranges::all_of(all, [&](Expr read) {
        if (coordinates_of(read).empty() || bytes(read->dtype) > 1) return false;
        int64_t group = 0, step = 0;
        for (const auto& [atom, factor] : linear_form(coordinates_of(read).back()).terms) {
            if (plain(atom) == equation.axes.back()) group = factor;
            if (plain(atom) == axis) step = factor;
        }
        return step == 1 && group > most_channels && group <= 8 && arena_.extent(axis) <= group;
    });
}

void AxisWriter::look_at_lists(const Equation& equation) {
    for (Expr e : walk(equation.right)) {
        const std::vector<AxisId> axes = of_list(e);
        wanted_.insert(axes.begin(), axes.end());
    }
    if (!equation.reducer) return;
    const bool of_pixels = is_window_of_pixels(equation);
    for (AxisId axis : equation.reduced) {
        if (of_pixels || is_window_of_state(equation, axis) || is_group_of_bytes(equation, axis)) wanted_.insert(axis);
    }
    // Of a contraction, an operand serves points that do not move it: such a loop is not written out.
    const bool shared =
        is_argument(*equation.reducer) || scatter_of(system_, equation) || shares_operand(system_, equation);
    for (AxisId axis : equation.reduced) {
        if (shared) keep(axis);
    }
}

std::vector<AxisId> AxisWriter::of(const std::vector<AxisId>& axes) const {
    std::vector<AxisId> found;
    std::ranges::copy_if(axes, std::back_inserter(found), [&](AxisId axis) { return is_written(axis); });
    return found;
}

// A list's elements are no numbers where only some of the axes that choose them are written out: a small matrix.
bool AxisWriter::chooses_for_others(const Equation& equation) const {
    return std::ranges::any_of(walk(equation.right), [&](Expr e) {
        const std::vector<AxisId> axes = of_list(e);
        return of(axes).size() < axes.size() && !of(axes).empty();
    });
}

bool AxisWriter::fits(const Equation& equation) const {
    int64_t points = 1, terms = 1;
    const auto reduced = of(equation.reduced);
    for (AxisId axis : of(equation.axes)) points *= arena_.extent(axis);
    for (AxisId axis : reduced) terms *= arena_.extent(axis);
    if (points * terms == 1) return true;
    if (reduced.size() < equation.reduced.size()) return false;  // a loop is left: its terms stay together
    if (terms > 1 && chooses_for_others(equation)) return false;
    const size_t nodes = walk(equation.right).size();
    return points <= longest_written_axis && terms <= most_terms && nodes <= most_nodes &&
           nodes * static_cast<size_t>(points * terms) <= most_copied;
}

void AxisWriter::find_written() {
    for (AxisId axis : wanted_) written_.insert(classes_.root(axis));
    for (AxisId axis : kept_) written_.erase(classes_.root(axis));
    for (bool changed = true; changed;) {
        changed = false;
        for (const Equation& equation : system_.equations) {
            if (equation.dead || fits(equation)) continue;
            for (const auto* list : {&equation.axes, &equation.reduced}) {
                for (AxisId axis : of(*list)) changed |= written_.erase(classes_.root(axis)) > 0;
            }
        }
    }
}

void AxisWriter::find_parts() {
    for (size_t t = 0; t < system_.tensors.size(); t++) {
        const SystemTensor& tensor = system_.tensors[t];
        if (tensor.is_output || tensor.equations.empty()) continue;
        const Equation& made = system_.equation(tensor.equations.front());
        for (size_t d = 0; d < made.left.size(); d++) {
            const AxisId axis = plain(made.left[d]);
            if (axis >= 0 && is_written(axis)) dimensions_[TensorIndex(t)].push_back(d);
        }
    }
}

TensorIndex AxisWriter::part(TensorIndex whole, const std::vector<int64_t>& point) {
    const auto [found, is_new] = parts_.try_emplace({whole, point});
    if (!is_new) return found->second;
    SystemTensor tensor = system_.tensor(whole);
    tensor.equations.clear();
    for (int64_t value : point) tensor.name += "_" + std::to_string(value);
    const std::vector<size_t>& gone = dimensions_.at(whole);
    for (size_t i = gone.size(); i-- > 0;) tensor.shape.erase(tensor.shape.begin() + static_cast<std::ptrdiff_t>(gone[i]));
    return found->second = system_.add_tensor(std::move(tensor));
}

// Of these coordinates the part's, and the point whose part it is.
std::vector<int64_t> take_point(const std::vector<size_t>& dimensions, std::vector<Expr>& coordinates) {
    std::vector<int64_t> point;
    for (size_t d : dimensions) point.push_back(coordinates[d]->integer);
    for (size_t i = dimensions.size(); i-- > 0;)
        coordinates.erase(coordinates.begin() + static_cast<std::ptrdiff_t>(dimensions[i]));
    return point;
}

Expr AxisWriter::read_of_part(Expr read) {
    const auto found = dimensions_.find(read->tensor());
    if (found == dimensions_.end()) return nullptr;
    std::vector<Expr> coordinates = coordinates_of(read);
    const TensorIndex of = part(read->tensor(), take_point(found->second, coordinates));
    if (read->kind == Kind::read) return arena_.read(of, read->dtype, std::move(coordinates));
    return arena_.guarded_read(of, read->dtype, std::move(coordinates), read->parts().back(), system_.tensor(of).shape);
}

void AxisWriter::write(int32_t index) {
    const Equation whole = system_.equation(index);
    const std::vector<AxisId> axes = of(whole.axes), reduced = of(whole.reduced);
    if (axes.empty() && reduced.empty()) return;
    system_.equation(index).dead = true;
    std::erase(system_.tensor(whole.tensor).equations, index);
    std::vector<int64_t> point(axes.size());
    do {
        Equation made = whole;
        std::erase_if(made.axes, [&](AxisId axis) { return is_written(axis); });
        for (Expr& left : made.left) left = at_point(system_, left, axes, point);
        made.right = at_point(system_, whole.right, axes, point);
        if (!reduced.empty()) {
            made.right = arena_.cast(system_.tensor(whole.tensor).dtype,
                                     joined_terms(system_, *whole.reducer, made.right, reduced));
            made.reduced.clear();
            made.reducer.reset();
        }
        if (const auto found = dimensions_.find(whole.tensor); found != dimensions_.end())
            made.tensor = part(whole.tensor, take_point(found->second, made.left));
        made.piece = static_cast<int32_t>(system_.tensor(made.tensor).equations.size());
        system_.add_equation(std::move(made));
    } while (next_point(arena_, axes, point));
}

void AxisWriter::run() {
    for (int32_t index : system_.order()) {
        look_at_left(system_.equation(index));
        look_at_reads(system_.equation(index));
        look_at_lists(system_.equation(index));
    }
    find_written();
    if (written_.empty()) return;
    find_parts();
    for (int32_t index : system_.order()) write(index);
    for (Equation& equation : system_.equations) {
        if (equation.dead) continue;
        equation.right = replace_reads(arena_, equation.right, [&](Expr read) { return read_of_part(read); });
    }
    prune(system_);
}

}  // namespace

void unroll_axes(System& system) { AxisWriter(system).run(); }

}  // namespace heddle::equations
