#include "cli/step_pictures.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::cli {
namespace {

using namespace artefact;
using namespace pictures;
using pictures::Box;

bool is_decision(const StepRow& row) {
    return row.kind == StepRow::Kind::branch || row.kind == StepRow::Kind::presence;
}

constexpr size_t most_lines = 6;  // of values in a box

class StepNames {
public:
    explicit StepNames(const StepProgram& program) : program_(program) {}

    const StepRow& step(int32_t at) const { return program_.steps[static_cast<size_t>(at)]; }
    const Program& part(const StepForm& form) const { return program_.parts[static_cast<size_t>(form.part)]; }
    std::string name(int32_t value) const { return program_.values[static_cast<size_t>(value)].name; }
    std::string typed(int32_t value) const {
        const StepValue& named = program_.values[static_cast<size_t>(value)];
        return named.type.empty() ? named.name : fmt::format("{}: {}", named.name, named.type);
    }

    std::vector<std::string> typed(const std::vector<int32_t>& values) const {
        std::vector<std::string> list;
        for (const int32_t value : values) list.push_back(typed(value));
        return list;
    }

    // For which sizes the form is the one that runs; empty: for all.
    std::string when(const StepRow& row, const StepForm& form) const {
        if (form.open >= 0) return row.size_names[static_cast<size_t>(form.open)] + " is -1";
        const auto others = std::ranges::count(row.forms, -1, &StepForm::open);
        const auto& graph = part(form).graph;
        if (others > 1) return graph ? "as at " + sizes_of(*graph) : "for some sizes";
        return row.forms.size() > 1 ? "for all other sizes" : "";
    }

    static std::string sizes_text(const StepRow& row) {
        return row.sizes.empty() ? "" : fmt::format("sizes are {}", fmt::join(row.size_names, ", "));
    }

    // "at most n times, if on"
    std::string trips_text(const StepRow& row) const {
        if (!row.scanned.empty()) return fmt::format("once for each part of {}", name(row.scanned[0]));
        std::string text = row.first < 0 ? "as often as it goes on" : fmt::format("at most {} times", name(row.first));
        if (row.second >= 0) text += fmt::format(", if {}", name(row.second));
        return text;
    }

    static std::string way_text(const onnx::ScanWay& way) {
        const std::string axis = way.axis > 0 ? fmt::format(" along dimension {}", way.axis) : "";
        return axis + (way.reversed ? ", from the end" : "");
    }

    // What an iteration is given.
    std::vector<std::string> taken(const StepRow& row) const {
        std::vector<std::string> list;
        const size_t first_part = 2 + row.inputs.size();
        for (size_t i = 2; i < first_part; i++) list.push_back("carries " + typed(row.body_inputs[i]));
        for (size_t i = 0; i < row.scanned.size(); i++)
            list.push_back(fmt::format("takes {} of {}{}", typed(row.body_inputs[first_part + i]), name(row.scanned[i]),
                                       way_text(row.scan_ways[i])));
        return list;
    }

    // Whether it goes on as long as its body says so; a scan always does.
    std::string goes_on_text(const StepRow& row) const {
        return row.scanned.empty() ? "goes on if " + name(row.body_outputs[0]) : "goes on";
    }

    // What an iteration hands on to the next, and what is stacked.
    std::vector<std::string> handed_on(const StepRow& row) const {
        std::vector<std::string> list;
        const size_t carried = row.inputs.size();
        for (size_t i = 0; i < carried; i++)
            list.push_back(
                fmt::format("{} is the next {}", name(row.body_outputs[1 + i]), name(row.body_inputs[2 + i])));
        for (size_t i = 1 + carried; i < row.body_outputs.size(); i++)
            list.push_back(
                fmt::format("stacks {}{}", typed(row.body_outputs[i]), way_text(row.stack_ways[i - 1 - carried])));
        return list;
    }

    // "parts: float32[q, m] is element of l, i"
    std::string list_text(const StepRow& row) const {
        static const std::map<StepRow::Kind, std::string> words = {
            {StepRow::Kind::same, "the same as"},      {StepRow::Kind::is_there, "whether there is"},
            {StepRow::Kind::list, "a list of"},        {StepRow::Kind::length, "the length of"},
            {StepRow::Kind::element, "an element of"}, {StepRow::Kind::insert, "one more than"},
            {StepRow::Kind::erase, "one fewer than"},     {StepRow::Kind::split, "the parts of"},
            {StepRow::Kind::concatenate, "the tensors together of"}};
        std::vector<std::string> from;
        for (const int32_t input : row.inputs)
            if (input >= 0) from.push_back(name(input));
        const std::string what = from.empty() ? "nothing" : fmt::format("{}", fmt::join(from, ", "));
        return fmt::format("{} is {} {}", typed(row.results[0]), words.at(row.kind), what);
    }

