// A system of devices, and annotations on the lines behind it, from any bytes: what is placed passes the checks of
// placements and of functions, before and behind splitting.
#include <sstream>

#include "fuzz.h"
#include "placing/module.h"
#include "placing/places.h"

namespace {

// Two readers of one tensor, a tensor of two parts, a constant.
heddle::Graph small_graph() {
    using namespace heddle;
    Graph graph;
    const TensorType type{DType::float32, {named_size("n", 8)}};
    const TensorId x = graph.add_tensor("x", type), w = graph.add_constant("w", TensorData(DType::float32, {8}));
    const TensorId a = graph.add_tensor("a", type), b = graph.add_tensor("b", type), c = graph.add_tensor("c", type);
    const auto add = [&](const char* name, std::vector<TensorId> inputs, TensorId output) {
        Operation operation;
        operation.name = name;
        operation.inputs = std::move(inputs);
        operation.outputs = {output};
        graph.add_operation(std::move(operation));
    };
    add("first", {x, w}, a);
    add("second", {a, w}, b);
    add("upper", {a, b}, c);
    add("lower", {b}, c);
    graph.inputs = {x};
    graph.outputs = {c, a};
    return graph;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace heddle;
    const std::string bytes = fuzz::text_of(data, size);
    const size_t end = bytes.find("\n--\n");
    const auto target = parse_target(fuzz::source_of(bytes.substr(0, end)));
    if (!fuzz::fine(target)) return 0;
    if (const auto places = placing::places_of(*target); fuzz::fine(places)) {
        const size_t last = places->size() - 1;
        fuzz::require(last == 0 || places->link(0, last).bandwidth > 0, "between two places there is a link");
        fuzz::require(!places->at(last).name.empty(), "a place has a name");
    }
    auto system = placing::system_of(*target);
    if (!fuzz::fine(system)) return 0;
    std::vector<std::string> texts;
    std::istringstream lines(end == std::string::npos ? "" : bytes.substr(end + 4));
    for (std::string line; std::getline(lines, line);) texts.push_back(line);
    static const Graph graph = small_graph();
    const auto annotations = placing::parse_annotations(texts, graph, *system);
    if (!fuzz::fine(annotations)) return 0;
    const auto placed = placing::place(graph, *system, *annotations);
    if (!fuzz::fine(placed)) return 0;
    fuzz::require(placing::verify(graph, *system, *annotations, *placed).has_value(), "a placement passes its check");
    fuzz::require(!placing::print(graph, *system, *placed).empty(), "a placement prints");
    placing::Module source{
        std::make_shared<const placing::System>(*system), std::make_shared<const Target>(*target), {}};
    source.add_function(placing::mixed_function("main", graph, *system, *placed));
    fuzz::require(placing::verify(source).has_value(), "mixed code passes the check");
    const auto module = placing::split(source);
    if (!fuzz::fine(module)) return 0;
    fuzz::require(placing::verify(*module).has_value(), "split code passes the check");
    fuzz::require(!placing::print(*module).empty() && !placing::print_json(*module).empty(), "a module prints");
    return 0;
}
