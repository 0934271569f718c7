// Building a graph document by calls, from C++:
//
//     auto library = *open_library("operators");
//     GraphBuilder graph(library);
//     TensorId a = graph.tensor("A", DType::int32, {{0, 0}, {10, 10}});
//     TensorId b = graph.tensor("B", DType::int32, {{0, 0}, {10, 10}});
//     auto sum = graph.apply("add", {std::vector{a, b}});
//     GraphDocument document = graph.document();              // print_graph_json(document) is the JSON text
//     auto issues = validate(document, {*load_dialect("environments/heddle.json"), &library}).issues;
#pragma once

#include <map>
#include <string>
#include <vector>

#include "interchange/dialect.h"
#include "interchange/to_document.h"
#include "interchange/validate.h"
#include "language/library.h"
#include "symbolic/session.h"

namespace heddle::interchange {

class GraphBuilder {
public:
    explicit GraphBuilder(const Library& library) : session_(library) {}  // which outlives the builder

    // Ranges begin anywhere and end where `end` says, which is not before.
    TensorId tensor(std::string name, DType dtype, const DocumentRange& range);

    TensorId constant(std::string name, TensorData data) {
        return session_.add_constant(std::move(name), std::move(data));
    }

    // One use of an operator: its results. `name` is that of the operation; results are named after it, or by
    // `results`.
    // Codes: those of Library::find and of Session::apply; after an error the graph is as it was.
    Result<std::vector<TensorId>> apply(const std::string& operator_name, const std::vector<Argument>& inputs,
                                        const std::map<std::string, StaticValue>& parameters = {},
                                        const std::string& name = {}, const std::vector<std::string>& results = {});

    // The operations of a whole graph, as Session::add_graph adds them.
    std::vector<TensorId> add(const Graph& graph, std::vector<TensorId> known, const std::string& prefix) {
        return session_.add_graph(graph, std::move(known), prefix);
    }

    const Graph& graph() const { return session_.graph(); }
    GraphDocument document(const DocumentOptions& options = {}) const { return to_document(graph(), options); }

private:
    Session session_;
};

}  // namespace heddle::interchange
