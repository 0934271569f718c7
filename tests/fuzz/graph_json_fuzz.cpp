// A graph as JSON, and whether its parts fit together.
#include "fuzz.h"
#include "interchange/validate.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace heddle;
    using namespace heddle::interchange;
    auto source = fuzz::source_of(fuzz::text_of(data, size));
    auto document = parse_graph_json(source);
    if (!fuzz::fine(document)) return 0;
    fuzz::require_round_trip(*document, parse_graph_json, print_graph_json);
    fuzz::require(*parse_graph_json(fuzz::source_of(print_graph_json(*document))) == *document,
                  "a document comes back");
    const std::vector<std::string> any = {"*"};
    Dialect dialect{.node_types = any, .tag_types = any, .dtypes = any, .kernels = any};
    auto validation = validate(*document, {.dialect = dialect, .source = source});
    render(validation.issues);
    return 0;
}
