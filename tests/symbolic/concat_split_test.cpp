// concat and split of the library: along any axis, uneven, of one tensor, of dimensions of size zero.
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "evaluate/evaluate.h"
#include "helpers/source_folder.h"
#include "symbolic/session.h"

namespace heddle {
namespace {

using Shape = std::vector<int64_t>;

int64_t product(const Shape& shape, size_t from, size_t to) {
    return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(from),
                           shape.begin() + static_cast<std::ptrdiff_t>(to), int64_t{1}, std::multiplies{});
}

// Every element is another number.
TensorData numbered(const Shape& shape, int64_t first = 0) {
    TensorData data(DType::int32, shape);
    for (int64_t i = 0; i < data.size(); i++) data.set_integer(i, first + i);
    return data;
}

// The elements of `data` from `begin` to `end` along the axis, in order.
std::vector<int64_t> slab(const TensorData& data, size_t axis, int64_t begin, int64_t end) {
    const Shape& shape = data.shape();
    int64_t outer = product(shape, 0, axis), inner = product(shape, axis + 1, shape.size());
    std::vector<int64_t> elements;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t n = begin; n < end; n++)
            for (int64_t i = 0; i < inner; i++) elements.push_back(data.integer_at((o * shape[axis] + n) * inner + i));
    return elements;
}

std::vector<int64_t> elements_of(const TensorData& data) {
    std::vector<int64_t> elements;
    for (int64_t i = 0; i < data.size(); i++) elements.push_back(data.integer_at(i));
    return elements;
}

class Metakernels4 : public testing::Test {
protected:
    Metakernels4() {
        auto added = library_.add_folder(in_source("operators"));
        EXPECT_TRUE(added);
    }
    TensorId add(Session& session, const TensorData& data) {
        feeds_.push_back(data);
        return session.add_input("x", {data.dtype(), {data.shape().begin(), data.shape().end()}});
    }
    std::vector<TensorId> apply(Session& session, const char* name, const std::vector<Argument>& inputs,
                                const std::map<std::string, StaticValue>& parameters) {
        auto metakernel = library_.find(name);
        EXPECT_TRUE(metakernel);
        auto results = session.apply(**metakernel, inputs, parameters);
        EXPECT_TRUE(results) << (results ? "" : render(results.error()));
        return results ? *results : std::vector<TensorId>{};
    }
    std::vector<TensorData> run(Session& session, const std::vector<TensorId>& outputs) {
        Graph graph = session.finish(outputs);
        auto values = evaluate_graph(graph, feeds_, Precision::body);
        EXPECT_TRUE(values) << (values ? "" : render(values.error()));
        std::vector<TensorData> results;
        for (TensorId id : graph.outputs) results.push_back((*values)[static_cast<size_t>(id)]);
        feeds_.clear();
        return results;
    }

    Library library_;
    std::vector<TensorData> feeds_;
};

TEST_F(Metakernels4, SplitAlongAnyAxisAndConcatBack) {
    for (const Shape& shape :
         std::vector<Shape>{{7}, {1}, {0}, {2, 7}, {3, 1, 5}, {0, 4}, {4, 0}, {2, 3, 0, 5}, {2, 3, 4, 5}}) {
        auto rank = static_cast<int64_t>(shape.size());
        for (int64_t axis = -rank; axis < rank; axis++) {
            for (int64_t chunk : {1, 2, 3, 7, 100}) {
                SCOPED_TRACE(fmt::format("[{}] axis {} chunk {}", fmt::join(shape, ", "), axis, chunk));
                auto along = static_cast<size_t>(axis < 0 ? axis + rank : axis);
                int64_t n = shape[along], count = std::max<int64_t>(1, (n + chunk - 1) / chunk);
                TensorData x = numbered(shape);
                Session session(library_);
                auto parts = apply(session, "split", {add(session, x)},
                                   {{"chunk", StaticValue::of(chunk)}, {"axis", StaticValue::of(axis)}});
                ASSERT_EQ(static_cast<int64_t>(parts.size()), count);
                auto whole = apply(session, "concat", {parts}, {{"axis", StaticValue::of(axis)}});
                ASSERT_EQ(whole.size(), 1u);
                auto outputs = parts;
                outputs.push_back(whole[0]);
                auto values = run(session, outputs);
                for (int64_t i = 0; i < count; i++) {
                    const TensorData& part = values[static_cast<size_t>(i)];
                    Shape expected = shape;
                    expected[along] = std::min(chunk, n - i * chunk);  // the last one may be smaller
                    EXPECT_EQ(part.shape(), expected);
                    EXPECT_EQ(elements_of(part), slab(x, along, i * chunk, i * chunk + expected[along]));
                }
                EXPECT_EQ(values.back().shape(), shape);
                EXPECT_EQ(elements_of(values.back()), elements_of(x));
            }
        }
    }
}

