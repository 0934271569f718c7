// The launches of a plan as boxes, with the equations that each computes, and the memory between them.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pictures/draw_parts.h"
#include "pictures/kernel_summary.h"

namespace heddle::pictures {
namespace {

constexpr size_t most_results = 3;  // types in a box

// The heaviest of a kernel's equations gives its colour.
int weight_of(OperationClass c) {
    switch (c) {
    case OperationClass::scan: return 6;
    case OperationClass::contraction: return 5;
    case OperationClass::indirect: return 4;
    case OperationClass::reduction: return 3;
    case OperationClass::elementwise: return 2;
    default: return 1;
    }
}

std::string short_type(const plan::Buffer& buffer) {
    return fmt::format("{} {}", pictures::short_type(buffer.dtype, buffer.sizes), bytes_text(buffer.bytes));
}

std::string long_type(const plan::Buffer& buffer) {
    return fmt::format("{}, {}", pictures::long_type(buffer.dtype, buffer.sizes), bytes_text(buffer.bytes));
}

class PlanDrawing {
public:
    PlanDrawing(const Graph& graph, const plan::Plan& plan, const Summaries& summaries, const Times& times)
        : graph_(graph), plan_(plan), summaries_(summaries), times_(times) {
        for (const plan::Batch& batch : plan.run) {
            for (const plan::Launch& launch : batch) {
                for (int32_t b : written(launch)) makings_[b]++;
                if (!launch.layout) launches_of_[launch.name]++;
            }
        }
    }

    Drawing run() {
        for (size_t step = 0; step < plan_.run.size(); step++) {
            for (const plan::Launch& launch : plan_.run[step]) add_launch(launch, step);
        }
        for (size_t b = 0; b < plan_.buffers.size(); b++) add_input(static_cast<int32_t>(b));
        for (size_t b = 0; b < plan_.buffers.size(); b++) add_output(static_cast<int32_t>(b));
        return std::move(drawing_);
    }

private:
    const plan::Buffer& buffer(int32_t b) const { return plan_.buffers[static_cast<size_t>(b)]; }

    std::set<int32_t> written(const plan::Launch& launch) const {
        std::set<int32_t> list;
        for (size_t i = 0; i < launch.buffers.size(); i++) {
            if (plan::writes(plan_, launch, i)) list.insert(launch.buffers[i]);
        }
        return list;
    }

    std::vector<int32_t> read(const plan::Launch& launch) const {
        std::vector<int32_t> list;
        const auto& memories = plan_.trees[static_cast<size_t>(launch.tree)]->memories;
        for (size_t i = 0; i < launch.buffers.size(); i++) {
            const int32_t b = launch.buffers[i];
            if (memories[i].kind != schedules::Memory::Kind::output && std::ranges::find(list, b) == list.end())
                list.push_back(b);
        }
        return list;
    }

    void add_interface(int32_t b, const char* what) {
        const plan::Buffer& own = buffer(b);
        drawing_.boxes.push_back({.kind = Box::Kind::edge_of_graph,
                                  .title = own.name,
                                  .lines = {short_type(own)},
                                  .tooltip = fmt::format("{} {}: {}", what, own.name, long_type(own)),
                                  .name = own.name,
                                  .says = fmt::format("{} {}", what, short_type(own))});
    }

    // An input stands before what reads it first, an output behind what writes it last.
    void add_input(int32_t b) {
        if (buffer(b).kind != plan::Buffer::Kind::input || makers_.contains(b)) return;
        makers_[b] = {drawing_.boxes.size()};
        add_interface(b, "input");
    }

    void add_output(int32_t b) {
        if (buffer(b).kind != plan::Buffer::Kind::output || !outputs_.insert(b).second) return;
        connect(b, drawing_.boxes.size());
        add_interface(b, "output");
    }

