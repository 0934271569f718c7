#include "artefact/system_program.h"

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "artefact/c_writer.h"
#include "artefact/linked_parts.h"
#include "artefact/manifest.h"
#include "artefact/workshop.h"
#include "inference/build_info.h"
#include "target/facts.h"

namespace heddle::artefact {
namespace {

using placing::Function;
using placing::Step;

Argument argument_of(const Function& function, placing::ValueId value) {
    const TensorType& type = function.value(value).type;
    Argument argument{.name = function.value(value).name, .dtype = type.dtype, .shape = type.extents()};
    for (const Size& size : type.shape) argument.sizes.push_back(size.text());
    return argument;
}

class SystemMaker {
public:
    explicit SystemMaker(const SystemRequest& request) : request_(request) {}

    Result<SystemProgram> make() {
        if (auto done = place(); !done) return fail(std::move(done.error()));
        program_.name = request_.name;
        program_.dimensions = request_.dimensions;
        std::erase_if(program_.dimensions, [](const Dimension& dimension) { return dimension.count() == 1; });
        const Function& entry = program_.module.function(entry_);
        for (placing::ValueId v : entry.parameters) program_.inputs.push_back(argument_of(entry, v));
        for (placing::ValueId v : entry.results) program_.outputs.push_back(argument_of(entry, v));
        for (size_t s = 0; s < entry.steps.size(); s++) {
            if (entry.steps[s].kind == Step::Kind::copy) continue;
            if (auto done = add_part(s); !done) return fail(std::move(done.error()));
        }
        return std::move(program_);
    }

private:
    Result<void> place() {
        std::map<std::string, int64_t> first;
        for (const Dimension& dimension : request_.dimensions) first[dimension.name] = dimension.from;
        auto graph = request_.graph(first);
        if (!graph) return fail(std::move(graph.error()));
        auto system = placing::system_of(request_.system);
        if (!system) return fail(std::move(system.error()));
        auto annotations = placing::parse_annotations(request_.annotations, *graph, *system);
        if (!annotations) return fail(std::move(annotations.error()));
        auto placement = placing::place(*graph, *system, *annotations);
        if (!placement) return fail(std::move(placement.error()));
        if (auto sound = placing::verify(*graph, *system, *annotations, *placement); !sound) return sound;
        system_ = std::make_shared<const placing::System>(std::move(*system));
        placement_ = std::move(*placement);
        placing::Module source{system_, std::make_shared<const Target>(request_.system), {}};
        source.add_function(placing::mixed_function(request_.name, *graph, *system_, placement_));
        auto module = placing::split(source);
        if (!module) return fail(std::move(module.error()));
        if (auto sound = placing::verify(*module); !sound) return sound;
        program_.module = std::move(*module);
        entry_ = program_.module.find(request_.name);
        if (entry_ == no_id) {
            return fail({.code = "artefact.kind",
                         .summary = "the system has no host, which the program's entry would run on",
                         .remedy = "give the target a host"});
        }
        graph_ = std::move(*graph);
        return {};
    }

    // The graph of the entry's step at other sizes. Steps follow from the graph's operations and their places alone.
    Result<Graph> part_graph(size_t step, const std::map<std::string, int64_t>& sizes) const {
        auto graph = request_.graph(sizes);
        if (!graph) return graph;
        bool same =
            graph->tensors.size() == graph_.tensors.size() && graph->operations.size() == graph_.operations.size();
        for (size_t o = 0; same && o < graph->operations.size(); o++)
            same = graph->operations[o].inputs == graph_.operations[o].inputs &&
                   graph->operations[o].outputs == graph_.operations[o].outputs;
        if (!same) {
            return fail({.code = "artefact.structure",
                         .summary = "the program has other operations at other sizes, and is placed at the first ones",
                         .remedy = "give dimensions one size each by --bind"});
        }
        const Function mixed = placing::mixed_function(request_.name, *graph, *system_, placement_);
        return *mixed.steps[step].graph;
    }

    const Target& target_of(const Step& step) const {
        if (step.kind == Step::Kind::call) return *program_.module.function(step.callee).target;
        return *system_->device(program_.module.function(entry_).device).target;
    }

    Diagnostic no_code(const Step& step, const Target& target) const {
        const Function& entry = program_.module.function(entry_);
        const bool calls = step.kind == Step::Kind::call;
        const auto device = calls ? program_.module.function(step.callee).device : entry.device;
        const std::string result = step.outputs.empty() ? "" : entry.value(step.outputs.front()).name;
        const KindFacts* kind = find_kind(target.kind);
        // Of a GPU there is code for browsers alone.
        const bool page = kind && kind->has_group("workgroups");
        return {.code = "artefact.kind",
                .summary = fmt::format("'{}' is computed on '{}', and functions for the kind '{}' do not leave home",
                                       result, system_->device(device).name, target.kind),
                .expected = "cpu, c, or the library cc",
                .remedy = fmt::format("place it on another device (--place {}={}){}", result,
                                      system_->device(entry.device).name,
                                      page ? "; or compile a page, for the GPU of a browser: --target webgpu" : ""),
                .params = {{"kind", target.kind}, {"device", system_->device(device).name}}};
    }

