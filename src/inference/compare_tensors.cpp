#include "inference/compare_tensors.h"

#include <chrono>
#include <map>

#include <fmt/format.h>

#include "graph/complex.h"
#include "graph/wide_sums.h"

namespace heddle::inference {
namespace {

using Clock = std::chrono::steady_clock;

// ---- the reference

using Values = std::map<TensorId, BoundedTensor>;

// Says how far a long work is.
class Teller {
public:
    explicit Teller(const Watcher& watcher) : watcher_(watcher) {}
    void set_tensor(size_t done, size_t total) { tensor_ = fmt::format("tensor {} of {}, ", done, total); }
    void at(size_t done, size_t total, const std::string& operation) {
        constexpr std::chrono::seconds patience{2};
        if (!watcher_.told || Clock::now() - told_ < patience) return;
        watcher_.told(fmt::format("{}operation {} of {}: {}", tensor_, done + 1, total, operation));
        told_ = Clock::now();
    }
    bool is_cancelled() const { return heddle::is_cancelled(watcher_.progress); }

private:
    const Watcher& watcher_;
    std::string tensor_;
    Clock::time_point told_ = Clock::now();
};

// The interpreter with bounds, on parts of a graph.
class Reference {
public:
    Reference(const Graph& graph, const std::vector<TensorData>& feeds)
        : graph_(graph), writers_(graph.tensors.size()) {
        for (size_t i = 0; i < graph.operations.size(); i++) {
            for (TensorId t : graph.operations[i].outputs) writers_[static_cast<size_t>(t)].push_back(i);
        }
        for (size_t i = 0; i < feeds.size(); i++) feeds_[graph.inputs[i]] = feeds[i];
    }

    // Values of `targets`, and of what they need, from `known` ones, the graph's inputs and constants, which are taken
    // to be exact.
    Result<Values> evaluate(const std::set<TensorId>& targets, const std::map<TensorId, TensorData>& known,
                            Teller& teller) const {
        Values values;
        std::set<size_t> operations = needed(targets, known, values);
        size_t done = 0;
        for (size_t i : operations) {
            const Operation& operation = graph_.operations[i];
            if (teller.is_cancelled()) return cancelled();
            teller.at(done, operations.size(), operation.name);
            if (auto made = evaluate(operation, values); !made) return fail(std::move(made.error()));
            done++;
        }
        return values;
    }

private:
    // Operations, in the graph's order; makes room for their results and puts what is known beside it.
    std::set<size_t> needed(const std::set<TensorId>& targets, const std::map<TensorId, TensorData>& known,
                            Values& values) const {
        std::set<size_t> operations;
        std::vector<TensorId> open(targets.begin(), targets.end());
        while (!open.empty()) {
            TensorId t = open.back();
            open.pop_back();
            if (values.contains(t)) continue;
            const Tensor& tensor = graph_.tensor(t);
            if (auto given = known.find(t); given != known.end()) {
                values[t].value = given->second;
            } else if (auto fed = feeds_.find(t); fed != feeds_.end()) {
                values[t].value = fed->second;
            } else if (tensor.constant) {
                values[t].value = *tensor.constant;
            } else {
                values[t] = room_for(t);
                for (size_t i : writers_[static_cast<size_t>(t)]) {
                    operations.insert(i);
                    const Operation& operation = graph_.operations[i];
                    open.insert(open.end(), operation.inputs.begin(), operation.inputs.end());
                    open.insert(open.end(), operation.outputs.begin(), operation.outputs.end());
                }
            }
        }
        return operations;
    }

    BoundedTensor room_for(TensorId t) const {
        const TensorType& type = graph_.tensor(t).type;
        return {TensorData(is_float(type.dtype) ? DType::float64 : type.dtype, type.extents()),
                TensorData(DType::float64, type.extents())};
    }

    Result<void> evaluate(const Operation& operation, Values& values) const {
        if (!operation.body) {
            return fail({.code = "cli.no_reference",
                         .summary = fmt::format("operation '{}' has no body to compare with", operation.name),
                         .reason = "it is a kernel from outside of the language"});
        }
        std::vector<BoundedTensor> inputs, outputs;
        for (TensorId t : operation.inputs) inputs.push_back(values.at(t));
        for (TensorId t : operation.outputs) {
            // What is known stays as it is: another result of the same operation is wanted.
            outputs.push_back(values.at(t).bound.data() ? values.at(t) : room_for(t));
        }
        auto done = evaluate_body_bounded(*operation.body, inputs, outputs);
        if (!done) return done;
        for (size_t o = 0; o < outputs.size(); o++) {
            BoundedTensor& value = values.at(operation.outputs[o]);
            if (value.bound.data()) value = std::move(outputs[o]);
        }
        return {};
    }

