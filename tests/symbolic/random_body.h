// Random bodies of one output whose reads have affine or other coordinates.
#pragma once

#include <random>

#include "symbolic/body_nodes.h"

namespace heddle {

class RandomBody {
public:
    explicit RandomBody(uint32_t seed) : random_(seed), nodes_(body) {}

    int64_t below(int64_t count) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(count)); }
    NodeId number(int64_t value) { return nodes_.integer(value, DType::int64, true); }

    void make_variables() {
        for (int64_t i = 0, count = 1 + below(3); i < count; ++i)
            index.push_back(nodes_.add_variable("i" + std::to_string(i), Variable::Kind::index, 1 + below(4)));
        for (int64_t i = 0, count = below(3); i < count; ++i)
            reduced.push_back(nodes_.add_variable("k" + std::to_string(i), Variable::Kind::reduction, 1 + below(3)));
        variables = index;
        variables.insert(variables.end(), reduced.begin(), reduced.end());
    }

    // constant + sum coefficient * variable
    NodeId affine(const std::vector<int64_t>& coefficients, int64_t constant) {
        NodeId sum = number(constant);
        for (size_t i = 0; i < variables.size(); ++i)
            sum = nodes_.scalar(
                ScalarOp::add,
                {sum, nodes_.scalar(ScalarOp::multiply, {nodes_.variable(variables[i]), number(coefficients[i])})});
        return sum;
    }

    NodeId expression(int depth) {
        int64_t kind = depth == 0 ? below(2) : below(9);
        if (kind == 0) return number(below(9) - 4);
        if (kind == 1)
            return nodes_.variable(variables[static_cast<size_t>(below(static_cast<int64_t>(variables.size())))]);
        NodeId a = expression(depth - 1);
        switch (kind) {
        case 2: return nodes_.scalar(ScalarOp::add, {a, expression(depth - 1)});
        case 3: return nodes_.scalar(ScalarOp::subtract, {a, expression(depth - 1)});
        case 4: return nodes_.scalar(ScalarOp::multiply, {a, number(below(7) - 3)});
        case 5: return nodes_.scalar(below(2) ? ScalarOp::floor_divide : ScalarOp::modulo, {a, number(1 + below(4))});
        case 6: return nodes_.scalar(below(2) ? ScalarOp::minimum : ScalarOp::maximum, {a, expression(depth - 1)});
        case 7: return nodes_.scalar(ScalarOp::absolute, {a});
        default: {
            ScalarOp compare = below(2) ? ScalarOp::less : below(2) ? ScalarOp::equal : ScalarOp::greater_equal;
            NodeId condition = nodes_.scalar(compare, {a, number(below(5) - 1)});
            return nodes_.select(condition, expression(depth - 1), expression(depth - 1));
        }
        }
    }

    // One or two comparisons of affine forms with small coefficients, both to hold.
    NodeId condition() {
        constexpr ScalarOp comparisons[] = {ScalarOp::less,          ScalarOp::less_equal, ScalarOp::greater,
                                            ScalarOp::greater_equal, ScalarOp::equal,      ScalarOp::not_equal};
        NodeId both = no_id;
        for (int64_t i = 0, count = 1 + below(2); i < count; ++i) {
            std::vector<int64_t> coefficients;
            for (size_t v = 0; v < variables.size(); ++v) coefficients.push_back(below(5) - 2);
            NodeId one =
                nodes_.scalar(comparisons[below(6)], {affine(coefficients, below(5) - 2), number(below(9) - 4)});
            both = both < 0 ? one : nodes_.scalar(ScalarOp::logical_and, {both, one});
        }
        return both;
    }

    // y[i...] = sum of the reads over the reduced variables, where `filter` holds if there is one; guarded reads are 7
    // outside.
    void finish(const std::vector<std::vector<NodeId>>& reads, bool guarded = false, NodeId filter = no_id) {
        NodeId value = no_id;
        for (const auto& coordinates : reads) {
            NodeId one = guarded ? nodes_.guarded_read(TensorIndex(0), DType::float32, coordinates,
                                                       nodes_.real(7, DType::float32, true))
                                 : nodes_.read(TensorIndex(0), DType::float32, coordinates);
            value = value < 0 ? one : nodes_.scalar(ScalarOp::add, {value, one});
        }
        if (filter >= 0) value = nodes_.select(filter, value, nodes_.real(0, DType::float32, true));
        if (!reduced.empty()) value = nodes_.reduce(Reducer::sum, DType::float32, reduced, value, no_id);
        BodyEquation equation;
        equation.variables = index;
        for (VariableId id : index) equation.left.push_back(nodes_.variable(id));
        equation.value = value;
        body.equations.push_back(std::move(equation));
    }

    // Calls visit(point) for every point of `over`, the other variables as in `point`.
    template <typename Visit>
    void each_point(std::span<const VariableId> over, std::vector<int64_t> point, const Visit& visit) const {
        for (VariableId id : over) point[static_cast<size_t>(id)] = 0;
        while (true) {
            visit(point);
            size_t i = over.size();
            while (i-- > 0) {
                int64_t& digit = point[static_cast<size_t>(over[i])];
                if (++digit < body.variable(over[i]).extent.value()) break;
                digit = 0;
                if (i == 0) return;
            }
            if (over.empty()) return;
        }
    }
    std::vector<int64_t> origin() const { return std::vector<int64_t>(body.variables.size()); }

    Body body;
    std::vector<VariableId> index, reduced, variables;

private:
    std::mt19937 random_;
    BodyNodes nodes_;
};

}  // namespace heddle
