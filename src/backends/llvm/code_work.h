// Kernels that some threads take in turn, as they come, while another may wait for them, and not to the end.
#pragma once

#include <llvm/IR/OptBisect.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "schedules/tree.h"
#include "support/diagnostic.h"

namespace heddle {
class Progress;
}

namespace heddle::backends {

// Whether code is wanted still. LLVM asks before each pass that it can do without; what comes out then is no code.
class Gate : public llvm::OptPassGate {
public:
    void close() { open_.store(false, std::memory_order_relaxed); }
    bool is_open() const { return open_.load(std::memory_order_relaxed); }
    bool shouldRunPass(llvm::StringRef, llvm::StringRef) override { return is_open(); }
    bool isEnabled() const override { return true; }

private:
    std::atomic<bool> open_ = true;
};

class CodeWork {
public:
    using TreePointer = std::shared_ptr<const schedules::Tree>;
    // Code of the tree that was added at `place`.
    using Maker = std::function<Result<std::string>(size_t place, const schedules::Tree& tree)>;
    // `maker` is asked once in each thread that works, what it gives is used there alone.
    explicit CodeWork(std::function<Maker(Gate& gate)> maker) : maker_(std::move(maker)) {}

    void add(TreePointer tree);
    // Nothing more is added, and of what nobody has begun with only these are made, by when they were added.
    void close(std::vector<size_t> wanted);
    // Nothing is wanted any more.
    void give_up();
    bool is_wanted() const { return gate_.is_open(); }

    // Makes code until it is closed and nothing is left.
    void run();
    // Tells how much of what is wanted is made until all is, or nothing is wanted any more; then it gives up.
    void wait(Progress& progress);
    // When all that run have come back: code of what is wanted. Code support.cancelled, and those of the maker.
    Result<std::vector<std::string>> take();

private:
    struct Made {
        std::optional<Result<std::string>> code;
        std::exception_ptr thrown;  // for who takes the code, not for a thread of ours
        bool is_done() const { return code || thrown; }
    };
    std::optional<size_t> next(TreePointer& tree);
    size_t wanted_done() const;

    const std::function<Maker(Gate& gate)> maker_;
    Gate gate_;
    std::mutex mutex_;
    std::condition_variable comes_, done_;
    // Under the mutex:
    std::vector<TreePointer> trees_;
    std::vector<Made> made_;       // by tree
    std::vector<size_t> waiting_;  // trees that nobody has begun with
    std::vector<size_t> wanted_;
    bool closed_ = false;
};

}  // namespace heddle::backends
