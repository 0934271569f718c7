#include "plan/storage.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "equations/pass_support.h"
#include "equations/scatter.h"
#include "expr/arena_interval.h"
#include "plan/axis_classes.h"
#include "schedules/tree.h"
#include "target/choice_numbers.h"

namespace heddle::plan {

using namespace equations;

namespace {

// What one access would like: these dimensions innermost, in this order.
using Preference = std::vector<int32_t>;

class StorageChooser {
public:
    StorageChooser(const System& system, const Partition& partition, const std::vector<KeptSteps>& kept)
        : system_(system),
          partition_(partition),
          kept_(kept),
          votes_(system.tensors.size()),
          margins_(system.tensors.size()) {}

    std::vector<std::optional<StorageMap>> choose() {
        for (const Kernel& kernel : partition_.kernels) vote(kernel);
        std::vector<std::optional<StorageMap>> maps(system_.tensors.size());
        for (const Kernel& kernel : partition_.kernels) {
            for (const auto* list : {&kernel.inputs, &kernel.outputs}) {
                for (TensorIndex t : *list) {
                    if (!maps[static_cast<size_t>(t)]) maps[static_cast<size_t>(t)] = map_of(t);
                }
            }
        }
        for (bool changed = true; changed;) {
            changed = false;
            for (const Kernel& kernel : partition_.kernels) changed |= propagate(kernel, maps);
        }
        return maps;
    }

private:
    struct Margin {
        std::vector<Size> before, after;
        std::set<double> fillings;
        bool refused = false;
    };

    void vote(const Kernel& kernel) {
        auto classes = axis_classes(system_, kernel);
        for (int32_t e : kernel.equations) {
            const Equation& equation = system_.equation(e);
            if (!equation.reducer || scatter_of(system_, equation)) continue;
            collect_margins(equation);
            vote_for_contraction(kernel, classes, e);
        }
    }

    // Axes of a coordinate; alone if it is just one axis.
    static std::optional<AxisId> lone_axis(Expr coordinate) {
        if (coordinate->kind != Kind::variable) return std::nullopt;
        return coordinate->axis();
    }

    static bool contains(const std::vector<AxisId>& axes, AxisId axis) {
        return std::find(axes.begin(), axes.end(), axis) != axes.end();
    }

    // Of some axes the one that a coordinate is, alone or as the last digit of a number (a part of a long axis).
    std::optional<AxisId> last_digit(Expr coordinate, const std::function<bool(AxisId)>& is_wanted) const {
        if (coordinate->kind != Kind::linear) {
            const auto alone = lone_axis(coordinate);
            return alone && is_wanted(*alone) ? alone : std::nullopt;
        }
        std::optional<AxisId> last;
        int64_t least = INT64_MAX;  // of the coefficients of other digits, at the size class's representative, as all votes
        for (size_t i = 0; i < coordinate->parts().size(); i++) {
            const auto axis = lone_axis(coordinate->parts()[i]);
            if (!axis) return std::nullopt;
            if (coordinate->coefficients[i].same_as(1) && is_wanted(*axis))
                last = axis;
            else
                least = std::min(least, coordinate->coefficients[i].at(system_.representatives));
        }
        return last && least >= system_.arena->hint(*last) ? last : std::nullopt;
    }

    std::optional<AxisId> reduced_axis(const Equation& equation, Expr coordinate) const {
        return last_digit(coordinate, [&](AxisId axis) { return contains(equation.reduced, axis); });
    }

    // The dimensions of a read whose coordinate is one reduced axis that no other coordinate uses: innermost last.
    Preference reduced_dimensions(const Equation& equation, Expr read, size_t rank) const {
        std::vector<std::pair<size_t, int32_t>> found;
        for (size_t d = 0; d < rank; d++) {
            auto axis = reduced_axis(equation, read->parts()[d]);
            if (!axis) continue;
            size_t uses = 0;
            for (size_t other = 0; other < rank; other++) uses += contains(read->parts()[other]->axes, *axis);
            size_t position = static_cast<size_t>(std::find(equation.reduced.begin(), equation.reduced.end(), *axis) -
                                                  equation.reduced.begin());
            if (uses == 1) found.push_back({position, static_cast<int32_t>(d)});
        }
        std::sort(found.begin(), found.end());
        Preference result;
        for (auto [position, dimension] : found) result.push_back(dimension);
        return result;
    }

