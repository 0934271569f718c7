#include "pictures/draw_layout.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "support/union_find.h"

namespace heddle::pictures {
namespace {

constexpr double bend_width = 4, bend_gap = 10;
constexpr int sweeps = 12;
// Beyond so many bends, long edges are drawn straight: a picture of that size is for searching, not for looking.
constexpr size_t most_bends = 200'000;

class Layering {
public:
    explicit Layering(Layout& layout) : layout_(layout) {}

    void run() {
        add_items();
        add_bends();
        find_parts();
        for (int i = 0; i < sweeps; i++) order(i % 2 == 0);
        place_first();
        for (int i = 0; i < sweeps; i++) place(i % 2 == 0, true);
        pull_together();
        lead_past_frames();
        for (int i = 0; i < 2; i++) place(i % 2 == 0, false);
        finish();
    }

private:
    // A box, or a bend where a long edge passes a layer.
    struct Item {
        double width = 0, height = 0;
        size_t layer = 0;
        bool passes = false;  // beside the frame of its layer
        size_t source = 0;    // the box of a bend's edges
        size_t part = 0;      // of those that no edge joins
        double centre = 0;
        std::vector<size_t> above, below;
    };

    void add_items() {
        for (const LayoutNode& node : layout_.nodes) {
            items_.push_back(
                {.width = node.width, .height = node.height, .layer = node.layer, .above = {}, .below = {}});
            if (node.layer >= frame_of_.size()) frame_of_.resize(node.layer + 1, no_frame);
            if (node.frame != no_frame) frame_of_[node.layer] = node.frame;
        }
    }

    // Edges of one box share their bends until they part; those that pass a frame keep apart from those that do not.
    void add_bends() {
        std::map<std::tuple<size_t, size_t, bool>, size_t> bend_of;  // (box, layer, passes) -> item
        const size_t boxes = items_.size();
        paths_.resize(layout_.edges.size());
        for (size_t e = 0; e < layout_.edges.size(); e++) {
            const auto [from, to] = std::pair(layout_.edges[e].from, layout_.edges[e].to);
            size_t last = from;
            for (size_t layer = items_[from].layer + 1; layer < items_[to].layer; layer++) {
                const size_t frame = frame_of_[layer];
                const bool passes =
                    frame != no_frame && layout_.nodes[from].frame != frame && layout_.nodes[to].frame != frame;
                auto [bend, added] = bend_of.try_emplace({from, layer, passes}, items_.size());
                if (added) {
                    if (items_.size() - boxes >= most_bends) {
                        bend_of.erase(bend);
                        break;
                    }
                    items_.push_back({.width = bend_width,
                                      .layer = layer,
                                      .passes = passes,
                                      .source = from,
                                      .above = {last},
                                      .below = {}});
                    items_[last].below.push_back(bend->second);
                }
                last = bend->second;
                paths_[e].push_back(last);
            }
            items_[last].below.push_back(to);
            items_[to].above.push_back(last);
        }
        layers_.resize(frame_of_.size());
        for (size_t i = 0; i < items_.size(); i++) layers_[items_[i].layer].push_back(i);
    }

    void find_parts() {
        UnionFind<size_t> parts(items_.size());
        for (size_t i = 0; i < items_.size(); i++) {
            for (size_t below : items_[i].below)
                parts.join(std::min(parts.root(i), parts.root(below)), std::max(parts.root(i), parts.root(below)));
        }
        for (size_t i = 0; i < items_.size(); i++) items_[i].part = parts.root(i);
    }

    const std::vector<size_t>& neighbours(size_t item, bool downwards) const {
        return downwards ? items_[item].above : items_[item].below;
    }

