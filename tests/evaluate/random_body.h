// Random bodies with everything that a body may hold.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "body_builder.h"
#include "support/tensor_data.h"

namespace heddle {

// Bodies over three index variables with reads at affine, guarded, computed and indirect coordinates, selections,
// casts, locals and nested reductions. Floats are small integers or their halves, so that sums are exact in every
// order.
class RandomBody {
public:
    explicit RandomBody(unsigned seed) : random_(seed) {
        for (int i = 0; i < 3; i++) index_.push_back(b.variable("i" + std::to_string(i), extent()));
        scope_ = index_;
        for (int t = 0; t < 3; t++) {
            std::vector<int64_t> shape;
            for (int d = pick(4); d > 0; d--) shape.push_back(pick(6) + 1);
            static const std::vector<DType> types = {DType::float32, DType::int32, DType::int64};
            TensorData data(types[static_cast<size_t>(t)], shape);
            for (int64_t i = 0; i < data.size(); i++) data.set_real(i, pick(9) - 2);
            inputs.push_back(data);
        }
        if (pick(3) == 0) scan();
        NodeId value = expression(DType::float32, 4);
        std::vector<int64_t> shape;
        std::vector<NodeId> left;
        for (VariableId id : index_) {
            shape.push_back(b.body.variable(id).extent.value());
            left.push_back(b.at(id));
        }
        output = TensorData(DType::float32, shape);
        b.equation(0, index_, left, value);
    }

    BodyBuilder b;
    std::vector<TensorData> inputs;
    TensorData output;

private:
    int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
    int64_t extent() {
        static const int64_t extents[] = {1, 2, 3, 5, 7, 20, 0};
        return extents[pick(pick(8) == 0 ? 7 : 6)];
    }

    NodeId coordinate(int depth, int64_t extent) {
        switch (pick(depth > 0 ? 8 : 5)) {
        case 0: return b.integer(pick(static_cast<int>(extent)));
        case 1: return b.at(scope_[static_cast<size_t>(pick(static_cast<int>(scope_.size())))]);
        case 2: return b.plus(b.at(variable()), b.integer(pick(3) - 1));
        case 3: return b.plus(b.times(b.at(variable()), b.integer(pick(4) - 1)), b.at(variable()));
        case 4: return b.scalar(ScalarOp::modulo, {b.at(variable()), b.integer(extent)});
        case 5: return b.scalar(ScalarOp::modulo, {expression(DType::int64, depth - 1), b.integer(extent)});
        case 6: return expression(DType::int64, depth - 1);
        default: return b.scalar(ScalarOp::floor_divide, {b.at(variable()), b.integer(2)});
        }
    }
    VariableId variable() { return scope_[static_cast<size_t>(pick(static_cast<int>(scope_.size())))]; }

    NodeId read(DType dtype, int depth) {
        int32_t tensor = dtype == DType::float32 ? 0 : dtype == DType::int32 ? 1 : 2;
        std::vector<NodeId> coordinates;
        for (int64_t extent : inputs[static_cast<size_t>(tensor)].shape())
            coordinates.push_back(coordinate(depth - 1, extent));
        if (pick(8) == 0) return b.read(tensor, dtype, coordinates);
        return b.guarded(tensor, dtype, coordinates, expression(dtype, depth - 1));
    }

    NodeId reduction(DType dtype, int depth) {
        std::vector<VariableId> variables;
        for (int n = pick(2) + 1; n > 0; n--)
            variables.push_back(
                b.reduced("k" + std::to_string(b.body.variables.size()), pick(5) == 0 ? 300 : extent()));
        int64_t points = 1;
        for (VariableId id : variables) points *= b.body.variable(id).extent.value();
        if (points > 600) b.body.variables[static_cast<size_t>(variables[0])].extent = 2;
        for (VariableId id : variables) scope_.push_back(id);
        static const Reducer reducers[] = {Reducer::sum, Reducer::minimum, Reducer::maximum};
        NodeId filter = pick(3) == 0 ? expression(DType::boolean, depth - 1) : no_id;
        NodeId result;
        if (dtype == DType::boolean) {
            result = b.reduce(pick(2) ? Reducer::any : Reducer::all, variables, expression(dtype, depth - 1), filter);
        } else if (dtype == DType::int64 && pick(2) == 0) {
            result = b.reduce(pick(2) ? Reducer::argument_minimum : Reducer::argument_maximum, variables,
                              expression(pick(2) ? DType::float32 : DType::int32, depth - 1), filter);
        } else {
            result = b.reduce(reducers[pick(3)], variables, bounded(dtype, expression(dtype, depth - 1)), filter);
        }
        scope_.resize(scope_.size() - variables.size());
        return result;
    }

    // Keeps floats so small that sums of them are exact.
    NodeId bounded(DType dtype, NodeId value) {
        if (dtype != DType::float32) return value;
        return b.scalar(ScalarOp::maximum,
                        {b.real(-512), b.scalar(ScalarOp::minimum, {b.real(512), b.scalar(ScalarOp::floor, {value})})});
    }

