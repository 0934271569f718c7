// Whether all processes run the same program.
#pragma once

#include <span>
#include <string>

#include "transport/transport.h"

namespace heddle::transport {

using Bytes = std::vector<std::byte>;

// All call it, at the same point, each with bytes of the same length: all of them, by rank.
Result<std::vector<Bytes>> exchanged(Transport& transport, std::span<const std::byte> own);

// All call it, at the same point, each with a digest of what it runs, of the same length; `what` is for people: "program".
// Code: transport.other_program, with the ranks that differ from most; all, where no program is that of most. All
// processes get it. The messages are counted as the program's.
Result<void> agree(Transport& transport, const std::string& what, std::span<const std::byte> digest);

// All call it, at the same point: what the first one says of itself. What others give is not looked at.
Result<std::string> first_says(Transport& transport, std::string own);

// All call it, at the same point: what the first one does, such as writing results, was done. `done`: the first one's own outcome,
// which the others get as transport.failed, and it itself as it is; what others give is not looked at.
Result<void> follow_first(Transport& transport, Result<void> done);

}  // namespace heddle::transport