    void order(bool downwards) {
        std::vector<double> position(items_.size(), 0);
        for (size_t step = 0; step < layers_.size(); step++) {
            auto& layer = layers_[downwards ? step : layers_.size() - 1 - step];
            std::vector<std::tuple<bool, size_t, double, size_t>> keys;
            for (size_t i = 0; i < layer.size(); i++) {
                double sum = 0;
                const auto& near = neighbours(layer[i], downwards);
                for (size_t neighbour : near) sum += position[neighbour];
                // Without neighbours it stays where it was.
                keys.push_back({items_[layer[i]].passes, items_[layer[i]].part,
                                near.empty() ? static_cast<double>(i) : sum / static_cast<double>(near.size()),
                                layer[i]});
            }
            std::ranges::stable_sort(keys, {}, [](const auto& key) {
                const auto& [passes, part, wanted, item] = key;
                return std::tuple(passes, part, wanted);
            });
            for (size_t i = 0; i < layer.size(); i++) {
                layer[i] = std::get<3>(keys[i]);
                position[layer[i]] = static_cast<double>(i);
            }
        }
    }

    double distance(size_t left, size_t right) const {
        const bool bends = items_[left].height == 0 && items_[right].height == 0;
        return (items_[left].width + items_[right].width) / 2 + (bends ? bend_gap : box_gap);
    }

    void place_first() {
        for (const auto& layer : layers_) {
            double at = 0;
            for (size_t i = 0; i < layer.size(); i++)
                items_[layer[i]].centre = at = i == 0 ? 0 : at + distance(layer[i - 1], layer[i]);
            for (size_t item : layer) items_[item].centre -= at / 2;
        }
    }

    void place(bool downwards, bool frames) {
        for (size_t step = 0; step < layers_.size(); step++) {
            const size_t layer = downwards ? step : layers_.size() - 1 - step;
            if (frames || frame_of_[layer] == no_frame) place_layer(layers_[layer], downwards);
        }
    }

    // Each item as near as can be to the middle of its neighbours, in order and without overlap: monotone regression by
    // pooling neighbours that would be out of order, after taking the distances off.
    void place_layer(const std::vector<size_t>& layer, bool downwards) {
        struct Pool {
            double sum = 0, weight = 0;
            size_t count = 0;
            double mean() const { return sum / weight; }
        };
        std::vector<Pool> pools;
        std::vector<double> taken;
        double distances = 0;
        for (size_t i = 0; i < layer.size(); i++) {
            const Item& item = items_[layer[i]];
            if (i > 0) distances += distance(layer[i - 1], layer[i]);
            taken.push_back(distances);
            const auto& near = neighbours(layer[i], downwards);
            double wanted = 0, weights = 0;
            for (size_t neighbour : near) {
                // What comes from nowhere, as constants do, follows its reader; a chain beside it stays straight.
                const double weight = neighbours(neighbour, downwards).empty() ? 0.05 : 1;
                wanted += weight * items_[neighbour].centre;
                weights += weight;
            }
            wanted = near.empty() ? item.centre : wanted / weights;
            // Bends want to be straight more than boxes want to be in the middle.
            const bool ends = neighbours(layer[i], !downwards).empty();
            double weight = near.empty() ? 0.1 : ends ? 0.05 : item.height == 0 ? 2 : 1;
            pools.push_back({(wanted - distances) * weight, weight, 1});
            while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
                Pool last = pools.back();
                pools.pop_back();
                pools.back() = {pools.back().sum + last.sum, pools.back().weight + last.weight,
                                pools.back().count + last.count};
            }
        }
        size_t i = 0;
        for (const Pool& pool : pools) {
            for (size_t end = i + pool.count; i < end; i++) items_[layer[i]].centre = pool.mean() + taken[i];
        }
    }

