// Dependent reductions by algebra, the case without an exponential: a factor of a sum's term that is the same for all
// its terms is multiplied once, behind the sum (the softmax division behind `p v`, a norm's scale behind a product).
// Only factors made of earlier reductions move: docs/equations.md, "Substitution".
#include <algorithm>
#include <optional>
#include <set>

#include "equations/passes.h"
#include "equations/pass_support.h"

namespace heddle::equations {
namespace {

// Squares of squares have a factor for each of very many ways through few nodes: such a product is left as it is.
constexpr size_t most_factors = 64;

bool add_factors(Expr term, std::vector<Expr>& factors) {
    if (factors.size() == most_factors) return false;
    if (term->kind == Kind::scalar && term->op == ScalarOp::multiply)
        return std::ranges::all_of(term->parts(), [&](Expr operand) { return add_factors(operand, factors); });
    factors.push_back(term);
    return true;
}

std::vector<Expr> factors_of(Expr term) {
    std::vector<Expr> factors;
    if (!add_factors(term, factors)) factors = {term};
    return factors;
}

Expr product_of(Arena& arena, const std::vector<Expr>& factors) {
    Expr result = factors[0];
    for (size_t k = 1; k < factors.size(); k++) {
        result = arena.scalar(ScalarOp::multiply, result->dtype, {result, factors[k]});
    }
    return result;
}

class PullOut {
public:
    explicit PullOut(System& system) : system_(system) {}
    void run();

private:
    bool is_statistic(Expr value, double points) const;
    bool moves(const Equation& equation, Expr factor) const;
    bool open_product(Equation& equation);
    void pull(int32_t index);
    const Equation* only_equation(TensorIndex tensor) const;

    System& system_;
    std::vector<std::vector<int32_t>> readers_;
};

const Equation* PullOut::only_equation(TensorIndex tensor) const {
    const SystemTensor& info = system_.tensor(tensor);
    if (info.equations.size() != 1 || info.is_output || info.prepared || system_.in_scan(tensor)) return nullptr;
    return &system_.equation(info.equations[0]);
}

// Reads earlier reductions only (or a name for what was computed of them), much smaller than what they scale.
bool PullOut::is_statistic(Expr value, double points) const {
    bool any = false;
    for (Expr node : walk(value)) {
        if (!node->is_read()) continue;
        const SystemTensor& tensor = system_.tensor(node->tensor());
        if (node->kind != Kind::read || tensor.prepared || tensor.equations.size() != 1) return false;
        if (system_.in_scan(node->tensor())) return false;
        const Equation& made = system_.equation(tensor.equations[0]);
        if (!made.reducer && !is_statistic(made.right, points)) return false;
        if (hint_points(*system_.arena, made.axes) * 4 > points) return false;
        any = true;
    }
    return any;
}

bool PullOut::moves(const Equation& equation, Expr factor) const {
    const bool varies = std::any_of(equation.reduced.begin(), equation.reduced.end(), [&](AxisId axis) {
        return std::binary_search(factor->axes.begin(), factor->axes.end(), axis);
    });
    return !varies && is_statistic(factor, hint_points(system_, equation));
}

// A factor that is a product's name, all of whose readers can pull the same factor out, gives way to its product.
bool PullOut::open_product(Equation& equation) {
    Arena& arena = *system_.arena;
    std::vector<Expr> factors = factors_of(equation.right);
    for (Expr& factor : factors) {
        if (factor->kind != Kind::read) continue;
        const Equation* made = only_equation(factor->tensor());
        if (static_cast<size_t>(factor->tensor()) >= readers_.size()) continue;  // split off by this pass
        if (made == nullptr || made->reducer || readers_[static_cast<size_t>(factor->tensor())].size() != 1) continue;
        const std::vector<Expr> inner =
            factors_of(arena.substitute(made->right, axes_at(arena, *made, coordinates_of(factor))));
        const auto moving = std::count_if(inner.begin(), inner.end(), [&](Expr part) { return moves(equation, part); });
        // What stays must cost nothing, for a reduction reads it more often than it is made.
        const auto staying = static_cast<std::ptrdiff_t>(inner.size()) - moving;
        const bool plain = std::all_of(inner.begin(), inner.end(),
                                       [&](Expr part) { return part->kind == Kind::read || moves(equation, part); });
        if (moving == 0 || staying != 1 || !plain) continue;
        factor = product_of(arena, inner);
        equation.right = product_of(arena, factors);
        return true;
    }
    return false;
}

void PullOut::pull(int32_t index) {
    Equation& equation = system_.equation(index);
    if (equation.reducer != Reducer::sum || equation.scan >= 0) return;
    const SystemTensor tensor = system_.tensor(equation.tensor);
    const bool wide = tensor.dtype == DType::float32 || tensor.dtype == DType::float64;
    if (!wide || equation.right->dtype != tensor.dtype || tensor.prepared || tensor.equations.size() != 1) return;
    while (open_product(equation)) {
    }
    std::vector<Expr> staying, moving;
    const std::vector<Expr> factors = factors_of(equation.right);
    for (Expr factor : factors) {
        // What scales both sides of a product keeps squares inside their type: a norm scaled by its greatest element.
        const bool once = std::ranges::count(factors, factor) == 1;
        (once && moves(equation, factor) ? moving : staying).push_back(factor);
    }
    if (moving.empty() || staying.empty()) return;
    // The old name is the product behind the sum.
    Arena& arena = *system_.arena;
    Arena::Substitution renaming;
    std::vector<Expr> product = {name_reduction(system_, index, "_sum", product_of(arena, staying), renaming)};
    for (Expr factor : moving) product.push_back(arena.substitute(factor, renaming));
    system_.equation(index).right = product_of(arena, product);
}

void PullOut::run() {
    readers_ = system_.readers();
    for (int32_t index : system_.order()) pull(index);
    prune(system_);
}

}  // namespace

void pull_out_factors(System& system) { PullOut(system).run(); }

}  // namespace heddle::equations
