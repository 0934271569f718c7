// How long the choice of cuts takes, and what it finds.
//
//     build/bench_cuts MODEL.onnx CUTS [DIMENSION=N ...]
//
// CUTS as --shard takes them: "4", "2,2", "batch=4".
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "helpers/source_folder.h"
#include "inference/model.h"
#include "placing/choose_cuts.h"
#include "placing/parts.h"

namespace heddle {
namespace {

template <typename T>
T expect(Result<T> result) {
    if (!result) {
        std::fputs(render(result.error()).c_str(), stderr);
        std::exit(1);
    }
    return std::move(*result);
}

int choose(int count, char** words) {
    std::map<std::string, int64_t> sizes;
    for (int i = 3; i < count; i++) {
        const std::string word = words[i];
        sizes[word.substr(0, word.find('='))] = std::atoll(word.substr(word.find('=') + 1).c_str());
    }
    const auto said = expect(placing::parse_cuts({words[2]}));
    const Library library = expect(open_library(in_source("operators")));
    const auto model = expect(onnx::read_model(words[1]));
    const std::vector<const TensorData*> none(inference::input_names(model).size(), nullptr);
    const Graph graph = expect(inference::specialise(model, library, none, sizes));
    const auto places = static_cast<int32_t>(placing::places_of(said.mesh));
    const auto begin = std::chrono::steady_clock::now();
    const auto cutting = expect(placing::choose_cuts(graph, said, placing::system_of_processes(detect_host(), places, 1e10, 1e-5), {sharding::PlaceId(0)}));
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (size_t o = 0; o < graph.operations.size(); o++)
        fmt::print("{}: {}\n", graph.operations[o].name, fmt::join(cutting.axes[o], ", "));
    fmt::print("{} operations in {:.3f} s: compute {:.6f} s, messages {:.6f} s, {} bytes\n", graph.operations.size(), took,
               cutting.compute_seconds, cutting.send_seconds, cutting.bytes);
    return 0;
}

}  // namespace
}  // namespace heddle

int main(int count, char** words) { return count < 3 ? 2 : heddle::choose(count, words); }
