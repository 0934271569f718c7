#include "inference/model_program.h"

#include "inference/places.h"

namespace heddle::inference {

StagedModel* ModelProgram::staged(bool make) {
    const std::lock_guard lock(mutex_);
    if (!staged_ && make) staged_ = std::make_unique<StagedModel>(model_, library_, compiled_by(programs_), bindings_);
    return staged_.get();
}

// A value that decides has been another one before.
bool ModelProgram::has_changed(const Graph& graph) {
    const std::lock_guard lock(mutex_);
    bool changed = false;
    for (TensorId input : graph.inputs) {
        const Tensor& tensor = graph.tensor(input);
        if (!tensor.constant) continue;
        const auto [known, is_new] = decided_.try_emplace(tensor.name, *tensor.constant);
        changed = changed || !(is_new || same_value(known->second, *tensor.constant));
    }
    return changed;
}

Result<std::vector<Value>> ModelProgram::run_as_graph(const std::vector<Value>& inputs, bool grow,
                                                      const RunWatch& watch) {
    const Specialise made = [&](const std::vector<TensorData>& given, Progress* progress) -> Result<Graph> {
        auto graph = specialise_(given, progress);
        if (graph && may_be_staged_ && (holds_for_little(*graph) || has_changed(*graph)))
            return fail(Diagnostic{.code = "onnx.open_branch", .summary = "values of inputs decide"});
        return graph;
    };
    return programs_.run(inputs, grow, made, watch.progress, watch.profile);
}

// Once in stages, always in stages.
Result<std::vector<Value>> ModelProgram::run(const std::vector<Value>& inputs, bool grow, const RunWatch& watch) {
    StagedModel* stages = staged(false);
    if (!stages) {
        auto results = run_as_graph(inputs, grow, watch);
        if (results || !may_be_staged_ || !needs_stages(results.error())) return results;
        stages = staged(true);
    }
    std::vector<Value> values;
    size_t next = 0;
    for (const bool read : is_read_) {
        const Value& given = read ? inputs[next++] : Value();
        if (!given.spread) {
            values.push_back(given.dense());
            continue;
        }
        auto whole = given.spread->places->gather(*given.spread);
        if (!whole) return fail(std::move(whole.error()));
        values.push_back(Value::of(std::move(*whole)));
    }
    return stages->run(std::move(values), {watch.progress, watch.profile, programs_.limit_of_work()});
}

}  // namespace heddle::inference
