// An operator applied to given inputs as a picture: a sheet of what `heddle explain` says, where beside each projection
// stands the tensor with the box of one index point, the middle one.
#include <nlohmann/json.hpp>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pictures/draw_parts.h"
#include "explain/facts.h"
#include "explain/operation.h"
#include "explain/shards.h"
#include "explain/windows.h"

namespace heddle::explain {
namespace {

using namespace pictures;

using Json = nlohmann::ordered_json;

constexpr double margin = 28, side = 120, least = 14, line_height = 15;
constexpr size_t most_operations = 8, most_letters = 150;
constexpr int64_t most_cells = 24;  // along a side that shows its elements
constexpr std::string_view point_colour = "#2f7fb8", box_colour = "#d9822b", made_colour = "#4c9f50";

class OperatorSheet {
public:
    OperatorSheet(const Graph& graph, const Json& facts, Notations notations)
        : graph_(graph), facts_(facts), notations_(notations) {}

    Picture run() {
        y_ = margin + 8;
        line({margin, y_}, text_of(facts_, "operator"), {.size = 17, .bold = true});
        y_ += 20;
        paragraph(text_of(facts_, "doc"), {.size = 11, .colour = "#444"});
        section(bindings_text(facts_["bindings"]));
        results();
        for (size_t i = 0; i < graph_.operations.size() && i < most_operations; i++)
            draw(graph_.operations[i], facts_["operations"][i]);
        if (graph_.operations.size() > most_operations)
            section(fmt::format("and {} more operations\n", graph_.operations.size() - most_operations));
        section(notes_text(facts_["notes"]));
        section(cost_text(facts_["cost"]));
        section(gradient_text(facts_["gradient"]));
        section(kernels_text(facts_));
        picture_.width = std::max(width_ + margin, 480.0);
        picture_.height = y_ + margin / 2;
        return std::move(picture_);
    }

private:
    // Long lines go on below, further in.
    void line(Point at, const std::string& text, const TextStyle& style) {
        size_t begin = 0;
        for (size_t indent = 0; begin == 0 || begin < text.size(); indent = 12) {
            size_t end = text.size();
            if (end - begin + indent > most_letters) {
                end = begin + most_letters - indent;
                size_t space = text.rfind(' ', end);
                end = space != std::string::npos && space > begin ? space + 1 : next_character(text, end);
            }
            if (begin > 0) y_ = at.y += line_height;
            std::string part = std::string(indent, ' ') + text.substr(begin, end - begin);
            picture_.svg.text(at, part, style);
            width_ = std::max(width_, at.x + text_width(part, style));
            begin = std::max(end, begin + 1);
        }
    }

    static size_t next_character(const std::string& text, size_t at) {
        while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) at++;
        return at;
    }

    void paragraph(const std::string& text, const TextStyle& style) {
        for (const std::string& part : lines_of(text)) {
            line({margin, y_}, part, style);
            y_ += line_height;
        }
        y_ += 6;
    }

    static std::vector<std::string> lines_of(const std::string& text) {
        std::vector<std::string> lines;
        for (size_t begin = 0; begin < text.size();) {
            size_t end = std::min(text.find('\n', begin), text.size());
            lines.push_back(text.substr(begin, end - begin));
            begin = end + 1;
        }
        return lines;
    }

    // A title, and lines that are two spaces in.
    void section(const std::string& text) {
        for (const std::string& part : lines_of(text)) {
            bool title = !part.starts_with("  ");
            line({title ? margin : margin + 14, y_}, title ? part : part.substr(2),
                 {.size = title ? 11.0 : 10.0, .bold = title, .mono = !title});
            y_ += line_height;
        }
        if (!text.empty()) y_ += 6;
    }

    void results() {
        std::string text = "results\n";
        for (const Json& output : facts_["outputs"]) {
            text += fmt::format("  {}: {}{}\n", text_of(output, "name"), text_of(output, "type"),
                                output["known"].get<bool>() ? " = " + text_of(output, "value") : "");
        }
        section(text);
    }

    // ---- one operation

