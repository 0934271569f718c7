#include "api/runtime.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "api/data_folder.h"
#include "cache/folder.h"
#include "evaluate/work.h"
#include "inference/kept_program.h"

namespace heddle::api {

// ---- slots

Slot& Slots::free_slot() {
    std::unique_lock lock(mutex_);
    if (free_.empty() && all_.size() < most_) {
        auto slot = std::make_unique<Slot>();
        slot->index = all_.size();
        slot->pool = std::make_shared<ThreadPool>(threads_);
        slot->arena = std::make_shared<runtime::Arena>(threads_);
        free_.reserve(most_);
        all_.push_back(std::move(slot));
        return *all_.back();
    }
    freed_.wait(lock, [&] { return !free_.empty(); });
    Slot& slot = *free_.back();
    free_.pop_back();
    return slot;
}

Slots::Lease Slots::take() { return {*this, free_slot()}; }

void Slots::give_back(Slot& slot) {
    {
        const std::lock_guard lock(mutex_);
        free_.push_back(&slot);
    }
    freed_.notify_one();
}

// ---- the runtime

namespace {

constexpr int32_t most_threads = 1024, most_runs = 256;

Result<void> check_range(const char* option, int32_t value, int32_t most) {
    if (value >= 0 && value <= most) return {};
    return fail({.code = "api.argument",
                 .summary = fmt::format("option '{}' of the runtime is out of range", option),
                 .expected = fmt::format("0 (the default) to {}", most),
                 .found = std::to_string(value),
                 .params = {{"option", option}}});
}

Result<std::shared_ptr<CallerMemory>> memory_of(const heddle_allocator* allocator) {
    if (!allocator) return nullptr;
    if (allocator->allocate && allocator->release) return std::make_shared<CallerMemory>(*allocator);
    return fail({.code = "api.argument",
                 .summary = "option 'allocator' of the runtime lacks a function",
                 .expected = "both `allocate` and `release`",
                 .params = {{"option", "allocator"}}});
}

Result<std::string> operators_of(const char* folder) {
    if (folder) return folder;
    auto found = data_folder("operators");
    if (!found) return fail(std::move(found.error()));
    return found->string();
}

}  // namespace

Runtime::Runtime(std::string operators, size_t runs, std::shared_ptr<CallerMemory> memory,
                 std::shared_ptr<inference::Engine> engine)
    : operators_folder_(std::move(operators)),
      memory_(std::move(memory)),
      engine_(std::move(engine)),
      slots_(runs, engine_->pool->threads()) {}

Runtime::~Runtime() { engine_->kernels->settle(); }

Result<std::shared_ptr<Runtime>> Runtime::make(const heddle_runtime_options& options) {
    if (auto fine = check_range("threads", options.threads, most_threads); !fine) return fail(std::move(fine.error()));
    if (auto fine = check_range("runs", options.runs, most_runs); !fine) return fail(std::move(fine.error()));
    auto memory = memory_of(options.allocator);
    if (!memory) return fail(std::move(memory.error()));
    auto operators = operators_of(options.operators);
    if (!operators) return fail(std::move(operators.error()));
    const MemorySourceScope scope(*memory);
    Diagnostics notes;
    std::shared_ptr<cache::Folder> folder;
    if (options.cache_folder) folder = cache::open_folder(options.cache_folder, notes);
    auto engine = inference::make_engine(options.threads, inference::make_kernel_cache(std::move(folder)));
    engine->work = {options.work > 0 ? options.work : default_work, "heddle_runtime_options.work ="};
    const auto runs = static_cast<size_t>(std::max(options.runs, 1));
    std::shared_ptr<Runtime> runtime(new Runtime(*operators, runs, *memory, std::move(engine)));
    if (auto fine = runtime->use({}); !fine) return fail(std::move(fine.error()));
    runtime->note(notes);
    return runtime;
}

void Runtime::shard(placing::SaidCuts said, std::shared_ptr<transport::Transport> transport) {
    const std::lock_guard lock(engine_->running);
    engine_->places = running::make_places({.said = std::move(said),
                                            .transport = std::move(transport),
                                            .threads = engine_->pool->threads(),
                                            .kernels = engine_->kernels,
                                            .target = engine_->target});
}

Result<std::shared_ptr<const Library>> Runtime::make_library(const std::vector<Addition>& additions) const {
    auto library = open_library(operators_folder_);
    if (!library) return fail(std::move(library.error()));
    for (const Addition& addition : additions) {
        if (addition.text) {
            if (auto added = library->add_source(addition.text); !added) return fail(std::move(added.error()));
        } else if (auto added = library->add_library(addition.path, addition.name); !added) {
            return fail(std::move(added.error()));
        }
    }
    return std::make_shared<const Library>(std::move(*library));
}

Result<void> Runtime::use(std::vector<Addition> additions) {
    auto library = make_library(additions);
    if (!library) return fail(std::move(library.error()));
    operators_.library = std::move(*library);
    if (engine_->kernels->folder()) {
        operators_.digest = inference::digest_of(*operators_.library);
        for (const Addition& addition : additions)
            operators_.digest += fmt::format(" {}={}", addition.name, addition.path);
    }
    additions_ = std::move(additions);
    return {};
}

Result<void> Runtime::add(Addition addition) {
    const std::lock_guard lock(mutex_);
    auto additions = additions_;
    std::erase_if(additions, [&](const Addition& known) {
        return addition.text && known.text && known.text->name() == addition.text->name();
    });
    additions.push_back(std::move(addition));
    return use(std::move(additions));
}

Result<void> Runtime::add_operators(const std::string& path, const std::string& name) {
    return add({path, name, nullptr});
}

Result<void> Runtime::add_operators_text(const std::string& name, std::string text) {
    return add({{}, name, std::make_shared<SourceText>(name, std::move(text))});
}

Operators Runtime::operators() {
    const std::lock_guard lock(mutex_);
    return operators_;
}

void Runtime::note(const Diagnostics& notes) {
    const std::lock_guard lock(mutex_);
    notes_.insert(notes_.end(), notes.begin(), notes.end());
}

Diagnostics Runtime::take_notes() {
    const std::lock_guard lock(mutex_);
    Diagnostics notes = std::exchange(notes_, {});
    if (const auto folder = engine_->kernels->folder())
        std::ranges::move(folder->take_notes(), std::back_inserter(notes));
    return notes;
}

}  // namespace heddle::api
