// Equations that read more tensors than a kernel of the target may have: parts of their right sides become equations of
// their own, which are not joined again (fusion counts buffers, too).
#include <algorithm>
#include <set>

#include "equations/fusion.h"
#include "equations/pass_support.h"
#include "expr/remake.h"

namespace heddle::equations {
namespace {

std::set<TensorIndex> tensors_of(Expr root) {
    std::set<TensorIndex> tensors;
    for (Expr e : walk(root))
        if (e->is_read()) tensors.insert(e->tensor());
    return tensors;
}

class BufferLimit {
public:
    BufferLimit(System& system, size_t most) : system_(system), arena_(*system.arena), most_(most) {}

    void run() {
        for (size_t i = 0; i < system_.equations.size(); i++)  // grows
            while (take_part(static_cast<int32_t>(i))) continue;
    }

private:
    bool take_part(int32_t index) {
        const Equation& equation = system_.equation(index);
        // One buffer is what it writes.
        if (equation.dead || equation.scan >= 0 || tensors_of(equation.right).size() + 1 <= most_)
            return false;
        Expr best = nullptr;
        size_t most_read = 1;
        for (Expr e : walk(equation.right, Skipped::left_out)) {
            const bool computes = e->kind == Kind::scalar || e->kind == Kind::cast || e->kind == Kind::select;
            const bool of_points = std::ranges::all_of(e->axes, [&](AxisId axis) {
                return std::ranges::find(equation.axes, axis) != equation.axes.end();
            });
            const size_t read = tensors_of(e).size();
            if (e == equation.right || !computes || !of_points || read <= most_read || read + 1 > most_) continue;
            best = e;
            most_read = read;
        }
        if (best) give_name(index, best);
        return best;
    }

    void give_name(int32_t index, Expr part) {
        const Equation user = system_.equation(index);
        SystemTensor tensor{.name = system_.tensor(user.tensor).name + "_part", .dtype = part->dtype};
        tensor.operation = system_.tensor(user.tensor).operation;
        tensor.prepared = system_.tensor(user.tensor).prepared;
        Equation made;
        Arena::Substitution own;
        std::vector<Expr> at;
        for (AxisId axis : part->axes) {
            const AxisId fresh = arena_.add_axis(Axis(arena_.axis(axis)));
            own[axis] = arena_.axis_value(fresh);
            made.axes.push_back(fresh);
            made.left.push_back(own[axis]);
            at.push_back(arena_.axis_value(axis));
            tensor.shape.push_back(arena_.extent(axis));
        }
        made.tensor = system_.add_tensor(std::move(tensor));
        made.right = arena_.substitute(part, own);
        const Expr read = arena_.read(made.tensor, part->dtype, std::move(at));
        Arena::Memo memo;
        system_.equation(index).right = remade(
            user.right, memo, [&](Expr e) -> Expr { return e == part ? read : nullptr; },
            [](Expr e) { return operands_of(e); },
            [&](Expr e, std::vector<Expr> operands) { return arena_.rebuild(e, std::move(operands)); });
        system_.add_equation(std::move(made));
    }

    System& system_;
    Arena& arena_;
    const size_t most_;
};

}  // namespace

void limit_buffers(System& system, int64_t most) { BufferLimit(system, static_cast<size_t>(most)).run(); }

}  // namespace heddle::equations