    // Each part goes as far to the left as those before it let it.
    void pull_together() {
        struct Part {
            double left = HUGE_VAL;
            std::vector<size_t> items;
        };
        std::map<size_t, Part> by_root;
        for (size_t i = 0; i < items_.size(); i++) {
            Part& part = by_root[items_[i].part];
            part.items.push_back(i);
            part.left = std::min(part.left, items_[i].centre - items_[i].width / 2);
        }
        std::vector<const Part*> order;
        for (const auto& [root, part] : by_root) order.push_back(&part);
        std::ranges::stable_sort(order, {}, &Part::left);
        std::vector<double> taken(layers_.size(), 0);  // right edges so far
        for (const Part* part : order) {
            double room = HUGE_VAL;
            for (size_t i : part->items)
                room = std::min(room, items_[i].centre - items_[i].width / 2 - taken[items_[i].layer]);
            for (size_t i : part->items) {
                items_[i].centre -= room;
                taken[items_[i].layer] =
                    std::max(taken[items_[i].layer], items_[i].centre + items_[i].width / 2 + box_gap);
            }
        }
        for (auto& layer : layers_) std::ranges::stable_sort(layer, {}, [&](size_t i) { return items_[i].centre; });
    }

    // A frame is around its items; edges that pass it run straight down on its right, each box's on a line of its own.
    void lead_past_frames() {
        for (size_t first = 0, end; first < layers_.size(); first = end) {
            const size_t frame = frame_of_[first];
            for (end = first + 1; end < layers_.size() && frame_of_[end] == frame;) end++;
            if (frame == no_frame) continue;
            double left = HUGE_VAL, right = -HUGE_VAL;
            std::map<size_t, double> lines;  // by source
            for (size_t layer = first; layer < end; layer++) {
                for (size_t i : layers_[layer]) {
                    if (items_[i].passes) {
                        lines.try_emplace(items_[i].source, items_[i].centre);
                        continue;
                    }
                    left = std::min(left, items_[i].centre - items_[i].width / 2 - frame_side);
                    right = std::max(right, items_[i].centre + items_[i].width / 2 + frame_side);
                }
            }
            right = std::max(right, left + layout_.frames[frame].least_width);
            layout_.frames[frame].corner.x = left;
            layout_.frames[frame].width = right - left;
            std::vector<std::pair<double, size_t>> order;
            for (const auto& [source, centre] : lines) order.emplace_back(centre, source);
            std::ranges::sort(order);
            for (const auto& [centre, source] : order) lines[source] = right += bend_gap + bend_width;
            for (size_t layer = first; layer < end; layer++) {
                for (size_t i : layers_[layer]) {
                    if (items_[i].passes) items_[i].centre = lines[items_[i].source];
                }
            }
        }
    }

    void finish() {
        double left = items_.empty() ? 0 : HUGE_VAL, right = -left, y = 0;
        auto reach = [&](double from, double to) {
            left = std::min(left, from);
            right = std::max(right, to);
        };
        for (const Item& item : items_) reach(item.centre - item.width / 2, item.centre + item.width / 2);
        for (const LayoutFrame& frame : layout_.frames) {
            if (frame.width > 0) reach(frame.corner.x, frame.corner.x + frame.width);
        }
        std::vector<double> tops, bottoms, frame_tops, frame_bottoms;  // by layer; those of frames with their edges
        for (size_t layer = 0; layer < layers_.size(); layer++) {
            const size_t frame = frame_of_[layer];
            const bool enters = frame != no_frame && (layer == 0 || frame_of_[layer - 1] != frame);
            const bool leaves = frame != no_frame && (layer + 1 == layers_.size() || frame_of_[layer + 1] != frame);
            double height = 0;
            for (size_t item : layers_[layer]) height = std::max(height, items_[item].height);
            if (enters) layout_.frames[frame].corner.y = y;
            frame_tops.push_back(y);
            if (enters) y += frame_head;
            tops.push_back(y);
            bottoms.push_back(y += height);
            if (leaves) layout_.frames[frame].height = (y += frame_foot) - layout_.frames[frame].corner.y;
            frame_bottoms.push_back(y);
            if (layer + 1 < layers_.size()) y += layer_gap;
        }
        for (Item& item : items_) item.centre -= left;
        for (LayoutFrame& frame : layout_.frames) frame.corner.x -= left;
        for (size_t i = 0; i < layout_.nodes.size(); i++)
            layout_.nodes[i].corner = {items_[i].centre - items_[i].width / 2, tops[items_[i].layer]};
        for (size_t e = 0; e < layout_.edges.size(); e++) {
            LayoutEdge& edge = layout_.edges[e];
            const LayoutNode& from = layout_.nodes[edge.from];
            // Down to where the layer ends, so that nothing beside the box is crossed.
            edge.points = {{items_[edge.from].centre, from.corner.y + from.height}};
            if (bottoms[from.layer] > edge.points[0].y) edge.points.push_back({edge.points[0].x, bottoms[from.layer]});
            for (size_t bend : paths_[e]) {
                const Item& item = items_[bend];
                edge.points.push_back({item.centre, (item.passes ? frame_tops : tops)[item.layer]});
                edge.points.push_back({item.centre, (item.passes ? frame_bottoms : bottoms)[item.layer]});
            }
        }
        arrive();
        layout_.width = right - left;
        layout_.height = y;
    }

