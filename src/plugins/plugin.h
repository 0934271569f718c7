// A loaded plugin: its library, the functions that it gave, and calls of them whose failures are diagnostics.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "plugins/plugin_api.h"
#include "support/diagnostic.h"
#include "target/target.h"

namespace heddle::plugins {

inline heddle_bytes lend(std::string_view text) { return {text.data(), text.size()}; }

inline heddle_sink sink_for(std::string& text) {
    return {&text, [](void* owner, const char* data, size_t size) noexcept {
                static_cast<std::string*>(owner)->append(data, size);
            }};
}

// What a plugin throws in spite of the interface.
Diagnostic threw(const std::string& plugin, const char* function);

class Plugin {
public:
    // Takes over the library, and the backend if it is open.
    Plugin(std::string path, void* library) : path_(std::move(path)), library_(library) {}
    ~Plugin();
    Plugin(const Plugin&) = delete;
    Plugin& operator=(const Plugin&) = delete;

    const std::string& path() const { return path_; }
    void* library() const { return library_; }
    const heddle_backend& backend() const { return backend_; }
    void open(const heddle_backend& backend, std::optional<Target> target) {
        backend_ = backend;
        name_ = backend.name;
        target_ = std::move(target);
    }
    const std::optional<Target>& target() const { return target_; }
    const std::string& name() const { return name_; }

    // `work(problem)` calls a function of the plugin and gives its status. Codes plugins.failed, plugins.threw.
    template <typename Work>
    Result<void> call(const char* function, Work work) const {
        std::string problem;
        heddle_status status = 0;
        try {
            status = work(sink_for(problem));
        } catch (...) {
            return fail(threw(name_, function));
        }
        if (status == 0) return {};
        return fail(Diagnostic{.code = "plugins.failed",
                               .summary = "the backend '" + name_ + "' failed in " + function,
                               .found = problem.empty() ? "status " + std::to_string(status) : problem,
                               .params = {{"backend", name_}, {"function", function}}});
    }

    // Of functions that have nothing to say.
    template <typename Work>
    void call_quietly(Work work) const noexcept {
        try {
            work();
        } catch (...) {  // what it should have freed is lost
        }
    }

private:
    std::string path_, name_;
    void* library_ = nullptr;
    heddle_backend backend_ = {};
    std::optional<Target> target_;
};

}  // namespace heddle::plugins
