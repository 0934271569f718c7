#include "plan/stack.h"

#include <algorithm>
#include <numeric>

#include "support/tensor_data.h"
#include "zspace/checked.h"
#include "zspace/origin_bounds.h"
#include "zspace/size_class.h"

namespace heddle::plan {
namespace {

constexpr int64_t line = static_cast<int64_t>(buffer_alignment);

bool lives(const Buffer& buffer) { return buffer.kind == Buffer::Kind::workspace && buffer.first >= 0; }
bool live_together(const Buffer& a, const Buffer& b) { return a.first <= b.last && b.first <= a.last; }

// By place in a stack, or in a list of buffers: all that lie below it.
class Below {
public:
    explicit Below(size_t count) : words_((count + 63) / 64), bits_(count * words_) {}
    bool has(size_t above, size_t below) const { return (row(above)[below / 64] >> (below % 64) & 1) != 0; }
    // And what lies below that.
    void add(size_t above, size_t below) {
        uint64_t* const to = bits_.data() + above * words_;
        for (size_t w = 0; w < words_; w++) to[w] |= row(below)[w];
        to[below / 64] |= uint64_t{1} << (below % 64);
    }

private:
    const uint64_t* row(size_t place) const { return bits_.data() + place * words_; }

    size_t words_;
    std::vector<uint64_t> bits_;
};

// Makes stacks of one plan's buffers.
class StackMaker {
public:
    explicit StackMaker(const Plan& plan) : plan_(plan) {
        for (size_t b = 0; b < plan.buffers.size(); b++) {
            if (lives(plan.buffers[b])) buffers_.push_back(static_cast<int32_t>(b));
        }
    }

    // What the buffers take for these names; nothing where that is no sensible number.
    std::optional<std::vector<int64_t>> rooms(const std::map<std::string, int64_t>& names) const {
        std::vector<int64_t> result;
        for (size_t i = 0; i < buffers_.size(); i++) {
            const Size& bytes = buffer(i).bytes;
            const auto value = bytes.named() ? bytes.origin()->evaluated(names) : bytes.number();
            if (!value || *value < 0 || *value > most_buffer_bytes) return std::nullopt;
            result.push_back(room(*value));
        }
        return result;
    }
    std::vector<int64_t> rooms_here() const {
        std::vector<int64_t> result;
        for (size_t i = 0; i < buffers_.size(); i++) result.push_back(room(buffer(i).bytes.number()));
        return result;
    }

    // Largest first, each at the lowest free place: which one lies above which is the stack.
    std::vector<Stacked> stack_for(const std::vector<int64_t>& rooms) const {
        const std::vector<int64_t> begin = lowest_places(rooms);
        std::vector<size_t> order = counted();
        std::ranges::stable_sort(order, {}, [&](size_t i) { return begin[i]; });
        Below known(order.size());  // by place in `order`
        std::vector<Stacked> stack;
        for (size_t above = 0; above < order.size(); above++) {
            Stacked next{buffers_[order[above]], {}};
            // From the highest down: what lies below one that is there already need not be named.
            for (size_t below = above; below-- > 0;) {
                if (known.has(above, below) || !live_together(buffer(order[above]), buffer(order[below]))) continue;
                known.add(above, below);
                next.below.push_back(buffers_[order[below]]);
            }
            std::ranges::sort(next.below);
            stack.push_back(std::move(next));
        }
        return stack;
    }

    int64_t height(const std::vector<Stacked>& stack, const std::vector<int64_t>& rooms) const {
        std::vector<int64_t> of_buffer(plan_.buffers.size());
        for (size_t i = 0; i < buffers_.size(); i++) of_buffer[static_cast<size_t>(buffers_[i])] = rooms[i];
        return places(stack, of_buffer).height;
    }

private:
    const Buffer& buffer(size_t i) const { return plan_.buffers[static_cast<size_t>(buffers_[i])]; }
    std::vector<size_t> counted() const {
        std::vector<size_t> order(buffers_.size());
        std::iota(order.begin(), order.end(), size_t{0});
        return order;
    }

