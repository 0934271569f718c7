// How a kernel is formed: axes and tensors, then equations, whose coordinates and values refer to them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plan/axis_classes.h"
#include "plan/kernel_former.h"

namespace heddle::plan {

// How a dimension of the system's tensor is seen: whole, or one digit of it.
struct ViewDimension {
    size_t dimension = 0;
    Size radix = 0;     // 0: the whole dimension
    Size extent = 1;
    int64_t hint_radix = 1;  // the radix at the representative sizes
    bool in_turn = false;    // the steps of a scan, kept in turn in `extent` places
};

class KernelFormer {
public:
    explicit KernelFormer(const FormRequest& request)
        : request_(request),
          system_(request.system),
          arena_(*request.system.arena),
          inside_(request.kernel.equations.begin(), request.kernel.equations.end()) {}

    FormedKernel form();

private:
    void add_common(const equations::Kernel::CommonAxis& common);
    size_t axis_count() const;
    void add_axes();
    void find_joined_scatters();
    void add_own_axes(int32_t e, const equations::ScatterInto& into);
    void add_tensors();
    bool is_buffer(equations::TensorIndex t) const;
    bool written_here(equations::TensorIndex t) const;
    void add_buffer(equations::TensorIndex t);
    std::vector<equations::Expr> coordinates_of(equations::TensorIndex t, size_t d) const;
    std::vector<ViewDimension> view_of(equations::TensorIndex t, const StorageMap& map);
    bool may_move(equations::TensorIndex t, size_t dimension) const;
    // Of one element, and all of the kernel ask for it.
    bool is_fixed(equations::TensorIndex t, size_t dimension) const;
    // Of the steps of a scan, in this dimension; 0: it does not count steps, or all are kept.
    int64_t places(equations::TensorIndex t, size_t dimension) const;
    void add_local(equations::TensorIndex t);
    bool comes_first(int32_t e) const;
    void add_equation(int32_t e);
    void add_scatter(const equations::Equation& from, const equations::ScatterInto& into);
    bool add_changes(const equations::Equation& from);
    void add_update(const equations::Equation& from, const equations::Scatter& to,
                    const std::vector<equations::AxisId>& reduced, std::optional<ScalarOp> join);
    equations::Expr within(equations::Expr left, equations::Expr at);
    // The kernel's axis that stands for an axis of the present equation, or of the scatter whose terms it takes.
    schedules::AxisId axis_of(equations::AxisId axis) const;
    std::vector<equations::Expr> viewed(equations::TensorIndex t, std::span<const equations::Expr> from);
    std::vector<equations::Expr> coordinates(equations::TensorIndex t, std::span<const equations::Expr> from);
    equations::Expr in_turn(equations::Expr c, int64_t places);
    equations::Expr digit(equations::TensorIndex t, const ViewDimension& v, equations::Expr c, bool local,
                          bool outermost);
    equations::Expr value(equations::Expr e);
    equations::Expr make(equations::Expr e, std::vector<equations::Expr> parts);

    const FormRequest& request_;
    const equations::System& system_;
    equations::Arena& arena_;                         // the system's
    std::map<EquationAxis, schedules::AxisId> axes_;  // the kernel's: one a class
    std::set<int32_t> inside_;
    std::map<equations::TensorIndex, std::vector<ViewDimension>> views_;
    std::map<equations::TensorIndex, schedules::TensorIndex> index_;
    std::vector<std::vector<int64_t>> hints_;
    equations::Arena::Memo memo_;  // of the present equation: what the kernel has for the system's expressions
    int32_t equation_ = -1, maker_ = -1;
    std::map<int32_t, equations::ScatterInto> into_;  // by equation
    std::set<int32_t> joined_;
    std::set<equations::TensorIndex> hidden_;  // old values of what is updated in place
    std::set<schedules::AxisId> chosen_;       // axes that data choose
    FormedKernel result_;
};

}  // namespace heddle::plan
