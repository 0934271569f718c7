#include "backends/llvm/code_work.h"

#include <algorithm>
#include <chrono>

#include "support/progress.h"

namespace heddle::backends {

void CodeWork::add(TreePointer tree) {
    {
        std::lock_guard lock(mutex_);
        waiting_.push_back(trees_.size());
        trees_.push_back(std::move(tree));
        made_.emplace_back();
    }
    comes_.notify_one();
}

void CodeWork::close(std::vector<size_t> wanted) {
    {
        std::lock_guard lock(mutex_);
        std::erase_if(waiting_, [&](size_t place) { return std::ranges::find(wanted, place) == wanted.end(); });
        wanted_ = std::move(wanted);
        closed_ = true;
    }
    comes_.notify_all();
}

void CodeWork::give_up() {
    gate_.close();
    close({});
}

// The greatest first, so that no thread waits long for another at the end.
std::optional<size_t> CodeWork::next(TreePointer& tree) {
    std::unique_lock lock(mutex_);
    comes_.wait(lock, [&] { return !waiting_.empty() || closed_; });
    if (waiting_.empty() || !gate_.is_open()) return std::nullopt;
    const auto greatest =
        std::ranges::max_element(waiting_, {}, [&](size_t place) { return trees_[place]->expressions.size(); });
    const size_t place = *greatest;
    waiting_.erase(greatest);
    tree = trees_[place];
    return place;
}

void CodeWork::run() {
    TreePointer tree;
    Maker make;
    while (const auto place = next(tree)) {
        Made made;
        try {
            if (!make) make = maker_(gate_);
            made.code = make(*place, *tree);
        } catch (...) {
            made.thrown = std::current_exception();
        }
        std::lock_guard lock(mutex_);
        made_[*place] = std::move(made);
        done_.notify_one();
    }
}

size_t CodeWork::wanted_done() const {
    return static_cast<size_t>(std::ranges::count_if(wanted_, [&](size_t place) { return made_[place].is_done(); }));
}

void CodeWork::wait(Progress& progress) {
    constexpr std::chrono::milliseconds patience{10};
    for (size_t told = 0; gate_.is_open();) {
        size_t done = 0;
        bool all = false;
        {
            std::unique_lock lock(mutex_);
            done_.wait_for(lock, patience, [&] { return wanted_done() > told || wanted_done() == wanted_.size(); });
            done = wanted_done();
            all = done == wanted_.size();
        }
        if (done > told) progress.step(static_cast<int64_t>(done - told));
        told = done;
        if (progress.is_cancelled()) give_up();
        if (all) return;
    }
}

Result<std::vector<std::string>> CodeWork::take() {
    if (!gate_.is_open()) return cancelled();
    std::lock_guard lock(mutex_);
    std::vector<std::string> codes;
    for (size_t place : wanted_) {
        Made& made = made_[place];
        if (made.thrown) std::rethrow_exception(made.thrown);
        if (!*made.code) return fail(std::move(made.code->error()));
        codes.push_back(std::move(**made.code));
    }
    return codes;
}

}  // namespace heddle::backends
