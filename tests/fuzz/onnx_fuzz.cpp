// An ONNX model, and its gradient with respect to all inputs and weights; open dimensions are 2. Every other file that it
// names has 256 bytes.
#include "compile.h"
#include "frontends/onnx/import.h"
#include "gradient/gradient.h"

namespace heddle {
namespace {

void differentiate(const onnx::OnnxModel& model, onnx::ImportOptions options) {
    for (const onnx::OnnxWeight& weight : onnx::weights(model)) {
        options.free_weights.insert(weight.name);
        options.values.emplace(weight.name, weight.data);
    }
    auto imported = onnx::import_model(model, fuzz::operators(), options);
    if (!fuzz::fine(imported)) return;
    std::vector<TensorId> wanted = imported->graph.inputs;
    std::erase_if(wanted, [&](TensorId id) { return !is_float(imported->graph.tensor(id).type.dtype); });
    if (wanted.empty()) return;
    auto derived = gradient::value_and_gradient(imported->graph, wanted, imported->graph.outputs);
    if (fuzz::fine(derived)) fuzz::compile(*derived);
}

}  // namespace
}  // namespace heddle

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
    if (!fuzz::fine(imported)) return 0;
    fuzz::compile(imported->graph);
    differentiate(*model, options);
    return 0;
}
