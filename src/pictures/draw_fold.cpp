// Folding: boxes that repeat are drawn once, in a frame.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "pictures/draw_parts.h"
#include "pictures/find_repeats.h"

namespace heddle::pictures {
namespace {

// Boxes that one arrow after the other leads to stand side by side in the list, in whatever order they were: so layers
// are behind one another. What nothing comes before stands before its first reader.
class Order {
public:
    explicit Order(Drawing& drawing)
        : drawing_(drawing),
          before_(drawing.boxes.size()),
          behind_(drawing.boxes.size()),
          place_(drawing.boxes.size(), no_place) {
        for (const Arrow& arrow : drawing.arrows) {
            before_[arrow.to].push_back(arrow.from);
            behind_[arrow.from].push_back(arrow.to);
        }
        for (size_t i = 0; i < before_.size(); i++) {
            const auto waits = std::ranges::count_if(before_[i], [&](size_t from) { return !before_[from].empty(); });
            waiting_.push_back(static_cast<size_t>(waits));
        }
    }

    void run() {
        for (size_t i = 0; i < before_.size(); i++) {
            if (waiting_[i] == 0 && !before_[i].empty()) follow(i);
        }
        for (size_t i = 0; i < before_.size(); i++) put(i);  // alone
        std::vector<Box> boxes(drawing_.boxes.size());
        for (size_t i = 0; i < boxes.size(); i++) boxes[place_[i]] = std::move(drawing_.boxes[i]);
        drawing_.boxes = std::move(boxes);
        for (Arrow& arrow : drawing_.arrows) {
            arrow.from = place_[arrow.from];
            arrow.to = place_[arrow.to];
        }
    }

private:
    static constexpr size_t no_place = SIZE_MAX;

    void follow(size_t first) {
        for (std::vector<size_t> ready = {first}; !ready.empty();) {
            const size_t next = ready.back();
            ready.pop_back();
            if (place_[next] != no_place) continue;
            for (size_t from : before_[next]) put(from);
            put(next);
            // The first of them comes next.
            for (size_t i = behind_[next].size(); i-- > 0;) {
                if (--waiting_[behind_[next][i]] == 0) ready.push_back(behind_[next][i]);
            }
        }
    }

    void put(size_t box) {
        if (place_[box] == no_place) place_[box] = count_++;
    }

    Drawing& drawing_;
    std::vector<std::vector<size_t>> before_, behind_;
    std::vector<size_t> place_, waiting_;  // by box
    size_t count_ = 0;
};

// A frame for each repeat; its first copy stands for all. Answers for each box which one that is.
std::vector<size_t> add_frames(Drawing& drawing, const std::vector<Repeat>& repeats) {
    std::vector<size_t> drawn(drawing.boxes.size());
    std::iota(drawn.begin(), drawn.end(), size_t{0});
    for (const Repeat& repeat : repeats) {
        Frame frame{.count = repeat.count, .how = repeat.chained ? "each from the one before" : "side by side"};
        for (size_t i = repeat.begin; i < repeat.end(); i++) {
            const size_t place = (i - repeat.begin) % repeat.length, copy = (i - repeat.begin) / repeat.length;
            Box& stands = drawing.boxes[drawn[i] = repeat.begin + place];
            stands.frame = drawing.frames.size();
            const Box& own = drawing.boxes[i];
            if (place == 0) frame.tooltip += fmt::format("{}{}: from {}", copy > 0 ? "\n" : "", copy + 1, own.name);
            if (place + 1 == repeat.length && repeat.length > 1) frame.tooltip += fmt::format(" to {}", own.name);
            if (copy == 0) continue;
            stands.microseconds += std::max(own.microseconds, 0.0);
            stands.tooltip += fmt::format("\n{} {}", copy == 1 ? "and" : "   ", own.name);
        }
        drawing.frames.push_back(std::move(frame));
    }
    return drawn;
}

void fold_as_listed(Drawing& drawing) {
    std::vector<std::string> says;
    std::vector<std::vector<size_t>> feeds(drawing.boxes.size());
    for (const Box& box : drawing.boxes) says.push_back(box.says);
    for (const Arrow& arrow : drawing.arrows) feeds[arrow.to].push_back(arrow.from);
    const std::vector<size_t> drawn = add_frames(drawing, find_repeats(says, feeds));
    std::vector<size_t> place(drawn.size(), SIZE_MAX);
    std::vector<Box> boxes;
    for (size_t i = 0; i < drawn.size(); i++) {
        if (drawn[i] != i) continue;
        place[i] = boxes.size();
        boxes.push_back(std::move(drawing.boxes[i]));
    }
    std::vector<Arrow> arrows;
    std::set<std::pair<size_t, size_t>> joined;
    for (Arrow& arrow : drawing.arrows) {
        if (drawn[arrow.to] != arrow.to) continue;
        arrow.from = place[drawn[arrow.from]];
        arrow.to = place[arrow.to];
        const bool folded = boxes[arrow.from].frame != no_frame;
        if (!folded || joined.insert({arrow.from, arrow.to}).second) arrows.push_back(std::move(arrow));
    }
    drawing.boxes = std::move(boxes);
    drawing.arrows = std::move(arrows);
}

}  // namespace

// In the order of the file, or in one where chains are together: in which less is left.
void fold(Drawing& drawing) {
    Drawing other = drawing;
    Order(other).run();
    fold_as_listed(drawing);
    fold_as_listed(other);
    if (other.boxes.size() < drawing.boxes.size()) drawing = std::move(other);
}

}  // namespace heddle::pictures
