// A vector whose first few elements need no allocation: for the many short lists (coordinates, factors, operands) of
// which an operation has dozens.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace heddle {

// `T` is small and has a default value. References are valid until an element is added.
template <typename T, size_t most_inline>
class InlineVector {
public:
    InlineVector() = default;
    InlineVector(size_t count, T value) {
        for (size_t i = 0; i < count; ++i) push_back(value);
    }
    InlineVector(std::initializer_list<T> values) {
        for (const T& value : values) push_back(value);
    }

    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T* begin() { return data(); }
    T* end() { return data() + size_; }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size_; }
    T& operator[](size_t position) { return data()[position]; }
    const T& operator[](size_t position) const { return data()[position]; }

    void push_back(T value) {
        if (size_ == most_inline) many_.assign(few_.begin(), few_.end());
        if (size_ < most_inline)
            few_[size_] = std::move(value);
        else
            many_.push_back(std::move(value));
        ++size_;
    }
    template <typename... Arguments>
    void emplace_back(Arguments&&... arguments) {
        push_back(T(std::forward<Arguments>(arguments)...));
    }
    bool operator==(const InlineVector& other) const {
        return size_ == other.size_ && std::equal(begin(), end(), other.begin());
    }

private:
    T* data() { return size_ <= most_inline ? few_.data() : many_.data(); }
    const T* data() const { return size_ <= most_inline ? few_.data() : many_.data(); }

    std::array<T, most_inline> few_{};
    std::vector<T> many_;  // all elements, once there are more than a few
    size_t size_ = 0;
};

}  // namespace heddle
