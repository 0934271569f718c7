// Processes that run one program together, and how bytes go from one to another (docs/machines.md).
//
// Between each pair of processes messages come in the order in which they were sent, and both sides know from the program
// which they are: there are no tags, and a message of another length than is expected is an error. Sending never waits
// for the receiver. A process that fails tells the others: what they do next gives its message and its rank.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace heddle::transport {

// What was sent to one process since the beginning: the program's bytes, without what a transport adds.
struct Sent {
    int64_t messages = 0, bytes = 0;
};

// The parts of memory that a message is made of, or goes to, in order.
using Parts = std::span<const std::span<std::byte>>;

// One process's end. Called by one thread at a time.
// Codes of all: transport.lost (a process ended, or the way to it broke), transport.silent (nothing was heard of it for
// longer than the timeout), transport.failed (it said that it failed, and why), transport.length (it sent a message of
// another length: it runs another program). Each names the rank, as the parameter "rank" too. After an error all
// further calls give it again.
class Transport {
public:
    virtual ~Transport() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    // Begins to send. The memory stays as it is until `finish`.
    virtual Result<void> send(int to, Parts parts) = 0;
    // Says where the next message from there that has no place yet goes. The memory is not touched until `await`.
    virtual Result<void> expect(int from, Parts parts) = 0;
    // Waits for the oldest message that is expected from there.
    virtual Result<void> await(int from) = 0;
    // Waits until all that was sent has left its memory.
    virtual Result<void> finish() = 0;
    // Tells all others that this process cannot go on, and why; then it is closed. Whether the first process says the same, so
    // that people need not hear it from this one, too. Called again, it answers the same.
    virtual bool fail(const Diagnostics& why) = 0;
    // By rank.
    virtual std::vector<Sent> sent() const = 0;
};

}  // namespace heddle::transport
