// Values that follow from the offered values of inputs, or from sizes by what is not followed (size_evaluation.h), computed
// only where one must be known.
#include <algorithm>
#include <optional>

#include "evaluate/evaluate.h"
#include "symbolic/session_state.h"
#include "symbolic/size_evaluation.h"
#include "zspace/size_facts.h"

namespace heddle {
namespace {

// What has to be computed for a tensor, and the inputs that it starts from.
struct Ancestry {
    std::set<TensorId> inputs, known, tensors;
    std::set<OperationId> operations;  // in order: producers come first
    double work = 0;
};

// Nothing if something is too large, opaque, or an input of which nothing is offered.
std::optional<Ancestry> ancestry_of(TensorId tensor, const Session::State& session) {
    Ancestry ancestry;
    std::vector<TensorId> open{tensor};
    while (!open.empty()) {
        const TensorId id = open.back();
        open.pop_back();
        const Tensor& needed = session.graph.tensor(id);
        if (needed.type.elements() > largest_folded) return std::nullopt;
        if (session.known_value(id)) {
            ancestry.known.insert(id);
            continue;
        }
        if (needed.producer < 0) {
            if (!session.offered.contains(id)) return std::nullopt;
            ancestry.inputs.insert(id);
            continue;
        }
        if (!ancestry.tensors.insert(id).second) continue;
        // The operations of one application follow one another; each may make a part of the tensor.
        for (OperationId number = needed.producer; number >= 0; --number) {
            const Operation& operation = session.graph.operations[static_cast<size_t>(number)];
            if (std::find(operation.outputs.begin(), operation.outputs.end(), id) == operation.outputs.end()) break;
            if (!ancestry.operations.insert(number).second) continue;
            const auto work = operation.body ? cheap_work(*operation.body) : std::nullopt;
            if (!work) return std::nullopt;
            ancestry.work += *work;
            open.insert(open.end(), operation.inputs.begin(), operation.inputs.end());
        }
    }
    return ancestry;
}

// What follows from it holds for these sizes alone.
void tell_numbers_of(const Ancestry& ancestry, const Session::State& session) {
    for (TensorId id : ancestry.known) {
        if (const auto* sizes = session.known_sizes(id)) std::ranges::for_each(*sizes, &SizeQuotient::value);
    }
    for (OperationId number : ancestry.operations) tell_numbers(*session.graph.operations[static_cast<size_t>(number)].body, {});
}

}  // namespace

const TensorData* Session::State::decide(TensorId tensor) {
    if (const TensorData* known = known_value(tensor)) return known;
    const auto ancestry = [&] {
        const PausedFacts paused;  // told where it is computed
        return ancestry_of(tensor, *this);
    }();
    if (!ancestry || !take_work(ancestry->work)) return nullptr;
    if (asks && !ancestry->inputs.empty() && !offered.contains(tensor)) return nullptr;
    tell_numbers_of(*ancestry, *this);
    std::unordered_map<TensorId, TensorData> values;
    const auto value_of = [&](TensorId id) -> const TensorData& {
        if (const TensorData* known = known_value(id)) return *known;
        auto found = values.find(id);
        return found != values.end() ? found->second : offered.at(id);
    };
    for (OperationId number : ancestry->operations) {
        const Operation& operation = graph.operations[static_cast<size_t>(number)];
        std::vector<TensorData> inputs, results;
        for (TensorId input : operation.inputs) inputs.push_back(value_of(input));
        for (TensorId output : operation.outputs) {
            const TensorType& type = graph.tensor(output).type;
            auto [entry, made] = values.try_emplace(output, type.dtype, type.extents());
            results.push_back(entry->second);
        }
        if (!evaluate_body(*operation.body, inputs, results, Precision::body)) return nullptr;
    }
    deciding_inputs.insert(ancestry->inputs.begin(), ancestry->inputs.end());
    for (TensorId id : ancestry->tensors) decided.emplace(id, values.at(id));
    return ancestry->tensors.empty() ? &offered.at(tensor) : &decided.at(tensor);
}

void Session::offer_value(TensorId input, TensorData value) {
    const TensorType& type = state_->graph.tensor(input).type;
    if (value.dtype() != type.dtype || value.shape() != numbers_of(type.shape)) return;
    state_->offered.insert_or_assign(input, std::move(value));
}
void Session::ask() { state_->asks = true; }
void Session::answer(std::vector<TensorId> answers) { state_->answers = std::move(answers); }
TensorId Session::asked() const { return state_->asked; }
const TensorData* Session::decide(TensorId tensor) { return state_->decide(tensor); }
std::vector<TensorId> Session::deciding_inputs() const {
    return {state_->deciding_inputs.begin(), state_->deciding_inputs.end()};
}

}  // namespace heddle
