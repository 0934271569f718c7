#include "runtime/executable.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "cache/folder.h"
#include "cache/identity.h"
#include "runtime/launcher.h"
#include "runtime/prepared.h"
#include "support/file.h"
#include "support/progress.h"

namespace heddle::runtime {

// A kernel that this process has not, and its code: what the folder keeps, or bytes of our own.
struct KernelCache::Missing {
    size_t place = 0;  // among the plan's trees
    const schedules::Tree* tree = nullptr;
    const std::string* key = nullptr;
    std::optional<MappedFile> kept;
    std::string made;

    std::string_view code() const {
        if (!kept) return made;
        return {reinterpret_cast<const char*>(kept->bytes.data()), kept->bytes.size()};
    }
};

namespace {

// What people know a kernel by: the first tensor that it writes.
std::string label_of(const plan::Plan& plan, const schedules::Tree* tree) {
    for (const auto* phase : {&plan.prepare, &plan.run}) {
        for (const plan::Batch& batch : *phase) {
            for (const plan::Launch& launch : batch) {
                if (plan.trees[static_cast<size_t>(launch.tree)].get() == tree) return launch.name;
            }
        }
    }
    return tree->name;
}

}  // namespace

// A tree's key says all that its code follows from but who made it.
std::string KernelCache::disk_key(const std::string& key) const {
    return fmt::format("{}, {}: {}", cache::identity(), backend_->name(), key);
}

Result<void> KernelCache::compile(std::vector<Missing>& missing, const plan::Plan& plan, int threads,
                                  Progress* progress) {
    std::vector<const schedules::Tree*> trees;
    std::vector<Missing*> places;
    for (Missing& kernel : missing) {
        if (kernel.kept) continue;
        trees.push_back(kernel.tree);
        places.push_back(&kernel);
    }
    const auto number = static_cast<int64_t>(trees.size());
    if (auto wanted = begin_stage(progress, Stage::code, number); !wanted || trees.empty()) return wanted;
    // Whatever of a cancelled one is still being made needs its trees.
    auto owner = std::make_shared<std::vector<std::shared_ptr<const schedules::Tree>>>(plan.trees);
    auto objects = backend_->objects(trees, plan.target, threads, progress, std::move(owner));
    if (!objects) return fail(std::move(objects.error()));
    for (size_t i = 0; i < places.size(); i++) places[i]->made = std::move((*objects)[i]);
    return {};
}

Result<void> KernelCache::add(const std::vector<Missing>& missing, std::vector<Entry>& entries, Progress* progress) {
    const auto number = static_cast<int64_t>(missing.size());
    if (auto wanted = begin_stage(progress, Stage::link, number); !wanted || missing.empty()) return wanted;
    std::vector<std::string_view> objects;
    int64_t bytes = 0;
    for (const Missing& kernel : missing) {
        objects.push_back(kernel.code());
        bytes += static_cast<int64_t>(objects.back().size());
    }
    auto code = backend_->link(objects);
    if (!code) return fail(std::move(code.error()));
    if (auto wanted = step_done(progress, number); !wanted) return wanted;
    std::erase_if(known_, [](const auto& kernel) { return kernel.second.code.expired(); });
    for (size_t i = 0; i < missing.size(); i++) {
        const Entry entry{*code, (*code)->function(i), bytes};
        entries[missing[i].place] = entry;
        known_.insert_or_assign(*missing[i].key, Known{*code, entry.function, bytes});
    }
    return {};
}

void KernelCache::make_way(const plan::Plan& plan) {
    constexpr int64_t little = 16 << 20;  // to come back costs a compile of one kernel a tenth of its time
    if (plan.prepared_bytes() > little) backend_->rest();
}

Result<std::vector<KernelCache::Entry>> KernelCache::functions(const plan::Plan& plan, int threads,
                                                               KernelCounts* counts, Progress* progress) {
    constexpr std::chrono::milliseconds patience{10};
    std::unique_lock lock(mutex_, std::defer_lock);
    while (!lock.try_lock_for(patience)) {
        if (is_cancelled(progress)) return cancelled();
    }
    const auto folder = this->folder();
    std::vector<Entry> entries(plan.trees.size());
    std::vector<Missing> missing;
    for (size_t i = 0; i < plan.trees.size(); i++) {
        if (const auto known = known_.find(plan.keys[i]); known != known_.end())
            entries[i] = {known->second.code.lock(), known->second.function, known->second.code_bytes};
        if (entries[i].code) continue;
        missing.push_back({.place = i, .tree = plan.trees[i].get(), .key = &plan.keys[i], .kept = {}, .made = {}});
        if (folder) missing.back().kept = folder->find(cache::Kind::kernel, disk_key(plan.keys[i]));
        (missing.back().kept ? counts->loaded : counts->compiled)++;
    }
    if (auto made = compile(missing, plan, threads, progress); !made) return fail(std::move(made.error()));
    auto added = add(missing, entries, progress);
    if (!added && !is_cancelled_error(added.error()) &&
        counts->loaded > 0) {  // kept by a build that made no code of it
        for (Missing& kernel : missing) kernel.kept.reset();
        *counts = {.compiled = static_cast<int64_t>(missing.size())};
        if (auto made = compile(missing, plan, threads, progress); !made) return fail(std::move(made.error()));
        added = add(missing, entries, progress);
    }
    if (!added) return fail(std::move(added.error()));
    for (const Missing& kernel : missing) {
        if (folder && !kernel.kept)
            folder->store(cache::Kind::kernel, disk_key(*kernel.key), label_of(plan, kernel.tree),
                          std::as_bytes(std::span(kernel.made)));
    }
    return entries;
}

namespace {

// The memory of a constant that nothing reads any more.
void give_up_constants(plan::Plan& plan) {
    for (plan::Buffer& buffer : plan.buffers) {
        if (buffer.kind == plan::Buffer::Kind::constant && buffer.first < 0)
            buffer.constant = TensorData(buffer.dtype, buffer.constant->shape(), nullptr, nullptr);
    }
}

// About what a plan takes, without its constants.
int64_t bytes_of(const plan::Plan& plan) {
    size_t bytes = sizeof plan;
    for (const plan::Buffer& buffer : plan.buffers)
        bytes += sizeof buffer + buffer.name.size() + buffer.packed.size() + buffer.sizes.size() * sizeof(Size);
    for (const auto* phase : {&plan.prepare, &plan.run}) {
        for (const plan::Batch& batch : *phase) {
            for (const plan::Launch& launch : batch)
                bytes += sizeof launch + launch.name.size() + launch.numbers.size() * sizeof(int64_t) +
                         launch.buffers.size() * sizeof(int32_t);
        }
    }
    for (const auto& tree : plan.trees)
        bytes += sizeof *tree + tree->expressions.size() * sizeof(schedules::Expression);
    return static_cast<int64_t>(bytes);
}

}  // namespace

Result<std::shared_ptr<const Executable>> Executable::make(plan::Plan plan, KernelCache& cache, ThreadPool& pool,
                                                           Progress* progress, PreparedStore* store) {
    auto executable = std::make_shared<Executable>();
    auto functions = cache.functions(plan, pool.threads(), &executable->kernels_, progress);
    if (!functions) return fail(std::move(functions.error()));
    PreparedStore own;
    if (!store) store = &own;
    cache.make_way(plan);
    auto prepared = prepare(plan, *functions, pool, *store, progress);
    if (!prepared) return fail(std::move(prepared.error()));
    give_up_constants(plan);
    share_constants(plan, *prepared, *store);
    executable->functions_ = std::move(*functions);
    executable->plan_ = std::move(plan);
    executable->prepared_ = std::move(*prepared);
    return executable;
}

Result<std::shared_ptr<const Executable>> Executable::make_prepared(plan::Plan plan, KernelCache& cache,
                                                                    ThreadPool& pool,
                                                                    std::vector<std::shared_ptr<std::byte>> prepared,
                                                                    PreparedStore& store) {
    assert(prepared.size() == plan.buffers.size());
    auto executable = std::make_shared<Executable>();
    auto functions = cache.functions(plan, pool.threads(), &executable->kernels_);
    if (!functions) return fail(std::move(functions.error()));
    share_constants(plan, prepared, store);
    executable->functions_ = std::move(*functions);
    executable->plan_ = std::move(plan);
    executable->prepared_ = std::move(prepared);
    return executable;
}

std::shared_ptr<const Executable> Executable::to_run(std::vector<std::shared_ptr<std::byte>> blocks) const {
    auto light = std::make_shared<Executable>(*this);
    for (size_t b = 0; b < blocks.size(); b++) {
        if (blocks[b]) light->prepared_[b] = std::move(blocks[b]);
    }
    light->plan_.trees.clear();
    light->plan_.prepare.clear();
    return light;
}

std::span<const std::byte> Executable::prepared(int32_t buffer) const {
    const auto b = static_cast<size_t>(buffer);
    if (!prepared_[b]) return {};
    return {prepared_[b].get(), static_cast<size_t>(plan_.buffers[b].bytes)};
}

// Of a buffer that is the same in every run.
std::byte* Executable::fixed_address(int32_t buffer) const {
    const plan::Buffer& b = plan_.buffers[static_cast<size_t>(buffer)];
    // Kernels only read constants (plan::verify); the signature has no place to say so.
    if (b.kind == plan::Buffer::Kind::constant) return const_cast<std::byte*>(b.constant->data());
    return prepared_[static_cast<size_t>(buffer)].get();
}

MemoryInUse Executable::memory() const {
    MemoryInUse memory{{this, bytes_of(plan_)}};
    for (const KernelCache::Entry& kernel : functions_) memory.emplace(kernel.code.get(), kernel.code_bytes);
    for (size_t b = 0; b < plan_.buffers.size(); b++) {
        const plan::Buffer& buffer = plan_.buffers[b];
        if (prepared_[b]) memory.emplace(prepared_[b].get(), buffer.bytes);
        if (buffer.constant && buffer.constant->owned()) memory.emplace(buffer.constant->data(), buffer.bytes);
    }
    return memory;
}

int64_t Executable::resident_bytes() const {
    int64_t bytes = 0;
    for (size_t b = 0; b < plan_.buffers.size(); b++) {
        const plan::Buffer& buffer = plan_.buffers[b];
        if (prepared_[b] || (buffer.constant && buffer.constant->data())) bytes += buffer.bytes;
    }
    return bytes;
}

Session::Session(std::shared_ptr<const Executable> executable, std::shared_ptr<ThreadPool> pool,
                 std::shared_ptr<Arena> arena)
    : executable_(std::move(executable)),
      pool_(std::move(pool)),
      arena_(arena ? std::move(arena) : std::make_shared<Arena>(pool_->threads())),
      user_(arena_->new_user()) {}

int64_t Session::bytes() const {
    const plan::Plan& p = executable_->plan();
    return p.workspace_bytes + p.scratch_bytes * pool_->threads();
}

namespace {

std::string elements_text(const TensorData& data) {
    std::string text;
    for (int64_t i = 0; i < std::min<int64_t>(data.size(), 8); i++) {
        text += i == 0 ? "" : " ";
        text += is_float(data.dtype()) ? fmt::format("{:.9g}", data.real_at(i)) : std::to_string(data.integer_at(i));
    }
    return data.size() > 8 ? text + " ..." : text;
}

// A program holds only for those values of its inputs that shapes and branches followed from.
Result<void> check_decided(const plan::Plan& plan, const std::vector<TensorData>& inputs) {
    Diagnostics problems;
    for (const auto& [i, value] : plan.decided) {
        const TensorData& input = inputs[static_cast<size_t>(i)];
        if (std::memcmp(value.data(), input.data(), static_cast<size_t>(value.byte_size())) == 0) continue;
        const std::string& name = plan.input_names[static_cast<size_t>(i)];
        problems.push_back({.code = "runtime.decided_input",
                            .summary = fmt::format("the program holds for another value of input '{}'", name),
                            .expected = elements_text(value),
                            .found = elements_text(input.reals()),
                            .reason = "shapes or branches of the program follow from it",
                            .remedy = "make the program anew, from this value",
                            .params = {{"input", name}}});
    }
    if (!problems.empty()) return fail(std::move(problems));
    return {};
}

Diagnostic misfit(const char* code, const std::string& input, const TensorType& expected, const TensorData& found) {
    TensorType type{found.dtype(), {found.shape().begin(), found.shape().end()}};
    return {.code = code,
            .summary = fmt::format("input '{}' does not fit", input),
            .expected = expected.text(),
            .found = type.text(),
            .params = {{"input", input}}};
}

}  // namespace

Diagnostic wrong_dtype(const std::string& input, const TensorType& expected, const TensorData& found) {
    return misfit("runtime.input_dtype", input, expected, found);
}

Result<void> check_inputs(const std::vector<std::string>& names, const std::vector<TensorType>& types,
                          const std::vector<TensorData>& inputs) {
    if (inputs.size() != types.size()) {
        return fail({.code = "runtime.input_count",
                     .summary = "the number of inputs is wrong",
                     .expected = std::to_string(types.size()),
                     .found = std::to_string(inputs.size())});
    }
    Diagnostics problems;
    for (size_t i = 0; i < inputs.size(); i++) {
        if (inputs[i].dtype() != types[i].dtype) {
            problems.push_back(wrong_dtype(names[i], types[i], inputs[i]));
        } else if (inputs[i].shape() != types[i].extents()) {
            problems.push_back(misfit("runtime.input_shape", names[i], types[i], inputs[i]));
        }
    }
    if (!problems.empty()) return fail(std::move(problems));
    return {};
}

std::vector<TensorData> Session::make_outputs() const {
    std::vector<TensorData> outputs;
    for (const TensorType& type : executable_->plan().output_types) outputs.emplace_back(type.dtype, type.extents());
    return outputs;
}

TensorData Session::contents(int32_t index) const {
    const plan::Plan& p = executable_->plan();
    const plan::Buffer& buffer = p.buffers[static_cast<size_t>(index)];
    bool of_session = buffer.kind == plan::Buffer::Kind::workspace || buffer.kind == plan::Buffer::Kind::margins;
    const std::byte* memory = of_session ? arena_->workspace() + buffer.offset : executable_->fixed_address(index);
    TensorData result(buffer.dtype, buffer.storage.extent);
    auto strides = buffer.storage.strides();
    std::vector<int64_t> point(strides.size(), 0);
    int64_t width = heddle::bytes(buffer.dtype), elements = result.size();
    for (int64_t i = 0; i < elements; i++) {
        int64_t at = 0;
        for (size_t d = 0; d < point.size(); d++) at += point[d] * strides[d];
        std::memcpy(result.mutable_data() + i * width, memory + buffer.base + at * width, static_cast<size_t>(width));
        for (size_t d = point.size(); d-- > 0 && ++point[d] == buffer.storage.extent[d];) point[d] = 0;
    }
    return result;
}

Result<std::vector<TensorData>> Session::run(const std::vector<TensorData>& inputs) {
    auto outputs = make_outputs();
    if (auto done = run(inputs, outputs); !done) return fail(std::move(done.error()));
    return outputs;
}

Result<void> Session::run(const std::vector<TensorData>& inputs, std::vector<TensorData>& outputs) {
    const plan::Plan& p = executable_->plan();
    if (auto fine = check_inputs(p.input_names, p.input_types, inputs); !fine) return fine;
    if (auto fine = check_decided(p, inputs); !fine) return fine;
    const auto as_left = arena_->take(p, user_);
    if (!as_left) return fail(as_left.error());
    if (!*as_left) {
        for (const plan::Buffer& buffer : p.buffers) {
            if (buffer.kind == plan::Buffer::Kind::margins && buffer.first >= 0)
                fill_margins(arena_->workspace() + buffer.offset, buffer);
        }
    }
    auto address = [&](int32_t b) -> std::byte* {
        const plan::Buffer& buffer = p.buffers[static_cast<size_t>(b)];
        using Kind = plan::Buffer::Kind;
        if (buffer.kind == Kind::input) return const_cast<std::byte*>(inputs[static_cast<size_t>(buffer.index)].data());
        if (buffer.kind == Kind::output) return outputs[static_cast<size_t>(buffer.index)].mutable_data();
        if (buffer.kind == Kind::workspace || buffer.kind == Kind::margins) return arena_->workspace() + buffer.offset;
        return executable_->fixed_address(b);
    };
    return run_batches(p, p.run, executable_->functions_, address, arena_->scratch(), *pool_, profile_);
}

}  // namespace heddle::runtime
