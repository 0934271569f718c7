// heddle compile --target webgpu
#include <nlohmann/json.hpp>

#include <filesystem>

#include <fmt/format.h>

#include "backends/wgsl/wgsl_shader.h"
#include "cli/compile_webgpu.h"
#include "cli/support.h"
#include "graph/complex.h"
#include "runtime/prepare_here.h"
#include "webgpu/export.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

Result<Source> open_source(const CompileOptions& options, const Library& library,
                           const std::map<std::string, TensorData>& given) {
    if (!options.model.empty()) return load_model(options.model, library, given, options.bindings, options.rules);
    std::map<std::string, int64_t> dimensions;
    auto inputs = read_call_inputs(options.input_types, options.bindings, {}, dimensions);
    if (!inputs) return fail(std::move(inputs.error()));
    return load_call(options.call, library, *inputs, options.rules);
}

// What the page compares with.
Result<std::optional<webgpu::Check>> make_check(const CompileOptions& options, const Source& source,
                                                const std::map<std::string, TensorData>& given) {
    if (given.empty() && options.random_seed < 0) return std::nullopt;
    if (auto fine = check_work(source.graph, options.work, true); !fine) return fail(std::move(fine.error()));
    auto feeds = feeds_for(source.input_names, source.input_types(), given, options.random_seed, options.work);
    if (!feeds) return fail(std::move(feeds.error()));
    auto values = evaluate_graph_bounded(source.graph, *feeds);
    if (!values) return fail(std::move(values.error()));
    webgpu::Check check{std::move(*feeds), {}};
    for (TensorId output : source.graph.outputs) check.outputs.push_back((*values)[static_cast<size_t>(output)]);
    return check;
}

void print_written(const webgpu::Package& package, const std::vector<webgpu::WrittenFile>& files,
                   const CommonOptions& common) {
    if (common.json) {
        Json list = Json::array();
        for (const auto& file : files) list.push_back({{"path", file.path}, {"bytes", file.bytes}});
        fmt::print("{}\n", Json{{"kernels", package.kernels.size()},
                                {"dispatches", package.dispatches.size()},
                                {"workspace_bytes", package.workspace_bytes},
                                {"files", std::move(list)}}
                               .dump(2));
        return;
    }
    fmt::print("{} kernels, {} dispatches, {} bytes of workspace\n", package.kernels.size(), package.dispatches.size(),
               package.workspace_bytes);
    for (const auto& file : files) fmt::print("{:>12} {}\n", file.bytes, file.path);
}

Result<Target> page_target(const std::string& text) {
    return text == "webgpu" ? Result<Target>(backends::webgpu_target()) : open_target(text);
}

}  // namespace

bool is_webgpu(const std::string& text) {
    if (text == "native") return false;
    const auto target = page_target(text);
    return target && target->kind == "webgpu";
}

Result<void> compile_webgpu(const CompileOptions& options) {
    if (options.targets.size() != 1) {
        return fail({.code = "cli.compile_target",
                     .summary = "a page is for no other target beside webgpu",
                     .expected = "one --target",
                     .found = fmt::format("{}", options.targets.size()),
                     .remedy = "compile for other targets by another command"});
    }
    auto library = open_libraries(options.common);
    if (!library) return fail(std::move(library.error()));
    auto given = read_inputs(options.inputs);
    if (!given) return fail(std::move(given.error()));
    auto source = open_source(options, *library, *given);
    if (!source) return fail(std::move(source.error()));
    const auto target = page_target(options.targets.front());
    if (!target) return fail(target.error());
    if (const int lanes = backends::webgpu_target().lanes(4); target->lanes(4) != lanes) {
        return fail({.code = "cli.compile_target",
                     .summary = "pages are written with workgroups of one size",
                     .expected = fmt::format("\"vector_bytes\": {}", 4 * lanes),
                     .found = fmt::format("{}", target->vector_bytes),
                     .remedy = "leave it out"});
    }
    if (auto fine = plan::check_placements(source->graph); !fine) return fail(std::move(fine.error()));
    auto plan = plan::make_plan(source->graph, *target);
    if (!plan) return fail(std::move(plan.error()));
    warn(plan->notes);
    // A graph names its inputs as words; callers know them by the model's names.
    plan->input_names = source->input_names;
    plan->output_names = source->output_names;
    const auto engine = open_engine(options.threads, options.cache);
    auto prepared = runtime::prepare_here(*plan, engine->target, *engine->kernels, *engine->pool, *engine->prepared);
    if (!prepared) return fail(std::move(prepared.error()));
    auto package = webgpu::make_package(std::make_shared<const plan::Plan>(std::move(*plan)), std::move(*prepared));
    if (!package) return fail(std::move(package.error()));
    if (auto sound = webgpu::verify(*package); !sound) return fail(std::move(sound.error()));
    auto check = make_check(options, *source, *given);
    if (!check) return fail(std::move(check.error()));
    const std::string name = options.model.empty() ? "program" : std::filesystem::path(options.model).stem().string();
    auto files = webgpu::write_package(*package, *check ? &**check : nullptr, name, options.folder);
    if (!files) return fail(std::move(files.error()));
    print_written(*package, *files, options.common);
    return {};
}

}  // namespace heddle::cli
