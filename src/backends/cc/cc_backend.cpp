#include "backends/cc/cc_backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/c/c_source.h"
#include "schedules/tree.h"
#include "support/progress.h"

namespace heddle::backends {
namespace {

class CcKernels : public codegen::CompiledKernels {
public:
    CcKernels(std::shared_ptr<LoadedLibrary> library, std::vector<codegen::KernelFunction> functions)
        : library_(std::move(library)), functions_(std::move(functions)) {}
    codegen::KernelFunction function(size_t index) const override { return functions_[index]; }

private:
    std::shared_ptr<LoadedLibrary> library_;
    std::vector<codegen::KernelFunction> functions_;
};

std::string function_name(const codegen::Tree& tree, const Target& target) {
    return "kernel_" + schedules::key(tree, target);
}

}  // namespace

std::vector<std::string> CcBackend::flags() const {
    return {fmt::format("-O{}", optimise_), "-march=native", "-std=gnu11"};
}

Result<CompileConfig> CcBackend::compile_config(const CompileRequest& request) const {
    return CompileConfig{name(), print(request.target), fmt::format("{}", fmt::join(flags(), " ")), compiler_.version};
}

Result<std::vector<std::string>> CcBackend::objects(const std::vector<const codegen::Tree*>& trees,
                                                    const Target& target, int, Progress* progress,
                                                    std::shared_ptr<const void>) {
    std::vector<std::string> texts;
    for (const codegen::Tree* tree : trees) {
        const std::string name = function_name(*tree, target);
        texts.push_back("// " + name + "\n" + c_source(*tree, name));
        if (auto wanted = step_done(progress); !wanted) return fail(std::move(wanted.error()));
    }
    return texts;
}

Result<std::shared_ptr<codegen::CompiledKernels>> CcBackend::link(const std::vector<std::string_view>& objects) {
    std::string text;
    std::vector<std::string> names;
    for (std::string_view object : objects) {
        const size_t end = object.find('\n');
        if (!object.starts_with("// kernel_") || end == std::string_view::npos) {
            return fail(Diagnostic{.code = "backends.link", .summary = "what was kept as a kernel's C is none"});
        }
        names.emplace_back(object.substr(3, end - 3));
        text += object;
    }
    auto library = compiler_.compile(text, flags());
    if (!library) return fail(std::move(library.error()));
    std::vector<codegen::KernelFunction> functions;
    for (const std::string& name : names) {
        functions.push_back(reinterpret_cast<codegen::KernelFunction>((*library)->find(name)));
        if (!functions.back()) {
            return fail(Diagnostic{.code = "backends.link", .summary = "compiled C lacks the function " + name});
        }
    }
    return std::make_shared<CcKernels>(std::move(*library), std::move(functions));
}

Result<std::string> CcBackend::source(const codegen::Tree& tree, const Target&) { return c_source(tree, "kernel"); }

}  // namespace heddle::backends
