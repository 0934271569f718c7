#include "running/places.h"

#include "placing/parts.h"

namespace heddle::running {
namespace {

class Cut : public inference::PlacedProgram {
public:
    explicit Cut(std::shared_ptr<Together> together) : together_(std::move(together)) {}

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
        auto program = program_for(prune(graph), options_, readers);
        if (!program) return failed(std::move(program.error()));
        auto together = options_.transport
                            ? Together::join(std::move(program->processes), options_.transport, "", options_.threads,
                                             options_.folder)
                            : Together::load(std::move(program->processes), options_.threads, options_.folder);
        if (!together) return fail(std::move(together.error()));
        return std::make_shared<Cut>(std::move(*together));
    }

private:
    std::unexpected<Diagnostics> failed(Diagnostics why) {
        if (options_.transport) options_.transport->fail(why);
        return fail(std::move(why));
    }

    PlacesOptions options_;
};

}  // namespace

Result<placing::ShardedProgram> program_for(const Graph& graph, const PlacesOptions& options,
                                            const std::vector<sharding::PlaceId>& readers) {
    auto system =
        placing::system_of_processes(options.target, static_cast<int32_t>(placing::places_of(options.said.mesh)));
    if (!system) return fail(std::move(system.error()));
    return placing::sharded(graph, options.said, std::move(*system), readers);
}

std::shared_ptr<inference::Places> make_places(PlacesOptions options) {
    return std::make_shared<CutPlaces>(std::move(options));
}

}  // namespace heddle::running
