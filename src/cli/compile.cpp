// heddle compile
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <span>
#include <thread>

#include <fmt/format.h>

#include "artefact/artefact.h"
#include "artefact/program.h"
#include "artefact/step_program.h"
#include "artefact/system_program.h"
#include "cli/compile_webgpu.h"
#include "cli/exported.h"
#include "cli/progress_line.h"
#include "cli/support.h"
#include "inference/staged_model.h"
#include "support/child_process.h"
#include "target/facts.h"
#include "target/hosts.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

// AVX-512 and AVX2, of which a machine takes the first that it has. C becomes wider code where its compiler is told to.
Result<std::vector<Target>> targets_of(std::vector<std::string> names, bool in_c) {
    if (names.empty())
        names = in_c ? std::vector<std::string>{"x86-64-v3"} : std::vector<std::string>{"x86-64-v4", "x86-64-v3"};
    std::vector<Target> targets;
    for (const std::string& name : names) {
        auto target = name == "native" ? this_machine() : open_scheduled_target(name);
        if (!target) return fail(std::move(target.error()));
        if (const KindFacts* kind = find_kind(target->kind); !kind || !kind->has_group("code")) {
            return fail({.code = "cli.target",
                         .summary = fmt::format("'{}' of kind '{}' runs no machine code of ours", name, target->kind),
                         .remedy = "name a target of kind 'cpu'"});
        }
        targets.push_back(std::move(*target));
    }
    return targets;
}

// Numbers in C take four times the bytes, and compilers long.
bool are_beside(const CompileOptions& options, std::span<const artefact::Program> programs) {
    constexpr int64_t most_in_c = 16 << 20;
    int64_t bytes = 0;
    for (const artefact::Program& program : programs) bytes += program.weights.bytes();
    return options.weights == "beside" || (options.weights.empty() && options.emit == "c" && bytes > most_in_c);
}

void print_files(const std::vector<artefact::WrittenFile>& files, const artefact::Program& program,
                 const CommonOptions& common) {
    if (common.json) {
        Json list = Json::array();
        for (const auto& file : files) list.push_back({{"path", file.path}, {"bytes", file.bytes}});
        fmt::print("{}\n", Json{{"name", program.name}, {"files", list}}.dump(2));
        return;
    }
    for (const artefact::Variant& variant : program.variants) {
        size_t launches = 0;
        for (const artefact::Group& group : variant.groups) launches = std::max(launches, group.launches.size());
        fmt::print("{} for {}: {} kernels, at most {} launches, {} plan{}\n", program.name,
                   variant.target.tag.empty() ? variant.target.name : variant.target.tag, variant.kernels.size(),
                   launches, variant.groups.size(), variant.groups.size() == 1 ? "" : "s");
    }
    for (const auto& file : files) fmt::print("{:>12} {}\n", file.bytes, file.path);
}

// Devices of a system that machine code is made for.
std::vector<Target> processors_of(const Target& system) {
    std::vector<Target> found;
    const auto add = [&](const std::shared_ptr<const Target>& device) {
        const KindFacts* kind = device ? find_kind(kind_of(*device)) : nullptr;
        if (kind && kind->has_group("code")) found.push_back(*device);
    };
    add(std::make_shared<const Target>(system));
    add(system.host);
    for (const SystemDevice& device : system.devices) add(device.target);
    return found;
}

// The C compiler that makes programs for these targets, which are of one instruction set. Code cli.cross_compiler.
Result<std::string> compiler_for(const CompileOptions& options, const std::vector<Target>& targets) {
    const Target host = detect_host();
    const auto foreign = std::ranges::find_if(targets, [&](const Target& target) {
        const bool other_system = !target.os.empty() && target.os != host.os;
        return (!target.arch.empty() && target.arch != host.arch) || other_system;
    });
    if (!options.compiler.empty() || options.emit == "c" || foreign == targets.end())
        return options.compiler.empty() ? "cc" : options.compiler;
    const auto cross = cross_compiler(*foreign);
    if (cross && is_on_path(cross->program)) return cross->program;
    const std::string machine =
        foreign->arch + (foreign->os.empty() || foreign->os == host.os ? "" : " (" + foreign->os + ")");
    const std::string program = cross ? cross->program : "PROGRAM";
    const std::string package =
        cross && !cross->package.empty() ? fmt::format("install it (Debian's package {}), or ", cross->package) : "";
    return fail({.code = "cli.cross_compiler",
                 .summary = fmt::format("a library or an object for {} needs a C compiler for {}", short_text(*foreign),
                                        machine),
                 .expected = cross ? fmt::format("{} on PATH", cross->program) : "",
                 .remedy = fmt::format("{}name one by --cc {}{}", package, program,
                                       options.system.empty() ? ", or write C by --emit c" : ""),
                 .params = {{"program", program}, {"package", cross ? cross->package : ""}}});
}

