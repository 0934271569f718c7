// An index out of range: where it is said, and at which point. Compiled code and the interpreter say the same.
#include "evaluate/failing_read.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
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

// Whatever makes the elements that an index chooses, and whatever is left of that when it is fused: an index outside is
// noticed, and those inside are right.
TEST(FailingRead, IsNoticedWhateverIsRead) {
    const TensorData x(DType::float32, {9});
    const std::vector<std::string> arrays = {
        "t[i < #] = x[i + 1]", "t[i < #] = x[2 * i] * 2 + 1", "t[i < #] = x[0]", "t[i < #] = i", "t[i < #] = 7.5",
        "t[i < #] = (i < 2 ? x[i + 5] : 3)", "t[i < #] = x[i - 2] ?? 6", "t[i < #] = x[3 - i] ?? x[i]",
        "t[i < #] = sum(k < 3 : x[i + k])", "t[i < #] = sqrt(i + 1.0)", "t[i < #] = [5, 1, 2, 7][i]",
        "t[i < #] = [5, 6, 7, 8][i] * x[i]"};
    const std::vector<std::string> reads = {"t[ids]", "t[ids] + t[0]", "t[ids + 1 - 1] * x[@n]", "max(t[ids], 1.0)",
                                            "sum(k < 2 : t[ids] * k)"};
    size_t turn = 0;
    for (const std::string& array : arrays) {
        for (const int64_t extent : {1, 3, 4}) {
            std::string made = array;
            made.replace(made.find('#'), 1, std::to_string(extent));
            const std::string& read = reads[turn++ % reads.size()];
            const std::string text = "pick:\n  inputs: {x: \"float32[$m]\", ids: \"int64[$n]\"}\n  index: \"[n = $n]\"\n"
                                     "  outputs: {y: \"float32[$n]\"}\n  body: |\n    let " +
                                     made + "\n    y = float32(" + read + ")\n";
            SCOPED_TRACE(text);
            const auto found = [&](int64_t index) {
                return failure_of(text, "y = pick(x, ids)", {"x", "ids"}, {x, numbers({2}, {extent - 1, index})}).found;
            };
            EXPECT_TRUE(found(extent).starts_with(std::to_string(extent) + " at n = 1"));
            EXPECT_TRUE(found(-1).starts_with("-1 at n = 1"));
        }
    }
}

// The same of graphs: random movements and arithmetic before what is chosen.
TEST(FailingRead, IsNoticedBehindAnyMovement) {
    std::mt19937 random(7);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    for (int round = 0; round < 60; ++round) {
        std::vector<int64_t> shape = {1 + below(5), 2 + below(4), 1 + below(4)};
        const TensorData x(DType::float32, shape);
        std::string calls = "t0 = add(x, 0.5)";
        const int steps = 1 + static_cast<int>(below(4));
        for (int step = 0; step < steps; ++step) {
            const auto axis = static_cast<size_t>(below(static_cast<int64_t>(shape.size())));
            std::string call = "abs(#)";
            switch (below(7)) {
            case 0: {
                const int64_t first = below(shape[axis]), last = first + 1 + below(shape[axis] - first);
                call = fmt::format("slice(#, starts: [{}], ends: [{}], axes: [{}])", first, last, axis);
                shape[axis] = last - first;
                break;
            }
            case 1: call = fmt::format("flip(#, axes: [{}])", axis); break;
            case 2:
                call = "transpose(#)";
                std::ranges::reverse(shape);
                break;
            case 3:
                shape = {shape[0], TensorData(DType::float32, shape).size() / shape[0]};
                call = fmt::format("reshape_to(#, shape: [{}, {}])", shape[0], shape[1]);
                break;
            case 4:
                call = fmt::format("concat(#, #, axis: {})", axis);
                shape[axis] *= 2;
                break;
            case 5:
                call = fmt::format("reduce_sum(#, axes: [{}], keepdims: true)", axis);
                shape[axis] = 1;
                break;
            default: break;
            }
            for (size_t at = 0; (at = call.find('#', at)) != call.npos;) call.replace(at, 1, fmt::format("t{}", step));
            calls += fmt::format("; t{} = {}", step + 1, call);
        }
        const auto axis = static_cast<size_t>(below(static_cast<int64_t>(shape.size())));
        calls += fmt::format("; y = gather(t{}, ids, axis: {})", steps, axis);
        SCOPED_TRACE(calls);
        failure_of(templates, calls, {"x", "ids"}, {x, numbers({2}, {shape[axis] - 1, shape[axis]})});
    }
}

}  // namespace
}  // namespace heddle::inference
