// A graph document as boxes: tensors with the regions that applications touch, operations, and applications, each in a
// colour of its own.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "pictures/draw_parts.h"
#include "interchange/box.h"

namespace heddle::pictures {

using namespace interchange;

namespace {

constexpr size_t most_applications = 24;  // drawn of an operation
constexpr std::string_view colours[] = {"#2f7fb8", "#d9822b", "#4c9f50", "#b8488f",
                                        "#8a6d3b", "#6a5acd", "#c0504d", "#3aa6a0"};

// What touches a tensor, in which colour.
struct Touched {
    DocumentRange range;
    std::string_view colour;
    std::string who;
};

class DocumentPicture {
public:
    explicit DocumentPicture(const GraphDocument& document) : document_(document) {}

    std::vector<Picture> draw(const std::string& title) {
        collect();
        order();
        for (size_t node : order_) add_box(node);
        for (size_t node : order_) add_arrows(node);
        add_regions();
        return draw_pages(
            {.title = title, .subtitle = "", .boxes = std::move(boxes_), .arrows = std::move(arrows_), .frames = {}});
    }

private:
    const DocumentNode& node(size_t number) const { return document_.nodes[number]; }

    std::string name_of(size_t number) const {
        const DocumentNode& n = node(number);
        return n.label && !n.label->empty() ? *n.label : n.id.substr(0, 8);
    }

    // The applications of each operation, and who follows whom.
    void collect() {
        for (size_t i = 0; i < document_.nodes.size(); i++) numbers_.emplace(node(i).id, i);
        followers_.resize(document_.nodes.size());
        for (size_t i = 0; i < document_.nodes.size(); i++) {
            const auto* application = std::get_if<ApplicationBody>(&node(i).body);
            auto found = application ? numbers_.find(application->operation_id) : numbers_.end();
            if (found == numbers_.end() || !std::holds_alternative<OperationBody>(node(found->second).body)) continue;
            auto& list = applications_[found->second];
            list.push_back(i);
            if (list.size() > most_applications) continue;
            followers_[found->second].push_back(i);
            connect(std::nullopt, i, application->outputs);
        }
        for (size_t i = 0; i < document_.nodes.size(); i++) {
            const auto* operation = std::get_if<OperationBody>(&node(i).body);
            if (!operation) continue;
            connect(operation->inputs, i, applications_.contains(i) ? std::nullopt : operation->outputs);
        }
        for (auto& list : followers_) {
            std::ranges::sort(list);
            list.erase(std::unique(list.begin(), list.end()), list.end());
        }
    }

    void connect(const std::optional<DocumentSelections>& inputs, size_t at,
                 const std::optional<DocumentSelections>& outputs) {
        auto each = [&](const std::optional<DocumentSelections>& selections, auto add) {
            for (const auto& [name, list] : selections.value_or(DocumentSelections{})) {
                for (const DocumentSelection& selection : list) {
                    auto found = numbers_.find(selection.tensor_id);
                    if (found != numbers_.end()) add(found->second);
                }
            }
        };
        each(inputs, [&](size_t tensor) { followers_[tensor].push_back(at); });
        each(outputs, [&](size_t tensor) { followers_[at].push_back(tensor); });
    }

