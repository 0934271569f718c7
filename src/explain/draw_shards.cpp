// Pictures of shards: for each stage the tensors it reads and writes, each drawn in the two dimensions that are cut or
// largest, with the region of each shard in the shard's colour. A box that several shards share has stripes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "explain/shards.h"
#include "pictures/draw_parts.h"

namespace heddle::explain {
namespace {

using namespace pictures;

using sharding::Application;
using sharding::Region;

constexpr double page_margin = 28, shown_side = 210, thin = 18, gap = 56, stripe = 4;
constexpr double least_cell = 12, widest_legend = 760;  // of tensors with few rows or columns
constexpr size_t most_named = 16;                       // shards in the legend
constexpr int64_t most_shard_cells = 32;                // along a shown_side that shows its elements

// Hues a golden angle apart, so that neighbours differ however many there are.
std::string colour_of(size_t shard) {
    double hue = std::fmod(210 + 137.508 * static_cast<double>(shard), 360);
    return fmt::format("hsl({:.0f},65%,48%)", hue);
}

// One tensor in one stage.
struct Panel {
    TensorId tensor = no_id;
    std::map<heddle::Box, std::vector<size_t>> boxes;  // and whose they are
    std::vector<std::string> names;                    // of the dimensions
    int64_t unread = 0;
};

struct Stage {
    std::string title;
    std::vector<Panel> inputs, outputs;
    std::string combined;  // "sum: y"
};

class ShardDrawing {
public:
    explicit ShardDrawing(const ShardedGraph& sharded) : graph_(sharded.placed.graph) {
        y_ = page_margin;
        for (OperationId operation : sharded.cut) {
            whole_ = &sharded.before.operation(operation);
            sharding_ = &sharded.placed.operations[operation];
            draw();
        }
    }

    Picture take() {
        picture_.width = std::max(width_, 320.0);
        picture_.height = y_;
        return std::move(picture_);
    }

private:
    void draw() {
        text({page_margin, y_ + 4}, fmt::format("{} in {} shards", whole_->name, sharding_->boxes.size()),
             {.size = 15, .bold = true});
        y_ += 24;
        legend();
        shared_ = false;
        for (const Stage& stage : stages()) draw(stage);
        if (!shared_) return;
        text({page_margin, y_}, "striped: several shards touch the same", {.size = 9, .colour = "#777"});
        y_ += 24;
    }

    void text(Point at, const std::string& line, const TextStyle& style) {
        picture_.svg.text(at, line, style);
        double left = text_width(line, style) / (style.anchor == "middle" ? 2 : 1);
        if (style.anchor != "end") width_ = std::max(width_, at.x + left + page_margin);
    }

    void legend() {
        const sharding::Sharding& sharding = *sharding_;
        double x = page_margin;
        auto room = [&](const std::string& line) {
            const double wide = 18 + text_width(line, 10) + 24;
            if (x > page_margin && x + wide > widest_legend) {
                x = page_margin;
                y_ += 17;
            }
            x += wide;
            return x - wide;
        };
        for (size_t shard = 0; shard < std::min(sharding.boxes.size(), most_named); ++shard) {
            std::vector<std::string> ranges;
            for (size_t axis = 0; axis < sharding.axes.size(); ++axis) {
                int64_t start = sharding.boxes[shard].start[axis], end = sharding.boxes[shard].end[axis];
                if (start != 0 || end != sharding.axes[axis].extent.value())
                    ranges.push_back(fmt::format("{} {}:{}", sharding.axes[axis].name, start, end));
            }
            const std::string line = fmt::format("shard {}: {}", shard, fmt::join(ranges, ", "));
            const double left = room(line);
            picture_.svg.rectangle({left, y_}, 12, 12, colour_of(shard), colour_of(shard), 2, {}, 0.55);
            text({left + 18, y_ + 10}, line, {.size = 10});
        }
        if (sharding.boxes.size() > most_named) {
            const std::string line = fmt::format("and {} more", sharding.boxes.size() - most_named);
            text({room(line) + 18, y_ + 10}, line, {.size = 10});
        }
        y_ += 31;
    }

    // ---- what there is to draw

