// The launches of a plan as boxes, with the equations that each computes, and the memory between them.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pictures/draw_parts.h"
#include "equations/equation_body.h"
#include "equations/fusion.h"
#include "target/target.h"

namespace heddle::pictures {
namespace {

constexpr size_t most_lines = 8;  // of equations in a box; the tooltip has all

// ---- equations in a few words

struct EquationSummary {
    OperationClass what = OperationClass::movement;
    std::string text;  // "y = sum over 64 x 3 x 3 (mul)"
};

bool reads_tensor(equations::Expr expression) {
    for (equations::Expr node : equations::walk(expression)) {
        if (node->kind == equations::Kind::read || node->kind == equations::Kind::guarded_read) return true;
    }
    return false;
}

EquationSummary summary_of(const equations::System& system, const equations::Equation& equation) {
    using Kind = equations::Kind;
    std::vector<std::string> operators;
    for (equations::Expr node : equations::walk(equation.right)) {
        if ((node->kind != Kind::scalar && node->kind != Kind::cast) || !reads_tensor(node)) continue;
        std::string op(node->kind == Kind::cast       ? name(node->dtype)
                       : info(node->op).infix.empty() ? info(node->op).name
                                                      : info(node->op).infix);
        if (std::find(operators.begin(), operators.end(), op) == operators.end()) operators.push_back(op);
    }
    EquationSummary summary;
    summary.what = class_of(equations::body_of(system, equation).body);
    const equations::SystemTensor& tensor = system.tensor(equation.tensor);
    summary.text = tensor.name + " =";
    if (equation.reducer) {
        std::vector<int64_t> extents;
        for (auto axis : equation.reduced) extents.push_back(system.arena->extent(axis));
        summary.text += fmt::format(" {} over {}", name(*equation.reducer), fmt::join(extents, " x "));
    }
    std::reverse(operators.begin(), operators.end());
    if (operators.size() > 5) operators.resize(5), operators.emplace_back("...");
    if (!operators.empty())
        summary.text += fmt::format(" ({})", fmt::join(operators, " "));
    else if (!equation.reducer)
        summary.text += " moved";
    return summary;
}

// The heaviest of a kernel's equations gives its colour.
int weight_of(OperationClass c) {
    switch (c) {
    case OperationClass::contraction: return 5;
    case OperationClass::indirect: return 4;
    case OperationClass::reduction: return 3;
    case OperationClass::elementwise: return 2;
    default: return 1;
    }
}

// What each kernel computes, by the name of its launch.
using Summaries = std::map<std::string, std::vector<EquationSummary>>;

// The plan keeps no equations; the same pure functions give the same ones again.
Result<Summaries> summarise(const Graph& graph, const Target& target) {
    auto system = equations::lower(graph);
    if (!system) return fail(std::move(system.error()));
    equations::optimise(*system);
    auto partition = equations::fuse(*system, target, {});
    Summaries summaries;
    for (const auto& kernel : partition.kernels) {
        std::vector<std::string> names;
        for (auto t : kernel.outputs) names.push_back(system->tensor(t).name);
        auto& list = summaries[fmt::format("{}", fmt::join(names, ", "))];
        for (int32_t e : kernel.equations) list.push_back(summary_of(*system, system->equation(e)));
    }
    return summaries;
}

// ---- boxes

std::string type_text(const plan::Buffer& buffer) {
    std::vector<std::string> sizes;
    for (const Size& size : buffer.sizes) sizes.push_back(size.text());
    return fmt::format("{}[{}] {}", name(buffer.dtype), fmt::join(sizes, ", "), bytes_text(buffer.bytes));
}

class PlanPicture {
public:
    PlanPicture(const plan::Plan& plan, const Summaries& summaries) : plan_(plan), summaries_(summaries) {}

    void make() {
        for (size_t b = 0; b < plan_.buffers.size(); b++) {
            if (plan_.buffers[b].kind != plan::Buffer::Kind::input) continue;
            makers_[static_cast<int32_t>(b)] = {boxes.size()};
            boxes.push_back(interface_box(plan_.buffers[b]));
        }
        for (size_t step = 0; step < plan_.run.size(); step++) {
            for (const plan::Launch& launch : plan_.run[step]) add_launch(launch, step);
        }
        for (size_t b = 0; b < plan_.buffers.size(); b++) {
            if (plan_.buffers[b].kind != plan::Buffer::Kind::output) continue;
            connect(static_cast<int32_t>(b), boxes.size());
            boxes.push_back(interface_box(plan_.buffers[b]));
        }
    }

