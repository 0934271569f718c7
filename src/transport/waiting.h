// Who waits for whom: by this a process that is busy for long is told from one that waits in vain.
#pragma once

#include <algorithm>
#include <chrono>

namespace heddle::transport {

using Clock = std::chrono::steady_clock;

struct Doing {
    int waits_for = -1;         // nobody: it computes
    Clock::time_point since{};  // it waits, or a byte of what it waits for was moved
};

// When `rank`, or who it waits for in the end, was last seen to do something. Of ranks that wait for one another in a
// circle, when the last of them began to wait. `doing`: of a rank, what it does.
template <typename DoingOf>
Clock::time_point last_done(int rank, int size, DoingOf doing) {
    Clock::time_point last = Clock::time_point::min();
    for (int steps = 0; steps <= size; steps++) {
        const Doing& at = doing(rank);
        if (at.waits_for < 0) return Clock::now();
        last = std::max(last, at.since);
        rank = at.waits_for;
    }
    return last;
}

}  // namespace heddle::transport
