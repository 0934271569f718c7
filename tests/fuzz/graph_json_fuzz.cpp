// A graph as JSON.
#include "fuzz.h"
#include "graph/json.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace heddle;
    auto document = parse_graph_json(fuzz::source_of(fuzz::text_of(data, size)));
    if (!fuzz::fine(document)) return 0;
    fuzz::require_round_trip(*document, parse_graph_json, print_graph_json);
    fuzz::require(*parse_graph_json(fuzz::source_of(print_graph_json(*document))) == *document,
                  "a document comes back");
    return 0;
}
