// The Pareto front of the ways to cut a graph over machines: each is better than every other one in something.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "placing/cut_search.h"

namespace heddle::placing {

// So many places, and what a system of some of them is.
struct Machines {
    int64_t places = 1;
    std::function<System(int64_t)> system_of;
};

// A way to cut a graph. What it costs is a vector: seconds, bytes sent, peak bytes of a place, places, launches.
struct FrontPoint {
    int32_t program = 0;  // which, of several that mean the same
    Mesh mesh;
    CutCosts costs;
    bool is_least = false;                       // over this mesh nothing takes less time, by the model
    std::vector<std::vector<std::string>> axes;  // by OperationId and dimension of the mesh; empty: none
    int64_t places() const { return place_count(mesh); }
};

// Whether it is no worse in anything, within a thousandth.
bool covers(const FrontPoint& point, const FrontPoint& other);
// Without those that others cover, by time.
std::vector<FrontPoint> front_of(std::vector<FrontPoint> points);

struct FrontOptions {
    uint64_t seed = 1;
    int weightings = 12;  // of a mesh: mixtures of time, bytes sent and memory, some of them drawn by the seed
    SearchEffort effort = {};
    ThreadPool* pool = nullptr;
    std::function<void(const FrontPoint&, size_t done, size_t total)> found = [](const FrontPoint&, size_t, size_t) {
    };  // one at a time
};

// Meshes are all divisors of the number of places, as one dimension and as two. The same seed gives the same front, unless
// `effort.stop` ends the search: then what there is, at least the way of one place. Codes: those of cut_table.
Result<std::vector<FrontPoint>> search_front(const Graph& graph, const Machines& machines,
                                             const std::vector<sharding::PlaceId>& readers,
                                             const FrontOptions& options);

}  // namespace heddle::placing