    NodeId local(DType dtype, int depth) {
        auto variable = b.variable("l" + std::to_string(b.body.variables.size()), extent(), Variable::Kind::parallel);
        scope_.push_back(variable);
        NodeId value = expression(dtype, depth - 1);
        scope_.pop_back();
        int32_t local = b.local("g" + std::to_string(b.body.locals.size()), {variable}, value);
        int64_t extent = b.body.variable(variable).extent.value();
        return b.local_read(local,
                            {extent > 0 ? b.scalar(ScalarOp::modulo, {coordinate(depth - 1, extent), b.integer(extent)})
                                        : b.integer(0)});
    }

    // One or two states, which read what was before of both, and what is of those above.
    void scan() {
        step_ = b.variable("t", pick(6), Variable::Kind::ordered);
        int count = pick(2) + 1;
        for (int i = 0; i < count; i++) {
            std::vector<VariableId> axes = {step_};
            for (VariableId id : index_) {
                if (pick(2)) axes.push_back(id);
            }
            axes.push_back(b.variable("a" + std::to_string(i), pick(4) + 1, Variable::Kind::parallel));
            scope_.assign(axes.begin() + 1, axes.end());
            NodeId initial = bounded(DType::float32, expression(DType::float32, 2));
            states_.push_back(b.state("s" + std::to_string(i), axes, initial));
        }
        in_scan_ = true;
        for (int32_t state : states_) {
            const VariableList& own = b.body.locals[static_cast<size_t>(state)].variables;
            scope_.assign(own.begin(), own.end());
            NodeId value = bounded(DType::float32, expression(DType::float32, 3));
            b.body.locals[static_cast<size_t>(state)].value = value;
            done_++;
        }
        in_scan_ = false;
        scope_ = index_;
    }

    NodeId state_read() {
        size_t which = static_cast<size_t>(pick(static_cast<int>(states_.size())));
        const VariableList variables = b.body.locals[static_cast<size_t>(states_[which])].variables;
        std::vector<NodeId> at;
        for (size_t d = 1; d < variables.size(); d++) {
            int64_t extent = b.body.variable(variables[d]).extent.value();
            at.push_back(extent > 0 ? b.scalar(ScalarOp::modulo, {coordinate(1, extent), b.integer(extent)})
                                    : b.integer(0));
        }
        bool present = which < done_ && pick(2) == 0;
        if (in_scan_ && !present) return b.previous(states_[which], at);
        int64_t steps = b.body.variable(step_).extent.value();
        at.insert(at.begin(), in_scan_ ? b.plus(b.at(step_), b.integer(1)) : coordinate(1, steps + 1));
        return b.local_read(states_[which], at);
    }

    NodeId expression(DType dtype, int depth) {
        if (dtype == DType::float32 && !states_.empty() && pick(in_scan_ ? 3 : 8) == 0 && depth > 0) {
            if (in_scan_ || done_ > 0) return state_read();
        }
        if (depth <= 0) {
            if (dtype == DType::float32) return b.real(pick(7) - 3);
            if (dtype == DType::boolean) return b.integer(pick(2), DType::boolean);
            if (dtype == DType::int64 && pick(2)) return b.at(variable());
            return b.integer(pick(7) - 3, dtype);
        }
        int choice = pick(10);
        if (choice < 2 && dtype != DType::boolean) return read(dtype, depth);
        if (choice < 4) return reduction(dtype, depth);
        if (choice == 4) return local(dtype, depth);
        if (choice == 5)
            return b.select(expression(DType::boolean, depth - 1), expression(dtype, depth - 1),
                            expression(dtype, depth - 1));
        if (choice == 6 && dtype != DType::boolean) {
            DType from = pick(2) ? DType::float32 : DType::int32;
            return b.cast(dtype, bounded(from, expression(from, depth - 1)));
        }
        NodeId left = expression(dtype == DType::boolean ? DType::int32 : dtype, depth - 1);
        NodeId right = pick(6) == 0 ? left : expression(b.type(left), depth - 1);
        if (dtype == DType::boolean) return b.scalar(pick(2) ? ScalarOp::less : ScalarOp::equal, {left, right});
        if (dtype == DType::float32) {
            static const ScalarOp ops[] = {ScalarOp::add, ScalarOp::subtract, ScalarOp::multiply, ScalarOp::minimum,
                                           ScalarOp::maximum};
            return bounded(dtype, b.scalar(ops[pick(5)], {left, right}));
        }
        static const ScalarOp ops[] = {
            ScalarOp::add,     ScalarOp::subtract,        ScalarOp::multiply,           ScalarOp::floor_divide,
            ScalarOp::modulo,  ScalarOp::truncate_divide, ScalarOp::truncate_remainder, ScalarOp::minimum,
            ScalarOp::bit_xor, ScalarOp::shift_left,      ScalarOp::shift_right};
        return b.scalar(ops[pick(11)], {left, right});
    }

    std::mt19937 random_;
    std::vector<VariableId> index_, scope_;
    VariableId step_ = no_id;
    std::vector<int32_t> states_;
    size_t done_ = 0;
    bool in_scan_ = false;
};

}  // namespace heddle
