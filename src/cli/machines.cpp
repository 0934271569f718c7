#include "cli/machines.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "cli/support.h"
#include "placement/parts.h"

namespace heddle::cli {
namespace {

// Of threads of one process: a message is a copy, out of one place's memory into another's; waking who waits takes as long as
// this (transport/in_process).
constexpr double wake_seconds = 20e-6;

std::optional<int64_t> number_in(const std::string& text) {
    int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || rest != end) return std::nullopt;
    return number;
}

Diagnostic refused(const std::string& text, std::string expected, std::string found) {
    return {.code = "cli.machines",
            .summary = fmt::format("a program cannot be cut over the machines '{}'", text),
            .expected = std::move(expected),
            .found = std::move(found),
            .params = {{"machines", text}}};
}

// One of so many places that share a machine.
Target share_of(Target target, int64_t places) {
    const int cores = std::max(1, target.cores / static_cast<int>(places));
    target.operations *= static_cast<double>(target.cores) / static_cast<double>(cores * places);
    target.bandwidth /= static_cast<double>(places);
    target.cores = cores;
    return target;
}

placement::Machines on_this_machine(int64_t places) {
    const Target target = this_machine();
    return {places, [target](int64_t count) {
                return placement::system_of_processes(share_of(target, count), static_cast<int32_t>(count),
                                                      target.bandwidth_one_core / 2, wake_seconds);
            }};
}

// Devices that compute, the same kind each: those of the target's that launch nobody else's kernels.
Result<placement::Machines> of_target(const std::string& text) {
    auto target = open_system(text);
    if (!target) return fail(std::move(target.error()));
    auto system = placement::system_of(*target);
    if (!system) return fail(std::move(system.error()));
    std::vector<placement::DeviceId> places;
    for (size_t d = 0; d < system->devices.size(); d++) {
        const bool launches = std::ranges::any_of(system->devices, [&](const auto& other) { return other.host == placement::DeviceId(d); });
        if (!launches && system->devices[d].target->kind != "library") places.push_back(placement::DeviceId(d));
    }
    if (places.empty()) return fail(refused(text, "devices that compute", "none"));
    if (static_cast<int64_t>(places.size()) > most_machines)
        return fail(refused(text, fmt::format("at most {} devices", most_machines), std::to_string(places.size())));
    const Target device = *system->device(places.front()).target;
    for (const placement::DeviceId place : places) {
        const Target& other = *system->device(place).target;
        if (other.kind != device.kind || other.arch != device.arch || other.operations != device.operations)
            return fail(refused(text, "devices that are alike", fmt::format("'{}' and '{}'", system->device(places.front()).name,
                                                                            system->device(place).name)));
    }
    // The slowest way between two of them: of one byte, and of many more.
    constexpr int64_t many = 1 << 20;
    double latency = 0, seconds = 0;
    for (const placement::DeviceId from : places) {
        for (const placement::DeviceId to : places) {
            if (from == to) continue;
            const auto memory = [&](placement::DeviceId id) { return system->default_location(id).memory; };
            const auto little = system->route(memory(from), memory(to), 0), much = system->route(memory(from), memory(to), many);
            if (!much.exists())
                return fail(refused(text, "a link between each two devices", fmt::format("none from '{}' to '{}'", system->device(from).name, system->device(to).name)));
            latency = std::max(latency, little.seconds);
            seconds = std::max(seconds, much.seconds - little.seconds);
        }
    }
    const double bandwidth = seconds > 0 ? static_cast<double>(many) / seconds : device.bandwidth;
    return placement::Machines{static_cast<int64_t>(places.size()), [device, bandwidth, latency](int64_t count) {
                                   return placement::system_of_processes(device, static_cast<int32_t>(count), bandwidth, latency);
                               }};
}

}  // namespace

Result<placement::Machines> open_machines(const std::string& text) {
    const auto number = number_in(text);
    if (!number) return of_target(text);
    if (*number < 1 || *number > most_machines)
        return fail(refused(text, fmt::format("from 1 to {} places of this machine, or a target", most_machines), text));
    return on_this_machine(*number);
}

}  // namespace heddle::cli
