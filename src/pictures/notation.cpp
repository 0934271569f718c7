#include "pictures/notation.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::pictures {
namespace {

std::vector<std::string> coordinate_names(const std::vector<IndexAxis>& index) {
    std::vector<std::string> names;
    for (const IndexAxis& axis : index) {
        if (axis.extends()) continue;
        names.push_back(axis.name.empty() ? fmt::format("@[{}]", names.size()) : "@" + axis.name);
    }
    return names;
}

bool is_whole(const IndexProjection& projection, size_t row) {
    return row < projection.whole.size() && projection.whole[row];
}

bool is_constant(const IndexProjection& projection, size_t row) {
    for (int64_t coefficient : projection.projection[row]) {
        if (coefficient != 0) return false;
    }
    return true;
}

// Every index point touches all of this dimension.
bool covers(const IndexProjection& projection, size_t row, const std::vector<int64_t>& extents) {
    return is_whole(projection, row) ||
           (is_constant(projection, row) && projection.offset[row] == 0 && projection.shape[row] == extents[row]);
}

std::string start_text(const IndexProjection& projection, size_t row, const std::vector<std::string>& names) {
    std::string text;
    for (size_t column = 0; column < projection.projection[row].size(); column++) {
        int64_t coefficient = projection.projection[row][column];
        if (coefficient == 0) continue;
        std::string sign = text.empty() ? (coefficient < 0 ? "-" : "") : coefficient < 0 ? " - " : " + ";
        std::string times = coefficient == 1 || coefficient == -1
                                ? ""
                                : fmt::format(" * {}", coefficient < 0 ? -coefficient : coefficient);
        text += sign + (column < names.size() ? names[column] : fmt::format("@[{}]", column)) + times;
    }
    int64_t offset = projection.offset[row];
    if (text.empty()) return std::to_string(offset);
    if (offset != 0) text += fmt::format(" {} {}", offset < 0 ? "-" : "+", offset < 0 ? -offset : offset);
    return text;
}

}  // namespace

std::string rows_notation(const IndexProjection& projection, const std::vector<IndexAxis>& index,
                          const std::vector<int64_t>& extents, const std::vector<std::string>& windows) {
    auto names = coordinate_names(index);
    std::vector<std::string> rows;
    for (size_t row = 0; row < projection.shape.size(); row++) {
        if (covers(projection, row, extents)) {
            rows.push_back(row < windows.size() && !windows[row].empty() ? windows[row] : "*");
            continue;
        }
        std::string start = start_text(projection, row, names);
        bool plain = projection.shape[row] == 1 && !is_constant(projection, row);
        rows.push_back(plain ? start : fmt::format("{} :> {}", start, projection.shape[row]));
    }
    return fmt::format("[{}]", fmt::join(rows, ", "));
}

std::optional<std::string> diagonal_notation(const IndexProjection& projection, const std::vector<IndexAxis>& index,
                                             const std::vector<int64_t>& extents) {
    size_t columns = coordinate_names(index).size(), rows = projection.shape.size();
    std::vector<std::string> entries;
    std::vector<int64_t> offset, shape;
    bool starts = false, sizes = false;
    size_t next = 0;
    for (size_t row = 0; row < rows; row++) {
        if (is_constant(projection, row) || is_whole(projection, row)) {
            // It stands for the next index dimension with coefficient zero, if no later row needs that one.
            bool needed = next >= columns;
            for (size_t later = row; later < rows && !needed; later++) {
                needed = !is_whole(projection, later) && projection.projection[later][next] != 0;
            }
            if (needed && !covers(projection, row, extents)) return std::nullopt;
            entries.emplace_back(needed ? "*" : "0");
            next += !needed;
        } else {
            for (size_t column = 0; column < projection.projection[row].size(); column++) {
                if (projection.projection[row][column] != 0 && column != next) return std::nullopt;
            }
            entries.push_back(std::to_string(projection.projection[row][next++]));
        }
        bool star = entries.back() == "*";
        offset.push_back(star ? 0 : projection.offset[row]);
        shape.push_back(projection.shape[row]);
        starts = starts || offset.back() != 0;
        sizes = sizes || (!star && shape.back() != 1);
    }
    if (next != columns) return std::nullopt;
    std::string text = fmt::format("D[{}]", fmt::join(entries, ", "));
    if (starts) text += fmt::format(" + [{}]", fmt::join(offset, ", "));
    if (sizes) text += fmt::format(" :> [{}]", fmt::join(shape, ", "));
    return text;
}