    std::vector<int64_t> lowest_places(const std::vector<int64_t>& rooms) const {
        std::vector<size_t> order = counted();
        std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return rooms[i]; });
        std::vector<int64_t> begin(order.size());
        std::vector<size_t> placed;  // the lowest first
        for (size_t i : order) {
            int64_t place = 0;
            for (size_t other : placed) {
                if (!live_together(buffer(i), buffer(other))) continue;
                if (place + rooms[i] <= begin[other]) break;
                place = std::max(place, begin[other] + rooms[other]);
            }
            begin[i] = place;
            placed.insert(std::ranges::upper_bound(placed, place, {}, [&](size_t other) { return begin[other]; }), i);
        }
        return begin;
    }

    const Plan& plan_;
    std::vector<int32_t> buffers_;
};

// For the representative, the least and the greatest size of each name's class.
std::vector<std::map<std::string, int64_t>> class_points(const std::map<std::string, int64_t>& names) {
    std::vector<std::map<std::string, int64_t>> points(3);
    for (const auto& [name, value] : names) {
        const SizeClass sizes = size_class(value);
        points[0][name] = sizes.representative;
        points[1][name] = sizes.least;
        points[2][name] = sizes.most;
    }
    return points;
}

// Of stacks for each of these rooms, that of least height at all of them together, relative to the lowest at each; at the
// first one not above what its own has.
std::vector<Stacked> best_stack(const StackMaker& maker, const std::vector<std::vector<int64_t>>& rooms) {
    std::vector<std::vector<Stacked>> stacks;
    std::vector<std::vector<double>> heights;
    for (const auto& own : rooms) {
        std::vector<double>& of = heights.emplace_back();
        const auto& stack = stacks.emplace_back(maker.stack_for(own));
        for (const auto& at : rooms) of.push_back(static_cast<double>(std::max<int64_t>(maker.height(stack, at), 1)));
    }
    size_t best = 0;
    double least = 0;
    for (size_t s = 0; s < stacks.size(); s++) {
        double sum = 0;
        for (size_t at = 0; at < rooms.size(); at++) {
            double lowest = heights[0][at];
            for (const auto& of : heights) lowest = std::min(lowest, of[at]);
            sum += heights[s][at] / lowest;
        }
        if (s > 0 && (sum >= least || heights[s][0] > heights[0][0])) continue;
        best = s;
        least = sum;
    }
    return std::move(stacks[best]);
}

}  // namespace

int64_t room(int64_t bytes) { return (bytes + line + line - 1) / line * line; }

Size room(const Buffer& buffer) { return floor_divide(buffer.bytes + (2 * line - 1), line) * line; }

void choose_stack(Plan& plan) {
    const PausedFacts paused;  // for other sizes it is right too
    const StackMaker maker(plan);
    std::vector<std::vector<int64_t>> rooms;
    if (!plan.names.empty()) {
        for (const auto& point : class_points(plan.names)) {
            auto at = maker.rooms(point);
            if (!at && rooms.empty()) break;
            if (at && std::ranges::find(rooms, *at) == rooms.end()) rooms.push_back(std::move(*at));
        }
    }
    if (rooms.empty()) rooms.push_back(maker.rooms_here());
    plan.stack = best_stack(maker, rooms);
}

Places places(std::span<const Stacked> stack, std::span<const int64_t> rooms) {
    Places result;
    std::vector<int64_t> end(rooms.size());
    for (const Stacked& next : stack) {
        int64_t begin = 0;
        for (int32_t below : next.below) begin = std::max(begin, end[static_cast<size_t>(below)]);
        result.begin.push_back(begin);
        const auto b = static_cast<size_t>(next.buffer);
        end[b] = begin + rooms[b];
        result.height = std::max(result.height, end[b]);
    }
    return result;
}

Places places(const Plan& plan) {
    std::vector<int64_t> rooms;
    for (const Buffer& buffer : plan.buffers) rooms.push_back(lives(buffer) ? room(buffer.bytes.number()) : 0);
    return places(plan.stack, rooms);
}

