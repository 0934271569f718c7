#include "python/progress.h"

namespace heddle::python {

namespace {

bool is_main_thread() {
    const nb::object main = nb::module_::import_("threading").attr("main_thread")();
    return nb::cast<unsigned long>(main.attr("ident")) == PyThread_get_thread_ident();
}

}  // namespace

void CallProgress::told(const State& state) {
    if (listener_.is_none()) return;
    nb::gil_scoped_acquire python;
    if (error_) return;
    try {
        listener_(nb::str(std::string(name(state.stage)).c_str()), state.done, state.total, state.seconds);
    } catch (nb::python_error& error) {
        error_.emplace(std::move(error));
        cancel();
    }
}

void CallProgress::watch(const State&) {
    if (main_thread_ && !*main_thread_) return;
    nb::gil_scoped_acquire python;
    if (!main_thread_) main_thread_ = is_main_thread();
    if (error_ || PyErr_CheckSignals() == 0) return;
    error_.emplace();
    cancel();
}

void CallProgress::raise_again() {
    if (error_) throw std::move(*error_);
}

Calls::Entry::Entry(Calls& calls, Progress& progress) : calls_(calls), progress_(progress) {
    std::lock_guard lock(calls_.mutex_);
    calls_.running_.insert(&progress_);
}

Calls::Entry::~Entry() {
    std::lock_guard lock(calls_.mutex_);
    calls_.running_.erase(&progress_);
}

void Calls::cancel() {
    std::lock_guard lock(mutex_);
    for (Progress* progress : running_) progress->cancel();
}

}  // namespace heddle::python
