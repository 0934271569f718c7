// Applications against their operations: each lies within its operation, selects what its index projects to, and
// together they cover the operation exactly.
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "interchange/box.h"
#include "interchange/issues.h"

namespace heddle::interchange {
namespace {

class ApplicationsCheck {
public:
    explicit ApplicationsCheck(Checked& checked) : checked_(checked) {}

    void application(size_t number, const ApplicationBody& body) {
        auto found = checked_.find<OperationBody>(body.operation_id);
        if (!found) {
            checked_.add({.code = "interchange.orphan_application",
                          .summary = fmt::format("{} is of an operation that is not there", checked_.title(number)),
                          .part = {number, {"body", "operationId"}},
                          .expected = "the id of a node of type Operation",
                          .found = body.operation_id,
                          .params = {{"operation", body.operation_id}}});
            return;
        }
        Member member{number, *found, &body, &operation(*found), index_of(number), index_of(*found)};
        bool sound = same_operands(member, "inputs", body.inputs, member.operation->inputs);
        sound = same_operands(member, "outputs", body.outputs, member.operation->outputs) && sound;
        sound = index(member) && sound;
        applications_[*found].push_back(number);
        if (!sound) {
            unsound_.insert(*found);
            return;
        }
        const auto& tags = checked_.node(*found).tags;
        if (member.index && !checked_.doubtful.contains(*found) && tags->signature &&
            signature_fits(*tags->signature, *tags->index, *member.operation, nullptr))
            check_projections(checked_, number, *tags->signature, *member.index, body.inputs, body.outputs,
                              *member.operation);
    }

    // What the sound applications of each operation leave out or share.
    void covers() {
        for (const auto& [number, applications] : applications_) {
            if (unsound_.contains(number)) continue;
            if (const DocumentRange* index = index_of(number)) {
                std::vector<Piece> pieces;
                for (size_t application : applications)
                    pieces.push_back({*index_of(application), {application, {"tags", "IPFIndex"}}});
                covered(number, "points of the index", *index, pieces, {number, {"tags", "IPFIndex"}});
            } else {
                covered_outputs(number, applications);
            }
        }
    }

private:
    struct Member {
        size_t number, operation_number;
        const ApplicationBody* body;
        const OperationBody* operation;
        const DocumentRange *index, *whole;  // null: it has none
    };
    struct Piece {
        DocumentRange box;
        PartOfNode part;
    };

    const OperationBody& operation(size_t number) const { return std::get<OperationBody>(checked_.node(number).body); }
    const DocumentRange* index_of(size_t number) const {
        const auto& tags = checked_.node(number).tags;
        return tags && tags->index ? &*tags->index : nullptr;
    }

    void mismatch(const Member& member, PartOfNode part, std::string what, std::string expected, std::string found) {
        checked_.add({.code = "interchange.application_mismatch",
                      .summary = fmt::format("{} of {} are not those of {}", what, checked_.title(member.number),
                                             checked_.title(member.operation_number)),
                      .part = std::move(part),
                      .expected = std::move(expected),
                      .found = std::move(found),
                      .params = {{"operation", member.body->operation_id}},
                      .contexts = {{"the operation", {member.operation_number, {"body"}}}}});
    }

    void outside(const Member& member, PartOfNode part, PartOfNode outer_part, const char* what,
                 const DocumentRange& outer, const DocumentRange& inner) {
        checked_.add({.code = "interchange.application_outside",
                      .summary = fmt::format("{} of {} is not within that of {}", what, checked_.title(member.number),
                                             checked_.title(member.operation_number)),
                      .part = std::move(part),
                      .expected = "a range within " + text(outer),
                      .found = text(inner),
                      .params = {{"operation", member.body->operation_id}},
                      .contexts = {{"the operation's", std::move(outer_part)}}});
    }

    bool same_operands(const Member& member, const char* side, const std::optional<DocumentSelections>& own,
                       const std::optional<DocumentSelections>& whole) {
        std::map<std::string_view, const std::vector<DocumentSelection>*> wanted;
        static const DocumentSelections nothing;
        for (const auto& [name, list] : whole ? *whole : nothing) wanted.emplace(name, &list);
        PartOfNode part{member.number, {"body", side}};
        auto names = [](const DocumentSelections& selections) {
            std::string result;
            for (const auto& [name, list] : selections)
                result += fmt::format("{}{}[{}]", result.empty() ? "" : ", ", name, list.size());
            return result.empty() ? "none" : result;
        };
        const DocumentSelections &ours = own ? *own : nothing, &theirs = whole ? *whole : nothing;
        bool same = ours.size() == theirs.size();
        for (const auto& [name, list] : ours)
            same = same && wanted.contains(name) && wanted.at(name)->size() == list.size();
        if (!same) {
            mismatch(member, part, fmt::format("the {}", side), names(theirs), names(ours));
            return false;
        }
        each_selection(
            own, member.number, side,
            [&](const PartOfNode& at, const std::string& name, size_t i, const DocumentSelection& selection) {
                const DocumentSelection& outer = (*wanted.at(name))[i];
                PartOfNode outer_part{member.operation_number, {"body", side, name, std::to_string(i)}};
                bool tensor = selection.tensor_id == outer.tensor_id;
                bool rank = selection.range.start.size() == outer.range.start.size();
                if (!tensor || !rank) {
                    mismatch(member, at, "tensors or ranks",
                             fmt::format("{} of {}", text(outer.range), outer.tensor_id),
                             fmt::format("{} of {}", text(selection.range), selection.tensor_id));
                } else if (!contains(outer.range, selection.range)) {
                    outside(member, at.to({"range"}), outer_part.to({"range"}), "a selection", outer.range,
                            selection.range);
                } else {
                    return;
                }
                same = false;
            });
        return same;
    }

