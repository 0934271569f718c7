// heddle graph
#include <nlohmann/json.hpp>

#include <filesystem>

#include <fmt/format.h>

#include "cli/draw_parts.h"
#include "cli/support.h"
#include "support/file.h"

namespace heddle::cli {
namespace {

Result<void> draw(const GraphOptions& options) {
    auto library = open_libraries(options.common);
    if (!library) return fail(std::move(library.error()));
    auto source = load_model(options.model, *library, {}, options.bindings);
    if (!source) return fail(std::move(source.error()));
    std::string title = std::filesystem::path(options.model).filename().string();
    auto picture =
        options.fused ? draw_plan(title, source->graph) : Result<Picture>(draw_operations(title, source->graph));
    if (!picture) return fail(std::move(picture.error()));
    if (auto written = write_file(options.svg, picture->svg.finish(picture->width, picture->height)); !written)
        return written;
    if (options.common.json) {
        nlohmann::ordered_json json = {
            {"svg", options.svg}, {"operations", source->graph.operations.size()}, {"fused", options.fused}};
        fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    } else {
        fmt::print("{}: {} operations -> {}\n", options.model, source->graph.operations.size(), options.svg);
    }
    return {};
}

}  // namespace

int draw_graph(const GraphOptions& options) {
    auto done = draw(options);
    return done ? 0 : report(done.error(), options.common);
}

}  // namespace heddle::cli
