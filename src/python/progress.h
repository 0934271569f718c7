// The making of a program as Python sees it: a function is told, an interrupt or a call of `cancel` ends it.
#pragma once

#include "python/python.h"
#include "support/progress.h"

namespace heddle::python {

// Of one call, by the thread that calls, which has given up the interpreter. What the user's function raises, and what
// a signal's handler raises (KeyboardInterrupt), ends the making and is raised by `raise_again`.
class CallProgress : public Progress {
public:
    // `listener`: None, or a function of (stage, done, total, seconds).
    explicit CallProgress(nb::object listener) : listener_(std::move(listener)) {}
    void raise_again();  // with the interpreter

private:
    void told(const State& state) override;
    void watch(const State& state) override;

    nb::object listener_;
    std::optional<bool> main_thread_;  // where alone Python handles signals; not known before the first look
    std::optional<nb::python_error> error_;
};

// What `run` answers, which is told to `listener` and ended by `calls`, without the interpreter meanwhile.
template <typename Run>
auto watched(nb::object listener, Calls& calls, Run run) {
    CallProgress progress(std::move(listener));
    auto result = [&] {
        const Calls::Entry entry(calls, progress);
        nb::gil_scoped_release others_run;
        return run(progress);
    }();
    progress.raise_again();
    return result;
}

}  // namespace heddle::python
