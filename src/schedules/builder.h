// Makes the parts of a tree: launch numbers, memories, interned expressions, addresses.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedules/launch_numbers.h"
#include "schedules/movements.h"
#include "schedules/rounds.h"
#include "schedules/row_bands.h"
#include "schedules/schedule.h"
#include "schedules/tasks.h"

namespace heddle::schedules {

// Everything that the nests of one kernel share.
struct Assembly {
    Assembly(const Kernel& kernel, const Target& target, std::vector<PhaseGroup> groups,
             std::vector<LocalStorage> storage, std::optional<RoundPlan> rounds);

    const Kernel& kernel;
    const Target& target;
    std::vector<PhaseGroup> groups;
    std::vector<LocalStorage> storage;
    std::optional<RoundPlan> rounds;  // in place of tasks
    std::optional<RowBands> bands;
    TaskPlan tasks;
    Scheduled result;
    NumberTable numbers;
    std::map<AxisId, std::pair<VariableId, VariableId>> task_variables;  // begin, end
    std::vector<MemoryId> memories;                                      // per tensor; -1: none of its own
    std::vector<std::vector<Number>> array_strides;                      // per local tensor and dimension

    VariableId variable(const std::string& name, Variable::Kind kind);
    ExpressionId intern(Expression expression);
    Number extent(AxisId axis);
    Range steps(AxisId ordered);          // that a task runs: all, or those of the present block
    Range part(const PhaseGroup& group);  // of one part of a round: points of what the group is cut along
    For band_loop();                      // over all bands of rows
    void add_band(Range& range, const PhaseGroup& group);  // of its rows those of the present band
    Range turn(size_t group);  // of steps: the present one, if the round is the group's turn
    // The loops around the phases of a block's steps, in a round that does bands, or the seams between them; and `part`
    // of these.
    struct OpenBands {
        const Bands* of = nullptr;
        VariableId seam = no_id, block = no_id, band = no_id, step = no_id, turned = no_id;
        int64_t turn = 0;  // of the step
    };
    std::optional<OpenBands> open_bands;
    Range seams();            // bands, then seams
    Range blocks_of_bands();  // those whose turn it is
    Range bands_of_part();
    Range steps_of_block();
    std::map<AxisId, VariableId> block_variables;  // of the loops that are open
    std::string axis_name(AxisId axis) const { return kernel.axis(axis).name; }

private:
    std::map<std::string, int> variable_names_;
    std::map<std::string, ExpressionId> interned_;
    std::pair<VariableId, VariableId> round_{no_id, no_id}, part_{no_id, no_id};  // begin, end
    VariableId band_ = no_id;
    void fit_rows();
    void add_tasks();
    void add_rounds();
    void add_memories();
    void add_array(TensorIndex tensor);
    void add_shared(TensorIndex tensor);
    Number of_bands(NumberId::Role role, int32_t which, const Size& value);
    Range rows_of_band();
};

// Expressions and addresses at one place of a nest.
class ExpressionBuilder {
public:
    ExpressionBuilder(Assembly& assembly, const PhaseGroup& group) : assembly_(assembly), group_(group) {}

    // Axes now bound to variables; a change forgets what was built.
    void bind(AxisId axis, VariableId variable);
    void unbind(AxisId axis);
    VariableId variable_of(AxisId axis) const { return bound_.at(axis); }
    bool is_bound(AxisId axis) const { return bound_.contains(axis); }
    // The value of a tensor that this phase computed at its own point.
    void define(const KernelEquation& equation, ExpressionId value);
    // Loops run only where these dimensions of reads (by id) lie inside.
    void clear_guards(std::set<std::pair<uint32_t, size_t>> dimensions);
    ExpressionId defined(TensorIndex tensor) const { return defined_.at(tensor).second; }
    // Coordinates of this tensor lie inside wherever they are used: nothing is checked.
    void trust(TensorIndex tensor) { trusted_ = tensor; }
    // So do those of all tensors, where data choose them.
    void trust_data() { trusts_data_ = true; }
    // offset + sum of the coordinate's bound axes but for `without`, times `sign`; a range's bound.
    Affine clipped(Expr coordinate, AxisId without, const Size& constant, int64_t sign, const NumberId& id);
    // Under `guard` (-1: always), which loads that may be out of bounds take as theirs.
    ExpressionId value(Expr value, ExpressionId guard = no_id);
    Address store_address(const KernelEquation& equation, ExpressionId guard = no_id);
    Address packed_address(const PackedOperand& operand);
    ExpressionId cast(ExpressionId value, DType dtype);
    ExpressionId index(const CoordinateParts& coordinate, DType dtype, const NumberSubject& where,
                       ExpressionId guard = no_id);

private:
    Affine coordinate(const CoordinateParts& coordinate, const NumberSubject& where, ExpressionId guard);
    void add_term(Affine& affine, AxisId axis, int64_t scale, Number number);
    Address address(TensorIndex tensor, Coordinates coordinates, const NumberSubject& where, ExpressionId guard);
    void add_axis_strides(Affine& affine, TensorIndex tensor, const std::vector<CoordinateParts>& coordinates);
    void add_values(Affine& affine, TensorIndex tensor, const std::vector<CoordinateParts>& coordinates,
                    const NumberSubject& where, ExpressionId guard);
    bool is_checked(TensorIndex tensor, const CoordinateParts& coordinate) const;
    Access access(const Affine& element, ExpressionId guard) const;
    enum class Growth : uint8_t;
    Growth growth(ExpressionId id) const;
    Growth growth(const Affine& affine) const;
    bool is_consecutive(const Affine& element) const;
    Number stride(TensorIndex tensor, size_t dimension);
    Size stride_value(TensorIndex tensor, size_t dimension) const;
    ExpressionId built(Expr value, ExpressionId guard);
    ExpressionId literal(Expr value);
    ExpressionId scalar(Expr value, ExpressionId guard);
    ExpressionId wrapped(Expr value, ExpressionId guard);
    ExpressionId select(Expr value, ExpressionId guard);
    ExpressionId inside(Expr value, ExpressionId guard);
    ExpressionId read(Expr value, ExpressionId guard);
    ExpressionId guarded_read(Expr value, ExpressionId guard);
    ExpressionId load(Expr value, ExpressionId guard);
    ExpressionId conjunction(ExpressionId a, ExpressionId b);
    ExpressionId negation(ExpressionId a);
    ExpressionId compared(Expr coordinate, ExpressionId guard);
    ExpressionId compared_digit(Expr coordinate, ExpressionId guard);
    bool depends(ExpressionId value, Variable::Kind kind) const;
    bool is_inside(Expr read) const;
    bool asks_guard(Expr value);

    Assembly& assembly_;
    const PhaseGroup& group_;
    std::map<AxisId, VariableId> bound_;
    std::map<TensorIndex, std::pair<const KernelEquation*, ExpressionId>> defined_;
    std::set<std::pair<uint32_t, size_t>> cleared_;  // by id
    TensorIndex trusted_ = no_id;
    bool trusts_data_ = false;
    std::map<uint32_t, bool> asks_guard_;                              // by id
    std::map<std::pair<uint32_t, ExpressionId>, ExpressionId> built_;  // by id and guard
};

}  // namespace heddle::schedules
