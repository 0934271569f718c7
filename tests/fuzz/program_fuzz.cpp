// A program of calls. Behind a line `---` a template file may follow, whose operators it then calls instead of those of
// the library. The inputs are always the same.
#include "compile.h"
#include "symbolic/program.h"

namespace {

using namespace heddle;

const std::vector<ProgramInput>& inputs() {
    static const std::vector<ProgramInput> all = {
        {"x", {DType::float32, {named_size("batch", 2), 3, 4}}},
        {"v", {DType::float32, {4}}},
        {"m", {DType::float32, {4, 4}}},
        {"image", {DType::float32, {1, 2, 5, 5}}},
        {"ids", {DType::int64, {3}}},
        {"bytes", {DType::uint8, {4, 4}}},
        {"flags", {DType::boolean, {2, 3, 4}}},
        {"half", {DType::float16, {4, 4}}},
        {"small", {DType::float8e4m3fn, {4, 4}}},
        {"nibbles", {DType::int4, {4, 4}}},
    };
    return all;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string text = fuzz::text_of(data, size);
    Library own;
    bool has_own = false;
    if (size_t at = text.find("\n---\n"); at != std::string::npos) {
        has_own = true;
        if (!fuzz::fine(own.add_source(fuzz::source_of(text.substr(at + 5))))) return 0;
        text.resize(at);
    }
    auto graph = build_program(fuzz::source_of(text), has_own ? own : fuzz::operators(), inputs());
    if (fuzz::fine(graph)) fuzz::compile(*graph);
    return 0;
}