    // Steps from one on, each before those that follow it.
    std::vector<int32_t> in_order(int32_t first) const {
        std::vector<int32_t> order;
        std::set<int32_t> seen;
        visit(first, seen, order);
        std::ranges::reverse(order);
        return order;
    }

private:
    void visit(int32_t at, std::set<int32_t>& seen, std::vector<int32_t>& order) const {
        if (at < 0 || !seen.insert(at).second) return;
        const StepRow& row = step(at);
        for (auto form = row.forms.rbegin(); form != row.forms.rend(); ++form) visit(form->next, seen, order);
        if (is_decision(row)) visit(row.second, seen, order);
        if (row.kind != StepRow::Kind::part) visit(row.next, seen, order);
        order.push_back(at);
    }

    const StepProgram& program_;
};

void add_lines(Box& box, const std::vector<std::string>& lines) {
    for (size_t i = 0; i < lines.size(); i++) {
        if (i < most_lines) box.lines.push_back(lines[i]);
        box.tooltip += (box.tooltip.empty() ? "" : "\n") + lines[i];
    }
    if (lines.size() > most_lines) box.lines.push_back(fmt::format("and {} more", lines.size() - most_lines));
}

// One graph's steps between a box where it begins and one where it ends.
class StepsDrawing {
public:
    StepsDrawing(const StepNames& names, int32_t first) : names_(names), first_(first) {}

    Drawing run(Box begin, Box end, bool repeats) {
        drawing_.boxes.push_back(std::move(begin));
        const std::vector<int32_t> order = names_.in_order(first_);
        for (const int32_t at : order) add_boxes(at);
        end_ = drawing_.boxes.size();
        drawing_.boxes.push_back(std::move(end));
        connect(0, first_);
        for (const int32_t at : order) connect_behind(at);
        if (repeats)
            drawing_.arrows.push_back({.from = 0, .to = end_, .tooltip = "the next iteration", .against = true});
        return std::move(drawing_);
    }

private:
    void add_boxes(int32_t at) {
        const StepRow& row = names_.step(at);
        std::vector<size_t>& boxes = boxes_[at];
        const auto add = [&](Box box) {
            boxes.push_back(drawing_.boxes.size());
            drawing_.boxes.push_back(std::move(box));
        };
        switch (row.kind) {
        case StepRow::Kind::branch:
        case StepRow::Kind::presence:
            return add({.kind = Box::Kind::decision,
                        .title = row.name,
                        .lines = {row.kind == StepRow::Kind::branch ? "true or false" : "is there or not"},
                        .tooltip = names_.typed(row.first)});
        case StepRow::Kind::loop: return add(loop_box(row));
        case StepRow::Kind::part:
            for (const StepForm& form : row.forms) add(stage_box(row, form));
            return;
        default:
            add({.kind = Box::Kind::stage,
                 .title = row.name,
                 .lines = {names_.list_text(row)},
                 .tooltip = names_.typed(row.results[0])});
        }
    }

    Box stage_box(const StepRow& row, const StepForm& form) const {
        Box box{.kind = Box::Kind::stage,
                .title = fmt::format("stage {}", form.part + 1),
                .tooltip = fmt::format("stage {}, from node {}", form.part + 1, row.name)};
        std::vector<std::string> lines;
        if (const auto& graph = names_.part(form).graph) lines.push_back(contents_of(*graph));
        if (const std::string sizes = names_.sizes_text(row); !sizes.empty()) lines.push_back(sizes);
        for (size_t o = 0; o < form.outputs.size(); o++)
            lines.push_back(fmt::format("makes {}: {}", names_.name(form.outputs[o]), form.types[o].text));
        add_lines(box, lines);
        for (const std::string& input : names_.typed(row.inputs)) box.tooltip += "\nreads " + input;
        return box;
    }

    Box loop_box(const StepRow& row) const {
        Box begin{.kind = Box::Kind::edge_of_graph, .title = "iteration " + names_.name(row.body_inputs[0])};
        Box end{.kind = Box::Kind::edge_of_graph, .title = names_.goes_on_text(row)};
        add_lines(begin, names_.taken(row));
        add_lines(end, names_.handed_on(row));
        Box box{.kind = Box::Kind::loop, .title = "loop " + row.name, .lines = {names_.trips_text(row)}};
        std::vector<std::string> given;
        for (const int32_t result : row.results) {
            if (const std::string name = names_.name(result); !name.empty()) given.push_back(names_.typed(result));
        }
        if (!given.empty()) box.lines.push_back(fmt::format("gives {}", fmt::join(given, ", ")));
        box.tooltip = fmt::format("loop {}\n{}", row.name, fmt::join(box.lines, "\n"));
        box.inside = draw_inside(StepsDrawing(names_, row.body).run(std::move(begin), std::move(end), true));
        return box;
    }

    void connect(size_t from, int32_t to, const std::string& label = {}) {
        if (to < 0) {
            drawing_.arrows.push_back({.from = from, .to = end_, .tooltip = label, .label = label});
            return;
        }
        const StepRow& row = names_.step(to);
        for (size_t i = 0; i < boxes_.at(to).size(); i++) {
            std::string text = label;
            if (row.kind == StepRow::Kind::part) {
                const std::string when = names_.when(row, row.forms[i]);
                text += (text.empty() || when.empty() ? "" : ", ") + when;
            }
            drawing_.arrows.push_back({.from = from, .to = boxes_.at(to)[i], .tooltip = text, .label = text});
        }
    }