artefact::ArtefactOptions artefact_options(const CompileOptions& options, const std::string& compiler,
                                           Progress& progress) {
    return {.compiler = compiler,
            .flags = options.flags,
            .driver_folder = exported_folder(),
            .threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency())),
            .progress = &progress};
}

// One artefact of functions for several targets.
Result<void> compile_for_system(const CompileOptions& options, Exported& exported,
                                std::vector<artefact::Dimension> dimensions) {
    auto system = open_system(options.system);
    if (!system) return fail(std::move(system.error()));
    auto usual = targets_of({}, false);
    if (!usual) return fail(std::move(usual.error()));
    const auto compiler = compiler_for(options, processors_of(*system));
    if (!compiler) return fail(compiler.error());
    const auto progress = progress_on_terminal();
    auto program = artefact::make_system_program(
        {.name = artefact::identifier_of(exported.name()),
         .dimensions = std::move(dimensions),
         .system = std::move(*system),
         .annotations = options.place,
         .usual_targets = std::move(*usual),
         .graph = [&](const std::map<std::string, int64_t>& sizes) { return exported.graph(sizes); },
         .progress = progress.get()});
    if (!program) return fail(std::move(program.error()));
    exported.name(program->inputs, program->outputs);
    auto files =
        artefact::write_system_artefact(*program, options.folder, artefact_options(options, *compiler, *progress));
    if (!files) return fail(std::move(files.error()));
    progress->finish();
    const std::string host = host_text(*program->module.target);
    if (!options.common.json && !host.empty()) fmt::print("host: {}\n", host);
    if (!options.common.json) fmt::print("{}", placing::print(program->module));
    print_files(*files, {.name = program->name}, options.common);
    return {};
}

// Whether sizes, branches or trip counts follow from data, of inputs also.
bool has_steps(const Diagnostics& problems) {
    return inference::needs_stages(problems) || std::ranges::any_of(problems, [](const Diagnostic& problem) {
               return std::ranges::any_of(problem.params, [](const auto& param) { return param.first == "waits_for"; });
           });
}

// A model of which that is so.
Result<void> compile_in_steps(const CompileOptions& options, const onnx::OnnxModel& model, const Library& library,
                              artefact::ProgramRequest request, artefact::ArtefactOptions made) {
    auto program = artefact::make_step_program({.name = request.name,
                                                .model = model,
                                                .library = library,
                                                .dimensions = std::move(request.dimensions),
                                                .targets = std::move(request.targets),
                                                .progress = request.progress});
    if (!program) return fail(std::move(program.error()));
    made.weights_beside = are_beside(options, program->parts);
    auto files = artefact::write_step_artefact(*program, options.folder, made);
    if (!files) return fail(std::move(files.error()));
    request.progress->finish();
    if (!options.common.json)
        fmt::print("{}: {} steps, {} parts\n", program->name, program->steps.size(), program->parts.size());
    print_files(*files, {.name = program->name}, options.common);
    return {};
}

Result<void> compile(const CompileOptions& options) {
    if (std::ranges::any_of(options.targets, is_webgpu)) return compile_webgpu(options);
    auto library = open_libraries(options.common);
    if (!library) return fail(std::move(library.error()));
    auto exported = Exported::open(options, *library);
    if (!exported) return fail(std::move(exported.error()));
    auto dimensions = exported->dimensions();
    if (!dimensions) return fail(std::move(dimensions.error()));
    if (!options.system.empty()) return compile_for_system(options, *exported, std::move(*dimensions));
    auto targets = targets_of(options.targets, options.emit == "c");
    if (!targets) return fail(std::move(targets.error()));
    const auto compiler = compiler_for(options, *targets);
    if (!compiler) return fail(compiler.error());
    const auto progress = progress_on_terminal();
    const artefact::ProgramRequest request{
        .name = artefact::identifier_of(exported->name()),
        .dimensions = std::move(*dimensions),
        .targets = std::move(*targets),
        .graph = [&](const std::map<std::string, int64_t>& sizes) { return exported->graph(sizes); },
        .progress = progress.get()};
    artefact::ArtefactOptions made = artefact_options(options, *compiler, *progress);
    if (options.emit != "library") made.emit = options.emit == "c" ? artefact::Emit::c : artefact::Emit::object;
    auto program = artefact::make_program(request);
    if (!program && exported->staged() && has_steps(program.error()))
        return compile_in_steps(options, *exported->staged(), *library, request, made);
    if (!program) return fail(std::move(program.error()));
    exported->name(program->inputs, program->outputs);
    made.weights_beside = are_beside(options, {&*program, 1});
    auto files = artefact::write_artefact(*program, options.folder, made);
    if (!files) return fail(std::move(files.error()));
    progress->finish();
    print_files(*files, *program, options.common);
    return {};
}

}  // namespace

int compile_model(const CompileOptions& options) {
    auto done = compile(options);
    return done ? 0 : report(done.error(), options.common);
}

}  // namespace heddle::cli
