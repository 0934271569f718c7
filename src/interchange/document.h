// Graphs as JSON documents, at the edge of the program only: the published Loom layout, schema 2024-01. No pass works
// on a document; whether its nodes fit together (ranges, cycles, cover) is not checked here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/diagnostic.h"
#include "zspace/box.h"

namespace heddle::interchange {

// A box of integers: `end` is exclusive, both have a number a dimension.
using DocumentRange = Box;

struct DocumentSelection {
    std::string tensor_id;
    DocumentRange range;
    bool operator==(const DocumentSelection& other) const = default;
};

// start = projection * point + offset, of `shape`; rows are tensor dimensions, columns index dimensions. A body may
// guard its reads: in the dimensions that `clip` numbers, what lies outside of the operation's selection does not
// count.
struct DocumentProjection {
    std::vector<std::vector<int64_t>> projection;
    std::vector<int64_t> offset;
    std::vector<int64_t> shape;
    std::optional<std::vector<int64_t>> clip = std::nullopt;  // our own addition: printed only if it is there
    bool operator==(const DocumentProjection& other) const = default;
};

// By parameter name, in the order of the file.
using DocumentSelections = std::vector<std::pair<std::string, std::vector<DocumentSelection>>>;
using DocumentProjections = std::vector<std::pair<std::string, std::vector<DocumentProjection>>>;

struct DocumentSignature {
    DocumentProjections inputs, outputs;
    bool operator==(const DocumentSignature& other) const = default;
};

struct NoteBody {
    std::string message;
    bool operator==(const NoteBody& other) const = default;
};

struct TensorBody {
    std::string dtype;  // as the file spells it
    DocumentRange range;
    bool operator==(const TensorBody& other) const = default;
};

// Members that a file may leave out are printed only if they are there.
struct OperationBody {
    std::string kernel;
    std::optional<std::vector<std::pair<std::string, std::string>>>
        params;  // name and JSON text (interchange/json_text.h)
    std::optional<DocumentSelections> inputs, outputs;
    bool operator==(const OperationBody& other) const = default;
};

struct ApplicationBody {
    std::string operation_id;
    std::optional<DocumentSelections> inputs, outputs;
    bool operator==(const ApplicationBody& other) const = default;
};

struct DocumentTags {
    std::optional<DocumentSignature> signature;  // IPFSignature: of an operation
    std::optional<DocumentRange> index;          // IPFIndex: of an operation or an application
    std::optional<std::string> sequence_point;   // IOSequencePoint: any JSON, as text (interchange/json_text.h)
    std::vector<std::string> order;              // of the names in the file, where it is not the one above; else empty
    bool operator==(const DocumentTags& other) const = default;
};

struct DocumentNode {
    std::string id;  // a UUID in small letters
    std::optional<std::string> label;
    std::variant<NoteBody, TensorBody, OperationBody, ApplicationBody> body;  // the node's type
    std::optional<DocumentTags> tags;
    bool operator==(const DocumentNode& other) const = default;
};

struct GraphDocument {
    std::string id;
    std::vector<DocumentNode> nodes;  // sorted by id
    bool operator==(const GraphDocument& other) const = default;
};

// Strict: a key that the layout does not name is an error. The older form (`annotations`, `annotation_types`) is read
// too.
// Errors; those of the layout have the JSON path of their place as parameter `path`: graph.json_syntax,
// graph.json_limit (text, memory or depth), graph.json_key (unknown, twice, missing), graph.json_type,
// graph.json_uuid (malformed, or twice), graph.json_name, graph.json_node_type, graph.json_tag, graph.json_range (an
// end before its start, lengths that differ).
Result<GraphDocument> parse_graph_json(std::shared_ptr<const SourceText> source);

// Two spaces, keys in the layout's order (tags in the file's), vectors of numbers on one line, nodes sorted by id, a
// line end at the end.
// What was printed so parses and prints to the same bytes.
std::string print_graph_json(const GraphDocument& document);

}  // namespace heddle::interchange
