// Random bodies of coordinates, guards, selections, filters, nested reductions and locals: the lowered equations
// compute the same integers, bit for bit.
#include <gtest/gtest.h>

#include "equations/system.h"
#include "graph_builder.h"
#include "helpers/run_system.h"

namespace heddle::equations {
namespace {

using testing::BodyBuilder;
using testing::GraphBuilder;

constexpr int64_t rows = 4, columns = 6;

class RandomBody {
public:
    RandomBody(uint32_t seed, DType dtype) : random_(seed), dtype_(dtype) {}

    NodeId value(int depth) {
        const int64_t choice = depth <= 0 ? pick(0, 2) : pick(0, 9);
        if (choice == 0) return b.integer(pick(-3, 3), dtype_);
        if (choice == 1) return b.read(0, dtype_, {inside(depth, rows), inside(depth, columns)});
        if (choice == 2) return b.cast(dtype_, coordinate(depth));
        if (choice == 3) return guarded(depth);
        if (choice == 4) return b.select(condition(depth - 1), value(depth - 1), value(depth - 1));
        if (choice == 5) return lazy_read(depth);
        if (choice <= 7) return reduction(depth);
        const std::array<ScalarOp, 5> operations = {ScalarOp::add, ScalarOp::subtract, ScalarOp::multiply,
                                                    ScalarOp::minimum, ScalarOp::maximum};
        const NodeId a = value(depth - 1);
        return b.scalar(operations[static_cast<size_t>(pick(0, 4))], {a, value(depth - 1)});
    }

    BodyBuilder b;
    std::vector<VariableId> variables;  // in scope

private:
    int64_t pick(int64_t low, int64_t high) {
        return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
    }

    NodeId coordinate(int depth) {
        const int64_t choice = depth <= 0 ? pick(0, 1) : pick(0, 8);
        if (choice == 0) return b.integer(pick(-4, 8));
        if (choice <= 2)
            return b.value_of(variables[static_cast<size_t>(pick(0, static_cast<int64_t>(variables.size()) - 1))]);
        const NodeId a = coordinate(depth - 1);
        if (choice == 3) return b.scalar(ScalarOp::floor_divide, {a, b.integer(pick(1, 4))});
        if (choice == 4) return b.scalar(ScalarOp::modulo, {a, b.integer(pick(1, 6))});
        if (choice == 5) return b.times(a, b.integer(pick(-2, 4)));
        if (choice == 6) return b.select(condition(depth - 1), a, coordinate(depth - 1));
        if (choice == 7)
            return b.scalar(pick(0, 1) ? ScalarOp::minimum : ScalarOp::maximum, {a, coordinate(depth - 1)});
        return pick(0, 1) ? b.plus(a, coordinate(depth - 1)) : b.minus(a, coordinate(depth - 1));
    }

    // Between 0 and `extent`; sometimes read from a tensor of indices.
    NodeId inside(int depth, int64_t extent) {
        if (depth > 1 && pick(0, 3) == 0) {
            const NodeId id = b.read(1, DType::int64, {inside(depth - 1, columns)});
            const NodeId wrapped =
                b.select(b.scalar(ScalarOp::less, {id, b.integer(0)}), b.plus(id, b.integer(rows)), id);
            return b.scalar(ScalarOp::modulo, {wrapped, b.integer(extent)});
        }
        return b.scalar(ScalarOp::modulo, {coordinate(depth - 1), b.integer(extent)});
    }

    NodeId condition(int depth) {
        const std::array<ScalarOp, 6> comparisons = {ScalarOp::less,    ScalarOp::less_equal,
                                                     ScalarOp::greater, ScalarOp::greater_equal,
                                                     ScalarOp::equal,   ScalarOp::not_equal};
        const int64_t choice = depth <= 0 ? 5 : pick(0, 6);
        if (choice == 0) return b.scalar(ScalarOp::logical_and, {condition(depth - 1), condition(depth - 1)});
        if (choice == 1) return b.scalar(ScalarOp::logical_or, {condition(depth - 1), condition(depth - 1)});
        if (choice == 2) return b.scalar(ScalarOp::logical_not, {condition(depth - 1)});
        const ScalarOp op = comparisons[static_cast<size_t>(pick(0, 5))];
        if (choice == 3) return b.scalar(op, {value(depth - 1), value(depth - 1)});
        return b.scalar(op, {coordinate(depth - 1), coordinate(depth - 1)});
    }

    NodeId guarded(int depth) {
        const NodeId row = coordinate(depth - 1), column = coordinate(depth - 1);
        const NodeId other = pick(0, 2) == 0 ? value(depth - 1) : b.integer(pick(-9, 9), dtype_);
        return b.guarded_read(0, dtype_, {row, column}, other);
    }

    // A read that only its selection keeps inside.
    NodeId lazy_read(int depth) {
        const NodeId column = coordinate(depth - 1);
        const NodeId holds = b.scalar(ScalarOp::logical_and, {b.scalar(ScalarOp::less_equal, {b.integer(0), column}),
                                                              b.scalar(ScalarOp::less, {column, b.integer(columns)})});
        NodeId read = b.read(0, dtype_, {inside(depth, rows), column});
        if (pick(0, 1)) {
            const VariableId k = b.reduction("k", pick(1, 3));
            read = b.reduce(Reducer::sum, {k}, b.plus(read, b.cast(dtype_, b.value_of(k))));
        }
        return b.select(holds, read, value(depth - 1));
    }

