#include "cli/machines.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/support.h"
#include "placing/parts.h"
#include "placing/places.h"

namespace heddle::cli {

std::optional<int64_t> number_in(const std::string& text) {
    int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || rest != end) return std::nullopt;
    return number;
}

namespace {

Diagnostic refused(const std::string& text, std::string expected, std::string found) {
    return {.code = "cli.machines",
            .summary = fmt::format("a program cannot be cut over the machines '{}'", text),
            .expected = std::move(expected),
            .found = std::move(found),
            .params = {{"machines", text}}};
}

// Of each number of places up to this one there is a system, if there is one of this one.
Result<placing::Machines> on_this_machine(int64_t places) {
    const Target target = this_machine();
    const auto system = [target](int64_t count) {
        return placing::system_of_processes(target, static_cast<int32_t>(count));
    };
    if (auto most = system(places); !most) return fail(std::move(most.error()));
    return placing::Machines{places, [system](int64_t count) { return system(count).value(); }};
}

Result<placing::Machines> of_target(const std::string& text) {
    auto made = open_places(text);
    if (!made) return fail(std::move(made.error()));
    const auto places = std::make_shared<const placing::Places>(std::move(*made));
    if (places->size() > static_cast<size_t>(most_machines))
        return fail(refused(text, fmt::format("at most {} places", most_machines), std::to_string(places->size())));
    return placing::Machines{static_cast<int64_t>(places->size()), [places](int64_t count) {
                                 return placing::system_of_processes(*places, static_cast<size_t>(count));
                             }};
}

}  // namespace

Result<placing::Places> open_places(const std::string& text) {
    auto target = open_system(text);
    if (!target) return fail(std::move(target.error()));
    auto places = placing::places_of(*target);
    if (!places) return fail(std::move(places.error()));
    const auto& groups = places->groups();
    for (const placing::PlaceGroup& group : groups) {
        const Target &first = *groups.front().target, &other = *group.target;
        if (first.kind != other.kind || first.operations * first.cores != other.operations * other.cores ||
            first.bandwidth != other.bandwidth)
            return fail(refused(text, "places that are alike: parts are of equal size",
                                fmt::format("'{}' and '{}'", groups.front().device, group.device)));
    }
    return places;
}

Result<placing::Machines> open_machines(const std::string& text) {
    const auto number = number_in(text);
    if (!number) return of_target(text);
    if (*number < 1 || *number > most_machines)
        return fail(
            refused(text, fmt::format("from 1 to {} places of this machine, or a target", most_machines), text));
    return on_this_machine(*number);
}

}  // namespace heddle::cli
