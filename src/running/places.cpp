#include "running/places.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "placing/parts.h"
#include "target/processes.h"
#include "transport/agree.h"

namespace heddle::running {
namespace {

class CutProgram : public inference::PlacedProgram {
public:
    explicit CutProgram(std::shared_ptr<Together> together) : together_(std::move(together)) {}

    Result<std::vector<TensorData>> run(const std::vector<TensorData>& inputs) override {
        auto results = together_->run(inputs);
        if (!results) return fail(std::move(results.error()));
        return std::move(results->front());
    }

private:
    std::shared_ptr<Together> together_;
};

class CutPlaces : public inference::Places {
public:
    explicit CutPlaces(PlacesOptions options) : options_(std::move(options)) {}

    Result<std::shared_ptr<inference::PlacedProgram>> compile(const Graph& graph) override {
        std::vector<sharding::PlaceId> readers = {sharding::PlaceId(0)};
        if (options_.transport)
            for (int p = 1; p < options_.transport->size(); p++) readers.emplace_back(p);
        auto started = start(prune(graph), options_, readers);
        if (!started) return fail(std::move(started.error()));
        return std::make_shared<CutProgram>(std::move(started->together));
    }

private:
    PlacesOptions options_;
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

Result<Started> started(const Graph& graph, const PlacesOptions& options,
                        const std::vector<sharding::PlaceId>& readers) {
    const auto said = cuts_of(options);
    if (!said) return fail(said.error());
    const auto target = common_target(options);
    if (!target) return fail(target.error());
    auto system = placing::system_of_processes(*target, static_cast<int32_t>(placing::place_count(said->mesh)));
    if (!system) return fail(std::move(system.error()));
    auto program = placing::sharded(graph, *said, std::move(*system), readers);
    if (!program) return fail(std::move(program.error()));
    auto processes = std::move(program->processes);
    auto together = options.transport
                        ? Together::join(std::move(processes), options.transport, options.threads, options.folder)
                        : Together::load(std::move(processes), options.threads, options.folder);
    if (!together) return fail(std::move(together.error()));
    return Started{std::move(*program), std::move(*together)};
}

}  // namespace

Result<Started> start(const Graph& graph, const PlacesOptions& options, const std::vector<sharding::PlaceId>& readers) {
    auto made = started(graph, options, readers);
    if (!made && options.transport) options.transport->fail(made.error());
    return made;
}

std::shared_ptr<inference::Places> make_places(PlacesOptions options) {
    return std::make_shared<CutPlaces>(std::move(options));
}

}  // namespace heddle::running
