// An ONNX model; open dimensions are 2. Every other file that it names has 256 bytes.
#include "compile.h"
#include "frontends/onnx/import.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace heddle;
    auto owner = std::make_shared<const std::string>(fuzz::text_of(data, size));
    onnx::Bytes bytes = std::as_bytes(std::span(owner->data(), owner->size()));
    static const auto file = std::make_shared<const std::string>(256, '\1');
    auto open = [](const std::string&) -> Result<onnx::DataFile> {
        return onnx::DataFile{{file, std::as_bytes(std::span(file->data(), file->size()))}, "fuzz.bin"};
    };
    fuzz::fine(onnx::parse_tensor("fuzz.pb", bytes, owner, open));
    auto model = onnx::parse_model("fuzz.onnx", bytes, owner, open);
    if (!fuzz::fine(model)) return 0;
    onnx::ImportOptions options;
    for (const onnx::OpenDimension& open : onnx::open_dimensions(*model)) options.bindings[open.name] = 2;
    auto imported = onnx::import_model(*model, fuzz::operators(), options);
    if (fuzz::fine(imported)) fuzz::compile(imported->graph);
    return 0;
}
