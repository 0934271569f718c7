// heddle compile --target webgpu
#include <nlohmann/json.hpp>

#include <algorithm>

#include <fmt/format.h>

#include "backends/wgsl/wgsl_shader.h"
#include "cli/compile_webgpu.h"
#include "cli/exported.h"
#include "cli/progress_line.h"
#include "cli/support.h"
#include "webgpu/export.h"
#include "webgpu/package.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

// Makes plans into a package, and runs that the page compares with: of a page for several sizes, one of each of its first
// plans, as far as they are not too much work.
class PageMaker {
public:
    PageMaker(const CompileOptions& options, Exported& exported) : options_(options), exported_(exported) {}

    Result<Graph> graph(const artefact::SizeNames& sizes) {
        auto graph = exported_.graph(sizes);
        if (graph) graph_ = *graph;
        return graph;
    }

    Result<artefact::SizeDomain> take(const std::vector<artefact::Dimension>& open, artefact::SizeDomain domain,
                                      artefact::MadePlan made) {
        warn(made.plan.notes);
        if (auto added = packager_.add(open, domain, std::move(made)); !added) return fail(std::move(added.error()));
        if (auto checked = add_check(); !checked) {
            if (checks_.empty()) return fail(std::move(checked.error()));
            is_too_much_ = true;
        }
        return domain;
    }

    webgpu::Package package(artefact::Interface interface) {
        exported_.name(interface.inputs, interface.outputs);
        return packager_.made(std::move(interface));
    }
    const std::vector<webgpu::Check>& checks() const { return checks_; }

private:
    Result<void> add_check() {
        constexpr size_t most_checks = 4;
        const std::map<std::string, TensorData>& given = exported_.given();
        if ((given.empty() && options_.random_seed < 0) || checks_.size() == most_checks || is_too_much_) return {};
        if (auto fine = check_work(graph_, options_.work, true); !fine) return fine;
        std::vector<TensorType> types;
        for (TensorId input : graph_.inputs) types.push_back(graph_.tensor(input).type);
        auto feeds = feeds_for(exported_.input_names(), types, given, options_.random_seed, options_.work);
        if (!feeds) return fail(std::move(feeds.error()));
        auto values = evaluate_graph_bounded(graph_, *feeds);
        if (!values) return fail(std::move(values.error()));
        webgpu::Check check{std::move(*feeds), {}};
        for (TensorId output : graph_.outputs) check.outputs.push_back((*values)[static_cast<size_t>(output)]);
        checks_.push_back(std::move(check));
        return {};
    }

    const CompileOptions& options_;
    Exported& exported_;
    Graph graph_;  // the last one
    webgpu::Packager packager_;
    std::vector<webgpu::Check> checks_;
    bool is_too_much_ = false;
};

void print_written(const webgpu::Package& package, const std::vector<webgpu::WrittenFile>& files,
                   const CommonOptions& common) {
    size_t dispatches = 0;
    for (const webgpu::PagePlan& plan : package.plans) dispatches = std::max(dispatches, plan.dispatches.size());
    const bool is_open = !package.interface.dimensions.empty();
    const int64_t workspace = package.plans.front().workspace_bytes();
    if (common.json) {
        Json list = Json::array();
        for (const auto& file : files) list.push_back({{"path", file.path}, {"bytes", file.bytes}});
        Json said{{"kernels", package.kernels.size()}, {"dispatches", dispatches}, {"plans", package.plans.size()}};
        if (!is_open) said["workspace_bytes"] = workspace;
        said["files"] = std::move(list);
        fmt::print("{}\n", said.dump(2));
        return;
    }
    if (is_open)
        fmt::print("{} kernels, at most {} dispatches, {} plan{}\n", package.kernels.size(), dispatches,
                   package.plans.size(), package.plans.size() == 1 ? "" : "s");
    else
        fmt::print("{} kernels, {} dispatches, {} bytes of workspace\n", package.kernels.size(), dispatches, workspace);
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
    const auto target = page_target(options.targets.front());
    if (!target) return fail(target.error());
    if (const int lanes = backends::webgpu_target().lanes(4); target->lanes(4) != lanes) {
        return fail({.code = "cli.compile_target",
                     .summary = "pages are written with workgroups of one size",
                     .expected = fmt::format("\"vector_bytes\": {}", 4 * lanes),
                     .found = fmt::format("{}", target->vector_bytes),
                     .remedy = "leave it out"});
    }
    auto library = open_libraries(options.common);
    if (!library) return fail(std::move(library.error()));
    auto exported = Exported::open(options, *library);
    if (!exported) return fail(std::move(exported.error()));
    auto dimensions = exported->dimensions();
    if (!dimensions) return fail(std::move(dimensions.error()));
    const auto engine = open_engine(options.threads, options.cache);
    const auto progress = progress_on_terminal();
    PageMaker maker(options, *exported);
    auto interface = artefact::make_plans(
        {.dimensions = std::move(*dimensions),
         .targets = {*target},
         .graph = [&](const artefact::SizeNames& sizes) { return maker.graph(sizes); },
         .progress = progress.get(),
         .take = [&](const std::vector<artefact::Dimension>& open, artefact::SizeDomain domain,
                     std::vector<artefact::MadePlan> plans) {
             return maker.take(open, std::move(domain), std::move(plans.front()));
         }},
        {engine->target, *engine->pool, *engine->kernels, *engine->prepared});
    if (!interface) return fail(std::move(interface.error()));
    const webgpu::Package package = maker.package(std::move(*interface));
    if (auto sound = webgpu::verify(package); !sound) return fail(std::move(sound.error()));
    auto files = webgpu::write_package(package, maker.checks(), exported->name(), options.folder);
    if (!files) return fail(std::move(files.error()));
    progress->finish();
    print_written(package, *files, options.common);
    return {};
}

}  // namespace heddle::cli
