#include "equations/common_axes.h"

#include <algorithm>

#include "target/choice_numbers.h"

namespace heddle::equations {

CommonAxesFinder::CommonAxesFinder(const FusionGraph& graph)
    : graph_(graph),
      stamp_(graph.nodes.size()),
      light_(graph.nodes.size()),
      output_(graph.nodes.size()),
      classes_(graph.slots.size()),
      broken_class_(graph.slots.size()),
      common_(graph.slots.size()),
      last_node_(graph.slots.size()),
      have_(graph.slots.size()) {}

bool CommonAxesFinder::is_common(int32_t slot) const { return common_[static_cast<size_t>(class_of(slot))]; }

void CommonAxesFinder::mark_members(const std::vector<int32_t>& members) {
    generation_++;
    double work = 0;
    for (int32_t member : members) {
        stamp_[static_cast<size_t>(member)] = generation_;
        const FusionNode& node = graph_.node(member);
        work += node.points * (node.operations + 1);
        for (int32_t k = 0; k < node.slot_count; k++) {
            const auto slot = static_cast<size_t>(node.first_slot + k);
            classes_.separate(node.first_slot + k);
            broken_class_[slot] = graph_.slots[slot].ordered;
            common_[slot] = false;
            last_node_[slot] = -1;
            have_[slot] = 0;
        }
    }
    for (int32_t member : members) {
        const FusionNode& node = graph_.node(member);
        const auto m = static_cast<size_t>(member);
        output_[m] = node.output || std::any_of(node.readers.begin(), node.readers.end(),
                                                [&](int32_t reader) { return !is_member(reader); });
        const bool taken_in = node.into >= 0 && is_member(node.into);
        light_[m] = taken_in || (!output_[m] && !node.scatter &&
                                 node.points * (node.operations + 1) < choice_numbers::light_share * work);
    }
}

void CommonAxesFinder::join_classes(const std::vector<int32_t>& members) {
    for (int32_t member : members) {
        for (const AxisLink& link : graph_.node(member).links) {
            if (!is_member(link.producer)) continue;
            const int32_t producer = classes_.root(link.producer_slot);
            if (link.reader_slot < 0) {
                broken_class_[static_cast<size_t>(producer)] = true;
                continue;
            }
            const int32_t reader = classes_.root(link.reader_slot);
            if (producer == reader) continue;
            const bool either =
                broken_class_[static_cast<size_t>(producer)] || broken_class_[static_cast<size_t>(reader)];
            classes_.join(reader, producer);
            broken_class_[static_cast<size_t>(reader)] = either;
        }
    }
}

// No read leads to siblings: an axis of one is that of the other in the same place.
void CommonAxesFinder::join_siblings(const std::vector<int32_t>& members) {
    for (int32_t member : members) {
        const FusionNode& node = graph_.node(member);
        for (int32_t sibling : node.siblings) {
            if (!is_member(sibling)) continue;
            const int32_t first = graph_.node(sibling).first_slot;
            for (int32_t k = 0; k < node.slot_count; k++) {
                const int32_t a = classes_.root(first + k), b = classes_.root(node.first_slot + k);
                if (a != b) classes_.join(a, b);
            }
        }
    }
}

// A class with two axes of one equation is broken too (x + transpose(x)).
void CommonAxesFinder::count_classes(const std::vector<int32_t>& members) {
    int32_t required = 0;
    for (int32_t member : members) {
        const FusionNode& node = graph_.node(member);
        if (node.joins < 0 || !is_member(node.joins)) continue;
        for (int32_t slot : node.chosen) broken_class_[static_cast<size_t>(classes_.root(slot))] = true;
    }
    for (int32_t member : members) {
        const FusionNode& node = graph_.node(member);
        const bool light = light_[static_cast<size_t>(member)];
        if (!light) required++;
        for (int32_t k = 0; k < node.slot_count; k++) {
            const auto c = static_cast<size_t>(classes_.root(node.first_slot + k));
            if (last_node_[c] == member) broken_class_[c] = true;
            if (last_node_[c] != member && !light) have_[c]++;
            last_node_[c] = member;
        }
    }
    tasks_ = least_tasks_ = 1;
    for (int32_t member : members) {
        const FusionNode& node = graph_.node(member);
        for (int32_t k = 0; k < node.slot_count; k++) {
            const int32_t slot = node.first_slot + k;
            if (!classes_.is_root(slot)) continue;
            if (broken_class_[static_cast<size_t>(slot)] || have_[static_cast<size_t>(slot)] != required) continue;
            common_[static_cast<size_t>(slot)] = true;
            tasks_ *= graph_.slots[static_cast<size_t>(slot)].hint;
            least_tasks_ *= graph_.slots[static_cast<size_t>(slot)].least;
        }
    }
}

void CommonAxesFinder::find(const std::vector<int32_t>& members) {
    mark_members(members);
    join_classes(members);
    join_siblings(members);
    count_classes(members);
}

CommonAxes common_axes(const FusionGraph& graph, CommonAxesFinder& finder, const std::vector<int32_t>& members) {
    CommonAxes result;
    if (members.empty()) return result;
    finder.find(members);
    // Every output has every common axis: the last output's order is the order of T.
    int32_t model = members.back();
    for (int32_t member : members) {
        if (finder.is_output(member)) model = member;
    }
    const FusionNode& last = graph.node(model);
    std::set<int32_t> told;
    for (int32_t k = 0; k < last.slot_count; k++) {
        const int32_t slot = last.first_slot + k;
        if (!finder.is_common(slot) || !told.insert(finder.class_of(slot)).second) continue;
        Kernel::CommonAxis common;
        common.extent = graph.slots[static_cast<size_t>(slot)].extent;
        for (int32_t member : members) {
            const FusionNode& node = graph.node(member);
            for (int32_t j = 0; j < node.slot_count; j++) {
                if (finder.class_of(node.first_slot + j) != finder.class_of(slot)) continue;
                common.axis_of[node.equation] = graph.slots[static_cast<size_t>(node.first_slot + j)].axis;
            }
        }
        result.axes.push_back(std::move(common));
    }
    for (int32_t member : members) {
        const bool lacks = std::any_of(result.axes.begin(), result.axes.end(), [&](const Kernel::CommonAxis& axis) {
            return !axis.axis_of.contains(graph.node(member).equation);
        });
        if (finder.is_light(member) && lacks) result.light.insert(graph.node(member).equation);
    }
    return result;
}

}  // namespace heddle::equations