    Result<void> add_part(size_t step) {
        const Target& target = target_of(program_.module.function(entry_).steps[step]);
        SystemPart part;
        const bool in_c = target.kind == "c" || (target.kind == "library" && target.library == "cc");
        if (!in_c && target.kind != "cpu") return fail(no_code(program_.module.function(entry_).steps[step], target));
        if (in_c) {
            part.emit = Emit::c;
            const auto optimise = target.options.find("optimise");
            part.flags.push_back("-O" + (optimise == target.options.end() ? "2" : optimise->second));
        }
        const bool known = target.kind == "cpu" && !(target.cpu.empty() && target.features.empty());
        std::vector<Target> targets = known ? std::vector<Target>{target} : request_.usual_targets;
        // C is for any processor.
        if (in_c) targets = {request_.usual_targets.back()};
        auto program = make_program({.name = fmt::format("{}_part{}", request_.name, program_.parts.size()),
                                     .dimensions = request_.dimensions,
                                     .targets = std::move(targets),
                                     .graph = [&](const auto& sizes) { return part_graph(step, sizes); },
                                     .progress = request_.progress});
        if (!program) return fail(std::move(program.error()));
        part.program = std::move(*program);
        program_.parts.push_back(std::move(part));
        return {};
    }

    const SystemRequest& request_;
    SystemProgram program_;
    Graph graph_;
    std::shared_ptr<const placing::System> system_;
    placing::Placement placement_;
    placing::FunctionId entry_ = no_id;
};

class SystemWriter {
public:
    SystemWriter(const SystemProgram& program, const std::string& folder, const ArtefactOptions& options)
        : program_(program), folder_(folder), options_(options) {}

    Result<std::vector<WrittenFile>> write() {
        auto driver = read_driver(options_.driver_folder);
        if (!driver) return fail(std::move(driver.error()));
        if (auto open = workshop_.open(folder_); !open) return fail(std::move(open.error()));
        for (const SystemPart& part : program_.parts) {
            if (auto done = linked_.add(part.program, part.emit, part.flags); !done)
                return fail(std::move(done.error()));
        }
        Program shell{.name = program_.name,
                      .dimensions = program_.dimensions,
                      .inputs = program_.inputs,
                      .outputs = program_.outputs};
        if (auto done = linked_.add_text(program_.name + ".h", header_text(shell, *driver)); !done)
            return fail(std::move(done.error()));
        if (auto done = linked_.add_text(program_.name + ".c", host_text(program_)); !done)
            return fail(std::move(done.error()));
        if (auto done = linked_.link(program_.name); !done) return fail(std::move(done.error()));
        if (auto done = add_manifest(); !done) return fail(std::move(done.error()));
        if (auto moved = workshop_.move_all(linked_.made()); !moved) return fail(std::move(moved.error()));
        return std::move(files_);
    }

private:
    Result<void> add_manifest() {
        using Json = nlohmann::ordered_json;
        auto digest = workshop_.digest_of(linked_.made());
        if (!digest) return fail(std::move(digest.error()));
        Json parts = Json::array(), files = Json::array();
        for (const SystemPart& part : program_.parts) {
            Json targets = Json::array();
            for (const Variant& variant : part.program.variants)
                targets.push_back(Json::parse(heddle::print(variant.target), nullptr, false));
            parts.push_back({{"name", part.program.name},
                             {"code", part.emit == Emit::c ? "c" : "object"},
                             {"targets", std::move(targets)}});
        }
        const auto file_of = [&](const std::string& name) {
            files_.push_back(workshop_.written(name));
            return Json{{"name", name}, {"bytes", files_.back().bytes}};
        };
        for (const std::string& name : linked_.made()) files.push_back(file_of(name));
        const Json json = {{"format", "heddle.system_artefact/1"},
                           {"heddle", inference::build_info().version},
                           {"name", program_.name},
                           {"functions", Json::parse(placing::print_json(program_.module))},
                           {"parts", std::move(parts)},
                           {"files", std::move(files)},
                           {"digest", *digest}};
        if (auto done = linked_.add_text(program_.name + ".json", manifest_text(json)); !done) return done;
        file_of(program_.name + ".json");
        return {};
    }

    const SystemProgram& program_;
    const std::filesystem::path folder_;
    const ArtefactOptions& options_;
    Workshop workshop_;
    LinkedParts linked_{workshop_, options_};
    std::vector<WrittenFile> files_;
};

}  // namespace

Result<SystemProgram> make_system_program(const SystemRequest& request) { return SystemMaker(request).make(); }

Result<std::vector<WrittenFile>> write_system_artefact(const SystemProgram& program, const std::string& folder,
                                                       const ArtefactOptions& options) {
    return SystemWriter(program, folder, options).write();
}

}  // namespace heddle::artefact
