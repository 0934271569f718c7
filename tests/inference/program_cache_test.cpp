// Programs by shapes and deciding values: what is compiled again, what is kept, what is refused before it is compiled.
#include "helpers/source_folder.h"
#include "inference/program_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <stdexcept>
#include <thread>

#include "language/library.h"
#include "symbolic/session.h"

namespace heddle::inference {
namespace {

const Library& library() {
    static const Library shipped = std::move(*open_library(in_source("operators")));
    return shipped;
}

TensorData tensor(std::vector<int64_t> shape, double value) {
    TensorData data(DType::float32, std::move(shape));
    for (int64_t i = 0; i < data.size(); i++) data.set_real(i, value);
    return data;
}

TensorData integers(const std::vector<int64_t>& values) {
    TensorData data(DType::int64, {static_cast<int64_t>(values.size())});
    for (size_t i = 0; i < values.size(); i++) data.set_integer(static_cast<int64_t>(i), values[i]);
    return data;
}

// An operator of the inputs, whose values are offered.
Specialise calling(const std::string& name) {
    return [name](const std::vector<TensorData>& inputs, Progress*) -> Result<Graph> {
        Session session(library());
        std::vector<Argument> arguments;
        for (const TensorData& input : inputs) {
            TensorId id = session.add_input("x", {input.dtype(), {input.shape().begin(), input.shape().end()}});
            session.offer_value(id, input.clone());
            arguments.emplace_back(id);
        }
        auto results = session.apply(*library().find(name).value(), arguments);
        if (!results) return fail(std::move(results.error()));
        return session.finish(std::move(*results));
    };
}

TEST(ProgramCache, one_program_a_shape_and_a_key) {
    ProgramCache programs(make_engine(1));
    for (int64_t size : {3, 5, 3, 5, 3}) {
        auto result = programs.run("add", {tensor({size}, 2), tensor({size}, 3)}, calling("add2"));
        ASSERT_TRUE(result) << render(result.error());
        EXPECT_EQ((*result)[0].shape(), std::vector<int64_t>{size});
        EXPECT_EQ((*result)[0].real_at(size - 1), 5);
    }
    EXPECT_EQ(programs.compiled(), 2u);
    auto product = programs.run("mul", {tensor({3}, 2), tensor({3}, 3)}, calling("mul"));
    ASSERT_TRUE(product) << render(product.error());
    EXPECT_EQ((*product)[0].real_at(0), 6);
    EXPECT_EQ(programs.compiled(), 3u);
}

TEST(ProgramCache, one_program_a_deciding_value) {
    ProgramCache programs(make_engine(1));
    TensorData shape = integers({2, 3});
    for (int64_t rows : {2, 3, 2, 6}) {
        shape.set_integer(0, rows);  // in the caller's memory, which programs do not keep
        shape.set_integer(1, 6 / rows);
        auto result = programs.run("", {tensor({6}, 1), shape}, calling("reshape"));
        ASSERT_TRUE(result) << render(result.error());
        EXPECT_EQ((*result)[0].shape(), (std::vector<int64_t>{rows, 6 / rows}));
    }
    EXPECT_EQ(programs.compiled(), 3u);
    // The other input decides nothing.
    ASSERT_TRUE(programs.run("", {tensor({6}, 7), shape}, calling("reshape")));
    EXPECT_EQ(programs.compiled(), 3u);
}

// What programs keep together.
int64_t bytes_of(const ProgramCache& programs) {
    int64_t bytes = 0;
    for (const auto& [begin, size] : programs.memory()) bytes += size;
    return bytes;
}

TEST(ProgramCache, those_used_last_are_kept) {
    ProgramCache measured(make_engine(1));
    std::vector<int64_t> bytes = {0};
    for (int64_t size : {1, 2, 3}) {
        ASSERT_TRUE(measured.run("", {tensor({size}, 1)}, calling("relu")));
        bytes.push_back(bytes_of(measured));
        EXPECT_GT(bytes.back(), bytes[bytes.size() - 2]);
    }
    // Room for one beside the one in use, but not for two.
    const int64_t limit = bytes[2] - bytes[1] + (bytes[3] - bytes[2]) / 2;
    ProgramCache programs(make_engine(1), {}, limit);
    for (int64_t size : {1, 2, 1, 3, 1}) ASSERT_TRUE(programs.run("", {tensor({size}, 1)}, calling("relu")));
    EXPECT_EQ(programs.compiled(), 3u);
    EXPECT_LE(bytes_of(programs), bytes[1] + limit);
    ASSERT_TRUE(programs.run("", {tensor({2}, 1)}, calling("relu")));
    EXPECT_EQ(programs.compiled(), 4u);
}

// x w for any number of rows.
Result<Graph> product(const std::vector<TensorData>& inputs, Progress*) {
    Session session(library());
    TensorData w = tensor({200, 300}, 0.5);
    for (int64_t i = 0; i < w.size(); i++) w.set_real(i, static_cast<double>(i % 13));
    const TensorId x = session.add_input("x", {DType::float32, {inputs[0].shape().begin(), inputs[0].shape().end()}});
    auto results = session.apply(*library().find("matmul").value(), {x, session.add_constant("w", w)});
    if (!results) return fail(std::move(results.error()));
    return session.finish(std::move(*results));
}

// Weights are counted once, and a limit that they alone would pass keeps all shapes.
TEST(ProgramCache, what_programs_share_is_counted_once) {
    constexpr int64_t weights = 200 * 300 * 4;
    ProgramCache programs(make_engine(2), {}, weights);
    for (int64_t rows : {20, 21, 22, 23, 24}) ASSERT_TRUE(programs.run("", {tensor({rows, 200}, 1)}, product));
    EXPECT_LT(bytes_of(programs), 2 * weights);
    for (int64_t rows : {20, 21, 22, 23, 24}) ASSERT_TRUE(programs.run("", {tensor({rows, 200}, 1)}, product));
    EXPECT_EQ(programs.compiled(), 5u);
}

TEST(ProgramCache, programs_go_while_threads_run) {
    const auto engine = make_engine(2);
    ProgramCache kept(engine), fleeting(engine, {}, 0);
    std::map<int64_t, TensorData> expected;
    for (int64_t rows = 1; rows <= 6; rows++) {
        auto result = kept.run("", {tensor({rows, 200}, static_cast<double>(rows))}, product);
        ASSERT_TRUE(result) << render(result.error());
        expected.emplace(rows, (*result)[0]);
    }
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int64_t t = 0; t < 3; t++) {
        threads.emplace_back([&, t] {
            for (int64_t i = 0; i < 12; i++) {
                const int64_t rows = 1 + (i * (t + 1) + t) % 6;
                auto& programs = i % 4 == 3 ? kept : fleeting;
                const auto result = programs.run("", {tensor({rows, 200}, static_cast<double>(rows))}, product);
                const TensorData& wanted = expected.at(rows);
                if (!result || (*result)[0].shape() != wanted.shape() ||
                    std::memcmp((*result)[0].data(), wanted.data(), static_cast<size_t>(wanted.byte_size())) != 0)
                    wrong++;
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(fleeting.compiled(), 6u) << "they went";
    EXPECT_LT(bytes_of(fleeting), bytes_of(kept));
}

TEST(ProgramCache, inputs_that_do_not_fit_compile_nothing) {
    ProgramCache programs(make_engine(1));
    Specialise fixed = [](const std::vector<TensorData>&, Progress*) {
        return calling("relu")({tensor({4}, 1)}, nullptr);
    };
    for (const TensorData& wrong : {tensor({5}, 1), integers({1, 2, 3, 4})}) {
        auto result = programs.run("", {wrong}, fixed);
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error()[0].code,
                  wrong.dtype() == DType::int64 ? "runtime.input_dtype" : "runtime.input_shape");
    }
    EXPECT_EQ(programs.run("", {}, fixed).error()[0].code, "runtime.input_count");
    EXPECT_EQ(programs.compiled(), 0u);
}

TEST(ProgramCache, an_exception_is_an_error) {
    ProgramCache programs(make_engine(1));
    auto result = programs.run("", {tensor({3}, 1)}, [](const std::vector<TensorData>&, Progress*) -> Result<Graph> {
        throw std::out_of_range("broken on purpose");
    });
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().front().code, "inference.broken");
    EXPECT_EQ(result.error().front().found, "broken on purpose");
}

}  // namespace
}  // namespace heddle::inference
