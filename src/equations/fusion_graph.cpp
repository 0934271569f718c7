// The equations of a system as fusion looks at them.
#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "equations/common_axes.h"
#include "equations/kept_steps.h"
#include "equations/pass_support.h"
#include "equations/scatter.h"
#include "target/choice_numbers.h"
#include "zspace/size_class.h"

namespace heddle::equations {
namespace {

// `points`: of an axis; `elements`: of a dimension; at some sizes.
template <typename Points, typename Elements>
double bytes_of_tensor(const System& system, const SystemTensor& tensor, Points points, Elements elements) {
    const auto product = [](const auto& parts, const auto& of) {
        double all = 1;
        for (const auto& part : parts) all *= static_cast<double>(of(part));
        return all;
    };
    double count = tensor.equations.empty() ? product(tensor.shape, elements) : 0;
    for (int32_t index : tensor.equations) count += product(system.equation(index).axes, points);
    return count * static_cast<double>(bytes(tensor.dtype));
}

class NodeBuilder {
public:
    NodeBuilder(const System& system, FusionGraph& graph) : system_(system), graph_(graph), kept_(kept_steps(system)) {}

    void add_equation(int32_t index);
    void add_reads_of_scan(int32_t scan);
    void add_opaque(TensorIndex tensor);
    void connect();
    void find_messages();

private:
    void add_slots(FusionNode& node, const Equation& equation, const std::optional<Scatter>& scatter);
    void find_roles(FusionNode& node, const Equation& equation) const;
    void add_reads(FusionNode& node, const Equation& equation);
    void add_links(FusionNode& node, const Equation& equation, Expr read, int32_t maker) const;
    int32_t slot_of(const FusionNode& node, AxisId axis) const;
    double least_points(AxisId axis) const;
    bool streams_inputs(const FusionNode& node) const;
    bool read_alike(const FusionNode& a, const FusionNode& b) const;
    void find_siblings();

