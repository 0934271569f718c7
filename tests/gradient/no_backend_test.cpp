// Gradients know backends by the hook of target/compile_job.h alone: none is named.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "helpers/files.h"
#include "helpers/source_folder.h"

namespace heddle {
namespace {

TEST(CompileJobs1, GradientsNameNoBackend) {
    static const std::regex backend("llvm|backends/|codegen/|c_source|ptx|cuda", std::regex::icase);
    size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(in_source("src/gradient"))) {
        const std::string text = file_text(entry.path());
        std::smatch found;
        EXPECT_FALSE(std::regex_search(text, found, backend)) << entry.path() << ": " << found.str();
        files++;
    }
    EXPECT_GE(files, 5u);
}

}  // namespace
}  // namespace heddle
