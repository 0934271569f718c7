#include "flavours/registry.h"

#include <fmt/format.h>

namespace heddle::flavours {

Registry::Registry() { add_replicated_kernels(*this); }

Result<void> Registry::add(std::string name, Result<std::vector<TensorData>> (*compute)(const Call&)) {
    return add(Kernel{.name = std::move(name), .compute = compute});
}

Result<void> Registry::add(Kernel kernel) {
    if (kernel.name != "body" && !find(kernel.name)) {
        std::string name = kernel.name;
        kernels_.emplace(std::move(name), std::move(kernel));
        return {};
    }
    return fail({.code = "flavours.kernel_name",
                 .summary = fmt::format("a kernel cannot be called `{}`", kernel.name),
                 .reason = kernel.name == "body" ? "that is the operator's own body" : "there is one of this name"});
}

const Kernel* Registry::find(const std::string& name) const {
    auto found = kernels_.find(name);
    return found == kernels_.end() ? nullptr : &found->second;
}

}  // namespace heddle::flavours