    std::vector<Stage> stages() const {
        std::vector<Stage> list;
        const Application* before = nullptr;
        for (const Application& application : sharding_->applications) {
            if (!before || before->stage != application.stage || before->part != application.part) list.emplace_back();
            before = &application;
            Stage& stage = list.back();
            stage.title = application.part == "result" ? "results"
                          : application.is_partial     ? "partial results: " + application.part
                                                       : application.part;
            if (application.is_partial) {
                const auto& combination = sharding_->combinations[application.stage];
                stage.combined =
                    fmt::format("combined by {} into {}", combination.combiner, graph_.tensor(combination.result).name);
            }
            for (const Region& region : application.inputs) add(stage.inputs, region, application.shard);
            for (const Region& region : application.outputs) add(stage.outputs, region, application.shard);
        }
        return list;
    }

    void add(std::vector<Panel>& panels, const Region& region, size_t shard) const {
        auto panel = std::ranges::find(panels, region.tensor, &Panel::tensor);
        if (panel == panels.end())
            panel = panels.insert(panels.end(), {region.tensor, {}, dimension_names(region.tensor), 0});
        panel->boxes[region.box].push_back(shard);
        panel->unread += region.unread.value_or(0);
    }

    // The axes that move along each dimension.
    std::vector<std::string> dimension_names(TensorId id) const {
        std::vector<std::string> names(type_of(id).shape.size());
        for (const sharding::Combination& combination : sharding_->combinations) {
            bool declared = combination.dimensions.empty();  // then parts are like the result
            if (std::ranges::count(combination.partial, id) > 0 && !declared) return combination.dimensions;
            if (std::ranges::count(combination.partial, id) > 0) id = combination.result;
            if (combination.result == id && !declared)  // unless it is an output of the operation, which comes below
                std::copy(combination.dimensions.begin() + static_cast<std::ptrdiff_t>(combination.axes.size()),
                          combination.dimensions.end(), names.begin());
        }
        auto name = [&](const std::vector<TensorId>& tensors, auto movements) {
            for (size_t i = 0; i < tensors.size(); ++i) {
                if (tensors[i] != id) continue;
                names.assign(names.size(), "");
                for (const sharding::Axis& axis : sharding_->axes) {
                    if (i >= (axis.*movements).size()) continue;
                    for (const sharding::Movement& movement : (axis.*movements)[i]) {
                        std::string& own = names[static_cast<size_t>(movement.dimension)];
                        own += (own.empty() ? "" : ", ") + axis.name;
                    }
                }
                return;
            }
        };
        name(whole_->outputs, &sharding::Axis::outputs);
        name(whole_->inputs, &sharding::Axis::inputs);
        return names;
    }

    const TensorType& type_of(TensorId id) const { return graph_.tensor(id).type; }

    // Those that shards differ in, then the longest; across the page the last of the two.
    std::vector<size_t> shown_dimensions(const Panel& panel) const {
        std::vector<int64_t> extents = type_of(panel.tensor).extents();
        std::vector<size_t> order;
        for (size_t d = 0; d < extents.size(); ++d) order.push_back(d);
        auto differs = [&](size_t d) {
            std::set<std::pair<int64_t, int64_t>> ranges;
            for (const auto& [box, shards] : panel.boxes) ranges.insert({box.start[d], box.end[d]});
            return ranges.size() > 1;
        };
        std::ranges::stable_sort(order, [&](size_t a, size_t b) {
            if (differs(a) != differs(b)) return differs(a);
            return extents[a] > extents[b];
        });
        order.resize(std::min<size_t>(order.size(), 2));
        std::ranges::sort(order);
        return order;
    }

    // ---- drawing

    void draw(const Stage& stage) {
        text({page_margin, y_ + 4}, stage.title, {.size = 12, .bold = true});
        double top = y_ + 30, x = page_margin + 30, bottom = top;
        for (const Panel& panel : stage.inputs) x = draw(panel, {x, top}, bottom) + gap;
        if (!stage.inputs.empty()) {
            picture_.svg.line({{x - 22, top + 40}, {x + 22, top + 40}}, "#777", 1.5, true);
            x += gap;
        }
        for (const Panel& panel : stage.outputs) x = draw(panel, {x, top}, bottom) + gap;
        if (!stage.combined.empty()) {
            picture_.svg.line({{x - 22, top + 40}, {x + 22, top + 40}}, "#777", 1.5, true);
            text({x + 34, top + 44}, stage.combined, {.size = 11});
        }
        width_ = std::max(width_, x);
        y_ = bottom + 30;
    }