    bool index(const Member& member) {
        if (!member.index && !member.whole) return true;
        PartOfNode own{member.number, {"tags", "IPFIndex"}}, whole{member.operation_number, {"tags", "IPFIndex"}};
        if (!member.index || !member.whole) {
            size_t without = member.index ? member.operation_number : member.number;
            checked_.add(
                {.code = "interchange.no_index",
                 .summary = fmt::format("{} has no IPFIndex, and {} has one", checked_.title(without),
                                        checked_.title(member.index ? member.number : member.operation_number)),
                 .part = member.index ? whole : own,
                 .expected = "the tag IPFIndex on both",
                 .contexts = {{"this has one", member.index ? own : whole}}});
            return false;
        }
        if (member.index->start.size() != member.whole->start.size()) {
            mismatch(member, own, "the dimensions of the index", text(*member.whole), text(*member.index));
            return false;
        }
        if (contains(*member.whole, *member.index)) return true;
        outside(member, own, whole, "the index", *member.whole, *member.index);
        return false;
    }

    void covered_outputs(size_t number, const std::vector<size_t>& applications) {
        each_selection(
            operation(number).outputs, number, "outputs",
            [&](const PartOfNode& part, const std::string& name, size_t i, const DocumentSelection& whole) {
                std::vector<Piece> pieces;
                for (size_t application : applications) {
                    const auto& body = std::get<ApplicationBody>(checked_.node(application).body);
                    for (const auto& [own, list] : *body.outputs) {
                        if (own != name) continue;
                        pieces.push_back({list[i].range, {application, {"body", "outputs", name, std::to_string(i)}}});
                    }
                }
                covered(number, fmt::format("cells of the output {}[{}]", name, i).c_str(), whole.range, pieces,
                        part.to({"range"}));
            });
    }

    void covered(size_t number, const char* cells, const DocumentRange& whole, const std::vector<Piece>& pieces,
                 const PartOfNode& part) {
        std::vector<DocumentRange> boxes;
        for (const Piece& piece : pieces) boxes.push_back(piece.box);
        Cover result = cover(whole, boxes, checked_.budget);
        std::string title = checked_.title(number);
        if (!result.gaps.empty()) {
            Issue issue{.code = "interchange.gap",
                        .summary = fmt::format("{} of {} belong to no application", cells, title),
                        .part = part,
                        .expected = "applications that cover " + text(whole),
                        .found = fmt::format("{} belongs to none", text(result.gaps[0]))};
            for (const DocumentRange& gap : result.gaps) issue.contexts.emplace_back("not covered: " + text(gap), part);
            for (const Piece& piece : pieces)
                issue.contexts.emplace_back(checked_.title(piece.part.node) + " covers " + text(piece.box), piece.part);
            issue.params = {{"operation", checked_.node(number).id}, {"gap", text(result.gaps[0])}};
            checked_.add(std::move(issue));
        }
        for (const Cover::Overlap& overlap : result.overlaps) {
            const Piece &first = pieces[overlap.first], &second = pieces[overlap.second];
            checked_.add({.code = "interchange.overlap",
                          .summary = fmt::format("{} of {} belong to two applications", cells, title),
                          .part = second.part,
                          .expected = "each in one application",
                          .found = text(overlap.shared) + " is in both",
                          .params = {{"operation", checked_.node(number).id}, {"shared", text(overlap.shared)}},
                          .contexts = {{"the other: " + checked_.title(first.part.node), first.part}}});
        }
        if (!result.complete && result.gaps.empty() && result.overlaps.empty()) {
            checked_.add({.code = "interchange.limit",
                          .summary = fmt::format("the applications of {} are too many to be checked", title),
                          .part = part});
        }
    }

    Checked& checked_;
    std::map<size_t, std::vector<size_t>> applications_;  // by operation
    std::set<size_t> unsound_;                            // operations with an application that does not fit
};

}  // namespace

void check_applications(Checked& checked) {
    ApplicationsCheck check(checked);
    for (size_t i = 0; i < checked.document.nodes.size(); i++) {
        if (const auto* body = std::get_if<ApplicationBody>(&checked.node(i).body)) check.application(i, *body);
    }
    check.covers();
}

}  // namespace heddle::interchange
