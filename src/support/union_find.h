// Disjoint sets of numbers 0, 1, ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle {

// A set is known by one of its elements, its root. `Element` is an integer or an id.
template <typename Element = int32_t>
class UnionFind {
public:
    explicit UnionFind(size_t size = 0) {
        while (parent_.size() < size) add();
    }

    // A new element, alone.
    Element add() {
        parent_.push_back(Element(parent_.size()));
        return parent_.back();
    }
    // Dissolves what the element is in; right only where this is done to all elements of that set.
    void separate(Element element) { parent(element) = element; }

    Element root(Element element) {
        while (!is_root(element)) {
            parent(element) = parent(parent(element));
            element = parent(element);
        }
        return element;
    }
    Element root(Element element) const {
        while (!is_root(element)) element = parent_[static_cast<size_t>(element)];
        return element;
    }
    bool is_root(Element element) const { return parent_[static_cast<size_t>(element)] == element; }

    // One set of two, whose root is that of `a`.
    void join(Element a, Element b) { parent(root(b)) = root(a); }

private:
    Element& parent(Element element) { return parent_[static_cast<size_t>(element)]; }

    std::vector<Element> parent_;
};

}  // namespace heddle
