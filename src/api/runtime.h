// What models of one caller share: operators, kernels, prepared weights, threads, the caller's memory.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/caller_memory.h"
#include "api/heddle/c_api.h"
#include "running/places.h"
#include "inference/engine.h"
#include "language/library.h"
#include "runtime/arena.h"
#include "support/thread_pool.h"

namespace heddle::api {

// What one run at a time has: threads and workspace.
struct Slot {
    size_t index = 0;
    std::shared_ptr<ThreadPool> pool;
    std::shared_ptr<runtime::Arena> arena;
};

// As many runs as there are slots go on at once; they are made when they are first needed.
class Slots {
public:
    Slots(size_t most, int threads) : most_(most), threads_(threads) {}

    class Lease {
    public:
        Lease(Slots& slots, Slot& slot) : slots_(slots), slot_(slot) {}
        ~Lease() { slots_.give_back(slot_); }
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        const Slot& operator*() const { return slot_; }
        const Slot* operator->() const { return &slot_; }

    private:
        Slots& slots_;
        Slot& slot_;
    };
    // Waits until one is free: the one that was used last, whose workspace is in a cache.
    Lease take();
    size_t most() const { return most_; }

private:
    Slot& free_slot();
    void give_back(Slot& slot);

    const size_t most_;
    const int threads_;
    std::mutex mutex_;
    std::condition_variable freed_;
    std::vector<std::unique_ptr<Slot>> all_;
    std::vector<Slot*> free_;
};

// The operators that a model is made from.
struct Operators {
    std::shared_ptr<const Library> library;
    std::string digest;  // of all that they follow from; empty where nothing is kept on disk
};

class Runtime {
public:
    // Codes: api.argument, api.operators, those of opening folders and libraries.
    static Result<std::shared_ptr<Runtime>> make(const heddle_runtime_options& options);
    ~Runtime();

    // For models that are made from now on. Codes of Library::add_library, add_source.
    Result<void> add_operators(const std::string& path, const std::string& name);
    Result<void> add_operators_text(const std::string& name, std::string text);
    Operators operators();

    // Models run over places from now on (running/places.h); all in a row where no mesh is said.
    void shard(placing::SaidCuts said, std::shared_ptr<transport::Transport> transport);

    inference::Engine& engine() { return *engine_; }  // for compiling; `running` is held meanwhile
    const std::shared_ptr<inference::Engine>& shared_engine() const { return engine_; }
    Slots& slots() { return slots_; }
    const std::shared_ptr<CallerMemory>& memory() const { return memory_; }  // null: the system's

    void note(const Diagnostics& notes);
    Diagnostics take_notes();  // with the cache's

private:
    // One thing that was added, to be added again to the next library.
    struct Addition {
        std::string path, name;
        std::shared_ptr<const SourceText> text;  // null: of `path`
    };
    Runtime(std::string operators, size_t runs, std::shared_ptr<CallerMemory> memory,
            std::shared_ptr<inference::Engine>);
    Result<std::shared_ptr<const Library>> make_library(const std::vector<Addition>& additions) const;
    Result<void> add(Addition addition);
    Result<void> use(std::vector<Addition> additions);

    const std::string operators_folder_;
    const std::shared_ptr<CallerMemory> memory_;
    const std::shared_ptr<inference::Engine> engine_;
    Slots slots_;
    std::mutex mutex_;
    std::vector<Addition> additions_;
    Operators operators_;
    Diagnostics notes_;
};

}  // namespace heddle::api
