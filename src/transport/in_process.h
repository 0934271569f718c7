// Threads of one process, each a rank.
#pragma once

#include <memory>

#include "transport/transport.h"

namespace heddle::transport {

// The ends by rank, each for one thread. A message is copied once, by its receiver, out of the sender's memory. A thread that
// computes is never taken for a silent one; threads that wait for one another in a circle are, after the timeout.
// An end that is destroyed is lost to the others, with what it sent and they have not taken.
std::vector<std::unique_ptr<Transport>> make_in_process(int size, std::chrono::milliseconds timeout);

}  // namespace heddle::transport
