#include "placing/cut_front.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <random>

namespace heddle::placing {
namespace {

constexpr double alike = 1.001;  // figures of the model are rougher than this

std::array<double, 5> labels(const FrontPoint& point) {
    return {point.costs.seconds(), static_cast<double>(point.costs.bytes), static_cast<double>(point.costs.peak_bytes),
            static_cast<double>(point.places()), static_cast<double>(point.costs.launches)};
}

std::vector<Mesh> meshes_of(int64_t places) {
    std::vector<Mesh> meshes;
    for (int64_t count = 1; count <= places; count++) {
        if (places % count != 0) continue;
        meshes.push_back({count});
        for (int64_t first = 2; first * first <= count; first++)
            if (count % first == 0) meshes.push_back({first, count / first});
    }
    return meshes;
}

// One mesh: its cuts, and a search for each weighting of costs.
class MeshSearch {
public:
    MeshSearch(const Graph& graph, const OperationKinds& kinds, Mesh mesh, System system,
               const std::vector<sharding::PlaceId>& readers)
        : graph_(graph), kinds_(kinds), mesh_(std::move(mesh)), system_(std::move(system)), readers_(readers) {}

    Result<void> prepare(ThreadPool* pool) {
        auto table = cut_table(graph_, kinds_, {mesh_, {}}, system_, pool);
        if (!table) return fail(std::move(table.error()));
        table_ = std::move(*table);
        layouts_.emplace(system_);
        search_.emplace(graph_, table_, *layouts_, readers_);
        return {};
    }

    // Time alone; then also bytes and memory, as dear as `count` scales say; what the seed draws comes last.
    std::vector<CutWeights> weightings(int count, uint64_t seed) const {
        std::vector<CutWeights> list = {{}};
        if (place_count(mesh_) == 1) return list;
        double constants = 1;
        for (const Tensor& tensor : graph_.tensors)
            if (tensor.constant && tensor.producer == no_id) constants += static_cast<double>(tensor.type.byte_size());
        double least = 0;
        for (const auto& choices : table_.choices) least += std::ranges::min(choices, {}, &CutChoice::seconds)->seconds;
        const double load = least / constants;  // all constants once: as dear as all the time
        const double send = 1 / std::max(link_figures(system_).bandwidth, 1.0);
        for (const double scale : {0.1, 1.0, 10.0, 1000.0}) {
            list.push_back({.byte = send * scale});
            list.push_back({.loaded_byte = load * scale});
        }
        std::mt19937_64 random(seed);
        const auto drawn = [&] { return std::pow(10.0, static_cast<double>(random() % 4001) / 1000.0 - 2); };
        while (static_cast<int>(list.size()) < count)
            list.push_back({.byte = send * drawn(), .loaded_byte = load * drawn()});
        list.resize(static_cast<size_t>(count));
        return list;
    }

    FrontPoint point(const CutWeights& weights, SearchEffort effort) {
        // Mixtures are there to find other ways, not the best one of some mixture.
        const bool is_time = weights.byte == 0 && weights.loaded_byte == 0;
        if (!is_time) effort.beam = effort.first_beam;
        const FoundCuts found = search_->search(weights, effort);
        FrontPoint point{
            .mesh = mesh_, .costs = search_->costs(found.choices), .is_least = is_time && found.is_least, .axes = {}};
        for (size_t o = 0; o < found.choices.size(); o++)
            point.axes.push_back(axis_names(kinds_.kind(OperationId(o)), *found.choices[o]));
        return point;
    }

private:
    const Graph& graph_;
    const OperationKinds& kinds_;
    Mesh mesh_;
    System system_;
    const std::vector<sharding::PlaceId>& readers_;
    CutTable table_;
    std::optional<Layouts> layouts_;
    std::optional<CutSearch> search_;
};

}  // namespace

bool covers(const FrontPoint& point, const FrontPoint& other) {
    const auto own = labels(point), its = labels(other);
    for (size_t i = 0; i < own.size(); i++)
        if (own[i] > alike * its[i]) return false;
    return true;
}

std::vector<FrontPoint> front_of(std::vector<FrontPoint> points) {
    std::ranges::stable_sort(points, {}, labels);
    std::vector<FrontPoint> front;
    for (FrontPoint& point : points) {
        const auto covering =
            std::ranges::find_if(front, [&](const FrontPoint& other) { return covers(other, point); });
        if (covering == front.end()) front.push_back(std::move(point));
    }
    return front;
}

Result<std::vector<FrontPoint>> search_front(const Graph& graph, const Machines& machines,
                                             const std::vector<sharding::PlaceId>& readers,
                                             const FrontOptions& options) {
    const OperationKinds kinds = kinds_of(graph, *machines.system_of(1).devices.front().target);
    std::vector<std::unique_ptr<MeshSearch>> searches;
    for (const Mesh& mesh : meshes_of(machines.places)) {
        if (!searches.empty() && options.effort.stop()) break;
        auto& own = searches.emplace_back(
            std::make_unique<MeshSearch>(graph, kinds, mesh, machines.system_of(place_count(mesh)), readers));
        if (auto made = own->prepare(options.pool); !made) return fail(std::move(made.error()));
    }
    std::mutex mutex;
    size_t done = 0;
    const auto total = 1 + (searches.size() - 1) * static_cast<size_t>(options.weightings);
    std::vector<std::vector<FrontPoint>> points(searches.size());
    // The largest meshes take longest: they begin.
    const auto work = [&](int, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            const size_t mesh = searches.size() - 1 - static_cast<size_t>(i);
            for (const CutWeights& weights : searches[mesh]->weightings(options.weightings, options.seed)) {
                if (options.effort.stop() && mesh > 0) break;
                points[mesh].push_back(searches[mesh]->point(weights, options.effort));
                const std::lock_guard lock(mutex);
                options.found(points[mesh].back(), ++done, total);
            }
        }
    };
    const auto count = static_cast<int64_t>(searches.size());
    if (options.pool)
        options.pool->run(count, 1, work);
    else
        work(0, 0, count);
    std::vector<FrontPoint> all;
    for (auto& own : points) std::ranges::move(own, std::back_inserter(all));
    return front_of(std::move(all));
}

}  // namespace heddle::placing
