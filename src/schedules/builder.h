// Makes the parts of a tree: launch numbers, memories, interned expressions, addresses.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "schedules/launch_numbers.h"
#include "schedules/movements.h"
#include "schedules/schedule.h"
#include "schedules/tasks.h"

namespace heddle::schedules {

// Everything that the nests of one kernel share.
struct Assembly {
    Assembly(const Kernel& kernel, const Target& target, std::vector<PhaseGroup> groups,
             std::vector<LocalStorage> storage);

    const Kernel& kernel;
    const Target& target;
    std::vector<PhaseGroup> groups;
    std::vector<LocalStorage> storage;
    TaskPlan tasks;
    Scheduled result;
    NumberTable numbers;
    std::map<AxisIndex, std::pair<VariableId, VariableId>> task_variables;  // begin, end
    std::vector<MemoryId> memories;                                         // per tensor; -1: none of its own
    std::vector<std::vector<Number>> array_strides;                         // per local tensor and dimension

    VariableId variable(const std::string& name, Variable::Kind kind);
    ExpressionId intern(Expression expression);
    Number extent(AxisIndex axis);
    std::string axis_name(AxisIndex axis) const { return kernel.axis(axis).name; }

private:
    std::map<std::string, int> variable_names_;
    std::map<std::string, ExpressionId> interned_;
    void add_tasks();
    void add_memories();
    void add_array(TensorIndex tensor);
};

// Expressions and addresses at one place of a nest.
class ExpressionBuilder {
public:
    ExpressionBuilder(Assembly& assembly, const PhaseGroup& group) : assembly_(assembly), group_(group) {}

    // Axes now bound to variables; a change forgets what was built.
    void bind(AxisIndex axis, VariableId variable);
    void unbind(AxisIndex axis);
    VariableId variable_of(AxisIndex axis) const { return bound_.at(axis); }
    // The value of a tensor that this phase computed at its own point.
    void define(TensorIndex tensor, ExpressionId value);
    // Loops run only where this dimension of the guarded read lies inside.
    void clear_guard(ValueIndex read, size_t dimension) { cleared_.insert({read, dimension}); }
    // Coordinates of this tensor lie inside wherever they are used: nothing is checked.
    void trust(TensorIndex tensor) { trusted_ = tensor; }
    // offset + sum of the coordinate's bound axes but for `without`, times `sign`; a range's bound.
    Affine clipped(const Coordinate& coordinate, AxisIndex without, int64_t constant, int64_t sign, const NumberId& id);
    // Under `guard` (-1: always), which loads that may be out of bounds take as theirs.
    ExpressionId value(ValueIndex index, ExpressionId guard = -1);
    Address store_address(const KernelEquation& equation, ExpressionId guard = -1);
    Address packed_address(const PackedOperand& operand);
    ExpressionId cast(ExpressionId value, DType dtype);
    ExpressionId index(const Coordinate& coordinate, DType dtype, const NumberSubject& where, ExpressionId guard = -1);

private:
    Affine coordinate(const Coordinate& coordinate, const NumberSubject& where, ExpressionId guard);
    void add_term(Affine& affine, AxisIndex axis, int64_t scale, Number number);
    Address address(TensorIndex tensor, const std::vector<Coordinate>& coordinates, const NumberSubject& where,
                    ExpressionId guard);
    void add_axis_strides(Affine& affine, TensorIndex tensor, const std::vector<Coordinate>& coordinates);
    void add_values(Affine& affine, TensorIndex tensor, const std::vector<Coordinate>& coordinates,
                    const NumberSubject& where, ExpressionId guard);
    bool is_checked(TensorIndex tensor, const Coordinate& coordinate) const;
    Access access(const Affine& element, ExpressionId guard) const;
    Number stride(TensorIndex tensor, size_t dimension);
    int64_t stride_value(TensorIndex tensor, size_t dimension) const;
    ExpressionId scalar(const Value& value, ExpressionId guard);
    ExpressionId select(const Value& value, ExpressionId guard);
    ExpressionId read(const Value& value, ValueIndex index, ExpressionId guard);
    ExpressionId guarded_read(const Value& value, ValueIndex index, ExpressionId guard);
    ExpressionId load(const Value& value, const NumberSubject& where, ExpressionId guard);
    ExpressionId conjunction(ExpressionId a, ExpressionId b);
    ExpressionId negation(ExpressionId a);
    bool depends(ExpressionId value, Variable::Kind kind) const;
    bool is_inside(const Value& read, bool margins) const;

    Assembly& assembly_;
    const PhaseGroup& group_;
    std::map<AxisIndex, VariableId> bound_;
    std::map<TensorIndex, ExpressionId> defined_;
    std::set<std::pair<ValueIndex, size_t>> cleared_;
    TensorIndex trusted_ = -1;
    std::map<std::pair<ValueIndex, ExpressionId>, ExpressionId> built_;
};

}  // namespace heddle::schedules
