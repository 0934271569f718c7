// Tests as text: a file of cases, each with named parts, that anyone can read and extend.
//
//     === a title
//     --- template
//     ... the input ...
//     --- expect
//     language.unknown_name 5:14
//     | did you mean x?
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/diagnostic.h"

namespace heddle {

struct TextCase {
    std::string file;  // the file's name without folder
    std::string title;
    int line = 0;                              // of the title, from 1
    std::map<std::string, std::string> parts;  // text with its line ends

    // A part that must be there.
    const std::string& part(const std::string& name) const;
};

// All cases of all *.test files of a folder, in the order of names and lines.
std::vector<TextCase> read_text_cases(const std::filesystem::path& folder);

// `expect` is "ok", or one line per diagnostic in order: its code and, where it has a place, line:column. A line that
// begins with `| ` must occur in the rendered text of the diagnostic above it.
void expect_diagnostics(const TextCase& test, const std::string& expect, const Diagnostics& diagnostics);

}  // namespace heddle
