// Operations against their tensors: selections lie in them, signatures project the index onto the selections, outputs
// are written once and whole.
#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "interchange/box.h"
#include "interchange/issues.h"

namespace heddle::interchange {
namespace {

const char* const sides[] = {"inputs", "outputs"};

const std::optional<DocumentSelections>& side_of(const OperationBody& body, size_t side) {
    return side == 0 ? body.inputs : body.outputs;
}

// A box of a tensor that an operation writes.
struct Written {
    PartOfNode part;
    DocumentRange range;
};

class OperationsCheck {
public:
    explicit OperationsCheck(Checked& checked) : checked_(checked) {}

    void operation(size_t number, const OperationBody& body) {
        bool sound = true;
        for (const char* side : sides) {
            each_selection(side == sides[0] ? body.inputs : body.outputs, number, side,
                           [&](const PartOfNode& part, const std::string&, size_t, const DocumentSelection& selection) {
                               if (!this->selection(part, selection))
                                   sound = false;
                               else if (side == sides[1])
                                   written_[selection.tensor_id].push_back({part, selection.range});
                           });
        }
        const auto& tags = checked_.node(number).tags;
        if (!tags || !tags->signature) return;
        if (!tags->index) {
            checked_.add({.code = "interchange.no_index",
                          .summary = fmt::format("{} has an IPFSignature and no IPFIndex", checked_.title(number)),
                          .part = {number, {"tags", "IPFSignature"}},
                          .expected = "the tag IPFIndex",
                          .reason = "projections are of an index"});
            return;
        }
        if (sound) signature(number, body, *tags->signature, *tags->index);
    }

    // Every tensor that has a maker is made once and whole.
    void tensors() {
        for (const auto& [id, written] : written_) {
            size_t number = *checked_.find<TensorBody>(id);
            std::vector<DocumentRange> boxes;
            for (const Written& box : written) boxes.push_back(box.range);
            Cover result = cover(checked_.tensor(id)->range, boxes, checked_.budget);
            if (!result.gaps.empty()) {
                Issue issue{.code = "interchange.gap",
                            .summary = fmt::format("cells of {} are written by no operation", checked_.title(number)),
                            .part = {number, {"body", "range"}},
                            .expected = fmt::format("outputs that cover {}", text(checked_.tensor(id)->range)),
                            .found = "nothing writes " + text(result.gaps[0])};
                for (const DocumentRange& gap : result.gaps)
                    issue.contexts.emplace_back("nothing writes " + text(gap), issue.part);
                for (const Written& box : written)
                    issue.contexts.emplace_back("an output of " + checked_.title(box.part.node), box.part);
                issue.params = {{"tensor", id}, {"gap", text(result.gaps[0])}};
                checked_.add(std::move(issue));
            }
            for (const Cover::Overlap& overlap : result.overlaps) {
                const Written &first = written[overlap.first], &second = written[overlap.second];
                checked_.add({.code = "interchange.overlap",
                              .summary = fmt::format("cells of {} are written twice", checked_.title(number)),
                              .part = second.part,
                              .expected = "each cell written once",
                              .found = "both write " + text(overlap.shared),
                              .params = {{"tensor", id}, {"shared", text(overlap.shared)}},
                              .contexts = {{"the other: " + checked_.title(first.part.node), first.part}}});
            }
            if (!result.complete && result.gaps.empty() && result.overlaps.empty())
                limit({number, {}}, fmt::format("what writes {}", checked_.title(number)));
        }
    }

private:
    void limit(PartOfNode part, const std::string& what) {
        checked_.add({.code = "interchange.limit",
                      .summary = fmt::format("{} is too large to be checked", what),
                      .part = std::move(part)});
    }

