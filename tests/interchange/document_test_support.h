// Documents of the tests: files, and quick changes of them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "helpers/codes.h"
#include "helpers/files.h"
#include "helpers/library.h"
#include "helpers/source_folder.h"
#include "interchange/graph_builder.h"
#include "interchange/validate.h"

namespace heddle::interchange {

inline GraphDocument parsed(const std::string& text) {
    auto document = parse_graph_json(std::make_shared<const SourceText>("graph.json", text));
    EXPECT_TRUE(document) << render(document.error()) << text;
    return document ? *document : GraphDocument{};
}

// An operation graph with a masked add, and one of an add with two applications.
inline std::string masked_add() { return file_text("tests/interchange/graphs/masked_add.json"); }
inline std::string sharded_add() { return file_text("tests/interchange/graphs/sharded_add.json"); }

inline Dialect dialect(const std::string& name) {
    auto loaded = load_dialect(in_source("environments/") + name + ".json");
    EXPECT_TRUE(loaded) << render(loaded.error());
    return loaded ? *loaded : Dialect{};
}

inline Diagnostics issues_of(const GraphDocument& document, const std::string& environment = "loom") {
    return validate(document, {dialect(environment), &library(), nullptr}).issues;
}

inline std::string uuid(int number) { return fmt::format("00000000-0000-4000-8000-{:012x}", number); }

inline DocumentNode& node(GraphDocument& document, const std::string& id) {
    for (DocumentNode& node : document.nodes) {
        if (node.id == id) return node;
    }
    ADD_FAILURE() << "no node " << id;
    return document.nodes.at(0);
}

template <typename Body>
Body& body(GraphDocument& document, int number) {
    return std::get<Body>(node(document, uuid(number)).body);
}

inline std::string param(const Diagnostic& issue, const std::string& name) {
    for (const auto& [key, value] : issue.params) {
        if (key == name) return value;
    }
    return "";
}

}  // namespace heddle::interchange