    const System& system_;
    FusionGraph& graph_;
    std::vector<KeptSteps> kept_;  // by tensor
    FactCache facts_;
    std::map<int32_t, int32_t> node_of_;  // equation -> node
};

int32_t NodeBuilder::slot_of(const FusionNode& node, AxisId axis) const {
    for (int32_t k = 0; k < node.slot_count; k++) {
        if (graph_.slots[static_cast<size_t>(node.first_slot + k)].axis == axis) return node.first_slot + k;
    }
    return -1;
}

double NodeBuilder::least_points(AxisId axis) const {
    const Size& extent = system_.arena->extent(axis);
    const Interval extents = extent.named() ? extent.origin()->within_class(system_.representatives) : Interval();
    return static_cast<double>(extents.known_low() ? std::max<int64_t>(1, extents.low.number()) : system_.arena->hint(axis));
}

void NodeBuilder::add_slots(FusionNode& node, const Equation& equation, const std::optional<Scatter>& scatter) {
    const Arena& arena = *system_.arena;
    node.first_slot = static_cast<int32_t>(graph_.slots.size());
    for (AxisId axis : equation.axes) {
        if (arena.extent(axis).same_as(1) && !arena.axis(axis).named) continue;
        if (scatter && scatter->chooses(axis)) continue;
        const auto hint = static_cast<double>(arena.hint(axis));
        graph_.slots.push_back({axis, arena.extent(axis), hint, least_points(axis), axis == equation.ordered});
    }
    node.slot_count = static_cast<int32_t>(graph_.slots.size()) - node.first_slot;
}

void NodeBuilder::find_roles(FusionNode& node, const Equation& equation) const {
    const ProductAxes product = product_axes(equation);
    const auto add_slots_of = [&](const std::vector<AxisId>& axes, std::vector<int32_t>& slots) {
        for (AxisId axis : axes)
            if (const int32_t slot = slot_of(node, axis); slot >= 0) slots.push_back(slot);
    };
    add_slots_of(product.rows, node.rows);
    add_slots_of(product.columns, node.columns);
    node.contraction = !node.rows.empty() || !node.columns.empty();
}

// For each digit of what `maker` makes, which axis of the reader walks it.
void NodeBuilder::add_links(FusionNode& node, const Equation& equation, Expr read, int32_t maker) const {
    Arena& arena = *system_.arena;
    const FusionNode& producer = graph_.node(maker);
    const Equation& made = system_.equation(producer.equation);
    const SystemTensor& tensor = system_.tensor(made.tensor);
    const Box box = box_of(made);
    const bool alone = maker_of(system_, read) == producer.equation;  // every element read is this equation's
    for (size_t d = 0; d < made.left.size(); d++) {
        const bool uncut = box.start[d] == 0 && box.end[d] == tensor.shape[d];
        const Size offset = linear_form(made.left[d]).constant;
        Expr coordinate = arena.add(read->parts()[d], arena.integer(-offset));
        const auto digits = digits_of(made.left[d]);
        for (size_t k = 0; k < digits.size(); k++) {
            const int32_t slot = slot_of(producer, digits[k].axis);
            if (slot < 0) continue;
            Expr value = arena.floor_divide(coordinate, digits[k].radix);
            if (k > 0) value = arena.modulo(value, greater(arena.extent(digits[k].axis), 1));
            AxisLink link{maker, slot, -1};
            if ((alone || uncut) && value->kind == Kind::variable) {
                const AxisId axis = value->axes[0];
                const bool own =
                    std::find(equation.reduced.begin(), equation.reduced.end(), axis) == equation.reduced.end();
                if (own && arena.extent(axis) == arena.extent(digits[k].axis)) link.reader_slot = slot_of(node, axis);
            }
            node.links.push_back(link);
        }
    }
}

void NodeBuilder::add_reads(FusionNode& node, const Equation& equation) {
    for (Expr read : reads(equation)) {
        NodeRead entry;
        entry.tensor = read->tensor();
        const double element = static_cast<double>(bytes(system_.tensor(read->tensor()).dtype));
        entry.bytes = std::min(graph_.tensor_bytes[static_cast<size_t>(read->tensor())], node.points * element);
        entry.guarded = read->kind == Kind::guarded_read;
        const SystemTensor& tensor = system_.tensor(read->tensor());
        entry.constant = tensor.kind == SystemTensor::Kind::constant || tensor.prepared;
        std::vector<AxisId> axes;
        for (Expr coordinate : coordinates_of(read))
            axes.insert(axes.end(), coordinate->axes.begin(), coordinate->axes.end());
        for (int32_t k = 0; k < node.slot_count; k++) {
            const AxisId axis = graph_.slots[static_cast<size_t>(node.first_slot + k)].axis;
            if (std::find(axes.begin(), axes.end(), axis) != axes.end()) entry.slots.push_back(node.first_slot + k);
        }
        for (int32_t maker : makers_of(system_, read)) {
            auto found = node_of_.find(maker);
            if (found == node_of_.end()) continue;  // state: read before it is overwritten
            entry.makers.push_back(found->second);
            add_links(node, equation, read, found->second);
        }
        if (system_.tensor(read->tensor()).comes_from_elsewhere()) {
            entry.makers = graph_.makers[static_cast<size_t>(read->tensor())];
        }
        node.reads.push_back(std::move(entry));
    }
}

void NodeBuilder::add_equation(int32_t index) {
    const Equation& equation = system_.equation(index);
    const SystemTensor& tensor = system_.tensor(equation.tensor);
    FusionNode node;
    node.equation = index;
    node.tensor = equation.tensor;
    node.prepared = tensor.prepared;
    node.in_parts = tensor.in_parts;
    node.output = tensor.is_output;
    node.stored = tensor.storing == Storing::stored;
    node.reduction = equation.reducer.has_value();
    const ValueFacts& facts = facts_.of(equation.right);
    node.operations = facts.operations;
    node.expensive = facts.expensive;
    node.elements = hint_points(*system_.arena, equation.axes);
    node.points = hint_points(system_, equation);
    node.bytes = node.elements * static_cast<double>(bytes(tensor.dtype));
    if (const KeptSteps& kept = kept_[static_cast<size_t>(equation.tensor)]; kept.places > 0 && equation.scan >= 0) {
        const auto steps = static_cast<double>(std::max<int64_t>(1, system_.arena->hint(equation.ordered)));
        node.bytes *= std::min(1.0, static_cast<double>(kept.places) / steps);
    }
    const auto scatter = scatter_of(system_, equation);
    node.scatter = scatter.has_value();
    add_slots(node, equation, scatter);
    const bool one_by_one = scatter && scatter->chooses(equation.axes.back());
    if (one_by_one && node.slot_count > 0) node.operations += choice_numbers::scattered_term;
    if (!scatter) find_roles(node, equation);
    node.scan = equation.scan;
    if (equation.scan < 0) add_reads(node, equation);
    const auto id = static_cast<int32_t>(graph_.nodes.size());
    if (const auto into = scatter_into(system_, equation)) {
        node.joins = node_of_.at(into->scatter);
        graph_.nodes[static_cast<size_t>(node.joins)].into = id;
        for (AxisId axis : into->update.chosen) {
            if (const int32_t slot = slot_of(node, axis); slot >= 0) node.chosen.push_back(slot);
        }
    }
    node_of_[index] = id;
    graph_.makers[static_cast<size_t>(equation.tensor)].push_back(id);
    graph_.nodes.push_back(std::move(node));
}

// Once all of its equations are there: they read one another.
void NodeBuilder::add_reads_of_scan(int32_t scan) {
    for (size_t n = graph_.nodes.size(); n-- > 0 && graph_.nodes[n].scan == scan;) {
        FusionNode node = graph_.nodes[n];
        add_reads(node, system_.equation(node.equation));
        graph_.nodes[n] = std::move(node);
    }
}

void NodeBuilder::add_opaque(TensorIndex tensor) {
    FusionNode node;
    node.tensor = tensor;
    node.output = true;
    for (TensorIndex input : system_.tensor(tensor).opaque_inputs) {
        NodeRead entry;
        entry.tensor = input;
        entry.makers = graph_.makers[static_cast<size_t>(input)];
        node.reads.push_back(std::move(entry));
    }
    graph_.makers[static_cast<size_t>(tensor)].push_back(static_cast<int32_t>(graph_.nodes.size()));
    graph_.nodes.push_back(std::move(node));
}

bool NodeBuilder::streams_inputs(const FusionNode& node) const {
    return node.equation >= 0 && !node.prepared && !node.reduction && node.scan < 0 && !node.scatter &&
           node.joins < 0 && node.slot_count > 0 && node.sources.empty() && node.readers.empty();
}

// A tensor that both read, where each moves by axes of the same places.
bool NodeBuilder::read_alike(const FusionNode& a, const FusionNode& b) const {
    const auto places = [&](const FusionNode& node, Expr read) {
        std::vector<std::vector<int32_t>> result;
        for (Expr coordinate : coordinates_of(read)) {
            auto& of_dimension = result.emplace_back();
            for (AxisId axis : coordinate->axes) of_dimension.push_back(slot_of(node, axis) - node.first_slot);
        }
        return result;
    };
    const auto others = reads(system_.equation(b.equation));
    for (Expr read : reads(system_.equation(a.equation))) {
        const auto own = places(a, read);
        for (Expr other : others) {
            if (other->tensor() == read->tensor() && places(b, other) == own) return true;
        }
    }
    return false;
}

void NodeBuilder::find_siblings() {
    std::vector<int32_t> streams;
    const auto same_extent = [](const AxisSlot& a, const AxisSlot& b) {
        return a.extent == b.extent && a.hint == b.hint;
    };
    const auto slots_of = [&](const FusionNode& node) {
        return std::span(graph_.slots)
            .subspan(static_cast<size_t>(node.first_slot), static_cast<size_t>(node.slot_count));
    };
    for (size_t n = 0; n < graph_.nodes.size(); n++) {
        FusionNode& node = graph_.nodes[n];
        if (!streams_inputs(node)) continue;
        for (size_t k = streams.size(); k-- > 0 && node.siblings.empty();) {
            FusionNode& other = graph_.nodes[static_cast<size_t>(streams[k])];
            if (!std::ranges::equal(slots_of(node), slots_of(other), same_extent) || !read_alike(node, other)) continue;
            node.siblings.push_back(streams[k]);
            other.siblings.push_back(static_cast<int32_t>(n));
        }
        streams.push_back(static_cast<int32_t>(n));
    }
}

void NodeBuilder::connect() {
    for (size_t n = 0; n < graph_.nodes.size(); n++) {
        FusionNode& node = graph_.nodes[n];
        for (const NodeRead& read : node.reads) {
            node.sources.insert(node.sources.end(), read.makers.begin(), read.makers.end());
        }
        std::sort(node.sources.begin(), node.sources.end());
        node.sources.erase(std::unique(node.sources.begin(), node.sources.end()), node.sources.end());
        for (int32_t source : node.sources) {
            graph_.nodes[static_cast<size_t>(source)].readers.push_back(static_cast<int32_t>(n));
        }
    }
    find_siblings();
}

// By nodes; those of a scan, and what makes the initial values of its states, are one kernel.
void NodeBuilder::find_messages() {
    std::map<int32_t, std::set<int32_t>> scans;
    for (size_t n = 0; n < graph_.nodes.size(); n++) {
        FusionNode& node = graph_.nodes[n];
        const SystemTensor& tensor = system_.tensor(node.tensor);
        if (tensor.leaves >= 0) node.due = tensor.leaves;
        node.awaits = tensor.comes;
        if (node.scan < 0) continue;
        scans[node.scan].insert(static_cast<int32_t>(n));
        const auto& makers = graph_.makers[static_cast<size_t>(node.tensor)];
        scans[node.scan].insert(makers.begin(), makers.end());
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (FusionNode& node : graph_.nodes) {
            for (int32_t source : node.sources) {
                FusionNode& made = graph_.nodes[static_cast<size_t>(source)];
                changed = changed || made.due > node.due || made.awaits > node.awaits;
                made.due = std::min(made.due, node.due);
                node.awaits = std::max(node.awaits, made.awaits);
            }
        }
        for (const auto& [scan, nodes] : scans) {
            FusionNode all;
            for (int32_t n : nodes) {
                all.due = std::min(all.due, graph_.nodes[static_cast<size_t>(n)].due);
                all.awaits = std::max(all.awaits, graph_.nodes[static_cast<size_t>(n)].awaits);
            }
            for (int32_t n : nodes) {
                FusionNode& own = graph_.nodes[static_cast<size_t>(n)];
                changed = changed || own.due != all.due || own.awaits != all.awaits;
                own.due = all.due;
                own.awaits = all.awaits;
            }
        }
    }
}

}  // namespace

FusionGraph::FusionGraph(const System& system) : makers(system.tensors.size()) {
    const Arena& arena = *system.arena;
    std::map<std::string, int64_t> greatest;  // of the classes
    for (const auto& [name, size] : system.representatives) greatest[name] = size_class(size).most;
    for (const SystemTensor& tensor : system.tensors) {
        tensor_bytes.push_back(bytes_of_tensor(
            system, tensor, [&](AxisId axis) { return arena.hint(axis); },
            [&](const Size& size) { return size.at(system.representatives); }));
        most_bytes.push_back(bytes_of_tensor(
            system, tensor, [&](AxisId axis) { return arena.extent(axis).at(greatest); },
            [&](const Size& size) { return size.at(greatest); }));
    }
    NodeBuilder builder(system, *this);
    std::vector<bool> placed(system.tensors.size());
    // What comes from elsewhere goes before its first reader: what it needs has been placed by then.
    const auto place = [&](auto& self, TensorIndex tensor) -> void {
        if (!system.tensor(tensor).comes_from_elsewhere() || placed[static_cast<size_t>(tensor)]) return;
        placed[static_cast<size_t>(tensor)] = true;
        for (TensorIndex input : system.tensor(tensor).opaque_inputs) self(self, input);
        builder.add_opaque(tensor);
    };
    const auto order = system.order();
    for (size_t i = 0; i < order.size(); i++) {
        const int32_t scan = system.equation(order[i]).scan;
        // Of a scan, whose nodes stand side by side, before all of it.
        for (size_t j = i; j < order.size() && (j == i || (scan >= 0 && system.equation(order[j]).scan == scan)); j++)
            for (Expr read : reads(system.equation(order[j]))) place(place, read->tensor());
        builder.add_equation(order[i]);
        const bool last = i + 1 == order.size() || system.equation(order[i + 1]).scan != scan;
        if (scan >= 0 && last) builder.add_reads_of_scan(scan);
    }
    for (size_t t = 0; t < system.tensors.size(); t++) {
        if (system.tensors[t].is_output) place(place, TensorIndex(t));
    }
    builder.connect();
    builder.find_messages();
}

}  // namespace heddle::equations