    // A window reads coordinates in which a reduced axis and another meet.
    static bool is_window(const Equation& equation, Expr read, size_t rank) {
        for (size_t d = 0; d < rank; d++) {
            bool reduced = false, kept = false;
            for (AxisId axis : read->parts()[d]->axes) (contains(equation.reduced, axis) ? reduced : kept) = true;
            if (reduced && kept) return true;
        }
        return false;
    }

    size_t rank_of(Expr read) const { return system_.tensor(read->tensor()).shape.size(); }

    // At the size class's representative: a new size of a class must not change a map.
    double hint_points(const Equation& equation) const {
        double points = 1;
        for (const auto* axes : {&equation.axes, &equation.reduced}) {
            for (AxisId axis : *axes) points *= static_cast<double>(system_.arena->hint(axis));
        }
        return points;
    }

    void add_vote(TensorIndex tensor, Preference preference, double weight) {
        if (!preference.empty()) votes_[static_cast<size_t>(tensor)][std::move(preference)] += weight;
    }

    // A scalar operand wants its reduced axes innermost, an output its column axis; a vector operand wants nothing, if
    // it can be packed. In a window without a column (depthwise, pooling) the axis that the window leaves alone is the lanes',
    // but not where one window for all of it slides along long rows. The steps of a scan are nobody's lanes.
    void vote_for_contraction(const Kernel& kernel, const std::map<EquationAxis, AxisClass>& classes, int32_t e) {
        const Equation& equation = system_.equation(e);
        std::vector<Expr> operands;
        for (Expr read : reads(equation)) {
            if (read->is_read()) operands.push_back(read);
        }
        double weight = hint_points(equation);
        Expr vector_operand = nullptr;
        AxisId column = column_axis(equation, operands, &vector_operand);
        for (Expr read : operands) {
            if (is_constant(read->tensor())) continue;
            if (read == vector_operand) {
                if (cannot_be_packed(kernel, equation, operands, read))
                    add_vote(read->tensor(), dimension_of(read, column), weight);
            } else if (column >= 0) {
                add_vote(read->tensor(), reduced_dimensions(equation, read, rank_of(read)), weight);
            } else if (is_window(equation, read, rank_of(read))) {
                Preference channel = channel_dimension(equation, read);
                if (channel.empty()) continue;
                Expr along = read->parts()[static_cast<size_t>(channel[0])];
                const AxisId row = row_of_windows(equation, read);
                if (row >= 0 && !has_own_operands(operands, read, along, row)) continue;
                vote_for_weights(operands, along, weight);
                add_vote(read->tensor(), std::move(channel), weight);
            }
        }
        if (column >= 0) vote_for_outputs(kernel, classes, {e, column}, weight);
    }

    // No window is packed. Where the kernel makes the other operand, that one is not packed in its place (what a filter
    // gets from a convolution, by what the convolution's output gets): then vectors are of the window's columns.
    bool cannot_be_packed(const Kernel& kernel, const Equation& equation, const std::vector<Expr>& operands,
                          Expr vector_operand) const {
        if (!is_window(equation, vector_operand, rank_of(vector_operand))) return false;
        return std::ranges::any_of(kernel.equations, [&](int32_t e) {
            return std::ranges::any_of(operands,
                                       [&](Expr read) { return read->tensor() == system_.equation(e).tensor; });
        });
    }

    // Where the coordinate is the axis alone.
    static Preference dimension_of(Expr read, AxisId axis) {
        Preference found;
        for (size_t d = 0; d < read->parts().size(); d++) {
            if (lone_axis(read->parts()[d]) == axis) found.push_back(static_cast<int32_t>(d));
        }
        return found;
    }

