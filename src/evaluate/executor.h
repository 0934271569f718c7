// Runs a program over the tensors of one operation.
#pragma once

#include <memory>
#include <vector>

#include "evaluate/program.h"

namespace heddle::evaluation {

// Terms that one partial sum takes before it is added to the total: keeps rounding errors near those of a tree.
inline constexpr int64_t partial_terms = 64;

inline bool in_partials(const Reduction& reduction) {
    return reduction.reducer == Reducer::sum && reduction.term_lanes != LaneType::integer;
}

// What is known of the lanes of a base in the present block.
struct BaseFacts {
    bool uniform = false;
    bool contiguous = false;  // base[i] = base[0] + i
    int64_t low = 0, high = 0;
};

// Bounds of the tensors of a bounded run, float64. An input without data has the bound zero.
struct TensorBounds {
    std::vector<TensorData> inputs;
    std::vector<TensorData> outputs;
};

class Executor {
public:
    // With `bounded`, the program must be exact and its reductions over loops; bounds go to bounded->outputs.
    Executor(const Body& body, const Program& program, const std::vector<TensorData>& inputs,
             std::vector<TensorData>& outputs, TensorBounds* bounded = nullptr);
    Result<void> run();

private:
    struct TableData {
        std::shared_ptr<std::byte> values;  // as lanes
        std::vector<int32_t> poison;        // if the table may be poisoned
        std::vector<double> bounds;         // of a bounded run
    };
    // Lanes of the block that reads work in.
    struct Addressing {
        int64_t shift = 0;
        const int64_t* base = nullptr;  // null: all lanes read at `shift`
        BaseFacts facts;
        bool masked = false;  // some lanes lie outside
    };

    Result<void> run_root(const Root& root);
    void store_output(const Root& root, int64_t count);
    void run_level(const std::vector<Step>& level, int64_t count);
    void run_step(const Step& step, int64_t count);
    void start_block(int32_t space, int64_t first, int64_t count);

    int64_t scalar_part(const Address& address) const;
    Addressing locate(const Access& access, int64_t count);
    bool mask_coordinate(const Access::Checked& checked, int64_t count, bool masked);
    void run_read(const Step& step, int64_t count);
    void poison_read(const Step& step, const Access& access, const Addressing& at, int64_t count);
    void poison_kernel(const Step& step, int64_t count);
    void poison_select(const Step& step, int64_t count);

    void run_reduce(const Step& step, int64_t count);
    void reduce_over_loops(const Step& step, const Reduction& reduction, int64_t count);
    void reduce_over_lanes(const Step& step, const Reduction& reduction, int64_t count);
    void start_accumulators(const Reduction& reduction, int64_t count);
    void accumulate(const Step& step, const Reduction& reduction, int64_t position, int64_t step_size, int64_t round,
                    int64_t count);
    void finish_accumulators(const Reduction& reduction, int64_t count);
    void combine_lanes(const Step& step, const Reduction& reduction, int64_t lane, int64_t count);
    void accumulate_poison(const Reduction& reduction, int64_t count);

    // A scatter's elements while terms are added; scatter.cpp.
    struct Elements {
        std::vector<std::byte> accumulators, partials;
        std::vector<int64_t> rounds;  // of 64 terms, that the partial sum is of
        std::vector<double> bounds;   // three an element
    };
    Result<void> run_scatter(const Root& root, const Scatter& scatter);
    void scatter_lane(const Scatter& scatter, TableData& table, Elements& elements, int64_t point, int64_t lane);
    int64_t place(const Scatter::Part& part, int64_t lane) const;
    void poison_elements(const Scatter& scatter, const Scatter::Part& failed, TableData& table, int64_t first,
                         int64_t lane);
    void add_term(const Scatter& scatter, TableData& table, Elements& elements, int64_t element, int64_t lane,
                  int64_t round, bool taken, bool undecided);
    void finish_elements(const Scatter& scatter, TableData& table, Elements& elements);
    void accumulate_term_bound(const Reduction& reduction, double* state, int64_t lane, bool taken, bool undecided);

    void bound_step(const Step& step, int64_t count);
    void bound_together(const Step& step, int64_t count);
    void bound_read(const Step& step, const Access& access, const Addressing& at, int64_t count);
    static double cast_bound(DType from, DType to, double a, double ea);
    void start_bounds(const Reduction& reduction, int64_t count);
    void doubt_large_factors(const Reduction& reduction, int64_t count);
    void accumulate_bounds(const Reduction& reduction, int64_t count);
    void accumulate_bound(const Reduction& reduction, double* state, double term, double e, bool taken, bool undecided,
                          int64_t lane);
    void finish_bounds(const Step& step, const Reduction& reduction, int64_t count);
    double* bound(Slot slot) { return bounds_.data() + static_cast<size_t>(slot) * lane_count; }

    void* storage(Slot slot) { return memory_.get() + static_cast<size_t>(slot) * slot_bytes; }
    const void* view(Slot slot) const { return views_[static_cast<size_t>(slot)]; }
    int32_t* poison(Slot slot) { return poisons_.data() + static_cast<size_t>(slot) * lane_count; }
    Diagnostics failure(const Root& root, int64_t point, int32_t poison) const;

    const Body& body_;
    const Program& program_;
    const std::vector<TensorData>& inputs_;
    std::vector<TensorData>& outputs_;
    std::shared_ptr<std::byte> memory_;
    std::vector<const void*> views_;
    std::vector<int32_t> poisons_;               // 0: fine; else 1 + the node that failed
    std::vector<int64_t> scalars_;               // by variable
    std::vector<std::vector<BaseFacts>> facts_;  // by space and base
    std::vector<TableData> tables_;
    TensorBounds* bounded_;
    std::vector<double> bounds_;  // by slot, of a bounded run
    std::vector<std::vector<double>> reduction_bounds_;
    uint8_t mask_[lane_count];
    int64_t addresses_[lane_count];
};

}  // namespace heddle::evaluation