    void draw(const Operation& operation, const Json& facts) {
        y_ += 8;
        picture_.svg.line({{margin, y_ - 14}, {margin + 640, y_ - 14}}, "#ccc");
        line({margin, y_ + 2}, fmt::format("{} ({})", operation.name, text_of(facts, "class")),
             {.size = 13, .bold = true});
        y_ += 16;
        choose_point(operation);
        auto lines = lines_of(index_text(facts));
        std::string title = lines[0];
        lines.erase(lines.begin());
        lines.push_back(empty_ ? "no points: there is nothing to do"
                               : fmt::format("below: the boxes of the point [{}]", fmt::join(point_, ", ")));
        row(title, box_of_point(), point_colour, lines);
        auto tensors = [&](const char* what, const char* key, const std::vector<TensorId>& ids,
                           const std::vector<IndexProjection>& projections, std::string_view colour, bool read) {
            for (size_t i = 0; i < ids.size(); i++) {
                const Json& said = facts[key][i];
                std::string title = fmt::format("{} {}: {}", what, text_of(said, "name"), text_of(said, "type"));
                const Tensor& tensor = graph_.tensor(ids[i]);
                Shown shown{.extents = tensor.type.extents(), .start = {}, .end = {}, .origin = tensor.start};
                if (i < projections.size()) project(projections[i], shown);
                if (read && !shown.start.empty()) narrow(operation, i, shown);
                auto lines = lines_of(tensor_text(said, notations_));
                if (!shown.start.empty()) lines.push_back("in the picture  " + box_text(shown));
                row(title, shown, colour, lines);
            }
        };
        tensors("input", "inputs", operation.inputs, operation.input_projections, box_colour, true);
        tensors("output", "outputs", operation.outputs, operation.output_projections, made_colour, false);
        if (!facts["axes"].empty()) section("shards along\n" + axes_text(facts["axes"]));
        section(facts["body"].is_null() ? "no body: a kernel elsewhere\n"
                                        : "body\n" + indented(text_of(facts, "body"), 2));
    }

    // What a picture shows: an array, and a box of it unless it is empty. Boxes count from zero; `origin`, if there is
    // one, is where the tensor's range begins.
    struct Shown {
        std::vector<int64_t> extents, start, end, origin = {};
    };

    static std::string box_text(const Shown& shown) {
        std::vector<std::string> ranges;
        for (size_t d = 0; d < shown.start.size(); d++) {
            int64_t origin = shown.origin.empty() ? 0 : shown.origin[d];
            ranges.push_back(fmt::format("{}:{}", origin + shown.start[d], origin + shown.end[d]));
        }
        return fmt::format("[{}]", fmt::join(ranges, ", "));
    }

    void choose_point(const Operation& operation) {
        index_.clear();
        point_.clear();
        for (const IndexAxis& axis : operation.index) {
            if (axis.extends()) continue;
            index_.push_back(axis.extent.value());
            point_.push_back(axis.extent.value() / 2);
        }
        empty_ = std::ranges::count(index_, 0) > 0;
    }

    Shown box_of_point() const {
        Shown shown{.extents = index_, .start = {}, .end = {}};
        if (empty_) return shown;
        shown.start = shown.end = point_;
        for (int64_t& end : shown.end) end++;
        return shown;
    }

    void project(const IndexProjection& projection, Shown& shown) const {
        if (empty_) return;
        for (size_t d = 0; d < shown.extents.size(); d++) {
            int64_t start = projection.offset[d];
            for (size_t axis = 0; axis < point_.size(); axis++) start += projection.projection[d][axis] * point_[axis];
            bool whole = projection.whole[d];
            shown.start.push_back(whole ? 0 : std::clamp<int64_t>(start, 0, shown.extents[d]));
            shown.end.push_back(whole ? shown.extents[d]
                                      : std::clamp<int64_t>(start + projection.shape[d], 0, shown.extents[d]));
        }
    }

    // To the windows of dimensions that are no box at every point.
    void narrow(const Operation& operation, size_t input, Shown& shown) const {
        const auto& whole = operation.input_projections[input].whole;
        for (size_t d = 0; d < whole.size(); d++) {
            const auto window =
                whole[d] && shown.extents[d] > 1 ? clamped_window(operation, input, d, shown.extents[d]) : std::nullopt;
            if (!window) continue;
            const auto [begin, end] = window_at(*window, *operation.body, point_);
            shown.start[d] = std::clamp<int64_t>(begin, 0, shown.extents[d]);
            shown.end[d] = std::clamp<int64_t>(end, 0, shown.extents[d]);
        }
    }