    const Graph& graph_;
    std::vector<std::vector<size_t>> writers_;  // by tensor: operations
    std::map<TensorId, TensorData> feeds_;
};

// ---- what kernels computed

// In the order in which they are written.
class ComputedTensors {
public:
    ComputedTensors(const plan::Plan& plan, const runtime::Session& session, const std::vector<TensorData>& outputs)
        : plan_(plan), session_(session), outputs_(outputs), holds_(plan.graph_tensor) {}

    Result<std::vector<Computed>> take() {
        for (const auto* phase : {&plan_.prepare, &plan_.run}) {
            for (const auto& batch : *phase) {
                for (const auto& launch : batch) {
                    if (auto added = add(launch); !added) return fail(std::move(added.error()));
                }
            }
        }
        return std::move(list_);
    }

private:
    Result<void> add(const plan::Launch& launch) {
        std::set<TensorId> read;
        std::vector<int32_t> written;
        for (size_t i = 0; i < launch.buffers.size(); i++) {
            int32_t b = launch.buffers[i];
            if (plan::writes(plan_, launch, i))
                written.push_back(b);
            else if (TensorId tensor = holds_[static_cast<size_t>(b)]; tensor >= 0)
                read.insert(tensor);
            else
                read.insert(made_from_[b].begin(), made_from_[b].end());
        }
        for (int32_t b : written) {
            const plan::Buffer& buffer = plan_.buffers[static_cast<size_t>(b)];
            // A packed copy holds the tensor that it was made from.
            if (launch.layout && read.size() == 1) holds_[static_cast<size_t>(b)] = *read.begin();
            TensorId tensor = plan_.graph_tensor[static_cast<size_t>(b)];
            if (tensor < 0) made_from_[b].insert(read.begin(), read.end());
            if (tensor < 0 || !buffer.packed.empty()) continue;
            auto [place, added] = place_.try_emplace(b, list_.size());
            if (added) {
                auto data = contents_of(b);
                if (!data) return fail(std::move(data.error()));
                list_.push_back({buffer.name, tensor, std::move(*data), launch.layout, {}});
            }
            list_[place->second].read.insert(read.begin(), read.end());
        }
        return {};
    }

    Result<TensorData> contents_of(int32_t b) const {
        const plan::Buffer& buffer = plan_.buffers[static_cast<size_t>(b)];
        if (buffer.kind == plan::Buffer::Kind::output) return outputs_[static_cast<size_t>(buffer.index)];
        return session_.contents(b);
    }

