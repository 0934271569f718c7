// Libraries of operators: the shipped one, and texts of a test. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "helpers/source_folder.h"
#include "language/library.h"

namespace heddle {

inline void add_text(Library& library, const std::string& text) {
    auto added = library.add_source(std::make_shared<const SourceText>("test.yaml", text));
    EXPECT_TRUE(added) << (added ? "" : render(added.error()));
}

inline Library library_of(const std::string& text) {
    Library library;
    add_text(library, text);
    return library;
}

// The shipped operators, and a text behind them.
inline Library library_with(const std::string& text = {}) {
    auto library = open_library(in_source("operators"));
    EXPECT_TRUE(library) << (library ? "" : render(library.error()));
    if (!text.empty()) add_text(*library, text);
    return std::move(*library);
}

inline const Library& library() {
    static const Library library = library_with();
    return library;
}

}  // namespace heddle
