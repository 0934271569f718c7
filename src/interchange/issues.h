// The issues of one validation: collected with paths into the document, given out with places in its text.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interchange/document.h"
#include "interchange/validate.h"

namespace heddle::interchange {

// A part of a node: the names of members, and the numbers of list items, on the way to it.
struct PartOfNode {
    size_t node = 0;
    std::vector<std::string> steps;

    PartOfNode to(std::vector<std::string> more) const {
        PartOfNode result = *this;
        result.steps.insert(result.steps.end(), more.begin(), more.end());
        return result;
    }
};

struct Issue {
    std::string code, summary;
    PartOfNode part;
    std::string expected, found, reason, remedy;
    std::vector<std::pair<std::string, std::string>> params;
    std::vector<std::pair<std::string, PartOfNode>> contexts;  // message and what it speaks of
};

// A document, found by ids, with the issues so far.
class Checked {
public:
    Checked(const GraphDocument& document, const ValidationOptions& options);

    const GraphDocument& document;
    const ValidationOptions& options;
    int64_t budget = largest_search;
    std::set<size_t> doubtful;  // operations whose own selections are not their projections: applications go unjudged

    const DocumentNode& node(size_t number) const { return document.nodes[number]; }
    // The number of a node with this body; nothing if there is none.
    template <typename Body>
    std::optional<size_t> find(const std::string& id) const {
        auto found = numbers_.find(id);
        if (found == numbers_.end() || !std::holds_alternative<Body>(node(found->second).body)) return std::nullopt;
        return found->second;
    }
    const TensorBody* tensor(const std::string& id) const {
        auto number = find<TensorBody>(id);
        return number ? &std::get<TensorBody>(node(*number).body) : nullptr;
    }
    // The library's operator that a kernel names, of the core or of ONNX; null: there is none, or no library.
    const Template* operator_of(const std::string& kernel);
    // "operation 'add'", "tensor 0000...".
    std::string title(size_t number) const;

    bool full() const { return issues_.size() >= most_issues; }
    void add(Issue issue);
    Diagnostics finish() const;

private:
    std::unordered_map<std::string, size_t> numbers_;
    std::unordered_map<std::string, const Template*> operators_;  // by kernel, as far as asked for
    std::vector<Issue> issues_;
    size_t left_out_ = 0;
};

// Calls `function(part, name, number, selection)` for each selection of "inputs" or "outputs", in order.
template <typename Function>
void each_selection(const std::optional<DocumentSelections>& selections, size_t node, const char* side,
                    Function function) {
    if (!selections) return;
    for (const auto& [name, list] : *selections) {
        for (size_t i = 0; i < list.size(); i++)
            function(PartOfNode{node, {"body", side, name, std::to_string(i)}}, name, i, list[i]);
    }
}

// ---- the checks, each of the whole document

void check_environment(Checked& checked);
void check_operations(Checked& checked);    // tensors, signatures, outputs
void check_applications(Checked& checked);  // operations, indices, covers
void check_cycles(Checked& checked);
// Applies the library's operators again.
void check_operators(Checked& checked, Validation& validation);

// The selections of one node against the projections of an index: interchange.selection. `operation` is the node's or
// its operation's body; dimensions that a projection clips count only within what it selects. True: all are right.
bool check_projections(Checked& checked, size_t node, const DocumentSignature& signature, const DocumentRange& index,
                       const std::optional<DocumentSelections>& inputs,
                       const std::optional<DocumentSelections>& outputs, const OperationBody& operation);

// Whether names, numbers and ranks of a signature are those of its operation and index; else `why` not.
bool signature_fits(const DocumentSignature& signature, const DocumentRange& index, const OperationBody& operation,
                    std::string* why);

}  // namespace heddle::interchange
