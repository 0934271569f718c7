#include "pictures/draw_layout.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace heddle::pictures {
namespace {

constexpr double box_gap = 28;
constexpr double bend_width = 10;
constexpr int sweeps = 12;
// Beyond so many bends, long edges are drawn straight: a picture of that size is for searching, not for looking.
constexpr size_t most_bends = 200'000;

class Layering {
public:
    explicit Layering(Layout& layout) : layout_(layout) {}

    void run(double layer_gap) {
        choose_layers();
        add_bends();
        for (int i = 0; i < sweeps; i++) order(i % 2 == 0);
        place_first();
        for (int i = 0; i < sweeps; i++) place(i % 2 == 0);
        finish(layer_gap);
    }

private:
    // A box, or a bend where a long edge passes a layer.
    struct Item {
        double width = 0, height = 0;
        size_t layer = 0;
        double centre = 0;
        std::vector<size_t> above, below;
    };

    void choose_layers() {
        for (const LayoutNode& node : layout_.nodes)
            items_.push_back({.width = node.width, .height = node.height, .above = {}, .below = {}});
        std::vector<size_t> order(layout_.edges.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return layout_.edges[a].from < layout_.edges[b].from; });
        std::vector<size_t> earliest(items_.size(), SIZE_MAX);
        std::vector<bool> source(items_.size(), true);
        for (size_t e : order) {
            const LayoutEdge& edge = layout_.edges[e];
            items_[edge.to].layer = std::max(items_[edge.to].layer, items_[edge.from].layer + 1);
            source[edge.to] = false;
        }
        // What nothing comes before stands just above its first reader.
        for (const LayoutEdge& edge : layout_.edges)
            earliest[edge.from] = std::min(earliest[edge.from], items_[edge.to].layer);
        for (size_t i = 0; i < items_.size(); i++) {
            if (source[i] && earliest[i] != SIZE_MAX) items_[i].layer = earliest[i] - 1;
        }
    }

    // Edges of one box share their bends until they part.
    void add_bends() {
        std::map<std::pair<size_t, size_t>, size_t> bend_of;  // (box, layer) -> item
        size_t boxes = items_.size();
        paths_.resize(layout_.edges.size());
        for (size_t e = 0; e < layout_.edges.size(); e++) {
            auto [from, to, points] = layout_.edges[e];
            size_t last = from;
            for (size_t layer = items_[from].layer + 1; layer < items_[to].layer; layer++) {
                auto [bend, added] = bend_of.try_emplace({from, layer}, items_.size());
                if (added) {
                    if (items_.size() - boxes >= most_bends) {
                        bend_of.erase(bend);
                        break;
                    }
                    items_.push_back({.width = bend_width, .height = 0, .layer = layer, .above = {last}, .below = {}});
                    items_[last].below.push_back(bend->second);
                }
                last = bend->second;
                paths_[e].push_back(last);
            }
            items_[last].below.push_back(to);
            items_[to].above.push_back(last);
        }
        for (size_t i = 0; i < items_.size(); i++) {
            if (items_[i].layer >= layers_.size()) layers_.resize(items_[i].layer + 1);
            layers_[items_[i].layer].push_back(i);
        }
    }

    const std::vector<size_t>& neighbours(size_t item, bool downwards) const {
        return downwards ? items_[item].above : items_[item].below;
    }

    void order(bool downwards) {
        std::vector<double> position(items_.size(), 0);
        for (size_t step = 0; step < layers_.size(); step++) {
            auto& layer = layers_[downwards ? step : layers_.size() - 1 - step];
            std::vector<std::pair<double, size_t>> keys;
            for (size_t i = 0; i < layer.size(); i++) {
                double sum = 0;
                const auto& near = neighbours(layer[i], downwards);
                for (size_t neighbour : near) sum += position[neighbour];
                // Without neighbours it stays where it was.
                keys.push_back(
                    {near.empty() ? static_cast<double>(i) : sum / static_cast<double>(near.size()), layer[i]});
            }
            std::stable_sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
            for (size_t i = 0; i < layer.size(); i++) {
                layer[i] = keys[i].second;
                position[layer[i]] = static_cast<double>(i);
            }
        }
    }

    double distance(size_t left, size_t right) const {
        return (items_[left].width + items_[right].width) / 2 + box_gap;
    }

    void place_first() {
        for (const auto& layer : layers_) {
            double at = 0;
            for (size_t i = 0; i < layer.size(); i++)
                items_[layer[i]].centre = at = i == 0 ? 0 : at + distance(layer[i - 1], layer[i]);
            for (size_t item : layer) items_[item].centre -= at / 2;
        }
    }

    void place(bool downwards) {
        for (size_t step = 0; step < layers_.size(); step++)
            place_layer(layers_[downwards ? step : layers_.size() - 1 - step], downwards);
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
            double wanted = 0;
            for (size_t neighbour : near) wanted += items_[neighbour].centre;
            wanted = near.empty() ? item.centre : wanted / static_cast<double>(near.size());
            // Bends want to be straight more than boxes want to be in the middle.
            double weight = near.empty() ? 0.1 : item.height == 0 ? 2 : 1;
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

    void finish(double layer_gap) {
        double left = items_.empty() ? 0 : HUGE_VAL, right = -left, y = 0;
        for (const Item& item : items_) {
            left = std::min(left, item.centre - item.width / 2);
            right = std::max(right, item.centre + item.width / 2);
        }
        std::vector<double> tops, bottoms;
        for (const auto& layer : layers_) {
            double height = 0;
            for (size_t item : layer) height = std::max(height, items_[item].height);
            tops.push_back(y);
            bottoms.push_back(y + height);
            y += height + layer_gap;
        }
        for (Item& item : items_) item.centre -= left;
        for (size_t i = 0; i < layout_.nodes.size(); i++) {
            layout_.nodes[i].corner = {items_[i].centre - items_[i].width / 2, tops[items_[i].layer]};
        }
        for (size_t e = 0; e < layout_.edges.size(); e++) {
            LayoutEdge& edge = layout_.edges[e];
            const LayoutNode& from = layout_.nodes[edge.from];
            edge.points = {{items_[edge.from].centre, from.corner.y + from.height}};
            // Straight down past the boxes of each layer.
            for (size_t bend : paths_[e]) {
                edge.points.push_back({items_[bend].centre, tops[items_[bend].layer] - layer_gap / 4});
                edge.points.push_back({items_[bend].centre, bottoms[items_[bend].layer] + layer_gap / 4});
            }
        }
        arrive();
        layout_.width = right - left;
        layout_.height = layers_.empty() ? 0 : y - layer_gap;
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
    std::vector<std::vector<size_t>> layers_;
    std::vector<std::vector<size_t>> paths_;  // by edge: its bends
};

}  // namespace

void lay_out(Layout& layout, double layer_gap) { Layering(layout).run(layer_gap); }

}  // namespace heddle::pictures
