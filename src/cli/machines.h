// --machines: the places that a program is cut over.
#pragma once

#include <optional>
#include <string>

#include "placing/cut_front.h"
#include "placing/places.h"

namespace heddle::cli {

// More are refused: each place has parts of every operation.
inline constexpr int64_t most_machines = 64;

// Of all of the text; nothing: it is none.
std::optional<int64_t> number_in(const std::string& text);

// A number: so many places on this machine, which share its cores and its memory's bandwidth. Else a target, by tag or file:
// its places
// (placing/places.h). Codes cli.machines, those of open_system and placing::places_of.
Result<placing::Machines> open_machines(const std::string& text);

// The places of a target, however many: they are alike. Codes: those of open_machines.
Result<placing::Places> open_places(const std::string& text);

}  // namespace heddle::cli
