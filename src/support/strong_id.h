// Numbers that say of which list they are: a variable cannot be passed where a tensor is expected.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>  // std::hash, at the least cost

namespace heddle {

// No id at all: TensorIndex tensor = no_id; if (tensor == no_id) ...
struct NoId {};
inline constexpr NoId no_id;

// The place of one element in the list that `Tag` stands for; -1 for none. It indexes and prints as the integer that it
// is. An integer becomes an id only where that is written, and an id never becomes an id of another list.
template <typename Tag>
class StrongId {
public:
    constexpr StrongId() = default;
    constexpr StrongId(NoId) {}  // NOLINT: none is none of any list
    template <std::integral Integer>
        requires(!std::same_as<Integer, bool>)
    constexpr explicit StrongId(Integer number) : number_(static_cast<int32_t>(number)) {}

    constexpr operator int32_t() const { return number_; }  // NOLINT: indexes lists
    constexpr int32_t number() const { return number_; }

    constexpr StrongId& operator++() {
        ++number_;
        return *this;
    }
    constexpr StrongId operator++(int) { return StrongId(number_++); }
    constexpr StrongId& operator--() {
        --number_;
        return *this;
    }

    friend constexpr bool operator==(StrongId, StrongId) = default;
    friend constexpr auto operator<=>(StrongId, StrongId) = default;

private:
    int32_t number_ = -1;
};

// Else both would be compared as integers.
template <typename Tag, typename Other>
    requires(!std::same_as<Tag, Other>)
bool operator==(StrongId<Tag>, StrongId<Other>) = delete;
template <typename Tag, typename Other>
    requires(!std::same_as<Tag, Other>)
std::strong_ordering operator<=>(StrongId<Tag>, StrongId<Other>) = delete;

// Of the element that is added to the list next, and of the one that was added last.
template <typename Id, typename List>
constexpr Id next_id(const List& list) {
    return Id(list.size());
}
template <typename Id, typename List>
constexpr Id last_id(const List& list) {
    return Id(list.size() - 1);
}

}  // namespace heddle

template <typename Tag>
struct std::hash<heddle::StrongId<Tag>> {
    size_t operator()(heddle::StrongId<Tag> id) const noexcept { return static_cast<size_t>(id.number()); }
};