    NodeId reduction(int depth) {
        const std::array<Reducer, 6> reducers = {
            Reducer::sum,     Reducer::product,          Reducer::minimum,
            Reducer::maximum, Reducer::argument_minimum, Reducer::argument_maximum};
        const Reducer reducer = reducers[static_cast<size_t>(pick(0, 5))];
        std::vector<VariableId> own;
        const int64_t count = pick(1, 2);
        for (int64_t i = 0; i < count; i++) own.push_back(b.reduction("k", pick(1, 5)));
        const std::vector<VariableId> outside = variables;
        variables.insert(variables.end(), own.begin(), own.end());
        NodeId condition_node = no_id;
        if (!is_argument(reducer) && pick(0, 1)) condition_node = filter(depth, own);
        const NodeId term = value(depth - 1);
        variables = outside;
        const NodeId result =
            condition_node >= 0 ? b.reduce_if(reducer, own, term, condition_node) : b.reduce(reducer, own, term);
        return b.cast(dtype_, result);
    }

    // Often of the forms that are solved: (o + p - c k) % s == r, and o == k.
    NodeId filter(int depth, std::span<const VariableId> own) {
        const int64_t choice = pick(0, 3);
        if (choice == 0) return condition(depth - 1);
        const NodeId k = b.times(b.value_of(own[0]), b.integer(pick(-2, 3)));
        const NodeId reach = b.minus(coordinate(0), k);
        if (choice == 1) return b.scalar(ScalarOp::equal, {reach, b.integer(pick(-1, 2))});
        const NodeId rest = b.scalar(ScalarOp::modulo, {reach, b.integer(pick(1, 4))});
        const NodeId hit = b.scalar(ScalarOp::equal, {rest, b.integer(pick(0, 2))});
        return choice == 2 ? hit : b.scalar(ScalarOp::logical_and, {hit, condition(depth - 1)});
    }

    std::mt19937 random_;
    DType dtype_;
};

void check(uint32_t seed, DType dtype) {
    GraphBuilder g;
    const TensorId x = g.input("x", dtype, {rows, columns}), ids = g.input("ids", DType::int64, {columns});
    RandomBody body(seed, dtype);
    const std::vector<Size> shape = {seed % 3 == 0 ? 1 : 3, 5};
    body.variables = body.b.variables(shape);
    const std::vector<VariableId> variables = body.variables;
    const std::vector<NodeId> left = body.b.values_of(variables);
    NodeId value = body.value(4);
    if (seed % 4 == 0) {
        // Through a local array: its own axis takes the second variable's place.
        const VariableId j = body.b.variable("j", shape[1], Variable::Kind::parallel);
        body.variables = {variables[0], j};
        const int32_t local = body.b.local("g", {j}, body.value(3));
        body.variables = variables;
        const NodeId cell =
            body.b.scalar(ScalarOp::modulo, {body.b.plus(left[1], body.b.integer(2)), body.b.integer(shape[1].value())});
        value = body.b.plus(value, body.b.local_at(local, {cell}));
    }
    body.b.equation(variables, left, value);
    const TensorId y = g.tensor("y", dtype, shape);
    g.operation("random", {x, ids}, {y}, body.b);
    g.output(y);

    std::mt19937 random(seed);
    const auto feeds = testing::random_feeds(random, g.graph, 7);
    auto wanted = evaluate_graph(g.graph, feeds, Precision::body);
    ASSERT_TRUE(wanted.has_value()) << seed << render(wanted.error()) << print(g.graph);
    auto system = lower(g.graph);
    ASSERT_TRUE(system.has_value()) << seed << render(system.error());
    const std::string text = print(*system);
    auto sound = verify(*system);
    ASSERT_TRUE(sound.has_value()) << seed << render(sound.error()) << text;
    auto again = parse_system(std::make_shared<const SourceText>("lowered", text));
    ASSERT_TRUE(again.has_value()) << seed << render(again.error()) << text;
    ASSERT_EQ(print(*again), text) << seed;
    for (const System* each : {&*system, &*again}) {
        auto found = run(*each, feeds);
        ASSERT_TRUE(found.has_value()) << seed << render(found.error()) << text;
        const TensorData &a = (*found)[static_cast<size_t>(each->outputs[0])], &w = (*wanted)[static_cast<size_t>(y)];
        for (int64_t i = 0; i < w.size(); i++) {
            ASSERT_EQ(a.integer_at(i), w.integer_at(i)) << "seed " << seed << " element " << i << "\n"
                                                        << print(g.graph) << text;
        }
    }
}

TEST(LowerProperty, RandomBodiesOfNarrowIntegers) {
    for (uint32_t seed = 0; seed < 400 && !HasFatalFailure(); seed++) check(seed, DType::int32);
}

TEST(LowerProperty, RandomBodiesOfWideIntegers) {
    for (uint32_t seed = 1000; seed < 1400 && !HasFatalFailure(); seed++) check(seed, DType::int64);
}

}  // namespace
}  // namespace heddle::equations