    const plan::Plan& plan_;
    const runtime::Session& session_;
    const std::vector<TensorData>& outputs_;
    std::vector<Computed> list_;
    std::vector<TensorId> holds_;                      // by buffer
    std::map<int32_t, std::set<TensorId>> made_from_;  // by buffer that holds no tensor of the graph: a part, a sum
    std::map<int32_t, size_t> place_;                  // buffer -> place in the list
};

// ---- tensor by tensor

std::vector<int64_t> coordinates_of(int64_t element, const std::vector<int64_t>& shape) {
    std::vector<int64_t> point(shape.size(), 0);
    for (size_t d = shape.size(); d-- > 0; element /= std::max<int64_t>(shape[d], 1))
        point[d] = element % std::max<int64_t>(shape[d], 1);
    return point;
}

std::string element_text(const TensorData& data, int64_t element) {
    if (element < 0 || element >= data.size()) return "nothing";
    return is_float(data.dtype()) ? fmt::format("{:.9g}", data.real_at(element))
                                  : std::to_string(data.integer_at(element));
}

Verdict judge(const Graph& graph, const Computed& computed, const BoundedTensor& expected) {
    const Tensor& tensor = graph.tensor(computed.tensor);
    Verdict verdict{.name = computed.name,
                    .type = tensor.type.text(),
                    .operation = {},
                    .comparison = compare_bounded(computed.data, expected)};
    if (tensor.producer >= 0) verdict.operation = graph.operations[static_cast<size_t>(tensor.producer)].name;
    int64_t worst = verdict.comparison.worst;
    verdict.place = coordinates_of(std::max<int64_t>(worst, 0), expected.value.shape());
    verdict.found = element_text(computed.data, worst);
    verdict.expected = element_text(expected.value, worst);
    if (worst >= 0 && expected.bound.data()) verdict.bound = expected.bound.real_at(worst);
    return verdict;
}

TensorData as_double(const TensorData& data) {
    if (!is_float(data.dtype())) return data;
    TensorData result(DType::float64, data.shape());
    for (int64_t i = 0; i < data.size(); i++) result.set_real(i, data.real_at(i));
    return result;
}

}  // namespace

Result<std::vector<Computed>> compute(const Graph& graph, const std::vector<TensorData>& feeds, Engine& engine,
                                      plan::PlanOptions options, Diagnostics* notes) {
    options.keep_all = true;
    auto executable = compile(graph, engine, options);
    if (options.progress) options.progress->finish();
    if (!executable) return fail(std::move(executable.error()));
    const Diagnostics& told = (*executable)->plan().notes;
    if (notes) notes->insert(notes->end(), told.begin(), told.end());
    runtime::Session session(*executable, engine.pool);
    auto outputs = session.run(feeds);
    if (!outputs) return fail(std::move(outputs.error()));
    return ComputedTensors((*executable)->plan(), session, *outputs).take();
}

Result<std::vector<Verdict>> compare_with_reference(const Graph& graph, const std::vector<TensorData>& feeds,
                                                    const std::vector<Computed>& computed, const Watcher& watcher) {
    Reference reference(graph, feeds);
    Teller teller(watcher);
    std::map<TensorId, TensorData> known;
    std::vector<Verdict> verdicts;
    for (const Computed& tensor : computed) {
        std::map<TensorId, TensorData> read;
        for (TensorId t : tensor.read) {
            if (auto found = known.find(t); found != known.end() && (t != tensor.tensor || tensor.copy))
                read.insert(*found);
        }
        teller.set_tensor(verdicts.size() + 1, computed.size());
        auto values = reference.evaluate({tensor.tensor}, read, teller);
        if (!values) return fail(std::move(values.error()));
        verdicts.push_back(judge(graph, tensor, values->at(tensor.tensor)));
        known.try_emplace(tensor.tensor, tensor.data);
    }
    return verdicts;
}

Result<std::vector<Verdict>> compare_with_other(const Graph& graph, const std::vector<TensorData>& feeds,
                                                const std::vector<Computed>& computed,
                                                const std::vector<Computed>& other, const Watcher& watcher) {
    std::map<TensorId, TensorData> values_of_other;
    for (const Computed& tensor : other) values_of_other.try_emplace(tensor.tensor, tensor.data);
    std::set<TensorId> targets;
    for (const Computed& tensor : computed) targets.insert(tensor.tensor);
    Teller teller(watcher);
    auto values = Reference(graph, feeds).evaluate(targets, {}, teller);
    if (!values) return fail(std::move(values.error()));
    std::vector<Verdict> verdicts;
    for (const Computed& tensor : computed) {
        BoundedTensor& expected = values->at(tensor.tensor);
        if (auto found = values_of_other.find(tensor.tensor); found != values_of_other.end())
            expected.value = as_double(found->second);
        verdicts.push_back(judge(graph, tensor, expected));
    }
    return verdicts;
}

Result<std::vector<Verdict>> compare_tensors(Graph graph, std::vector<TensorData> feeds, Engine& engine,
                                             const ComparisonOptions& options) {
    graph = keep_sums_wide(graph);
    if (has_complex(graph)) {
        graph = lower_complex(graph);
        for (TensorData& feed : feeds) feed = feed.reals();
    }
    auto computed = compute(graph, feeds, engine, {.progress = options.progress}, options.notes);
    if (!computed) return fail(std::move(computed.error()));
    const Watcher watcher{.told = options.told, .progress = options.progress};
    if (!options.unfused) return compare_with_reference(graph, feeds, *computed, watcher);
    auto unfused = compute(graph, feeds, engine, {.fuse = false, .progress = options.progress}, options.notes);
    if (!unfused) return fail(std::move(unfused.error()));
    return compare_with_other(graph, feeds, *computed, *unfused, watcher);
}

}  // namespace heddle::inference