    void add_launch(const plan::Launch& launch, size_t step) {
        const std::vector<int32_t> reads = read(launch);
        const std::set<int32_t> writes = written(launch);
        for (int32_t b : reads) add_input(b);
        const size_t place = drawing_.boxes.size();
        Box box{.kind = launch.layout ? Box::Kind::layout : Box::Kind::work,
                .title = launch.layout ? "layout" : launch.name,
                .note = fmt::format("launch {}", step),
                .tooltip = fmt::format("launch {}: {}\nkernel {}, {} tasks", step, launch.name,
                                       plan_.keys[static_cast<size_t>(launch.tree)].substr(0, 8), launch.tasks),
                .name = launch.name};
        if (const KernelSummary* summary = launch.layout ? nullptr : next_summary(launch.name)) describe(*summary, box);
        int64_t weights = 0, weight_bytes = 0;
        for (int32_t b : reads) {
            const plan::Buffer::Kind kind = buffer(b).kind;
            if (kind == plan::Buffer::Kind::constant || kind == plan::Buffer::Kind::prepared) {
                weights++;
                weight_bytes += buffer(b).bytes;
            } else {
                connect(b, place);
            }
        }
        size_t results = 0;
        for (int32_t b : writes) {
            if (++results <= most_results) box.lines.push_back(short_type(buffer(b)));
            box.tooltip += fmt::format("\nwrites {}: {}", buffer(b).name, long_type(buffer(b)));
            makers_[b].push_back(place);
        }
        if (results > most_results) box.lines.push_back(fmt::format("and {} more", results - most_results));
        if (weights > 0)
            box.lines.push_back(
                fmt::format("{} weight{}, {}", weights, weights > 1 ? "s" : "", bytes_text(weight_bytes)));
        // Kernels of equal work may differ in how data happen to lie.
        box.says += fmt::format("{} {}\n{}", name(box.what), launch.layout ? "layout" : "", fmt::join(box.lines, "\n"));
        if (number_ < times_.microseconds.size()) box.microseconds = times_.microseconds[number_];
        number_++;
        drawing_.boxes.push_back(std::move(box));
        for (int32_t b : writes) {
            if (--makings_[b] == 0) add_output(b);
        }
    }

    // Of the kernels whose launches have this name, that of the next one; nothing where a plan is not what they say.
    const KernelSummary* next_summary(const std::string& name) {
        auto found = summaries_.find(name);
        if (found == summaries_.end() || static_cast<int>(found->second.size()) != launches_of_[name]) return nullptr;
        return &found->second[described_[name]++];
    }

    void describe(const KernelSummary& kernel, Box& box) const {
        if (!kernel.operations.empty()) box.title = operators_text(graph_, kernel.operations);
        for (OperationId o : kernel.operations) {
            const Operation& operation = graph_.operation(o);
            box.tooltip += fmt::format("\n{} ({})", operation.name, operation.operator_name);
            box.says += operation.operator_name + "\n";
        }
        box.what = OperationClass::movement;
        for (const EquationSummary& equation : kernel.equations) {
            if (weight_of(equation.what) > weight_of(box.what)) box.what = equation.what;
            box.tooltip += "\n" + equation.text;
        }
    }

    void connect(int32_t b, size_t to) {
        for (size_t from : makers_[b]) {
            if (from == to) continue;
            drawing_.arrows.push_back(
                {.from = from, .to = to, .tooltip = buffer(b).name + ": " + long_type(buffer(b))});
        }
    }

    const Graph& graph_;
    const plan::Plan& plan_;
    const Summaries& summaries_;
    const Times& times_;
    Drawing drawing_;
    std::map<int32_t, std::vector<size_t>> makers_;  // buffer -> boxes that write it
    std::map<int32_t, int> makings_;                 // buffer -> launches that will write it
    std::set<int32_t> outputs_;                      // drawn
    std::map<std::string, int> launches_of_;         // by name
    std::map<std::string, size_t> described_;        // so many of them
    size_t number_ = 0;                              // of launches
};

}  // namespace

Result<std::vector<Picture>> draw_plan(const std::string& title, const Graph& graph, const plan::Plan& plan,
                                       const Times& times, bool unfold) {
    auto summaries = summarise(graph, plan.target);
    if (!summaries) return fail(std::move(summaries.error()));
    Drawing drawing = PlanDrawing(graph, plan, *summaries, times).run();
    drawing.title = fmt::format("{}: {} operations in {} launch{}", title, graph.operations.size(), plan.launches(),
                                plan.launches() == 1 ? "" : "es");
    if (plan.layout_launches() > 0) drawing.title += fmt::format(" and {} for layout", plan.layout_launches());
    drawing.subtitle = times.how;
    if (!unfold) fold(drawing);
    std::vector<Picture> pages = draw_pages(drawing);
    draw_memory(pages.back(), plan);
    return pages;
}

}  // namespace heddle::pictures
