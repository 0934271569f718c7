// How fast operators are applied to types: operations a second of single templates and of a mixed graph, which is then
// verified, made a document and validated. One core, processor time, JSON on standard output.
//
//     build/bench_symbolic [--operations 20000] [--graph 10000] [--runs 5] [--template NAME] [--quick] [--results DIR]
//
// Each template is measured twice: `same` repeats one application, as layers of a network do, `new` has other sizes
// each time, so that nothing of an earlier application helps. Every application reads fresh tensors; `mixed` is a graph
// of chains and diamonds whose operators and sizes vary from block to block. Figures are medians over the runs.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "helpers/source_folder.h"
#include "interchange/to_document.h"
#include "interchange/validate.h"
#include "language/library.h"
#include "symbolic/session.h"

namespace heddle {
namespace {

using Json = nlohmann::ordered_json;
using Parameters = std::map<std::string, StaticValue>;

struct Options {
    int64_t operations = 20'000, graph = 10'000, runs = 5;
    std::string only, results;
};

[[noreturn]] void give_up(const Diagnostics& problems) {
    std::fputs(render(problems).c_str(), stderr);
    std::exit(1);
}

template <typename T>
T expect(Result<T> result) {
    if (!result) give_up(result.error());
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Processor time: what else runs on the machine counts only as far as it takes caches and clock away.
double seconds_of(const std::function<void()>& work) {
    std::clock_t begin = std::clock();
    work();
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

// A use of an operator: the shapes of what it reads in the application of that number.
struct Use {
    const char* label;
    const char* operator_name;
    std::vector<std::vector<int64_t>> (*shapes)(int64_t number);
    Parameters parameters;
    int64_t operations = 1;  // that one application makes
    bool list = false;       // its tensors are one list
};

std::vector<Use> uses() {
    using Shapes = std::vector<std::vector<int64_t>>;
    auto whole = [](std::vector<int64_t> numbers) { return StaticValue::of_integers(numbers); };
    return {
        {"matmul", "matmul", [](int64_t n) { return Shapes{{2, 64 + n, 32}, {2, 32, 48}}; }, {}},
        {"add_broadcast", "add2", [](int64_t n) { return Shapes{{4, 16 + n, 32}, {16 + n, 1}}; }, {}},
        {"softmax", "softmax", [](int64_t n) { return Shapes{{8, 12 + n, 64}}; }, {{"axis", StaticValue::of(-1)}}},
        {"convolution",
         "conv",
         [](int64_t n) { return Shapes{{1, 16, 32 + n, 40}, {24, 16, 3, 3}, {24}}; },
         {{"strides", whole({2, 2})}, {"pads", whole({1, 1, 1, 1})}}},
        {"concat",
         "concat",
         [](int64_t n) { return Shapes{{2, 3 + n, 8}, {2, 5, 8}, {2, 7, 8}, {2, 9, 8}}; },
         {{"axis", StaticValue::of(1)}},
         4,
         true},
        {"linear", "linear", [](int64_t n) { return Shapes{{8 + n, 32}, {32, 64}, {64}}; }, {}, 2},
    };
}

TensorType float_type(const std::vector<int64_t>& shape) { return {DType::float32, {shape.begin(), shape.end()}}; }

// Seconds for `count` applications of one template, each to fresh tensors that are there before the clock starts.
double time_use(const Library& library, const Use& use, int64_t count, bool varies) {
    const Template& metakernel = *expect(library.find(use.operator_name));
    Session session(library);
    std::vector<std::vector<Argument>> arguments;
    for (int64_t number = 0; number < count; ++number) {
        std::vector<TensorId> tensors;
        for (const auto& shape : use.shapes(varies ? number : 0))
            tensors.push_back(session.add_input(fmt::format("x{}", session.graph().tensors.size()), float_type(shape)));
        if (use.list)
            arguments.push_back({Argument(tensors)});
        else
            arguments.emplace_back(tensors.begin(), tensors.end());
    }
    return seconds_of([&] {
        for (const auto& inputs : arguments) expect(session.apply(metakernel, inputs, use.parameters));
    });
}

Json measure_use(const Library& library, const Use& use, const Options& options) {
    Json result = {{"template", use.label}, {"operations_per_application", use.operations}};
    for (bool varies : {false, true}) {
        int64_t count = std::max<int64_t>(1, options.operations / use.operations);
        std::vector<double> rates;
        for (int64_t run = 0; run < options.runs; ++run)
            rates.push_back(static_cast<double>(count * use.operations) / time_use(library, use, count, varies));
        result[varies ? "new_per_s" : "same_per_s"] = static_cast<int64_t>(median(rates));
    }
    return result;
}

// A graph of blocks: products, broadcasts, diamonds, a normalisation, a concatenation and a convolution each, every
// block of other sizes than the others; the second half of the blocks repeats nothing of the first.
class MixedGraph {
public:
    MixedGraph(const Library& library, int64_t operations) : library_(library), session_(library) {
        for (int64_t block = 0; static_cast<int64_t>(session_.graph().operations.size()) < operations; ++block)
            add_block(block);
    }
    Graph finish() && { return session_.finish(outputs_); }

private:
    TensorId input(std::vector<int64_t> shape) {
        return session_.add_input(fmt::format("x{}", session_.graph().tensors.size()), float_type(shape));
    }

    TensorId apply(const char* name, std::vector<Argument> inputs, const Parameters& parameters = {}) {
        return expect(session_.apply(*expect(library_.find(name)), inputs, parameters))[0];
    }

    void add_block(int64_t number) {
        int64_t rows = 8 + number, columns = 16 + number % 7;
        TensorId x = input({rows, columns});
        for (int64_t layer = 0; layer < 3; ++layer) {
            TensorId product = apply("linear", {x, input({columns, columns + 1}), input({columns + 1})});
            ++columns;
            TensorId left = apply("relu", {product}), right = apply("softmax", {product});
            x = apply("mul", {apply("add2", {left, right}), input({columns})});
        }
        TensorId joined = apply("concat", {Argument(std::vector<TensorId>{x, x, product_of(x, columns)})},
                                {{"axis", StaticValue::of(0)}});
        TensorId turned = apply("transpose", {joined});
        TensorId image =
            apply("reshape_to", {turned}, {{"shape", StaticValue::of_integers({1, 1, columns, 3 * rows})}});
        TensorId filtered =
            apply("conv", {image, input({2, 1, 3, 3}), input({2})},
                  {{"strides", StaticValue::of_integers({2, 2})}, {"pads", StaticValue::of_integers({1, 1, 1, 1})}});
        outputs_.push_back(apply("layer_norm", {filtered, input({(3 * rows + 1) / 2})}));
    }

    TensorId product_of(TensorId x, int64_t columns) { return apply("matmul", {x, input({columns, columns})}); }

    const Library& library_;
    Session session_;
    std::vector<TensorId> outputs_;
};

Json measure_mixed(const Library& library, const interchange::Dialect& dialect, int64_t operations, int64_t runs) {
    std::vector<double> applied, verified, documented, validated;
    Json result;
    for (int64_t run = 0; run < runs; ++run) {
        Graph graph;
        applied.push_back(seconds_of([&] { graph = MixedGraph(library, operations).finish(); }));
        verified.push_back(seconds_of([&] { expect(verify(graph)); }));
        interchange::GraphDocument document;
        documented.push_back(seconds_of([&] { document = interchange::to_document(graph); }));
        interchange::Validation validation;
        validated.push_back(
            seconds_of([&] { validation = interchange::validate(document, {dialect, &library, nullptr}); }));
        if (!validation.issues.empty()) give_up(validation.issues);
        result = {{"operations", graph.operations.size()},
                  {"tensors", graph.tensors.size()},
                  {"applied_again", validation.applied_again}};
    }
    result["apply_per_s"] = static_cast<int64_t>(static_cast<double>(operations) / median(applied));
    result["apply_s"] = median(applied);
    result["verify_s"] = median(verified);
    result["document_s"] = median(documented);
    result["validate_s"] = median(validated);
    return result;
}

int run(const Options& options) {
    const std::filesystem::path root = in_source();
    Library library = expect(open_library(root / "operators"));
    Json report = {{"templates", Json::array()}, {"mixed", Json::array()}};
    for (const Use& use : uses()) {
        if (options.only.empty() || options.only == use.label)
            report["templates"].push_back(measure_use(library, use, options));
    }
    interchange::Dialect dialect = expect(interchange::load_dialect(root / "environments/heddle.json"));
    // Five times as many show whether time grows with the size alone.
    for (int64_t operations : {options.graph, 5 * options.graph}) {
        if (options.only.empty() || options.only == "mixed")
            report["mixed"].push_back(measure_mixed(library, dialect, operations, options.runs));
    }
    std::puts(report.dump(2).c_str());
    if (options.results.empty()) return 0;
    std::filesystem::create_directories(options.results);
    std::ofstream file(std::filesystem::path(options.results) / "symbolic.json");
    file << report.dump(2) << "\n";
    return file.good() ? 0 : 1;
}

}  // namespace
}  // namespace heddle

int main(int count, char** arguments) {
    heddle::Options options;
    CLI::App app("Operations a second of symbolic execution, as JSON.");
    app.add_option("--operations", options.operations, "applied of each template");
    app.add_option("--graph", options.graph, "operations of the mixed graph, and five times as many");
    app.add_option("--runs", options.runs, "of each measure; the median counts")->check(CLI::PositiveNumber);
    app.add_option("--template", options.only, "only this one, or `mixed`");
    app.add_option("--results", options.results, "also write symbolic.json in this folder");
    bool quick = false;
    app.add_flag("--quick", quick, "as little as can be: whether this program works");
    CLI11_PARSE(app, count, arguments);
    if (quick) options = {100, 100, 1, options.only, options.results};
    return heddle::run(options);
}