    std::vector<Box> boxes;
    std::vector<Arrow> arrows;

private:
    static Box interface_box(const plan::Buffer& buffer) {
        return {.kind = Box::Kind::edge_of_graph,
                .title = buffer.name,
                .lines = {type_text(buffer)},
                .tooltip = buffer.name};
    }

    void add_launch(const plan::Launch& launch, size_t step) {
        const auto& tree = *plan_.trees[static_cast<size_t>(launch.tree)];
        Box box{.kind = launch.layout ? Box::Kind::layout : Box::Kind::work,
                .title = launch.name,
                .lines = {},
                .tooltip = {}};
        box.tooltip = fmt::format("launch {}: {}\nkernel {}, {} tasks", step, launch.name,
                                  plan_.keys[static_cast<size_t>(launch.tree)].substr(0, 8), launch.tasks);
        box.lines.push_back(fmt::format("launch {}, {} tasks", step, launch.tasks));
        auto found = summaries_.find(launch.name);
        if (!launch.layout && found != summaries_.end()) describe(found->second, box);
        int64_t weights = 0, weight_bytes = 0;
        std::vector<int32_t> written;
        std::set<int32_t> seen;
        for (size_t i = 0; i < launch.buffers.size(); i++) {
            int32_t b = launch.buffers[i];
            const plan::Buffer& buffer = plan_.buffers[static_cast<size_t>(b)];
            bool fixed = buffer.kind == plan::Buffer::Kind::constant || buffer.kind == plan::Buffer::Kind::prepared;
            if (!seen.insert(b).second) continue;
            if (fixed) {
                weights++;
                weight_bytes += buffer.bytes;
            } else {
                if (tree.memories[i].kind != schedules::Memory::Kind::output) connect(b, boxes.size());
                if (tree.memories[i].kind != schedules::Memory::Kind::input) written.push_back(b);
            }
        }
        if (weights > 0) box.lines.push_back(fmt::format("{} weights, {}", weights, bytes_text(weight_bytes)));
        for (int32_t b : written) makers_[b].push_back(boxes.size());
        boxes.push_back(std::move(box));
    }

    static void describe(const std::vector<EquationSummary>& equations, Box& box) {
        box.what = OperationClass::movement;
        for (const EquationSummary& equation : equations) {
            if (weight_of(equation.what) > weight_of(box.what)) box.what = equation.what;
            box.tooltip += "\n" + equation.text;
        }
        size_t shown = equations.size() > most_lines ? most_lines - 1 : equations.size();
        for (size_t i = 0; i < shown; i++) box.lines.push_back(equations[i].text);
        if (shown < equations.size()) box.lines.push_back(fmt::format("and {} more", equations.size() - shown));
    }

    void connect(int32_t b, size_t to) {
        const plan::Buffer& buffer = plan_.buffers[static_cast<size_t>(b)];
        for (size_t from : makers_[b]) {
            if (from == to) continue;
            bool ends = boxes.size() > from && boxes[from].kind == Box::Kind::edge_of_graph;
            bool output = buffer.kind == plan::Buffer::Kind::output;
            // An input's or output's own box says its type.
            arrows.push_back({.from = from,
                              .to = to,
                              .label = ends || output ? "" : type_text(buffer),
                              .tooltip = buffer.name + ": " + type_text(buffer)});
        }
    }

    const plan::Plan& plan_;
    const Summaries& summaries_;
    std::map<int32_t, std::vector<size_t>> makers_;  // buffer -> boxes that write it
};

}  // namespace

Result<Picture> draw_plan(const std::string& title, const Graph& graph) {
    Target target = detect_host();
    auto plan = plan::make_plan(graph, target);
    if (!plan) return fail(std::move(plan.error()));
    auto summaries = summarise(graph, target);
    if (!summaries) return fail(std::move(summaries.error()));
    PlanPicture parts(*plan, *summaries);
    parts.make();
    Picture picture;
    draw_boxes(picture,
               fmt::format("{}: {} operations in {} launches and {} for layout", title, graph.operations.size(),
                           plan->launches(), plan->layout_launches()),
               parts.boxes, parts.arrows);
    draw_memory(picture, *plan);
    return picture;
}

}  // namespace heddle::pictures
