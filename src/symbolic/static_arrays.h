// Local arrays and states whose elements are static numbers take the dtype of what uses them (docs/language.md,
// "Bodies"): once the body is built, and before it is built again with these dtypes.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "symbolic/body_nodes.h"
#include "symbolic/value.h"

namespace heddle {

struct Syntax;

class StaticArrays {
public:
    // A local of static numbers; `statement` says what it is, and is nothing where it has no dtype of its own to take.
    void declare(LocalId local, const Syntax* statement, Element::Weak weak) {
        if (weak != Element::Weak::no) declared_.push_back({local, statement, weak});
    }
    // A static number is used as `dtype`, or, with none, as the exact integer that it is.
    void use(NodeId node, std::optional<DType> dtype) {
        if (!declared_.empty()) uses_.emplace_back(node, dtype);
    }
    // What is used as one dtype, alone and by all that it is computed with, takes it. Whole numbers that are computed
    // with as whole numbers, or say places, stay exact.
    std::map<const Syntax*, DType> taken(const Body& body) const;

private:
    struct Declared {
        LocalId local;
        const Syntax* statement = nullptr;
        Element::Weak weak = Element::Weak::no;
    };
    std::vector<Declared> declared_;
    std::vector<std::pair<NodeId, std::optional<DType>>> uses_;
};

}  // namespace heddle