    void connect_behind(int32_t at) {
        const StepRow& row = names_.step(at);
        const std::vector<size_t>& boxes = boxes_.at(at);
        for (size_t f = 0; f < row.forms.size(); f++) connect(boxes[f], row.forms[f].next);
        if (row.kind == StepRow::Kind::part) return;
        const bool is_same = is_decision(row) && row.next == row.second;
        connect(boxes[0], row.next, !is_decision(row) ? "" : is_same ? "either" : "true");
        if (is_decision(row) && !is_same) connect(boxes[0], row.second, "false");
    }

    const StepNames& names_;
    const int32_t first_;
    size_t end_ = 0;
    Drawing drawing_;
    std::map<int32_t, std::vector<size_t>> boxes_;  // by step; of a stage one a form
};

// ---- as text

class Outline {
public:
    explicit Outline(const StepProgram& program) : names_(program) {}

    void add(int32_t first, size_t depth) {
        for (const int32_t at : names_.in_order(first)) add_step(at, depth);
    }

    std::vector<std::string> lines;

private:
    static std::string then(int32_t next) { return next < 0 ? "the end" : fmt::format("{}", next + 1); }

    void line(size_t depth, const std::string& what) { lines.push_back(std::string(4 * depth, ' ') + what); }

    void add_step(int32_t at, size_t depth) {
        const StepRow& row = names_.step(at);
        switch (row.kind) {
        case StepRow::Kind::branch:
        case StepRow::Kind::presence:
            return line(depth, fmt::format("{}: if {}{}, {}; else {}", at + 1, names_.name(row.first),
                                           row.kind == StepRow::Kind::branch ? "" : " is there", then(row.next),
                                           then(row.second)));
        case StepRow::Kind::loop:
            line(depth,
                 fmt::format("{}: loop {}, {}; then {}", at + 1, row.name, names_.trips_text(row), then(row.next)));
            for (const std::string& given : names_.taken(row)) line(depth + 1, given);
            add(row.body, depth + 1);
            for (const std::string& handed : names_.handed_on(row)) line(depth + 1, handed);
            return line(depth + 1, names_.goes_on_text(row));
        case StepRow::Kind::part:
            for (const StepForm& form : row.forms) add_form(at, row, form, depth);
            return;
        default: return line(depth, fmt::format("{}: {}; then {}", at + 1, names_.list_text(row), then(row.next)));
        }
    }

    void add_form(int32_t at, const StepRow& row, const StepForm& form, size_t depth) {
        const auto& graph = names_.part(form).graph;
        std::string what = fmt::format("{}: stage {}", at + 1, form.part + 1);
        for (const std::string& more : {names_.when(row, form), names_.sizes_text(row)})
            if (!more.empty()) what += ", " + more;
        if (graph) what += "; " + contents_of(*graph);
        line(depth, fmt::format("{}; then {}", what, then(form.next)));
    }

    const StepNames names_;
};

}  // namespace

Drawing drawing_of(const std::string& title, const StepProgram& program) {
    const StepNames names(program);
    Box begin{.kind = Box::Kind::edge_of_graph, .title = "inputs"};
    Box end{.kind = Box::Kind::edge_of_graph, .title = "outputs"};
    std::vector<std::string> inputs;
    for (size_t i = 0; i < program.inputs.size(); i++) inputs.push_back(names.typed(static_cast<int32_t>(i)));
    add_lines(begin, inputs);
    add_lines(end, names.typed(program.output_values));
    Drawing drawing = StepsDrawing(names, program.first).run(std::move(begin), std::move(end), false);
    drawing.title = fmt::format("{}: {} steps, {} stages", title, program.steps.size(), program.parts.size());
    return drawing;
}

std::vector<std::string> outline_of(const StepProgram& program) {
    Outline outline(program);
    outline.add(program.first, 0);
    return std::move(outline.lines);
}

std::string contents_of(const Graph& graph) {
    constexpr size_t most = 4;
    std::map<std::string, int> counts;
    for (size_t o = 0; o < graph.operations.size(); o++) {
        if (o == 0 || !same_use(graph.operations[o - 1], graph.operations[o]))
            counts[graph.operations[o].operator_name]++;
    }
    std::vector<std::pair<std::string, int>> often(counts.begin(), counts.end());
    std::ranges::stable_sort(often, std::greater(), &std::pair<std::string, int>::second);
    std::string text = fmt::format("{} operation{}", graph.operations.size(), graph.operations.size() == 1 ? "" : "s");
    for (size_t i = 0; i < std::min(most, often.size()); i++)
        text += fmt::format("{} {}{}", i == 0 ? ":" : ",", often[i].first,
                            often[i].second > 1 ? fmt::format(" × {}", often[i].second) : "");
    return often.size() > most ? text + " ..." : text;
}

std::string sizes_of(const Graph& graph) {
    std::vector<std::string> sizes;
    for (const auto& [name, size] : graph.dimension_names) sizes.push_back(fmt::format("{} = {}", name, size));
    return fmt::format("{}", fmt::join(sizes, ", "));
}

}  // namespace heddle::cli