TEST_F(Metakernels4, ConcatOfUnevenTensors) {
    for (const Shape& extents : std::vector<Shape>{{3}, {0}, {3, 5}, {1, 0, 4}, {0, 0}, {2, 2, 2, 1}}) {
        for (int64_t axis = -3; axis < 3; axis++) {
            SCOPED_TRACE(fmt::format("[{}] axis {}", fmt::join(extents, ", "), axis));
            auto along = static_cast<size_t>(axis < 0 ? axis + 3 : axis);
            std::vector<TensorData> tensors;
            Shape shape{2, 3, 4};
            shape[along] = 0;
            for (int64_t extent : extents) {
                Shape one = shape;
                one[along] = extent;
                tensors.push_back(numbered(one, 1000 * static_cast<int64_t>(tensors.size())));
            }
            shape[along] = std::accumulate(extents.begin(), extents.end(), int64_t{0});
            Session session(library_);
            std::vector<TensorId> ids;
            for (const TensorData& tensor : tensors) ids.push_back(add(session, tensor));
            auto whole = apply(session, "concat", {ids}, {{"axis", StaticValue::of(axis)}});
            ASSERT_EQ(whole.size(), 1u);
            auto values = run(session, whole);
            EXPECT_EQ(values[0].shape(), shape);
            int64_t begin = 0;
            for (size_t i = 0; i < tensors.size(); begin += extents[i++])
                EXPECT_EQ(slab(values[0], along, begin, begin + extents[i]), elements_of(tensors[i]));
        }
    }
}

TEST_F(Metakernels4, WhatDoesNotFitIsRefused) {
    auto code = [&](const char* name, const std::vector<Shape>& shapes,
                    const std::map<std::string, StaticValue>& parameters) {
        Session session(library_);
        std::vector<TensorId> ids;
        for (const Shape& shape : shapes)
            ids.push_back(session.add_input("x", {DType::float32, {shape.begin(), shape.end()}}));
        auto metakernel = library_.find(name);
        std::vector<Argument> inputs;
        if ((*metakernel)->inputs[0].variadic)
            inputs.emplace_back(ids);
        else
            inputs.emplace_back(ids[0]);
        auto results = session.apply(**metakernel, inputs, parameters);
        return results ? std::string("accepted") : results.error()[0].code;
    };
    EXPECT_EQ(code("concat", {{2, 3}, {2, 4}}, {{"axis", StaticValue::of(0)}}), "symbolic.shape_conflict");
    EXPECT_EQ(code("concat", {{2, 3}, {2, 4}}, {{"axis", StaticValue::of(2)}}), "symbolic.axis_range");
    EXPECT_EQ(code("concat", {{2, 3}, {2}}, {{"axis", StaticValue::of(0)}}), "symbolic.input_rank");
    EXPECT_EQ(code("split", {{2, 3}}, {{"chunk", StaticValue::of(0)}}), "symbolic.requirement");
    EXPECT_EQ(code("split", {{2, 3}}, {{"chunk", StaticValue::of(2)}, {"axis", StaticValue::of(-3)}}),
              "symbolic.axis_range");
}

}  // namespace
}  // namespace heddle