    // Who is followed comes first (Kahn 1962); what lies in and behind cycles comes as the document has it.
    void order() {
        std::vector<size_t> waiting(document_.nodes.size(), 0);
        for (const auto& list : followers_) {
            for (size_t follower : list) waiting[follower]++;
        }
        std::vector<bool> placed(document_.nodes.size(), false);
        std::vector<size_t> ready;
        auto place = [&](size_t first) {
            ready.push_back(first);
            placed[first] = true;
            for (size_t next = ready.size() - 1; next < ready.size(); next++) {
                for (size_t follower : followers_[ready[next]]) {
                    if (waiting[follower] > 0) waiting[follower]--;
                    if (waiting[follower] > 0 || placed[follower]) continue;
                    ready.push_back(follower);
                    placed[follower] = true;
                }
            }
        };
        for (int round = 0; round < 2; round++) {
            for (size_t i = 0; i < document_.nodes.size(); i++) {
                if (!placed[i] && (round == 1 || waiting[i] == 0)) place(i);
            }
        }
        // What nothing comes before stands beside its first reader.
        std::vector<std::vector<size_t>> before(document_.nodes.size());
        for (size_t i = 0; i < followers_.size(); i++) {
            for (size_t follower : followers_[i]) before[follower].push_back(i);
        }
        std::vector<bool> ordered(document_.nodes.size(), false);
        auto add = [&](size_t i) {
            if (!ordered[i] && is_drawn(i)) order_.push_back(i);
            ordered[i] = true;
        };
        for (size_t i : ready) {
            if (before[i].empty() && !followers_[i].empty()) continue;
            for (size_t from : before[i]) {
                if (before[from].empty()) add(from);
            }
            add(i);
        }
    }

    bool is_drawn(size_t number) const {
        const auto* application = std::get_if<ApplicationBody>(&node(number).body);
        if (!application) return true;
        auto found = numbers_.find(application->operation_id);
        auto list = found == numbers_.end() ? applications_.end() : applications_.find(found->second);
        if (list == applications_.end()) return true;
        auto place = std::ranges::lower_bound(list->second, number) - list->second.begin();
        return static_cast<size_t>(place) < most_applications;
    }

    void add_box(size_t number) {
        box_of_[number] = boxes_.size();
        const DocumentNode& n = node(number);
        Box box{.title = name_of(number), .lines = {}, .tooltip = n.id};
        if (const auto* tensor = std::get_if<TensorBody>(&n.body)) {
            box.kind = Box::Kind::tensor;
            box.lines = {tensor->dtype + text(tensor->range)};
        } else if (const auto* operation = std::get_if<OperationBody>(&n.body)) {
            box.kind = Box::Kind::operation;
            box.lines = {operation->kernel};
            if (n.tags && n.tags->index) box.lines.push_back("index " + heddle::text(*n.tags->index));
            auto list = applications_.find(number);
            if (list == applications_.end()) {
                touch(*operation, box, "#6b7a90", name_of(number), false);
            } else if (list->second.size() > most_applications) {
                box.lines.push_back(fmt::format("{} of {} applications drawn", most_applications, list->second.size()));
            }
        } else if (const auto* application = std::get_if<ApplicationBody>(&n.body)) {
            box.kind = Box::Kind::application;
            box.colour = colours[next_colour_++ % std::size(colours)];
            box.title = n.label && !n.label->empty() ? *n.label : "application";
            if (n.tags && n.tags->index) box.lines.push_back("index " + heddle::text(*n.tags->index));
            touch(*application, box, box.colour, box.title + " " + n.id.substr(0, 8), true);
        } else {
            box.kind = Box::Kind::layout;
            box.title = "note";
            box.lines = {std::get<NoteBody>(n.body).message};
        }
        boxes_.push_back(std::move(box));
    }

    template <typename Body>
    void touch(const Body& body, Box& box, std::string_view colour, const std::string& who, bool lines) {
        for (const auto* side : {&body.inputs, &body.outputs}) {
            for (const auto& [name, list] : side->value_or(DocumentSelections{})) {
                for (size_t i = 0; i < list.size(); i++) {
                    auto found = numbers_.find(list[i].tensor_id);
                    if (found == numbers_.end()) continue;
                    std::string text = fmt::format("{} {}", name_of(found->second), heddle::text(list[i].range));
                    bool output = side == &body.outputs;
                    if (lines) box.lines.push_back((output ? "writes " : "reads ") + text);
                    touched_[found->second].push_back(
                        {list[i].range, colour, who + (output ? " writes " : " reads ") + text});
                }
            }
        }
    }

