#include "running/places.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "placing/parts.h"
#include "running/spread.h"
#include "target/processes.h"
#include "transport/agree.h"

namespace heddle::running {
namespace {

using inference::SpreadTensor;
using inference::Value;

sharding::Spread spread_of(const SpreadTensor& tensor) {
    sharding::Spread spread;
    for (const SpreadTensor::Part& part : tensor.parts) spread.emplace_back(part.place, part.box);
    return spread;
}

class CutPlaces : public inference::Places {
public:
    explicit CutPlaces(PlacesOptions options) : options_(std::move(options)) {}

    Result<std::shared_ptr<inference::PlacedProgram>> compile(const Graph& graph,
                                                              const std::vector<plan::Donation>& states,
                                                              const std::vector<inference::Value>& inputs) override;
    Result<TensorData> gather(const SpreadTensor& tensor) override {
        return gathered(tensor, options_.transport.get());
    }
    TensorData whole(const SpreadTensor& tensor) const override { return *gathered(tensor, nullptr); }

    // Code running.spread: it lies at other places.
    Result<void> check(const SpreadTensor& tensor) const;

private:
    int64_t count() const;
    std::string text() const {
        return fmt::format("{} {}", count(), options_.transport ? "processes" : "threads of one process");
    }

    PlacesOptions options_;
};

// How it was cut, and which of its values are parts.
class CutProgram : public inference::PlacedProgram {
public:
    CutProgram(Started started, const Graph& graph, const std::vector<plan::Donation>& states,
               std::shared_ptr<CutPlaces> places)
        : started_(std::move(started)), places_(std::move(places)) {
        const sharding::Spreads& spreads = started_.program.cutting.spreads;
        for (TensorId input : graph.inputs) {
            const auto spread = spreads.inputs.find(input);
            inputs_.push_back(spread == spreads.inputs.end() ? std::nullopt : std::optional(spread->second));
        }
        for (size_t i = 0; i < graph.outputs.size(); i++) {
            const Tensor& tensor = graph.tensor(graph.outputs[i]);
            const auto spread = spreads.outputs.find(i);
            outputs_.push_back({tensor.name, tensor.type, spread == spreads.outputs.end() ? nullptr : &spread->second});
        }
        for (const auto& [output, input] : states)
            outputs_[static_cast<size_t>(output)].name = graph.tensor(graph.inputs[static_cast<size_t>(input)]).name;
    }

    bool takes(const std::vector<Value>& inputs) const override {
        for (size_t i = 0; i < inputs.size(); i++)
            if (inputs[i].spread &&
                (!inputs_[i] || spread_of(*inputs[i].spread) != *inputs_[i] || !places_->check(*inputs[i].spread)))
                return false;
        return true;
    }

    Result<std::vector<Value>> run(const std::vector<Value>& inputs) override {
        std::vector<std::vector<TensorData>> arguments;
        for (size_t own = 0; own < started_.together->size(); own++)
            arguments.push_back(arguments_of(inputs, started_.together->rank(own)));
        auto results = started_.together->run(arguments);
        if (!results) return fail(std::move(results.error()));
        return values(*results);
    }

private:
    // What is whole, then parts.
    std::vector<TensorData> arguments_of(const std::vector<Value>& inputs, int32_t place) const {
        std::vector<TensorData> arguments;
        for (size_t i = 0; i < inputs.size(); i++)
            if (!inputs_[i]) arguments.push_back(*inputs[i].tensor);
        for (size_t i = 0; i < inputs.size(); i++) {
            if (!inputs_[i]) continue;
            for (size_t part = 0; part < inputs_[i]->size(); part++) {
                const auto& [at, box] = (*inputs_[i])[part];
                if (at != place) continue;
                arguments.push_back(inputs[i].spread ? inputs[i].spread->parts[part].here
                                                     : box_of(*inputs[i].tensor, box));
            }
        }
        return arguments;
    }

    // Results by process that runs here, of which the first has all that is whole.
    std::vector<Value> values(std::vector<std::vector<TensorData>>& results) const {
        std::vector<Value> values(outputs_.size());
        std::vector<size_t> next(results.size(), 0);
        const auto take = [&](size_t own) {
            TensorData& result = results[own][next[own]++];
            return result.owned() ? std::move(result) : result.clone();  // what is an input, too, is the caller's
        };
        for (size_t i = 0; i < outputs_.size(); i++)
            if (!outputs_[i].spread) values[i] = Value::of(take(0));
        for (size_t i = 0; i < outputs_.size(); i++)
            if (outputs_[i].spread) values[i] = Value::of_spread(spread_value(outputs_[i], take));
        return values;
    }

    struct Output {
        std::string name;
        TensorType type;
        const sharding::Spread* spread;  // null: it is whole
    };

    template <typename Take>
    std::shared_ptr<const SpreadTensor> spread_value(const Output& output, const Take& take) const {
        auto value = std::make_shared<SpreadTensor>(SpreadTensor{.name = output.name,
                                                                 .dtype = output.type.dtype,
                                                                 .shape = output.type.extents(),
                                                                 .parts = {},
                                                                 .places = places_});
        for (const auto& [at, box] : *output.spread) {
            auto& part = value->parts.emplace_back(at.number(), box, TensorData());
            for (size_t own = 0; own < started_.together->size(); own++)
                if (started_.together->rank(own) == at.number()) part.here = take(own);
        }
        return value;
    }

