// A template file.
#include "fuzz.h"
#include "language/template.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace heddle;
    std::set<std::string> shown;
    for (Namespace space : {Namespace::core, Namespace::onnx}) {
        auto file = load_template_file(fuzz::source_of(fuzz::text_of(data, size)), space);
        if (!fuzz::fine(file, shown)) continue;
        for (const auto& metakernel : file->templates) fuzz::require(!print(*metakernel).empty(), "a template prints");
    }
    return 0;
}