    bool selection(const PartOfNode& part, const DocumentSelection& selection) {
        const TensorBody* tensor = checked_.tensor(selection.tensor_id);
        std::string title = checked_.title(part.node);
        if (!tensor) {
            checked_.add({.code = "interchange.unknown_tensor",
                          .summary = fmt::format("{} selects of a tensor that is not there", title),
                          .part = part.to({"tensorId"}),
                          .expected = "the id of a node of type Tensor",
                          .found = selection.tensor_id,
                          .params = {{"tensor", selection.tensor_id}}});
            return false;
        }
        bool rank = selection.range.start.size() == tensor->range.start.size();
        if (rank && contains(tensor->range, selection.range)) return true;
        size_t number = *checked_.find<TensorBody>(selection.tensor_id);
        checked_.add(
            {.code = "interchange.tensor_mismatch",
             .summary = fmt::format("{} selects {} {}", title, rank ? "cells outside of" : "with another rank of",
                                    checked_.title(number)),
             .part = part.to({"range"}),
             .expected = rank ? "a range within " + text(tensor->range)
                              : fmt::format("a range of {} dimensions", tensor->range.start.size()),
             .found = text(selection.range),
             .params = {{"tensor", selection.tensor_id}},
             .contexts = {{checked_.title(number), {number, {"body", "range"}}}}});
        return false;
    }

    void signature(size_t number, const OperationBody& body, const DocumentSignature& signature,
                   const DocumentRange& index) {
        std::string why;
        if (!signature_fits(signature, index, body, &why)) {
            checked_.add({.code = "interchange.signature",
                          .summary = fmt::format("the IPFSignature of {} does not fit it", checked_.title(number)),
                          .part = {number, {"tags", "IPFSignature"}},
                          .found = why,
                          .contexts = {{"the operation", {number, {"body"}}}}});
            return;
        }
        if (!check_projections(checked_, number, signature, index, body.inputs, body.outputs, body))
            checked_.doubtful.insert(number);
        for (const auto& [name, list] : signature.outputs) {
            for (size_t i = 0; i < list.size(); i++)
                output_map({number, {"tags", "IPFSignature", "outputs", name, std::to_string(i)}}, list[i], index);
        }
    }

    void output_map(const PartOfNode& part, const DocumentProjection& projection, const DocumentRange& index) {
        auto hull = projected(projection, index);
        if (!hull) return;  // check_projections has said so
        std::string title = checked_.title(part.node);
        Collision found = collision(projection, index, checked_.budget);
        if (found.points) {
            auto point = [](const Corner& p) {
                DocumentRange box{p, p};
                for (Size& end : box.end) ++end;
                return box;
            };
            DocumentRange first = point(found.points->first), second = point(found.points->second);
            DocumentRange shared = intersection(*projected(projection, first), *projected(projection, second));
            checked_.add(
                {.code = "interchange.not_injective",
                 .summary = fmt::format("an output of {} is written twice by its own index", title),
                 .part = part,
                 .expected = "disjoint boxes for any two points of the index",
                 .found = fmt::format("the points {} and {} both write {}", text(first), text(second), text(shared)),
                 .params = {{"first", text(first)}, {"second", text(second)}}});
        } else if (!found.complete) {
            limit(part, fmt::format("an output map of {}", title));
        } else if (fills(projection, index, *hull) == false) {
            checked_.add({.code = "interchange.gap",
                          .summary = fmt::format("the index of {} leaves cells of an output out", title),
                          .part = part,
                          .expected = "boxes that fill " + text(*hull),
                          .found = "fewer cells than it has",
                          .params = {{"hull", text(*hull)}}});
        }
    }