    // Weights of a window without a column are read along its channels, as the tensor is.
    void vote_for_weights(const std::vector<Expr>& operands, Expr channel, double weight) {
        for (Expr read : operands) {
            if (!is_constant(read->tensor())) continue;
            for (size_t d = 0; d < rank_of(read); d++) {
                if (read->parts()[d] == channel) add_vote(read->tensor(), {static_cast<int32_t>(d)}, weight);
            }
        }
    }

    bool is_constant(TensorIndex t) const {
        const SystemTensor& tensor = system_.tensor(t);
        return tensor.kind == SystemTensor::Kind::constant || tensor.prepared;
    }

    // Of two operands the constant one, else the last, is the vector operand; its axis that the other lacks is the
    // column. Constants have it together (the real and imaginary parts of a table).
    // -1 if it has none: a depthwise weight, whose axes are all in the other operand too.
    AxisId column_axis(const Equation& equation, const std::vector<Expr>& operands, Expr* vector_operand) const {
        if (operands.size() < 2) return no_id;
        auto candidate = [&](Expr read) {
            const bool constant = is_constant(read->tensor());
            const auto shared = [&](AxisId axis) {
                return contains(equation.axes, axis) && std::ranges::any_of(operands, [&](Expr other) {
                           const bool beside = constant && is_constant(other->tensor());
                           return other != read && !beside && contains(other->axes, axis);
                       });
            };
            // In one coordinate with an axis of the other operand it shifts that one, and makes no column; but not as a
            // digit behind it that fills vectors (a head's part of all columns).
            const auto shifts = [&](AxisId axis) {
                const bool is_long = system_.arena->hint(axis) >= choice_numbers::row_of_windows;
                return std::ranges::any_of(read->parts(), [&](Expr coordinate) {
                    return contains(coordinate->axes, axis) && std::ranges::any_of(coordinate->axes, shared) &&
                           !(is_long && last_digit(coordinate, [&](AxisId other) { return other == axis; }));
                });
            };
            AxisId best = no_id;
            for (AxisId axis : read->axes) {
                if (!contains(equation.axes, axis) || shared(axis) || shifts(axis)) continue;
                if (best < 0 || system_.arena->hint(axis) > system_.arena->hint(best)) best = axis;
            }
            return best;
        };
        bool any_constant = false;
        for (Expr read : operands) any_constant |= is_constant(read->tensor());
        for (size_t i = operands.size(); i-- > 0;) {
            AxisId axis = candidate(operands[i]);
            if (axis < 0 || (any_constant && !is_constant(operands[i]->tensor()))) continue;
            *vector_operand = operands[i];
            return axis;
        }
        return no_id;
    }

    // The coefficient of the axis in the coordinate, or in what is wrapped, clamped or mirrored there: the greatest.
    static int64_t step_along(Expr coordinate, AxisId axis) {
        int64_t most = 0;
        for (Expr part : expr::walk(coordinate)) {
            if (part->kind == Kind::variable && part->axis() == axis) most = std::max<int64_t>(most, 1);
            if (part->kind != Kind::linear) continue;
            for (size_t i = 0; i < part->parts().size(); i++) {
                Expr atom = part->parts()[i];
                if (atom->kind == Kind::variable && atom->axis() == axis)
                    most = std::max(most, std::abs(part->coefficients[i]));
            }
        }
        return most;
    }

    // To the next element, or to one that a permute of neighbours serves.
    static bool is_stepped(Expr coordinate, AxisId axis) {
        const int64_t step = step_along(coordinate, axis);
        return step == 1 || schedules::is_interleaving(step);
    }

    // The axis along which the window slides over rows as they lie, by few elements at a time: vectors of neighbours,
    // in rows that fill them.
    AxisId row_of_windows(const Equation& equation, Expr read) const {
        Expr innermost = read->parts()[rank_of(read) - 1];
        for (AxisId axis : innermost->axes) {
            if (contains(equation.axes, axis) && axis != equation.ordered && is_stepped(innermost, axis) &&
                system_.arena->hint(axis) >= choice_numbers::row_of_windows)
                return axis;
        }
        return no_id;
    }

