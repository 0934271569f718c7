// Computations as text, and run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "flavours/session.h"

namespace heddle::flavours {
namespace {

std::string text_of(const Value& value, const Computation& computation) {
    if (value.recorded() >= 0) return computation.tensors[static_cast<size_t>(value.recorded())].name;
    std::vector<std::string> parts;
    for (const Value& part : Opened(value).parts()) parts.push_back(text_of(part, computation));
    return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

// The value with what its recorded tensors are now.
Value replaced(const Value& value, const std::vector<Value>& now) {
    if (value.recorded() >= 0) return now[static_cast<size_t>(value.recorded())];
    std::vector<Value> parts;
    for (const Value& part : Opened(value).parts()) parts.push_back(replaced(part, now));
    return Value(value.type(), value.tensor(), value.placement(), std::move(parts));
}

// Whether the value is one of this computation's.
bool is_of(const Value& value, const Computation& computation) {
    if (value.recorded() >= 0) return static_cast<size_t>(value.recorded()) < computation.tensors.size();
    if (!value.concrete() || Opened(value).data()) return false;
    return std::ranges::all_of(Opened(value).parts(), [&](const Value& part) { return is_of(part, computation); });
}

}  // namespace

std::string print(const Computation& computation) {
    std::string text;
    auto typed = [&](RecordedId id) {
        const RecordedTensor& tensor = computation.tensors[static_cast<size_t>(id)];
        return fmt::format("{}: {} {}", tensor.name, tensor.type.text(), tensor.tensor.text());
    };
    for (RecordedId id : computation.inputs) {
        text +=
            fmt::format("input {} on {}\n", typed(id), computation.tensors[static_cast<size_t>(id)].placement.text());
    }
    for (const RecordedOperation& operation : computation.operations) {
        std::vector<std::string> results, words;
        for (RecordedId id : operation.outputs) results.push_back(typed(id));
        for (const Value& input : operation.inputs) words.push_back(text_of(input, computation));
        for (const auto& [name, value] : operation.parameters)
            words.push_back(fmt::format("{}: {}", name, value.print()));
        text += fmt::format("{} = {}({}) on {}\n", fmt::join(results, ", "), operation.operator_name,
                            fmt::join(words, ", "), operation.placement.text());
    }
    return text;
}

Result<std::vector<Value>> run(const Computation& computation, Session& session, const std::vector<Value>& feeds,
                               const std::vector<Value>& results) {
    auto wrong = [&](std::string found) {
        return fail({.code = "flavours.feeds",
                     .summary = "the values fed are not the computation's inputs",
                     .expected = fmt::format("{} values of the inputs' types and placements, in an eager session",
                                             computation.inputs.size()),
                     .found = std::move(found)});
    };
    if (feeds.size() != computation.inputs.size() || session.mode() != Mode::eager)
        return wrong(fmt::format("{} values", feeds.size()));
    for (const Value& result : results) {
        if (!is_of(result, computation)) return wrong("a result of another session");
    }
    std::vector<Value> now(computation.tensors.size());
    for (size_t i = 0; i < feeds.size(); ++i) {
        size_t id = static_cast<size_t>(computation.inputs[i]);
        const RecordedTensor& input = computation.tensors[id];
        if (feeds[i].type() != input.type || feeds[i].tensor().extents() != input.tensor.extents() ||
            feeds[i].placement().text() != input.placement.text())
            return wrong(fmt::format("{}: {} {} on {}", input.name, feeds[i].type().text(), feeds[i].tensor().text(),
                                     feeds[i].placement().text()));
        now[id] = feeds[i];
    }
    for (size_t id = 0; id < now.size(); ++id) {
        const RecordedTensor& tensor = computation.tensors[id];
        if (tensor.constant) now[id] = Value(tensor.type, *tensor.constant, tensor.placement);
    }
    for (const RecordedOperation& operation : computation.operations) {
        std::vector<Value> inputs;
        for (const Value& input : operation.inputs) inputs.push_back(replaced(input, now));
        auto made = session.apply(operation.operator_name, operation.placement, inputs, operation.parameters);
        if (!made) return made;
        for (size_t i = 0; i < operation.outputs.size(); ++i)
            now[static_cast<size_t>(operation.outputs[i])] = (*made)[i];
    }
    std::vector<Value> answer;
    for (const Value& result : results) answer.push_back(replaced(result, now));
    return answer;
}

}  // namespace heddle::flavours