    // Draws one tensor; answers its right edge.
    double draw(const Panel& panel, Point corner, double& bottom) {
        const Tensor& tensor = graph_.tensor(panel.tensor);
        std::vector<int64_t> extents = tensor.type.extents();
        std::vector<size_t> shown = shown_dimensions(panel);
        size_t across = shown.empty() ? 0 : shown.back();
        bool flat = shown.size() < 2;
        auto length = [&](size_t d) {
            return shown.empty() ? 1.0 : std::max<double>(static_cast<double>(extents[d]), 1);
        };
        double columns = length(across), rows = flat ? 1 : length(shown[0]);
        double cell = std::min(shown_side / std::max(columns, rows), 26.0);
        // Few rows of long ones are drawn higher than they are.
        auto side = [&](double cells) {
            return std::max({cells * cell, thin, cells <= shown_side / least_cell / 2 ? cells * least_cell : 0});
        };
        double width = side(columns), height = side(rows);
        text({corner.x, corner.y - 8}, tensor.name, {.size = 11, .bold = true});
        picture_.svg.rectangle(corner, width, height, "#f6f6f6", "#888", 0, tensor.name + ": " + tensor.type.text());
        for (const auto& [box, shards] : panel.boxes) {
            double left = shown.empty() ? 0 : static_cast<double>(box.start[across]) / columns * width;
            double right = shown.empty() ? width : static_cast<double>(box.end[across]) / columns * width;
            double up = flat ? 0 : static_cast<double>(box.start[shown[0]]) / rows * height;
            double down = flat ? height : static_cast<double>(box.end[shown[0]]) / rows * height;
            stripes({corner.x + left, corner.y + up}, right - left, down - up, shards);
        }
        draw_grid(picture_.svg, corner, width, height, flat ? 1 : extents[shown[0]],
                  shown.empty() ? 1 : extents[across], most_shard_cells);
        captions(panel, corner, height, shown, extents);
        bottom = std::max(bottom, corner.y + height + 44);
        double label = std::max({width, text_width(tensor.name, 11, true), caption_width_});
        return corner.x + label;
    }

    // Narrow stripes in turn, so that nobody takes them for parts.
    void stripes(Point corner, double width, double height, const std::vector<size_t>& shards) {
        std::string whose = fmt::format("shard{} {}", shards.size() > 1 ? "s" : "", fmt::join(shards, ", "));
        double wide = shards.size() == 1 ? width : stripe;
        size_t next = 0;
        for (double x = 0; x < width; x += wide, next = (next + 1) % shards.size())
            picture_.svg.rectangle({corner.x + x, corner.y}, std::min(wide, width - x), height, colour_of(shards[next]),
                                   "none", 0, whose, 0.45);
        picture_.svg.rectangle(corner, width, height, "none", shards.size() == 1 ? colour_of(shards[0]) : "#555", 0);
        shared_ = shared_ || shards.size() > 1;
    }

    void captions(const Panel& panel, Point corner, double height, const std::vector<size_t>& shown,
                  const std::vector<int64_t>& extents) {
        auto label = [&](size_t d) { return panel.names[d].empty() ? fmt::format("dimension {}", d) : panel.names[d]; };
        caption_width_ = 0;
        auto caption = [&](double y, const std::string& line, std::string_view colour) {
            text({corner.x, y}, line, {.size = 9, .colour = colour});
            caption_width_ = std::max(caption_width_, text_width(line, 9));
        };
        if (!shown.empty())
            caption(corner.y + height + 12, fmt::format("{} 0:{} →", label(shown.back()), extents[shown.back()]),
                    "#222");
        if (shown.size() == 2) {
            caption(corner.y + height + 24, fmt::format("{} 0:{} ↓", label(shown[0]), extents[shown[0]]), "#222");
        }
        std::string rest;
        if (extents.size() > shown.size())
            rest = fmt::format("{} more dimension{}", extents.size() - shown.size(),
                               extents.size() - shown.size() > 1 ? "s" : "");
        if (panel.unread > 0) rest += fmt::format("{}{} not needed", rest.empty() ? "" : ", ", panel.unread);
        if (!rest.empty()) caption(corner.y + height + 36, rest, "#777");
    }

    const Graph& graph_;
    const Operation* whole_ = nullptr;  // what is drawn
    const sharding::Sharding* sharding_ = nullptr;
    Picture picture_;
    double y_ = 0, width_ = 0, caption_width_ = 0;
    bool shared_ = false;
};

}  // namespace

Picture draw_shards(const ShardedGraph& sharded) { return ShardDrawing(sharded).take(); }

}  // namespace heddle::explain