    // Each point along the axis has operands of its own, which are the same along the row.
    static bool has_own_operands(const std::vector<Expr>& operands, Expr read, Expr axis, AxisId row) {
        return std::ranges::any_of(operands, [&](Expr other) {
            return other->tensor() != read->tensor() && std::ranges::binary_search(other->axes, axis->axis()) &&
                   !std::ranges::binary_search(other->axes, row);
        });
    }

    Preference channel_dimension(const Equation& equation, Expr read) const {
        int32_t best = -1;
        int64_t best_extent = 1;
        for (size_t d = 0; d < rank_of(read); d++) {
            auto axis = lone_axis(read->parts()[d]);
            if (!axis || !contains(equation.axes, *axis) || *axis == equation.ordered) continue;
            int64_t extent = system_.arena->hint(*axis);
            if (extent > best_extent) {
                best = static_cast<int32_t>(d);
                best_extent = extent;
            }
        }
        return best < 0 ? Preference{} : Preference{best};
    }

    void vote_for_outputs(const Kernel& kernel, const std::map<EquationAxis, AxisClass>& classes, EquationAxis column,
                          double weight) {
        int32_t wanted = classes.at(column);
        std::vector<std::pair<TensorIndex, int32_t>> votes;
        for (TensorIndex t : kernel.outputs) {
            for (int32_t e : system_.tensor(t).equations) {
                if (std::find(kernel.equations.begin(), kernel.equations.end(), e) == kernel.equations.end()) continue;
                const Equation& equation = system_.equation(e);
                for (size_t d = 0; d < equation.left.size(); d++) {
                    auto parts = digits_of(equation.left[d]);
                    if (parts.empty() || classes.at({e, parts.back().axis}) != wanted) continue;
                    // Its vectors are of one axis: that of what its caller wants as it is.
                    if (is_left_as_it_is(t) && d + 1 < equation.left.size()) return;
                    votes.emplace_back(t, static_cast<int32_t>(d));
                }
            }
        }
        for (const auto& [t, dimension] : votes) add_vote(t, {dimension}, weight);
    }

    void collect_margins(const Equation& equation) {
        for (Expr read : reads(equation)) {
            if (read->kind != Kind::guarded_read || is_constant(read->tensor())) continue;
            const auto& shape = system_.tensor(read->tensor()).shape;
            auto& margin = margins_[static_cast<size_t>(read->tensor())];
            margin.before.resize(shape.size());
            margin.after.resize(shape.size());
            Expr filling = read->parts().back();
            margin.fillings.insert(filling->kind == Kind::real ? filling->real : static_cast<double>(filling->integer));
            for (size_t d = 0; d < shape.size(); d++) {
                Expr coordinate = read->parts()[d];
                // More margin than tensor is no padding: such reads are guarded where they stand.
                if (!interval(coordinate).within(-shape[d], 2 * shape[d] - 1)) {
                    margin.refused = true;
                    continue;
                }
                margin.before[d] = maximum(margin.before[d], -coordinate->low);
                margin.after[d] = maximum(margin.after[d], coordinate->high - shape[d] + 1);
            }
        }
    }

    StorageMap map_of(TensorIndex t) const {
        const SystemTensor& tensor = system_.tensor(t);
        StorageMap map = StorageMap::row_major(tensor.shape);
        if (const KeptSteps& kept = kept_[static_cast<size_t>(t)]; kept.places > 0)
            map.extent[kept.dimension] = kept.places;
        const auto& votes = votes_[static_cast<size_t>(t)];
        if (!votes.empty() && (margins_[static_cast<size_t>(t)].fillings.size() || !is_left_as_it_is(t))) {
            move_last(map.order, most_wanted(votes));
        }
        if (is_constant(t)) return map;
        const Margin& margin = margins_[static_cast<size_t>(t)];
        if (margin.fillings.size() == 1 && !margin.refused) {
            map.margin_before = margin.before;
            map.margin_after = margin.after;
            map.filling = *margin.fillings.begin();
        }
        return map;
    }

