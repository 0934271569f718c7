#include "exact/runner.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>

#include <fmt/format.h>

#include "backends/cc/cc_backend.h"
#include "backends/llvm/llvm_backend.h"
#include "evaluate/compare.h"
#include "evaluate/evaluate.h"
#include "helpers/narrow_host.h"
#include "plan/plan.h"
#include "runtime/executable.h"
#include "symbolic/program.h"

namespace heddle::exact {
namespace {

constexpr int most_complaints = 20;

bool same(const TensorData& a, const TensorData& b, int64_t i) {
    const auto size = static_cast<size_t>(bytes(a.dtype())), at = static_cast<size_t>(i) * size;
    if (std::memcmp(a.data() + at, b.data() + at, size) == 0) return true;
    return is_float(a.dtype()) && std::isnan(a.real_at(i)) && std::isnan(b.real_at(i));
}

std::string first_line(const Diagnostics& problems) {
    const std::string text = render(problems);
    return text.substr(0, text.find("\n    ^"));
}

std::string point(const Case& made, int64_t i) {
    std::string text;
    for (const auto& [name, data] : made.inputs) text += fmt::format(" {}={}", name, data.real_at(i));
    return text;
}

}  // namespace

TensorData reals(DType dtype, int64_t size, uint64_t seed) {
    constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    constexpr double special[] = {0,      -0.0,         1,         -1,       0.5,   1.5,      2.5,       3,
                                  0.1,    1.0 / 3,      7,         2049,     4097,  65504,    16777217,  33554433,
                                  0x1p53, 0x1p-24,      0x1p-126,  0x1p-149, 1e38,  infinity, -infinity, nan,
                                  1e-40,  3.0000002384, 100000.25, -2.75,    65520, 257,      1023.5};
    TensorData data(dtype, {size});
    std::mt19937_64 random(seed);
    for (int64_t i = 0; i < size; i++) {
        double value = special[random() % std::size(special)];
        if (random() % 2 == 0)
            value = (static_cast<double>(random() % 4001) - 2000) / static_cast<double>(1 << random() % 12);
        if (random() % 4 == 0) value *= 1.0 / 3;
        data.set_real(i, value);
    }
    return data;
}

TensorData integers(DType dtype, int64_t size, uint64_t seed) {
    TensorData data(dtype, {size});
    std::mt19937_64 random(seed);
    for (int64_t i = 0; i < size; i++) {
        const auto small = static_cast<int64_t>(random() % 21) - 10;
        const auto near = static_cast<int64_t>((uint64_t{1} << (random() % 63)) + (random() % 9) - 4);
        const auto any = static_cast<int64_t>(random() >> (random() % 64));
        const int64_t values[] = {small, near, any};
        data.set_integer(i, values[random() % 3]);
    }
    return data;
}

int64_t awkward_size(uint64_t number) {
    constexpr int64_t sizes[] = {1, 7, 19, 37, 64, 83};
    return sizes[number % std::size(sizes)];
}

Runner::Runner(int every) : every_(every), target_(detect_host()), narrow_(narrow_host()), pool_(2) {
    kernels_.emplace_back(std::make_shared<backends::LlvmBackend>());
    const auto compiler = every > 0 ? backends::CCompiler::find() : std::nullopt;
    if (compiler) kernels_.emplace_back(std::make_shared<backends::CcBackend>(*compiler, 1));
}

void Runner::complain(const Case& made, const std::string& what) {
    if (found_++ < most_complaints) fmt::print("{}: {}\n", made.name, what);
    std::fflush(stdout);
}

void Runner::run(const Case& made) {
    cases_++;
    auto added = library_.add_source(std::make_shared<const SourceText>("exact.yaml", made.templates));
    if (!added) return complain(made, first_line(added.error()));
    std::vector<ProgramInput> inputs;
    std::vector<TensorData> feeds;
    for (const auto& [name, data] : made.inputs) {
        inputs.push_back({name, {data.dtype(), {data.shape().begin(), data.shape().end()}}});
        feeds.push_back(data);
    }
    std::string calls;
    for (const std::string& call : made.calls) calls += call + "\n";
    auto graph = build_program(std::make_shared<const SourceText>("program", calls), library_, inputs);
    if (!graph) return complain(made, first_line(graph.error()));
    if (made.exact) {
        auto expected = evaluate_graph(*graph, feeds, Precision::body);
        if (!expected) return complain(made, first_line(expected.error()));
        expected_ = std::move(*expected);
    } else {
        auto expected = evaluate_graph_bounded(*graph, feeds);
        if (!expected) return complain(made, first_line(expected.error()));
        bounded_ = std::move(*expected);
    }
    compare(made, *graph, feeds, kernels_[0], true);
    if (cases_ % 4 == 0) compare(made, *graph, feeds, kernels_[0], false);
    if (kernels_.size() > 1 && cases_ % every_ == 0) compare(made, *graph, feeds, kernels_[1], true);
}

void Runner::compare(const Case& made, const Graph& graph, const std::vector<TensorData>& feeds,
                     runtime::KernelCache& kernels, bool fuse) {
    const std::string way = fmt::format("{}{}", kernels.backend().name(), fuse ? "" : ", unfused, without AVX-512");
    auto plan = plan::make_plan(graph, fuse ? target_ : narrow_, {.fuse = fuse});
    if (!plan) return complain(made, way + ": " + first_line(plan.error()));
    if (!plan->notes.empty()) return complain(made, way + ": " + first_line(plan->notes));
    auto executable = runtime::Executable::make(std::move(*plan), kernels, pool_);
    if (!executable) return complain(made, way + ": " + first_line(executable.error()));
    runtime::Session session(*executable, std::shared_ptr<ThreadPool>(&pool_, [](ThreadPool*) {}));
    const auto found = session.run(feeds);
    if (!found) return complain(made, way + ": " + first_line(found.error()));
    if (made.exact) return compare_bits(made, way, graph, *found);
    for (size_t o = 0; o < found->size(); o++) {
        compared_ += (*found)[o].size();
        const auto comparison = compare_bounded((*found)[o], bounded_[static_cast<size_t>(graph.outputs[o])]);
        if (comparison.equal) continue;
        complain(made, fmt::format("{}, {}: {};{}", way, made.texts.at(graph.tensor(graph.outputs[o]).name),
                                   comparison.text(), comparison.worst < 0 ? "" : point(made, comparison.worst)));
    }
}

void Runner::compare_bits(const Case& made, const std::string& way, const Graph& graph,
                          const std::vector<TensorData>& found) {
    for (size_t o = 0; o < found.size(); o++) {
        const TensorData &got = found[o], &right = expected_[static_cast<size_t>(graph.outputs[o])];
        compared_ += got.size();
        for (int64_t i = 0; i < got.size(); i++) {
            if (same(got, right, i)) continue;
            complain(made, fmt::format("{}, {}: {} of {} is {}, {} is right;{}", way,
                                       made.texts.at(graph.tensor(graph.outputs[o]).name), i, got.size(),
                                       got.real_at(i), right.real_at(i), point(made, i)));
            break;
        }
    }
}

}  // namespace heddle::exact
