#include "text_test.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace heddle {

const std::string& TextCase::part(const std::string& name) const {
    static const std::string nothing;
    auto found = parts.find(name);
    if (found != parts.end()) return found->second;
    ADD_FAILURE() << file << ":" << line << ": no part `" << name << "`";
    return nothing;
}

std::vector<TextCase> read_text_cases(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".test") paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    std::vector<TextCase> cases;
    for (const auto& path : paths) {
        std::ifstream stream(path);
        std::string text, part;
        for (int line = 1; std::getline(stream, text); line++) {
            if (text.starts_with("=== ")) {
                cases.push_back({path.filename().string(), text.substr(4), line, {}});
                part.clear();
            } else if (text.starts_with("--- ") && !cases.empty()) {
                part = text.substr(4);
                cases.back().parts[part];
            } else if (!part.empty()) {
                cases.back().parts[part] += text + "\n";
            }
        }
    }
    return cases;
}

void expect_diagnostics(const TextCase& test, const std::string& expect, const Diagnostics& diagnostics) {
    std::string where = fmt::format("{}:{}: {}\n", test.file, test.line, test.title) + render(diagnostics);
    std::istringstream stream(expect);
    std::string line;
    size_t next = 0;
    while (std::getline(stream, line)) {
        if (line.empty() || line == "ok") continue;
        if (line.starts_with("| ")) {
            ASSERT_GT(next, 0U) << where;
            EXPECT_NE(render(diagnostics[next - 1]).find(line.substr(2)), std::string::npos)
                << "expected: " << line << "\n"
                << where;
            continue;
        }
        ASSERT_LT(next, diagnostics.size()) << "expected: " << line << "\n" << where;
        const Diagnostic& diagnostic = diagnostics[next++];
        std::string found = diagnostic.code;
        if (diagnostic.place.source) {
            auto at = diagnostic.place.source->locate(diagnostic.place.offset);
            found += fmt::format(" {}:{}", at.line, at.column);
        }
        EXPECT_EQ(line, found) << where;
    }
    EXPECT_EQ(next, diagnostics.size()) << "more diagnostics than expected\n" << where;
}

}  // namespace heddle