    // A picture on the left, its words beside it.
    void row(const std::string& title, const Shown& shown, std::string_view colour,
             const std::vector<std::string>& lines) {
        double top = y_, bottom = top + array(shown, {margin + 14, top}, colour);
        double x = margin + side + 44;
        y_ = top + 9;
        line({x, y_}, title, {.size = 11, .bold = true});
        for (const std::string& text : lines) {
            y_ += line_height;
            line({x, y_}, text, {.size = 10, .mono = true});
        }
        y_ = std::max(bottom, y_) + 22;
    }

    // The last two dimensions of more than one element, or the last ones.
    static std::vector<size_t> shown_dimensions(const std::vector<int64_t>& extents) {
        std::vector<size_t> dimensions;
        for (size_t pass = 0; pass < 2; pass++) {
            for (size_t d = extents.size(); d-- > 0 && dimensions.size() < 2;) {
                if ((extents[d] > 1) == (pass == 0)) dimensions.push_back(d);
            }
        }
        std::ranges::sort(dimensions);
        return dimensions;
    }

    // Answers its height.
    double array(const Shown& shown, Point corner, std::string_view colour) {
        std::vector<size_t> dimensions = shown_dimensions(shown.extents);
        auto extent = [&](size_t from_last) {
            return from_last < dimensions.size()
                       ? std::max<int64_t>(shown.extents[dimensions[dimensions.size() - 1 - from_last]], 1)
                       : 1;
        };
        int64_t columns = extent(0), rows = extent(1);
        double cell = std::min(side / static_cast<double>(std::max(columns, rows)), 22.0);
        double width = std::max(static_cast<double>(columns) * cell, least);
        double height = std::max(static_cast<double>(rows) * cell, least);
        picture_.svg.rectangle(corner, width, height, "#f6f6f6", "#888", 0,
                               fmt::format("[{}]", fmt::join(shown.extents, ", ")));
        if (shown.start.size() == shown.extents.size() && !empty_) {
            auto part = [&](size_t from_last, const std::vector<int64_t>& at, int64_t otherwise) {
                return from_last < dimensions.size() ? at[dimensions[dimensions.size() - 1 - from_last]] : otherwise;
            };
            double left = static_cast<double>(part(0, shown.start, 0)) / static_cast<double>(columns) * width;
            double right = static_cast<double>(part(0, shown.end, 1)) / static_cast<double>(columns) * width;
            double up = static_cast<double>(part(1, shown.start, 0)) / static_cast<double>(rows) * height;
            double down = static_cast<double>(part(1, shown.end, 1)) / static_cast<double>(rows) * height;
            picture_.svg.rectangle({corner.x + left, corner.y + up}, std::max(right - left, 1.5),
                                   std::max(down - up, 1.5), colour, colour, 0, box_text(shown), 0.6);
        }
        draw_grid(picture_.svg, corner, width, height, rows, columns, most_cells);
        caption({corner.x, corner.y + height + 11}, shown.extents, dimensions);
        return height + 14;
    }

    // "dimensions 2 ↓ 3 →"
    void caption(Point at, const std::vector<int64_t>& extents, const std::vector<size_t>& dimensions) {
        if (extents.empty()) return;
        std::string text = dimensions.size() == 2 ? fmt::format("dimensions {} ↓ {} →", dimensions[0], dimensions[1])
                                                  : fmt::format("dimension {} →", dimensions[0]);
        picture_.svg.text(at, text, {.size = 8, .colour = "#777"});
    }

    const Graph& graph_;
    const Json& facts_;
    const Notations notations_;
    Picture picture_;
    double y_ = 0, width_ = 0;
    std::vector<int64_t> index_, point_;
    bool empty_ = false;  // the index has no points
};

}  // namespace

Picture draw_operator(const Graph& graph, const Json& facts, Notations notations) {
    return OperatorSheet(graph, facts, notations).run();
}

}  // namespace heddle::explain
