// Folding: boxes that repeat are drawn once, in a frame.
#include <set>

#include <fmt/format.h>

#include "pictures/draw_parts.h"
#include "pictures/find_repeats.h"

namespace heddle::pictures {

void fold(Drawing& drawing) {
    const size_t count = drawing.boxes.size();
    std::vector<std::string> says;
    std::vector<std::vector<size_t>> feeds(count);
    for (const Box& box : drawing.boxes) says.push_back(box.says);
    for (const Arrow& arrow : drawing.arrows) feeds[arrow.to].push_back(arrow.from);
    std::vector<size_t> drawn(count), kept;  // by box: the one that stands for it; those that stay
    for (size_t i = 0; i < count; i++) drawn[i] = i;
    for (const Repeat& repeat : find_repeats(says, feeds)) {
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
    std::vector<size_t> place(count, SIZE_MAX);
    std::vector<Box> boxes;
    for (size_t i = 0; i < count; i++) {
        if (drawn[i] != i) continue;
        place[i] = boxes.size();
        boxes.push_back(std::move(drawing.boxes[i]));
    }
    std::vector<Arrow> arrows;
    std::set<std::pair<size_t, size_t>> joined;
    for (Arrow& arrow : drawing.arrows) {
        if (drawn[arrow.to] != arrow.to) continue;
        const bool folded = boxes[place[drawn[arrow.from]]].frame != no_frame;
        arrow.from = place[drawn[arrow.from]];
        arrow.to = place[arrow.to];
        if (!folded || joined.insert({arrow.from, arrow.to}).second) arrows.push_back(std::move(arrow));
    }
    drawing.boxes = std::move(boxes);
    drawing.arrows = std::move(arrows);
}

}  // namespace heddle::pictures
