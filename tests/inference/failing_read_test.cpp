// An index out of range: where it is said, and at which point. Compiled code and the interpreter say the same.
#include "evaluate/failing_read.h"

#include <gtest/gtest.h>

#include <random>

#include "evaluate/evaluate.h"
#include "helpers/library.h"
#include "inference/program_cache.h"
#include "symbolic/program.h"

namespace heddle::inference {
namespace {

struct Said {
    std::string found, expected, point, line;
    bool operator==(const Said&) const = default;
};

Said said(const Diagnostics& errors) {
    const Diagnostic& error = errors.front();
    Said result{error.found, error.expected, "", ""};
    for (const auto& [name, value] : error.params)
        if (name == "point") result.point = value;
    if (error.place.source) result.line = error.place.source->text().substr(error.place.offset, error.place.length);
    return result;
}

// What both say of a program; EXPECTs that it is the same.
Said failure_of(const std::string& templates, const std::string& calls, const std::vector<std::string>& names,
                const std::vector<TensorData>& inputs) {
    const Library library = library_with(templates);
    std::vector<ProgramInput> given;
    for (size_t i = 0; i < names.size(); ++i)
        given.push_back({names[i], {inputs[i].dtype(), {inputs[i].shape().begin(), inputs[i].shape().end()}}});
    const auto make = [&](const std::vector<TensorData>&, Progress*) {
        return build_program(std::make_shared<SourceText>("program", calls), library, given);
    };
    static const std::shared_ptr<Engine> engine = make_engine(2);
    ProgramCache programs(engine);
    const auto run = programs.run("", inputs, make);
    EXPECT_FALSE(run) << "no index is found to be outside";
    const auto graph = make(inputs, nullptr);
    if (run || !graph) return {};
    EXPECT_EQ(run.error().front().code, "runtime.index_out_of_range") << render(run.error());
    const auto interpreted = evaluate_graph(*graph, inputs, Precision::body);
    EXPECT_FALSE(interpreted);
    if (interpreted) return {};
    EXPECT_EQ(interpreted.error().front().code, "evaluate.out_of_range");
    const Said result = said(run.error()), reference = said(interpreted.error());
    EXPECT_EQ(result, reference) << render(run.error()) << render(interpreted.error());
    return result;
}

TensorData numbers(std::vector<int64_t> shape, const std::vector<int64_t>& values) {
    TensorData data(DType::int64, std::move(shape));
    for (size_t i = 0; i < values.size(); ++i) data.set_integer(static_cast<int64_t>(i), values[i]);
    return data;
}

const std::string templates =
    "pick:\n  inputs: {table: \"float32[$v, $d]\", ids: \"int64[$n]\"}\n  index: \"[row = $n, d = $d]\"\n"
    "  outputs: {y: \"float32\"}\n  body: \"y = table[ids[@row], @d]\"\n"
    "bag:\n  inputs: {table: \"float32[$v, $d]\", ids: \"int64[$n, $m]\"}\n  index: \"[row = $n, d = $d]\"\n"
    "  outputs: {y: \"float32\"}\n  body: |\n"
    "    let used = sum(k < $m if ids[@row, k] >= 0 : table[ids[@row, k], @d])\n    y = used\n"
    "walk:\n  inputs: {next: \"int64[$v]\"}\n  index: \"[1]\"\n  outputs: {y: \"int64[$v]\"}\n  body: |\n"
    "    scan t < $v:\n      at[t] = next[at[t - 1]] from int64(0)\n      y[t] = at[t]\n"
    "chosen:\n  inputs: {table: \"float32[$v]\", ids: \"int64[$n]\"}\n  index: \"[row = $n]\"\n"
    "  outputs: {y: \"float32\"}\n  body: \"y = ids[@row] < 100 ? table[ids[@row]] : 0.0\"\n";

TEST(FailingRead, SaysThePointAndTheAccess) {
    const TensorData table(DType::float32, {5, 4});
    EXPECT_EQ(failure_of(templates, "y = pick(table, ids)", {"table", "ids"}, {table, numbers({3}, {0, 9, -1})}),
              (Said{"9 at row = 1, d = 0", "0 <= index < 5", "row = 1, d = 0", "table[ids[@row], @d]"}));
    // Below and above others that are fused with it.
    EXPECT_EQ(failure_of(templates, "a = mul(table, 2.0); b = add(ids, 1); c = pick(a, b); y = exp(c)",
                         {"table", "ids"}, {table, numbers({3}, {0, 1, 4})}),
              (Said{"5 at row = 2, d = 0", "0 <= index < 5", "row = 2, d = 0", "table[ids[@row], @d]"}));
}

TEST(FailingRead, SaysTheTermAndWhatIsChosen) {
    const TensorData table(DType::float32, {5, 4});
    EXPECT_EQ(
        failure_of(templates, "y = bag(table, ids)", {"table", "ids"}, {table, numbers({2, 3}, {0, -7, 1, 2, -1, 6})}),
        (Said{"6 at row = 1, d = 0, k = 2", "0 <= index < 5", "row = 1, d = 0, k = 2", "table[ids[@row, k], @d]"}));
    const TensorData line(DType::float32, {5});
    EXPECT_EQ(failure_of(templates, "y = chosen(table, ids)", {"table", "ids"}, {line, numbers({3}, {4, 100, 5})}),
              (Said{"5 at row = 2", "0 <= index < 5", "row = 2", "table[ids[@row]]"}));
}

TEST(FailingRead, SaysTheStep) {
    EXPECT_EQ(failure_of(templates, "y = walk(next)", {"next"}, {numbers({4}, {2, 0, 7, 1})}),
              (Said{"7 at t = 2, axis0 = 0", "0 <= index < 4", "t = 2, axis0 = 0", "next[at[t - 1]]"}));
}

// The first one in the order of the space, on any number of threads.
TEST(FailingRead, IsTheFirst) {
    std::mt19937 random(5);
    for (int round = 0; round < 12; ++round) {
        const int64_t rows = 1 + random() % 3000, terms = 1 + random() % 9, extent = 1 + random() % 50;
        TensorData ids(DType::int64, {rows, terms});
        int64_t first = -1;
        for (int64_t i = 0; i < ids.size(); ++i) ids.set_integer(i, random() % extent);
        for (int wrong = 0; wrong < 4; ++wrong) ids.set_integer(random() % ids.size(), extent + random() % 9);
        for (int64_t i = ids.size(); i-- > 0;)
            if (ids.integer_at(i) >= extent) first = i;
        const std::string point =
            "row = " + std::to_string(first / terms) + ", d = 0, k = " + std::to_string(first % terms);
        const Said found = failure_of(templates, "y = bag(table, ids)", {"table", "ids"},
                                      {TensorData(DType::float32, {extent, 2}), ids});
        EXPECT_EQ(found.point, point);
        EXPECT_EQ(found.found, std::to_string(ids.integer_at(first)) + " at " + point);
    }
}

}  // namespace
}  // namespace heddle::inference
