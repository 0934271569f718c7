// Ctrl-C while something is looked for that has a best so far: the search ends, what there is is printed.
#pragma once

namespace heddle::cli {

inline constexpr int interrupted_status = 130;  // 128 + SIGINT

class Interruptible {
public:
    Interruptible();
    ~Interruptible();  // an interrupt ends the process again
    Interruptible(const Interruptible&) = delete;
    Interruptible& operator=(const Interruptible&) = delete;

    // Whether there was one. The next one ends the process.
    bool was_interrupted() const;
};

}  // namespace heddle::cli