    // An order also serves those who want only its innermost dimensions.
    static Preference most_wanted(const std::map<Preference, double>& votes) {
        Preference best;
        double most = -1;
        for (const auto& [preference, unused] : votes) {
            double weight = 0;
            for (const auto& [other, vote] : votes) {
                bool served =
                    other.size() <= preference.size() && std::equal(other.rbegin(), other.rend(), preference.rbegin());
                weight += served ? vote : 0;
            }
            if (weight > most) {
                best = preference;
                most = weight;
            }
        }
        return best;
    }

    // An output that only its caller reads.
    bool is_left_as_it_is(TensorIndex t) const { return system_.tensor(t).is_output && reads_of(t) == 0; }

    int64_t reads_of(TensorIndex t) const {
        int64_t n = 0;
        for (const Kernel& kernel : partition_.kernels) n += std::count(kernel.inputs.begin(), kernel.inputs.end(), t);
        return n;
    }

    static void move_last(std::vector<int32_t>& order, const Preference& preference) {
        for (int32_t d : preference) {
            order.erase(std::find(order.begin(), order.end(), d));
            order.push_back(d);
        }
    }

    // A computed tensor that nobody voted for follows a voted one of its kernel: their innermost axes are one.
    bool propagate(const Kernel& kernel, std::vector<std::optional<StorageMap>>& maps) {
        auto classes = axis_classes(system_, kernel);
        std::set<AxisClass> innermost;
        for (int32_t e : kernel.equations) {
            for (Expr read : reads(system_.equation(e))) {
                if (!read->is_read()) continue;
                const auto& map = maps[static_cast<size_t>(read->tensor())];
                if (!map || map->is_row_major() || map->order.empty()) continue;
                auto axis = lone_axis(read->parts()[static_cast<size_t>(map->order.back())]);
                if (axis && classes.contains({e, *axis})) innermost.insert(classes.at({e, *axis}));
            }
        }
        if (innermost.empty()) return false;
        bool changed = false;
        for (TensorIndex t : kernel.outputs) changed |= follow(kernel, classes, innermost, t, maps);
        return changed;
    }

    bool follow(const Kernel& kernel, const std::map<EquationAxis, AxisClass>& classes,
                const std::set<AxisClass>& innermost, TensorIndex t, std::vector<std::optional<StorageMap>>& maps) {
        auto& map = maps[static_cast<size_t>(t)];
        if (!map || is_left_as_it_is(t) || !votes_[static_cast<size_t>(t)].empty() || is_constant(t)) return false;
        std::vector<int32_t> identity(map->order.size());
        std::iota(identity.begin(), identity.end(), 0);
        if (map->order != identity) return false;
        for (int32_t e : system_.tensor(t).equations) {
            if (std::find(kernel.equations.begin(), kernel.equations.end(), e) == kernel.equations.end()) continue;
            const Equation& equation = system_.equation(e);
            for (size_t d = 0; d + 1 < equation.left.size(); d++) {
                auto axis = lone_axis(equation.left[d]);
                if (axis && innermost.contains(classes.at({e, *axis}))) {
                    move_last(map->order, {static_cast<int32_t>(d)});
                    return true;
                }
            }
        }
        return false;
    }

    const System& system_;
    const Partition& partition_;
    const std::vector<KeptSteps>& kept_;
    std::vector<std::map<Preference, double>> votes_;
    std::vector<Margin> margins_;
};

}  // namespace

std::vector<std::optional<StorageMap>> choose_storage(const System& system, const Partition& partition,
                                                      const std::vector<KeptSteps>& kept) {
    return StorageChooser(system, partition, kept).choose();
}

}  // namespace heddle::plan
