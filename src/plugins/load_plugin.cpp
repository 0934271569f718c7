#include "plugins/load_plugin.h"

#include <dlfcn.h>

#include <filesystem>

#include <fmt/format.h>

#include "plugins/plugin_backend.h"

namespace heddle::plugins {

Plugin::~Plugin() {
    if (backend_.close) call_quietly([&] { backend_.close(backend_.state); });
    if (library_) ::dlclose(library_);
}

Diagnostic threw(const std::string& plugin, const char* function) {
    return {.code = "plugins.threw",
            .summary = fmt::format("the plugin '{}' threw an exception out of {}", plugin, function),
            .expected = "a status, and a text for `problem`",
            .reason = "exceptions must not leave a plugin: its interface is C",
            .remedy = "catch them there",
            .params = {{"plugin", plugin}, {"function", function}}};
}

namespace {

Result<std::shared_ptr<Plugin>> load(const std::string& path) {
    std::error_code problem;
    if (!std::filesystem::is_regular_file(path, problem)) {
        return fail({.code = "plugins.no_file",
                     .summary = fmt::format("there is no plugin '{}'", path),
                     .reason = problem ? problem.message() : "it is not a file",
                     .params = {{"plugin", path}}});
    }
    // By a name without a slash the loader would look for another file.
    const std::string file = std::filesystem::absolute(path, problem).string();
    void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char* said = ::dlerror();
        return fail({.code = "plugins.not_loadable",
                     .summary = fmt::format("the plugin '{}' cannot be loaded", path),
                     .found = said ? said : "",
                     .remedy = "build it for this machine, as a shared library that finds what it needs",
                     .params = {{"plugin", path}}});
    }
    return std::make_shared<Plugin>(path, library);
}

template <typename Function>
Result<Function*> symbol(const Plugin& plugin, const char* name) {
    if (void* found = ::dlsym(plugin.library(), name)) return reinterpret_cast<Function*>(found);
    return fail({.code = "plugins.no_symbol",
                 .summary = fmt::format("the plugin '{}' does not export {}", plugin.path(), name),
                 .remedy = "declare it as plugins/plugin_api.h does: extern \"C\", of default visibility",
                 .params = {{"plugin", plugin.path()}, {"function", name}}});
}

Result<void> check_version(const Plugin& plugin) {
    auto version = symbol<decltype(heddle_plugin_version)>(plugin, "heddle_plugin_version");
    if (!version) return fail(std::move(version.error()));
    uint32_t found = 0;
    try {
        found = (*version)();
    } catch (...) {
        return fail(threw(plugin.path(), "heddle_plugin_version"));
    }
    if (found == HEDDLE_PLUGIN_VERSION) return {};
    return fail(
        {.code = "plugins.version",
         .summary = fmt::format("the plugin '{}' was built for another version of the interface", plugin.path()),
         .expected = std::to_string(HEDDLE_PLUGIN_VERSION),
         .found = std::to_string(found),
         .remedy = "build it with the headers of this Heddle",
         .params = {{"plugin", plugin.path()}}});
}

// The first part that is missing; null: none is.
const char* missing_part(const heddle_backend& backend) {
    if (backend.size != sizeof(heddle_backend)) return "size";
    if (!backend.name || !*backend.name) return "name";
    if (!backend.compile) return "compile";
    if (!backend.load) return "load";
    if (!backend.unload) return "unload";
    if (!backend.allocate) return "allocate";
    if (!backend.release) return "release";
    if (!backend.copy_to) return "copy_to";
    if (!backend.copy_from) return "copy_from";
    if (!backend.launch) return "launch";
    if (!backend.close) return "close";
    return nullptr;
}

Result<void> open(Plugin& plugin) {
    auto function = symbol<decltype(heddle_plugin_open)>(plugin, "heddle_plugin_open");
    if (!function) return fail(std::move(function.error()));
    heddle_backend backend = {};
    Sink sink;
    heddle_status status = 0;
    try {
        status = (*function)(&backend, sink.lent());
    } catch (...) {
        return fail(threw(plugin.path(), "heddle_plugin_open"));
    }
    const std::string problem = sink.take();
    if (status != 0) {
        return fail({.code = "plugins.refused",
                     .summary = fmt::format("the plugin '{}' does not open", plugin.path()),
                     .found = problem.empty() ? fmt::format("status {}", status) : problem,
                     .params = {{"plugin", plugin.path()}}});
    }
    if (const char* part = missing_part(backend)) {
        if (backend.size == sizeof backend) plugin.open(backend, {});  // so that it is closed
        return fail({.code = "plugins.incomplete",
                     .summary = fmt::format("the plugin '{}' gives a backend that is not whole", plugin.path()),
                     .expected = fmt::format("heddle_backend::{}", part),
                     .remedy = "fill in all parts but compile_config, which may be null",
                     .params = {{"plugin", plugin.path()}, {"part", part}}});
    }
    std::optional<Target> target;
    if (backend.target) {
        auto parsed = parse_target(std::make_shared<SourceText>(plugin.path(), backend.target));
        if (!parsed) {
            plugin.open(backend, {});  // so that it is closed
            return fail(std::move(parsed.error()));
        }
        target = std::move(*parsed);
    }
    plugin.open(backend, std::move(target));
    return {};
}

}  // namespace

Result<std::shared_ptr<codegen::Backend>> load_plugin(const std::string& path) {
    auto plugin = load(path);
    if (!plugin) return fail(std::move(plugin.error()));
    if (auto fits = check_version(**plugin); !fits) return fail(std::move(fits.error()));
    if (auto opened = open(**plugin); !opened) return fail(std::move(opened.error()));
    return std::make_shared<PluginBackend>(std::move(*plugin));
}

}  // namespace heddle::plugins