std::string structured_notation(const IndexProjection& projection) {
    std::vector<std::string> rows;
    for (size_t row = 0; row < projection.projection.size(); row++)
        rows.push_back(fmt::format("[{}]", fmt::join(projection.projection[row], ", ")));
    return fmt::format("{{affineMap: {{projection: [{}], offset: [{}]}}, shape: [{}]}}", fmt::join(rows, ", "),
                       fmt::join(projection.offset, ", "), fmt::join(projection.shape, ", "));
}

namespace {

// Walks what makes the values, not the coordinates at which they are read.
class BodyClass {
public:
    explicit BodyClass(const Body& body) : body_(body), seen_(body.nodes.size(), false), reads_(body.nodes.size(), -1) {
        for (size_t i = 0; i < body.nodes.size(); i++) {
            const Node& node = body.nodes[i];
            reads_[i] = node.is_read();
            for (NodeId operand : node.operands) reads_[i] = reads_[i] || reads_[static_cast<size_t>(operand)];
            bool state =
                node.kind == Node::Kind::previous || (node.kind == Node::Kind::local && local(node).is_state());
            if (state)
                reads_[i] = 1;
            else if (node.kind == Node::Kind::local)
                reads_[i] = reads_[i] || reads_[static_cast<size_t>(local(node).value)];
        }
    }

    OperationClass find() {
        for (const BodyEquation& equation : body_.equations) visit(equation.value);
        if (std::ranges::any_of(body_.locals, &Local::is_state)) return OperationClass::scan;
        if (indirect_) return OperationClass::indirect;
        if (contraction_) return OperationClass::contraction;
        if (reduction_) return OperationClass::reduction;
        return arithmetic_ ? OperationClass::elementwise : OperationClass::movement;
    }

private:
    const Local& local(const Node& node) const { return body_.local(node.local()); }
    bool reads(NodeId id) const { return reads_[static_cast<size_t>(id)]; }

    void visit(NodeId root) {
        std::vector<NodeId> open{root};
        while (!open.empty()) {
            NodeId id = open.back();
            open.pop_back();
            if (seen_[static_cast<size_t>(id)]) continue;
            seen_[static_cast<size_t>(id)] = true;
            const Node& node = body_.node(id);
            if (node.is_read()) {
                bool guarded = node.kind == Node::Kind::guarded_read;
                size_t coordinates = node.operands.size() - guarded;
                for (size_t i = 0; i < coordinates; i++) indirect_ = indirect_ || reads(node.operands[i]);
                if (guarded) open.push_back(node.operands.back());
                continue;
            }
            if (node.kind == Node::Kind::reduce) note_reduction(node);
            // Arithmetic on coordinates alone says where, not what.
            if (node.kind == Node::Kind::scalar && reads(id)) arithmetic_ = true;
            if (node.kind == Node::Kind::cast && reads(id)) arithmetic_ = true;
            if (node.kind == Node::Kind::local || node.kind == Node::Kind::previous) {
                open.push_back(local(node).value);
                if (local(node).is_state()) open.push_back(local(node).initial);
            }
            open.insert(open.end(), node.operands.begin(), node.operands.end());
        }
    }

    void note_reduction(const Node& node) {
        reduction_ = true;
        const Node* term = &body_.node(node.operands[0]);
        for (bool on_top = true; on_top;) {  // casts, and a filter that leaves literals
            const bool filter = term->kind == Node::Kind::select && body_.node(term->operands[2]).operands.empty();
            on_top = filter || term->kind == Node::Kind::cast;
            if (on_top) term = &body_.node(term->operands[filter ? 1 : 0]);
        }
        bool product = term->kind == Node::Kind::scalar && term->op == ScalarOp::multiply;
        // A square is a reduction of one operand.
        if (node.reducer == Reducer::sum && product && term->operands[0] != term->operands[1] &&
            reads(term->operands[0]) && reads(term->operands[1])) {
            contraction_ = true;
        }
    }

    const Body& body_;
    std::vector<bool> seen_;
    std::vector<int> reads_;
    bool indirect_ = false, contraction_ = false, reduction_ = false, arithmetic_ = false;
};

}  // namespace

OperationClass class_of(const Body& body) { return BodyClass(body).find(); }

OperationClass class_of(const Operation& operation) {
    return operation.body ? class_of(*operation.body) : OperationClass::opaque;
}

std::string_view name(OperationClass c) {
    switch (c) {
    case OperationClass::movement: return "movement";
    case OperationClass::elementwise: return "elementwise";
    case OperationClass::reduction: return "reduction";
    case OperationClass::contraction: return "contraction";
    case OperationClass::indirect: return "indirect";
    case OperationClass::scan: return "scan";
    case OperationClass::opaque: break;
    }
    return "opaque";
}

}  // namespace heddle::pictures
