// A vector whose first few elements need no allocation: for the many short lists (coordinates, factors, operands) of
// which an operation has dozens.
#pragma once

#include <algorithm>
#include <cassert>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>
#include <utility>

namespace heddle {

// `T` is copied as its bytes are. References and iterators are valid until an element is added or the vector is moved.
template <typename T, size_t most_inline>
class InlineVector {
    static_assert(std::is_trivially_copy_constructible_v<T> && std::is_trivially_destructible_v<T>);
    static_assert(most_inline > 0);

public:
    using value_type = T;
    using iterator = T*;
    using const_iterator = const T*;

    InlineVector() noexcept {}
    explicit InlineVector(size_t count, T value = T()) { resize(count, value); }
    InlineVector(std::initializer_list<T> values) { append(values.begin(), values.end()); }
    template <std::forward_iterator Iterator>
    InlineVector(Iterator first, Iterator last) {
        append(first, last);
    }
    // A copy of any list of such elements, or of what they are made from.
    template <std::ranges::contiguous_range Range>
        requires(std::convertible_to<std::ranges::range_value_t<Range>, T> &&
                 !std::same_as<std::remove_cvref_t<Range>, InlineVector>)
    InlineVector(Range&& range)  // NOLINT: a list is a list
        : InlineVector(std::ranges::begin(range), std::ranges::end(range)) {}
    InlineVector(const InlineVector& other) {
        if (other.is_inline())
            take_bytes(other);
        else
            append(other.begin(), other.end());
    }
    InlineVector(InlineVector&& other) noexcept { take(other); }
    InlineVector& operator=(const InlineVector& other) {
        if (this != &other) assign(other.begin(), other.end());
        return *this;
    }
    InlineVector& operator=(InlineVector&& other) noexcept {
        if (this == &other) return *this;
        release();
        take(other);
        return *this;
    }
    ~InlineVector() { release(); }

    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T* data() { return is_inline() ? elements_.few : elements_.many; }
    const T* data() const { return is_inline() ? elements_.few : elements_.many; }
    T* begin() { return data(); }
    T* end() { return data() + size_; }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size_; }
    T& operator[](size_t position) { return data()[within(position)]; }
    const T& operator[](size_t position) const { return data()[within(position)]; }
    T& front() { return (*this)[0]; }
    const T& front() const { return (*this)[0]; }
    T& back() { return (*this)[size_t{size_} - 1]; }
    const T& back() const { return (*this)[size_t{size_} - 1]; }

    void reserve(size_t wanted) {
        if (wanted <= capacity_) return;
        wanted = std::max<size_t>(wanted, size_t{2} * capacity_);
        T* moved = std::allocator<T>().allocate(wanted);
        std::uninitialized_copy(begin(), end(), moved);
        release();
        elements_.many = moved;
        capacity_ = static_cast<uint32_t>(wanted);
    }
    void push_back(T value) {
        if (size_ == capacity_) reserve(size_ + 1);
        std::construct_at(data() + size_++, value);
    }
    template <typename... Arguments>
    T& emplace_back(Arguments&&... arguments) {
        push_back(T(std::forward<Arguments>(arguments)...));
        return back();
    }
    void pop_back() { --size_; }
    void clear() { size_ = 0; }
    void resize(size_t count, T value = T()) {
        reserve(count);
        if (count > size_) std::uninitialized_fill(end(), data() + count, value);
        size_ = static_cast<uint32_t>(count);
    }
    template <std::forward_iterator Iterator>
    void append(Iterator first, Iterator last) {
        auto count = static_cast<size_t>(std::distance(first, last));
        reserve(size_ + count);
        std::uninitialized_copy(first, last, end());
        size_ += static_cast<uint32_t>(count);
    }
    // From elsewhere than this vector.
    template <std::forward_iterator Iterator>
    void assign(Iterator first, Iterator last) {
        clear();
        append(first, last);
    }
    void assign(size_t count, T value) {
        clear();
        resize(count, value);
    }
    void insert(const T* position, T value) { insert(position, &value, &value + 1); }
    template <std::forward_iterator Iterator>
    void insert(const T* position, Iterator first, Iterator last) {
        auto at = position - begin();
        size_t before = size_;
        append(first, last);
        std::rotate(begin() + at, begin() + before, end());
    }
    void erase(const T* position) { erase(position, position + 1); }
    void erase(const T* first, const T* last) {
        std::copy(last, static_cast<const T*>(end()), begin() + (first - begin()));
        size_ -= static_cast<uint32_t>(last - first);
    }

    bool operator==(const InlineVector& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }
    auto operator<=>(const InlineVector& other) const {
        return std::lexicographical_compare_three_way(begin(), end(), other.begin(), other.end());
    }

private:
    bool is_inline() const { return capacity_ == most_inline; }
    // The elements stand inside other objects: an address sanitizer sees nothing of one too far.
    size_t within(size_t position) const {
        assert(position < size_);
        return position;
    }
    void release() {
        if (!is_inline()) std::allocator<T>().deallocate(elements_.many, capacity_);
    }
    // From a state in which nothing is owned.
    void take(InlineVector& other) noexcept {
        take_bytes(other);
        other.size_ = 0;
        other.capacity_ = most_inline;
    }
    // All the room there is, which is mostly a few registers: no loop over what of it is in use.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
    void take_bytes(const InlineVector& other) {
        std::memcpy(static_cast<void*>(&elements_), &other.elements_, sizeof elements_);
        size_ = other.size_;
        capacity_ = other.capacity_;
    }
#pragma GCC diagnostic pop

    union Elements {
        Elements() {}
        T few[most_inline];
        T* many;  // once there were more than a few
    } elements_;
    uint32_t size_ = 0, capacity_ = most_inline;
};

}  // namespace heddle