    Started started_;
    std::shared_ptr<CutPlaces> places_;
    std::vector<std::optional<sharding::Spread>> inputs_;  // none: it is whole
    std::vector<Output> outputs_;
};

Result<placing::SaidCuts> cuts_of(const PlacesOptions& options) {
    placing::SaidCuts said = options.said;
    const int processes = options.transport ? options.transport->size() : 1;
    if (said.mesh.empty()) said.mesh = {processes};
    if (!options.transport || placing::place_count(said.mesh) == processes) return said;
    return fail({.code = "transport.size",
                 .summary = "a program is cut for another number of places than there are processes",
                 .expected = fmt::format("{} places", processes),
                 .found = fmt::format("a mesh of {}", fmt::join(said.mesh, " x ")),
                 .remedy = "start as many processes as there are places, or cut into as many parts"});
}

// What all processes reckon with: as many cores as they use. Code is made for each one's own processor, so that names and
// features are left out.
Result<Target> common_target(const PlacesOptions& options) {
    const int processes = options.transport ? options.transport->size() : 1;
    Target own = options.threads > 0 ? with_cores(options.target, options.threads * processes) : options.target;
    if (!options.transport) return own;
    own.cpu.clear();
    own.features.clear();
    auto text = transport::first_says(*options.transport, print(own));
    if (!text) return fail(std::move(text.error()));
    return parse_target(std::make_shared<SourceText>("target of process 0", std::move(*text)));
}

std::vector<Inventory> inventories_for(const PlacesOptions& options, size_t places) {
    return inventories_here(options.transport ? 1 : places, options.threads, options.kernels);
}

Result<Started> started(const Graph& graph, const PlacesOptions& options, const std::vector<sharding::PlaceId>& readers,
                        const placing::SaidParts& parts) {
    const auto said = cuts_of(options);
    if (!said) return fail(said.error());
    const auto target = common_target(options);
    if (!target) return fail(target.error());
    auto system = placing::system_of_processes(*target, static_cast<int32_t>(placing::place_count(said->mesh)));
    if (!system) return fail(std::move(system.error()));
    auto program = placing::sharded(graph, *said, std::move(*system), readers, parts);
    if (!program) return fail(std::move(program.error()));
    auto processes = std::move(program->processes);
    const std::vector<Inventory> here =
        options.here.empty() ? inventories_for(options, processes.size()) : options.here;
    auto together = options.transport ? Together::join(std::move(processes), options.transport, here.front())
                                      : Together::load(std::move(processes), here);
    if (!together) return fail(std::move(together.error()));
    return Started{std::move(*program), std::move(*together)};
}

int64_t CutPlaces::count() const {
    if (!options_.said.mesh.empty()) return placing::place_count(options_.said.mesh);
    return options_.transport ? options_.transport->size() : 1;
}

Result<void> CutPlaces::check(const SpreadTensor& tensor) const {
    const auto* lies = dynamic_cast<const CutPlaces*>(tensor.places.get());
    if (lies && lies->options_.transport == options_.transport && lies->count() == count()) return {};
    return fail({.code = "running.spread",
                 .summary = fmt::format("'{}' lies at other places than those that run the program", tensor.name),
                 .expected = text(),
                 .found = lies ? lies->text() : "",
                 .remedy = "gather() it, and give the array",
                 .params = {{"tensor", tensor.name}}});
}

Result<std::shared_ptr<inference::PlacedProgram>> CutPlaces::compile(const Graph& graph,
                                                                     const std::vector<plan::Donation>& states,
                                                                     const std::vector<Value>& inputs) {
    placing::SaidParts parts;
    Diagnostics problems;
    for (size_t i = 0; i < inputs.size(); i++) {
        if (!inputs[i].spread) continue;
        if (auto fine = check(*inputs[i].spread); !fine)
            problems.insert(problems.end(), fine.error().begin(), fine.error().end());
        parts.inputs[i] = spread_of(*inputs[i].spread);
    }
    if (!problems.empty()) return fail(std::move(problems));
    for (const auto& [output, input] : states)
        parts.states.emplace_back(static_cast<size_t>(input), static_cast<size_t>(output));
    std::vector<sharding::PlaceId> readers = {sharding::PlaceId(0)};
    if (options_.transport)
        for (int p = 1; p < options_.transport->size(); p++) readers.emplace_back(p);
    if (options_.here.empty()) options_.here = inventories_for(options_, static_cast<size_t>(count()));
    const Graph pruned = prune(graph);
    auto started = start(pruned, options_, readers, parts);
    if (!started) return fail(std::move(started.error()));
    return std::make_shared<CutProgram>(std::move(*started), pruned, states,
                                        std::static_pointer_cast<CutPlaces>(shared_from_this()));
}

}  // namespace

Result<Started> start(const Graph& graph, const PlacesOptions& options, const std::vector<sharding::PlaceId>& readers,
                      const placing::SaidParts& parts) {
    auto made = started(graph, options, readers, parts);
    if (!made && options.transport) options.transport->fail(made.error());
    return made;
}

std::shared_ptr<inference::Places> make_places(PlacesOptions options) {
    return std::make_shared<CutPlaces>(std::move(options));
}

}  // namespace heddle::running
