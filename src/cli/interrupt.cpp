#include "cli/interrupt.h"

#include <atomic>
#include <csignal>

#include "cli/cli.h"

namespace heddle::cli {
namespace {

std::atomic<bool> asked = false;
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

Interruptible::Interruptible() {
    asked = false;
    std::signal(SIGINT, [](int) {
        asked = true;
        std::signal(SIGINT, SIG_DFL);
    });
}

Interruptible::~Interruptible() { end_when_interrupted(); }

bool Interruptible::was_interrupted() const { return asked; }

}  // namespace heddle::cli