    // Edges end side by side, in the order in which they come.
    void arrive() {
        std::vector<std::vector<size_t>> arriving(layout_.nodes.size());
        for (size_t e = 0; e < layout_.edges.size(); e++) arriving[layout_.edges[e].to].push_back(e);
        for (size_t i = 0; i < arriving.size(); i++) {
            auto& edges = arriving[i];
            std::stable_sort(edges.begin(), edges.end(), [&](size_t a, size_t b) {
                return layout_.edges[a].points.back().x < layout_.edges[b].points.back().x;
            });
            double apart = std::min(18.0, items_[i].width / static_cast<double>(edges.size() + 1));
            for (size_t e = 0; e < edges.size(); e++) {
                double shift = (static_cast<double>(e) - static_cast<double>(edges.size() - 1) / 2) * apart;
                layout_.edges[edges[e]].points.push_back({items_[i].centre + shift, layout_.nodes[i].corner.y});
            }
        }
    }

    Layout& layout_;
    std::vector<Item> items_;
    std::vector<size_t> frame_of_;  // by layer
    std::vector<std::vector<size_t>> layers_;
    std::vector<std::vector<size_t>> paths_;  // by edge: its bends
};

class LayerChooser {
public:
    LayerChooser(Layout& layout, double widest)
        : layout_(layout), widest_(widest), reads_(layout.nodes.size()), reader_(layout.nodes.size(), SIZE_MAX) {
        for (const LayoutEdge& edge : layout.edges) {
            reads_[edge.to].push_back(edge.from);
            reader_[edge.from] = std::min(reader_[edge.from], edge.to);
        }
    }

    void run() {
        size_t first = 0;  // layer of this frame, or of what is between two
        for (size_t i = 0; i < layout_.nodes.size(); i++) {
            if (i > 0 && layout_.nodes[i].frame != layout_.nodes[i - 1].frame) first = taken_.size();
            // What nothing feeds stands beside what else its first reader reads.
            const size_t as = reads_[i].empty() && reader_[i] != SIZE_MAX ? reader_[i] : i;
            size_t layer = first;
            for (size_t from : reads_[as]) {
                if (from < i) layer = std::max(layer, layout_.nodes[from].layer + (as == i ? 1 : 0));
            }
            while (!has_room(layer, layout_.nodes[i].width)) layer++;
            put(i, layer);
        }
    }

private:
    bool has_room(size_t layer, double width) const {
        return layer >= taken_.size() || taken_[layer] == 0 || taken_[layer] + box_gap + width <= widest_;
    }

    void put(size_t node, size_t layer) {
        if (layer >= taken_.size()) taken_.resize(layer + 1, 0);
        taken_[layer] += layout_.nodes[node].width + (taken_[layer] > 0 ? box_gap : 0);
        layout_.nodes[node].layer = layer;
    }

    Layout& layout_;
    double widest_;
    std::vector<std::vector<size_t>> reads_;
    std::vector<size_t> reader_;  // the first one
    std::vector<double> taken_;   // by layer: pixels
};

}  // namespace

void choose_layers(Layout& layout, double widest) { LayerChooser(layout, widest).run(); }

void lay_out(Layout& layout) { Layering(layout).run(); }

}  // namespace heddle::pictures
