// A plan as text (docs/schedules.md, "Text form of plans").
#include <bit>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plan/plan.h"
#include "plan/plan_names.h"
#include "plan/stack.h"
#include "support/lexer.h"
#include "support/spelling.h"

namespace heddle::plan {
namespace {

// Where it is another number for other sizes, the expression before its number.
std::string size_text(const Size& size) {
    return (size.named() ? size.origin()->spelled() + " = " : "") + std::to_string(size.number());
}

std::string sizes_text(const std::vector<Size>& sizes) {
    std::string text;
    for (const Size& size : sizes) text += (text.empty() ? "" : " ") + size_text(size);
    return text;
}

bool is_zero(const Size& size) { return size.same_as(0); }

std::string type_text(DType dtype, const std::vector<Size>& sizes) {
    std::string shape;
    for (const Size& size : sizes) {
        shape += (shape.empty() ? "" : ", ") + size_text(size);
    }
    return fmt::format("{}[{}]", name(dtype), shape);
}

// Unlike StorageMap::text, says where dimensions of one element stand.
std::string map_text(const StorageMap& map) {
    StorageMap plain = StorageMap::row_major(map.extent);
    std::string text = map.order == plain.order && !map.has_margins()
                           ? "row-major"
                           : fmt::format("order {}", fmt::join(map.order, " "));
    const char* separator = " margins ";
    for (size_t d = 0; d < map.extent.size(); d++) {
        if (is_zero(map.margin_before[d]) && is_zero(map.margin_after[d])) continue;
        text += fmt::format("{}{}: {} {}", separator, d, size_text(map.margin_before[d]), size_text(map.margin_after[d]));
        separator = ", ";
    }
    for (size_t d = 0; d < map.extent.size(); d++) {
        if (!is_zero(map.room[d])) text += fmt::format(" room {}: {}", d, size_text(map.room[d]));
    }
    return text;
}

std::string buffer_text(const Buffer& b, const std::vector<int32_t>& below) {
    std::string text = fmt::format("{} {}", quoted_text(b.name), names::kinds[static_cast<size_t>(b.kind)]);
    if (b.index >= 0) text += fmt::format(" {}", b.index);
    text += fmt::format(": {} {} bytes", type_text(b.dtype, b.sizes), size_text(b.bytes));
    if (b.kind == Buffer::Kind::workspace) text += fmt::format(" at {}", b.offset);
    if (!below.empty()) text += fmt::format(" above {}", fmt::join(below, " "));
    if (!is_zero(b.base)) text += " base " + size_text(b.base);
    if (b.first >= 0) text += fmt::format(" batches {}..{}", b.first, b.last);
    text += " " + (b.packed.empty() ? map_text(b.storage) : "packed " + quoted_text(b.packed));
    if (std::bit_cast<uint64_t>(b.filling) != 0) text += " filling " + real_text(b.filling, DType::float64);
    return text;
}

std::string launch_text(const Launch& launch) {
    const std::string rounds = launch.rounds.same_as(1) ? "" : " rounds " + size_text(launch.rounds);
    return fmt::format("{}: kernel {} tasks {}{} scratch {}{} buffers {} numbers {}", quoted_text(launch.name), launch.tree,
                       size_text(launch.tasks), rounds, size_text(launch.scratch_bytes),
                       launch.fills ? " fills" : launch.layout ? " layout" : "", fmt::join(launch.buffers, " "),
                       sizes_text(launch.numbers));
}

// For which sizes the plan holds, and how large its workspace is for them, if that is no long expression.
std::string class_text(const Plan& plan) {
    if (!plan.facts) return "";
    std::string text = "  sizes";
    for (const auto& [name, number] : plan.names)
        text += fmt::format(" {} = {}", Origin::of_name(name)->spelled(), number);
    static constexpr const char* marks[] = {"== 0", "!= 0", ">= 0"};
    text += "\n  where";
    for (const SizeFact& fact : plan.facts->list())
        text += fmt::format(" {} {}", fact.size->spelled(), marks[static_cast<size_t>(fact.relation)]);
    const auto workspace = workspace_expressions(plan, most_printed_sums);
    return text + (workspace ? "\n  workspace " + sizes_text(*workspace) : "") + "\n";
}

// The target's JSON on one line.
std::string target_text(const Target& target) {
    std::istringstream lines(print(target));
    std::string text;
    for (std::string line; std::getline(lines, line);) text += " " + line.substr(line.find_first_not_of(' '));
    return text;
}

void add_tree(std::string& text, const schedules::Tree& tree) {
    std::istringstream lines(schedules::print(tree));
    for (std::string line; std::getline(lines, line);) text += "    " + line + "\n";
}

}  // namespace

std::string print(const Plan& plan) {
    std::string text = fmt::format(
        "plan: {} launches, {} layout launches, {} kernels, workspace {} bytes (most live {}), prepared {} bytes, "
        "scratch {} bytes\n",
        plan.launches(), plan.layout_launches(), plan.trees.size(), plan.workspace_bytes, plan.most_live_bytes(),
        plan.prepared_bytes(), plan.scratch_bytes);
    text += class_text(plan);
    auto interface = [&](const char* what, const auto& names, const auto& types, const auto& more) {
        for (size_t i = 0; i < types.size(); i++) {
            text += fmt::format("  {} {} {}: {}{}\n", what, i, quoted_text(names[i]),
                                type_text(types[i].dtype, types[i].shape), more(static_cast<int32_t>(i)));
        }
    };
    interface("input", plan.input_names, plan.input_types,
              [&](int32_t input) { return plan.decided.contains(input) ? " decided" : ""; });
    interface("output", plan.output_names, plan.output_types, [&](int32_t output) {
        if (const Growth* growth = plan.growth_of(output))
            return fmt::format(" grows input {} along {} to {}", growth->input, growth->dimension, quoted_text(plan.capacity));
        const int32_t input = plan.input_below(output);
        return input < 0 ? "" : fmt::format(" in input {}", input);
    });
    std::vector<std::vector<int32_t>> below(plan.buffers.size());
    for (const Stacked& stacked : plan.stack) below[static_cast<size_t>(stacked.buffer)] = stacked.below;
    for (size_t i = 0; i < plan.buffers.size(); i++) {
        text += fmt::format("  buffer {} {}", i, buffer_text(plan.buffers[i], below[i]));
        text += plan.graph_tensor[i] < 0 ? "\n" : fmt::format(" tensor {}\n", plan.graph_tensor[i]);
    }
    auto phase = [&](const char* title, const std::vector<Batch>& batches) {
        for (size_t b = 0; b < batches.size(); b++) {
            for (const Launch& launch : batches[b]) text += fmt::format("  {} {} {}\n", title, b, launch_text(launch));
        }
    };
    phase("prepare", plan.prepare);
    phase("run", plan.run);
    text += "  target" + target_text(plan.target) + "\n";
    for (size_t i = 0; i < plan.trees.size(); i++) {
        text += fmt::format("  kernel {} {}\n", i, quoted_text(plan.keys[i]));
        add_tree(text, *plan.trees[i]);
    }
    return text;
}

std::string summary(const Plan& plan) {
    std::string text;
    for (const Donation& donation : plan.donations) {
        text += fmt::format("output {} in the memory of input {}{}\n",
                            quoted_text(plan.output_names[static_cast<size_t>(donation.output)]),
                            quoted_text(plan.input_names[static_cast<size_t>(donation.input)]),
                            plan.is_in_place(donation) ? "" : ", copied there at the end");
    }
    for (const Growth& growth : plan.growths) {
        text += fmt::format("output {} grows behind input {} along dimension {}\n",
                            quoted_text(plan.output_names[static_cast<size_t>(growth.output)]),
                            quoted_text(plan.input_names[static_cast<size_t>(growth.input)]), growth.dimension);
    }
    for (const Buffer& b : plan.buffers) {
        if (b.packed.empty() && (b.storage.is_row_major() || b.storage.has_room())) continue;
        text += fmt::format("{} buffer {}: {}\n", names::kinds[static_cast<size_t>(b.kind)], quoted_text(b.name),
                            b.packed.empty() ? map_text(b.storage) : "packed " + quoted_text(b.packed));
    }
    auto add = [&](const char* phase, const Batch& batch) {
        for (const Launch& launch : batch) {
            const std::string rounds = launch.rounds.number() > 1 ? fmt::format(" in {} rounds", launch.rounds.text()) : "";
            text += fmt::format("{} {}: {} tasks{}{}\n", phase, quoted_text(launch.name), launch.tasks.text(), rounds,
                                launch.layout ? ", layout" : "");
            if (launch.layout) continue;
            std::istringstream lines(schedules::summary(*plan.trees[static_cast<size_t>(launch.tree)], launch.numbers));
            for (std::string line; std::getline(lines, line);) text += "  " + line + "\n";
        }
    };
    for (const Batch& batch : plan.prepare) add("prepare", batch);
    for (const Batch& batch : plan.run) add("run", batch);
    return text;
}

}  // namespace heddle::plan