    Checked& checked_;
    std::map<std::string, std::vector<Written>> written_;  // by tensor
};

// "tensors[2], mask[1]": names with how many there are of each.
template <typename Item>
std::string counts(const std::vector<std::pair<std::string, std::vector<Item>>>& named_lists) {
    std::map<std::string, size_t> sorted;
    for (const auto& [name, list] : named_lists) sorted.emplace(name, list.size());
    std::string result;
    for (const auto& [name, count] : sorted) result += fmt::format("{}{}[{}]", result.empty() ? "" : ", ", name, count);
    return result.empty() ? "none" : result;
}

// Lists by their names.
template <typename Item>
std::map<std::string_view, const std::vector<Item>*> by_name(
    const std::vector<std::pair<std::string, std::vector<Item>>>& named_lists) {
    std::map<std::string_view, const std::vector<Item>*> result;
    for (const auto& [name, list] : named_lists) result.emplace(name, &list);
    return result;
}

}  // namespace

bool signature_fits(const DocumentSignature& signature, const DocumentRange& index, const OperationBody& operation,
                    std::string* why) {
    auto wrong = [&](std::string text) {
        if (why) *why = std::move(text);
        return false;
    };
    if (index.start.size() > largest_rank) return wrong(fmt::format("an index of {} dimensions", index.start.size()));
    for (size_t side = 0; side < 2; side++) {
        const auto& projections = side == 0 ? signature.inputs : signature.outputs;
        const DocumentSelections selections = side_of(operation, side).value_or(DocumentSelections{});
        const auto selected = by_name(selections);
        if (counts(projections) != counts(selections)) {
            return wrong(fmt::format("projections of the {} {}, and selections of {}", sides[side], counts(projections),
                                     counts(selections)));
        }
        for (const auto& [name, list] : projections) {
            for (size_t i = 0; i < list.size(); i++) {
                size_t rows = list[i].shape.size(), rank = (*selected.at(name))[i].range.start.size();
                if (rows > largest_rank) return wrong(fmt::format("{}[{}] has {} rows", name, i, rows));
                if (rows != rank)
                    return wrong(fmt::format("{}[{}] has {} rows, and the tensor {} dimensions", name, i, rows, rank));
                size_t columns = rows == 0 ? index.start.size() : list[i].projection[0].size();
                if (columns != index.start.size()) {
                    return wrong(fmt::format("{}[{}] has {} columns, and the index {} dimensions", name, i, columns,
                                             index.start.size()));
                }
                if (std::ranges::any_of(list[i].shape, [](int64_t extent) { return extent < 0; }))
                    return wrong(fmt::format("{}[{}] has a negative shape", name, i));
            }
        }
    }
    return true;
}

bool check_projections(Checked& checked, size_t node, const DocumentSignature& signature, const DocumentRange& index,
                       const std::optional<DocumentSelections>& inputs,
                       const std::optional<DocumentSelections>& outputs, const OperationBody& operation) {
    bool right = true;
    for (size_t side = 0; side < 2; side++) {
        const auto projections = by_name(side == 0 ? signature.inputs : signature.outputs);
        const DocumentSelections all = side_of(operation, side).value_or(DocumentSelections{});
        const auto withins = by_name(all);
        auto check = [&](const PartOfNode& part, const std::string& name, size_t number,
                         const DocumentSelection& selection) {
            const DocumentProjection& projection = (*projections.at(name))[number];
            const DocumentRange& within = (*withins.at(name))[number].range;
            auto expected = projected(projection, index);
            if (!expected) {
                right = false;
                checked.add(
                    {.code = "interchange.limit",
                     .summary = fmt::format("a projection of {} leaves the 64-bit integers", checked.title(node)),
                     .part = part});
                return;
            }
            DocumentRange clipped = intersection(*expected, within);
            for (int64_t dimension : projection.clip.value_or(std::vector<int64_t>{})) {
                auto d = static_cast<size_t>(dimension);
                expected->start[d] = clipped.start[d];
                expected->end[d] = clipped.end[d];
            }
            if (*expected == selection.range || (expected->is_empty() && selection.range.is_empty())) return;
            right = false;
            checked.add({.code = "interchange.selection",
                         .summary = fmt::format("{} selects another part of {}[{}] than its index projects to",
                                                checked.title(node), name, number),
                         .part = part.to({"range"}),
                         .expected = text(*expected),
                         .found = text(selection.range),
                         .reason = fmt::format("the index is {}", text(index)),
                         .params = {{"operand", fmt::format("{}[{}]", name, number)}, {"tensor", selection.tensor_id}},
                         .contexts = {{"the index", {node, {"tags", "IPFIndex"}}}}});
        };
        each_selection(side == 0 ? inputs : outputs, node, sides[side], check);
    }
    return right;
}

void check_operations(Checked& checked) {
    OperationsCheck check(checked);
    for (size_t i = 0; i < checked.document.nodes.size(); i++) {
        if (const auto* body = std::get_if<OperationBody>(&checked.node(i).body)) check.operation(i, *body);
    }
    check.tensors();
}

}  // namespace heddle::interchange
