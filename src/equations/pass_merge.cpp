// Equations that make the same, up to the names of their axes, become one: each operation of a gradient works out again
// what the forward body did.
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "equations/fusion.h"
#include "equations/pass_support.h"

namespace heddle::equations {
namespace {

class Merge {
public:
    explicit Merge(System& system) : system_(system), arena_(*system.arena), pool_(arena_) {}

    void run() {
        for (int32_t index : system_.order()) {
            Equation& equation = system_.equation(index);
            equation.right = replace_reads(arena_, equation.right, [&](Expr read) { return of_first(read); });
            if (!may_merge(equation)) continue;
            const auto [first, is_first] = first_.try_emplace(form_of(equation), equation.tensor);
            const SystemTensor &made = system_.tensor(equation.tensor), &other = system_.tensor(first->second);
            if (!is_first && !made.is_output && made.sizes == other.sizes) instead_[equation.tensor] = first->second;
        }
        if (!instead_.empty()) prune(system_);
    }

private:
    // All that decides what the equation makes; its axes are those of their places.
    using Form = std::tuple<DType, std::vector<AxisId>, size_t, std::vector<Expr>, std::optional<Reducer>, Expr>;

    bool may_merge(const Equation& equation) const {
        const SystemTensor& tensor = system_.tensor(equation.tensor);
        return equation.scan < 0 && tensor.kind == SystemTensor::Kind::computed && tensor.equations.size() == 1;
    }

    Form form_of(const Equation& equation) {
        const SystemTensor& tensor = system_.tensor(equation.tensor);
        std::vector<AxisId> axes;
        Arena::Substitution places;
        for (const auto* list : {&equation.axes, &equation.reduced}) {
            for (AxisId axis : *list) {
                axes.push_back(pool_.get(axes.size(), axis));
                places[axis] = arena_.axis_value(axes.back());
            }
        }
        std::vector<Expr> left;
        for (Expr coordinate : equation.left) left.push_back(arena_.substitute(coordinate, places));
        return {tensor.dtype,    std::move(axes),  equation.axes.size(),
                std::move(left), equation.reducer, arena_.substitute(equation.right, places)};
    }

    Expr of_first(Expr read) {
        const auto found = instead_.find(read->tensor());
        if (found == instead_.end()) return nullptr;
        const auto coordinates = coordinates_of(read);
        if (read->kind == Kind::read) return arena_.read(found->second, read->dtype, coordinates);
        return arena_.guarded_read(found->second, read->dtype, coordinates, read->parts().back(),
                                   system_.tensor(found->second).shape);
    }

    System& system_;
    Arena& arena_;
    CanonicalAxes pool_;
    std::map<Form, TensorIndex> first_;
    std::map<TensorIndex, TensorIndex> instead_;
};

}  // namespace

void merge_equal(System& system) { Merge(system).run(); }

}  // namespace heddle::equations
