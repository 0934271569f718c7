// Equations that make the same, up to the names of their axes, become one, and so do scans whose equations all do: each
// operation of a gradient works out again what the forward body did.
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "equations/passes.h"
#include "equations/pass_support.h"

namespace heddle::equations {
namespace {

class Merge {
public:
    explicit Merge(System& system) : system_(system), arena_(*system.arena), pool_(arena_) {}

    void run() {
        const std::vector<int32_t> order = system_.order();
        std::map<int32_t, std::vector<int32_t>> scans;  // their equations, in order
        for (int32_t index : order)
            if (system_.equation(index).scan >= 0) scans[system_.equation(index).scan].push_back(index);
        for (int32_t index : order) {
            Equation& equation = system_.equation(index);
            equation.right = replace_reads(arena_, equation.right, [&](Expr read) { return of_first(read); });
            if (equation.scan < 0) {
                merge_equation(equation);
            } else if (const auto& members = scans[equation.scan]; index == members.back()) {
                merge_scan(members);
            }
        }
        if (!instead_.empty()) prune(system_);
    }

private:
    // All that decides what an equation makes; its axes are those of their places.
    using Form = std::tuple<DType, std::vector<AxisId>, size_t, std::vector<Expr>, std::optional<Reducer>, Expr>;
    // Of a scan's equations, with the first values of their states: the numbers of their tensors in the scan, the places
    // of the ordered axis.
    using ScanForm = std::vector<std::tuple<size_t, size_t, Form>>;

    void merge_equation(const Equation& equation) {
        const SystemTensor& tensor = system_.tensor(equation.tensor);
        if (tensor.kind != SystemTensor::Kind::computed || tensor.equations.size() != 1) return;
        const auto [first, is_first] = first_.try_emplace(form_of(equation, {}), equation.tensor);
        if (!is_first && may_stand_for(first->second, equation.tensor)) instead_[equation.tensor] = first->second;
    }

    // Of two scans that make the same the later one goes, with all of its tensors.
    void merge_scan(const std::vector<int32_t>& members) {
        std::vector<TensorIndex> tensors;
        std::vector<int32_t> equations = members;
        for (int32_t index : members)
            if (const TensorIndex made = system_.equation(index).tensor;
                std::ranges::find(tensors, made) == tensors.end())
                tensors.push_back(made);
        for (TensorIndex tensor : tensors)
            for (int32_t index : system_.tensor(tensor).equations)
                if (!system_.equation(index).dead && std::ranges::find(members, index) == members.end())
                    equations.push_back(index);
        Places places;
        for (size_t i = 0; i < tensors.size(); ++i) places[tensors[i]] = i;
        ScanForm form;
        for (int32_t index : equations) {
            const Equation& equation = system_.equation(index);
            const size_t ordered =
                static_cast<size_t>(std::ranges::find(equation.axes, equation.ordered) - equation.axes.begin());
            form.emplace_back(places.at(equation.tensor), ordered, form_of(equation, places));
        }
        const auto [first, is_first] = first_scans_.try_emplace(std::move(form), tensors);
        if (is_first) return;
        for (size_t i = 0; i < tensors.size(); ++i)
            if (!may_stand_for(first->second[i], tensors[i])) return;
        for (size_t i = 0; i < tensors.size(); ++i) instead_[tensors[i]] = first->second[i];
    }

    bool may_stand_for(TensorIndex first, TensorIndex later) const {
        const SystemTensor &made = system_.tensor(later), &other = system_.tensor(first);
        return !made.is_output && made.kind == SystemTensor::Kind::computed && made.dtype == other.dtype &&
               std::ranges::equal(made.shape, other.shape, &Size::same_as);
    }

    // Reads of tensors with a place are of what has this place; it is a number that no tensor has.
    using Places = std::map<TensorIndex, size_t>;

    Form form_of(const Equation& equation, const Places& places) {
        const SystemTensor& tensor = system_.tensor(equation.tensor);
        std::vector<AxisId> axes;
        Arena::Substitution by;
        for (const auto* list : {&equation.axes, &equation.reduced}) {
            for (AxisId axis : *list) {
                axes.push_back(pool_.get(axes.size(), axis));
                by[axis] = arena_.axis_value(axes.back());
            }
        }
        std::vector<Expr> left;
        for (Expr coordinate : equation.left) left.push_back(arena_.substitute(coordinate, by));
        Expr right = arena_.substitute(equation.right, by);
        if (!places.empty()) {
            right = replace_reads(arena_, right, [&](Expr read) -> Expr {
                const auto place = places.find(read->tensor());
                return place == places.end() ? nullptr
                                             : read_of(read, TensorIndex(-2 - static_cast<int64_t>(place->second)),
                                                       system_.tensor(read->tensor()).shape);
            });
        }
        return {tensor.dtype, std::move(axes), equation.axes.size(), std::move(left), equation.reducer, right};
    }

    Expr read_of(Expr read, TensorIndex tensor, const std::vector<Size>& shape) {
        const auto coordinates = coordinates_of(read);
        if (read->kind == Kind::read) return arena_.read(tensor, read->dtype, coordinates);
        return arena_.guarded_read(tensor, read->dtype, coordinates, read->parts().back(), shape);
    }

    Expr of_first(Expr read) {
        const auto found = instead_.find(read->tensor());
        if (found == instead_.end()) return nullptr;
        return read_of(read, found->second, system_.tensor(found->second).shape);
    }

    System& system_;
    Arena& arena_;
    CanonicalAxes pool_;
    std::map<Form, TensorIndex> first_;
    std::map<ScanForm, std::vector<TensorIndex>> first_scans_;
    std::map<TensorIndex, TensorIndex> instead_;
};

}  // namespace

void merge_equal(System& system) { Merge(system).run(); }

}  // namespace heddle::equations
