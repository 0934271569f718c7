// Disjoint sets of numbers 0, 1, ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle {

// A set is known by one of its elements, its root.
class UnionFind {
public:
    explicit UnionFind(size_t size = 0) {
        while (parent_.size() < size) add();
    }

    // A new element, alone.
    int32_t add() {
        parent_.push_back(static_cast<int32_t>(parent_.size()));
        return parent_.back();
    }
    // Dissolves what the element is in; right only where this is done to all elements of that set.
    void separate(int32_t element) { parent(element) = element; }

    int32_t root(int32_t element) {
        while (!is_root(element)) {
            parent(element) = parent(parent(element));
            element = parent(element);
        }
        return element;
    }
    int32_t root(int32_t element) const {
        while (!is_root(element)) element = parent_[static_cast<size_t>(element)];
        return element;
    }
    bool is_root(int32_t element) const { return parent_[static_cast<size_t>(element)] == element; }

    // One set of two, whose root is that of `a`.
    void join(int32_t a, int32_t b) { parent(root(b)) = root(a); }

private:
    int32_t& parent(int32_t element) { return parent_[static_cast<size_t>(element)]; }

    std::vector<int32_t> parent_;
};

}  // namespace heddle
