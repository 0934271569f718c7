#include "artefact/linked_code.h"

#include <fmt/format.h>

#include "artefact/c_compiler.h"
#include "artefact/c_writer.h"
#include "backends/llvm/llvm_backend.h"
#include "support/file.h"

namespace heddle::artefact {
namespace {

int64_t rounded_up(int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

std::vector<int64_t> places_of_weights(std::span<const Program> programs) {
    std::vector<int64_t> places;
    int64_t at = 0;
    for (const Program& program : programs) {
        places.push_back(at);
        at = rounded_up(at + program.weights.bytes());
    }
    return places;
}

Result<void> write_weights(std::span<const Program> programs, const std::string& path) {
    const std::vector<int64_t> places = places_of_weights(programs);
    std::string bytes;
    for (size_t p = 0; p < programs.size(); p++) {
        bytes.resize(static_cast<size_t>(places[p]));
        programs[p].weights.write([&](std::span<const std::byte> part) {
            bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
        });
    }
    return write_file(path, bytes);
}

Result<std::vector<std::string>> write_kernels(const Program& program, const Workshop& workshop,
                                               const ArtefactOptions& options) {
    std::vector<std::string> paths;
    for (size_t v = 0; v < program.variants.size(); v++) {
        const Variant& variant = program.variants[v];
        std::vector<const schedules::Tree*> trees;
        std::vector<std::string> names;
        for (size_t k = 0; k < variant.kernels.size(); k++) {
            trees.push_back(variant.kernels[k].tree.get());
            names.push_back(kernel_name(program, v, k));
        }
        if (options.progress) options.progress->begin(Stage::code, static_cast<int64_t>(trees.size()));
        auto objects = backends::object_files(trees, names, variant.target, options.threads, options.progress);
        if (!objects) return fail(std::move(objects.error()));
        for (size_t k = 0; k < objects->size(); k++) {
            paths.push_back(workshop.file(names[k] + ".o"));
            if (auto done = write_file(paths.back(), (*objects)[k]); !done) return fail(std::move(done.error()));
        }
    }
    return paths;
}

Result<std::string> link_code(const std::string& name, const std::vector<std::string>& objects,
                              const Workshop& workshop, const ArtefactOptions& options) {
    const bool library = options.emit == Emit::library;
    const std::string made = library ? fmt::format("lib{}.so", name) : name + ".o";
    // Names of files and flags, which are too many for a command line.
    std::string arguments;
    const auto argue = [&](const std::string& word) {
        arguments += '"';
        for (char c : word) arguments += c == '"' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
        arguments += "\"\n";
    };
    for (const std::string& flag : options.flags) argue(flag);
    for (const char* flag :
         {"-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-nostartfiles", "-Wl,--build-id=none"})
        argue(flag);
    if (library) {
        for (const char* flag : {"-shared", "-Wl,-z,noexecstack", "-Wl,--gc-sections", "-Wl,-s", "-Wl,--as-needed"})
            argue(flag);
        argue("-Wl,-soname," + made);
    } else {
        argue("-r");
        argue("-nostdlib");
    }
    argue(workshop.file(name + ".c"));
    for (const std::string& path : objects) argue(path);
    argue("-o");
    argue(workshop.file(made));
    if (library) argue("-lm");  // on machines without instructions for all that kernels do
    const std::string list = workshop.file("arguments");
    if (auto done = write_file(list, arguments); !done) return fail(std::move(done.error()));
    if (auto done = run_c_compiler({options.compiler, "@" + list}, made); !done) return fail(std::move(done.error()));
    return made;
}

}  // namespace heddle::artefact
