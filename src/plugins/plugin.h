// A loaded plugin: its library, the functions that it gave, and calls of them whose failures are diagnostics.
#pragma once

#include <exception>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "plugins/plugin_api.h"
#include "support/diagnostic.h"
#include "target/target.h"

namespace heddle::plugins {

inline heddle_bytes lend(std::string_view text) { return {text.data(), text.size()}; }

// What a plugin appends. Nothing leaves `append`, whatever size it is told.
class Sink {
public:
    heddle_sink lent() {
        return {this, [](void* owner, const char* data, size_t size) noexcept {
                    static_cast<Sink*>(owner)->append(data, size);
                }};
    }
    bool whole() const { return whole_; }  // false: some did not fit into memory
    std::string take() { return std::move(text_); }

private:
    void append(const char* data, size_t size) noexcept {
        try {
            text_.append(data, size);
        } catch (const std::exception&) {
            whole_ = false;
        }
    }

    std::string text_;
    bool whole_ = true;
};

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
        if (backend.name) name_ = backend.name;
        target_ = std::move(target);
    }
    const std::optional<Target>& target() const { return target_; }
    const std::string& name() const { return name_; }

    // `work(problem)` calls a function of the plugin and gives its status, one thread at a time. Codes plugins.failed,
    // plugins.threw.
    template <typename Work>
    Result<void> call(const char* function, Work work) const {
        const std::lock_guard lock(mutex_);
        return call_at_once(function, work);
    }
    // By several threads.
    template <typename Work>
    Result<void> call_at_once(const char* function, Work work) const {
        Sink problem;
        heddle_status status = 0;
        try {
            status = work(problem.lent());
        } catch (...) {
            return fail(threw(name_, function));
        }
        if (status == 0) return {};
        const std::string said = problem.take();
        return fail(failed(function, said.empty() ? "status " + std::to_string(status) : said));
    }
    // Whether all that the function gave is there.
    Result<void> check(const char* function, std::initializer_list<const Sink*> given) const {
        for (const Sink* sink : given) {
            if (!sink->whole()) return fail(failed(function, "more bytes than there is memory for"));
        }
        return {};
    }

    // Of functions that have nothing to say, one thread at a time.
    template <typename Work>
    void call_quietly(Work work) const noexcept {
        try {
            const std::lock_guard lock(mutex_);
            work();
        } catch (...) {  // what it should have freed is lost
        }
    }

private:
    Diagnostic failed(const char* function, std::string found) const {
        return {.code = "plugins.failed",
                .summary = "the backend '" + name_ + "' failed in " + function,
                .found = std::move(found),
                .params = {{"backend", name_}, {"function", function}}};
    }

    std::string path_, name_;
    void* library_ = nullptr;
    heddle_backend backend_ = {};
    std::optional<Target> target_;
    mutable std::mutex mutex_;
};

}  // namespace heddle::plugins