    void add_arrows(size_t number) {
        for (size_t follower : followers_[number]) {
            auto found = box_of_.find(follower);
            if (found == box_of_.end()) continue;
            size_t from = box_of_.at(number), to = found->second;
            arrows_.push_back({.from = std::min(from, to),
                               .to = std::max(from, to),
                               .tooltip = name_of(number) + " to " + name_of(follower),
                               .against = from > to});
        }
    }

    void add_regions() {
        for (const auto& [number, list] : touched_) {
            const auto* tensor = std::get_if<TensorBody>(&node(number).body);
            if (!tensor || tensor->range.is_empty()) continue;
            auto [down, across] = axes_of(tensor->range, list);
            Box& box = boxes_[box_of_.at(number)];
            double height = extent(tensor->range, down), width = extent(tensor->range, across);
            // The longer side has 110 pixels, the other at least a fifth of that; of few elements it has less.
            double scale = std::min(110 / std::max(width, height), 22.0);
            box.picture_width = std::max(width * scale, 22.0);
            box.picture_height = std::max(height * scale, 22.0);
            for (const Touched& touched : list) {
                if (touched.range.start.size() != tensor->range.start.size() || touched.range.is_empty()) continue;
                Region region{.colour = touched.colour, .tooltip = touched.who};
                std::tie(region.left, region.right) = share(tensor->range, touched.range, across);
                std::tie(region.top, region.bottom) = share(tensor->range, touched.range, down);
                box.regions.push_back(std::move(region));
            }
        }
    }

    static double extent(const DocumentRange& range, std::optional<size_t> axis) {
        return axis ? static_cast<double>(range.end[*axis]) - static_cast<double>(range.start[*axis]) : 1;
    }

    static std::pair<double, double> share(const DocumentRange& whole, const DocumentRange& part,
                                           std::optional<size_t> axis) {
        if (!axis) return {0, 1};
        double begin = static_cast<double>(whole.start[*axis]), size = extent(whole, axis);
        auto at = [&](int64_t x) { return std::clamp((static_cast<double>(x) - begin) / size, 0.0, 1.0); };
        return {at(part.start[*axis]), at(part.end[*axis])};
    }

    // The two dimensions of a tensor's picture: those that are cut come first, then the last ones.
    static std::pair<std::optional<size_t>, std::optional<size_t>> axes_of(const DocumentRange& whole,
                                                                           const std::vector<Touched>& list) {
        std::vector<size_t> axes, others;
        for (size_t axis = 0; axis < whole.start.size(); axis++) {
            bool cut = std::ranges::any_of(list, [&](const Touched& touched) {
                return axis < touched.range.start.size() &&
                       (touched.range.start[axis] != whole.start[axis] || touched.range.end[axis] != whole.end[axis]);
            });
            (cut ? axes : others).push_back(axis);
        }
        while (axes.size() < 2 && !others.empty()) {
            axes.push_back(others.back());
            others.pop_back();
        }
        axes.resize(std::min<size_t>(axes.size(), 2));
        std::ranges::sort(axes);
        if (axes.empty()) return {};
        if (axes.size() == 1) return {std::nullopt, axes[0]};
        return {axes[0], axes[1]};
    }

    const GraphDocument& document_;
    std::map<std::string, size_t> numbers_;
    std::map<size_t, std::vector<size_t>> applications_;  // by operation
    std::vector<std::vector<size_t>> followers_;
    std::vector<size_t> order_;
    std::vector<Box> boxes_;
    std::vector<Arrow> arrows_;
    std::map<size_t, size_t> box_of_;
    std::map<size_t, std::vector<Touched>> touched_;  // by tensor
    size_t next_colour_ = 0;
};

}  // namespace

Result<std::vector<Picture>> draw_document(const std::string& title, const GraphDocument& document) {
    constexpr size_t most_nodes = 2000;
    if (document.nodes.size() > most_nodes) {
        return fail({.code = "cli.graph",
                     .summary = "the document is too large for a picture",
                     .expected = fmt::format("at most {} nodes", most_nodes),
                     .found = std::to_string(document.nodes.size())});
    }
    return DocumentPicture(document).draw(title);
}

}  // namespace heddle::pictures