std::optional<StackProblem> problem_of_stack(const Plan& plan) {
    std::vector<int32_t> place_of(plan.buffers.size(), -1);
    Below known(plan.stack.size());
    for (size_t place = 0; place < plan.stack.size(); place++) {
        const auto [index, below] = plan.stack[place];
        const auto b = static_cast<size_t>(index);
        if (index < 0 || b >= plan.buffers.size() || !lives(plan.buffers[b]) || place_of[b] >= 0)
            return StackProblem{"the stack has what is no buffer of the workspace, or one twice", index};
        place_of[b] = static_cast<int32_t>(place);
        for (int32_t other : below) {
            const bool comes_before = other >= 0 && static_cast<size_t>(other) < place_of.size() &&
                                      other != index && place_of[static_cast<size_t>(other)] >= 0;
            if (!comes_before) return StackProblem{"a buffer lies above one that does not come before it in the stack", index};
            known.add(place, static_cast<size_t>(place_of[static_cast<size_t>(other)]));
        }
    }
    for (size_t b = 0; b < plan.buffers.size(); b++) {
        if (lives(plan.buffers[b]) && place_of[b] < 0)
            return StackProblem{"the stack leaves a buffer out", static_cast<int32_t>(b)};
    }
    for (size_t above = 0; above < plan.stack.size(); above++) {
        const int32_t index = plan.stack[above].buffer;
        const Buffer& buffer = plan.buffers[static_cast<size_t>(index)];
        for (size_t below = 0; below < above; below++) {
            const Buffer& other = plan.buffers[static_cast<size_t>(plan.stack[below].buffer)];
            if (live_together(buffer, other) && !known.has(above, below))
                return StackProblem{"of two buffers that live at one time neither lies above the other", index};
        }
    }
    return std::nullopt;
}

namespace {

// Ends of buffers, as the greatest of several sums.
using Sums = std::vector<OriginPointer>;

// Adds a sum where none is as great, and takes out those that it is never below.
void add_sum(Sums& sums, OriginPointer sum, const std::map<std::string, int64_t>& names) {
    const auto never_above = [&](OriginPointer a, OriginPointer b) {
        return is_never_negative(Origin::of(Origin::Kind::subtract, b, a), names);
    };
    if (std::ranges::any_of(sums, [&](OriginPointer known) { return never_above(sum, known); })) return;
    std::erase_if(sums, [&](OriginPointer known) { return never_above(known, sum); });
    sums.push_back(sum);
}

}  // namespace

std::optional<std::vector<Size>> workspace_expressions(const Plan& plan, size_t most) {
    const PausedFacts paused;
    std::vector<Sums> ends(plan.buffers.size());
    Sums height;
    const auto value = [&](OriginPointer sum) { return sum->evaluated(plan.names); };
    for (const Stacked& next : plan.stack) {
        Sums begin;
        for (int32_t below : next.below) {
            for (OriginPointer sum : ends[static_cast<size_t>(below)]) add_sum(begin, sum, plan.names);
        }
        if (begin.empty()) begin.push_back(Origin::of_constant(0));
        const Size own = room(plan.buffers[static_cast<size_t>(next.buffer)]);
        const OriginPointer bytes = own.named() ? own.origin() : Origin::of_constant(own.number());
        Sums& end = ends[static_cast<size_t>(next.buffer)];
        for (OriginPointer sum : begin) add_sum(end, Origin::of(Origin::Kind::add, sum, bytes), plan.names);
        for (OriginPointer sum : end) {
            if (!value(sum)) return std::nullopt;
            add_sum(height, sum, plan.names);
        }
        if (end.size() > most || height.size() > most) return std::nullopt;
    }
    if (height.empty()) height.push_back(Origin::of_constant(0));
    // The text of a plan has the stack in another order than the plan had before.
    std::ranges::sort(height, {}, [](OriginPointer sum) -> const std::string& { return sum->text(); });
    std::vector<Size> result;
    for (OriginPointer sum : height) result.push_back({*value(sum), sum});
    return result;
}

std::string workspace_text(const Plan& plan) {
    constexpr size_t most_sums = 4;
    const auto sums = workspace_expressions(plan, most_sums);
    if (!sums || std::ranges::none_of(*sums, &Size::named)) return "";
    if (sums->size() == 1) return sums->front().text();
    std::string text;
    for (const Size& sum : *sums) text += (text.empty() ? "max(" : ", ") + sum.text();
    return text + ")";
}

}  // namespace heddle::plan
