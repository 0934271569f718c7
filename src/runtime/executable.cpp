#include "runtime/executable.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "cache/folder.h"
#include "cache/identity.h"
#include "runtime/launcher.h"
#include "support/descriptor.h"
#include "support/progress.h"

namespace heddle::runtime {

// A kernel that this process has not, and its code: what the folder keeps, or bytes of our own.
struct KernelCache::Missing {
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

Result<void> KernelCache::add(const std::vector<Missing>& missing, Progress* progress) {
    const auto number = static_cast<int64_t>(missing.size());
    if (auto wanted = begin_stage(progress, Stage::link, number); !wanted || missing.empty()) return wanted;
    std::vector<std::string_view> objects;
    for (const Missing& kernel : missing) objects.push_back(kernel.code());
    auto code = backend_->link(objects);
    if (!code) return fail(std::move(code.error()));
    if (auto wanted = step_done(progress, number); !wanted) return wanted;
    for (size_t i = 0; i < missing.size(); i++) entries_[*missing[i].key] = {*code, (*code)->function(i)};
    return {};
}

Result<std::vector<KernelCache::Entry>> KernelCache::functions(const plan::Plan& plan, int threads,
                                                               KernelCounts* counts, Progress* progress) {
    constexpr std::chrono::milliseconds patience{10};
    std::unique_lock lock(mutex_, std::defer_lock);
    while (!lock.try_lock_for(patience)) {
        if (is_cancelled(progress)) return cancelled();
    }
    const auto folder = this->folder();
    std::vector<Missing> missing;
    for (size_t i = 0; i < plan.trees.size(); i++) {
        if (entries_.contains(plan.keys[i])) continue;
        missing.push_back({.tree = plan.trees[i].get(), .key = &plan.keys[i], .kept = {}, .made = {}});
        if (folder) missing.back().kept = folder->find(cache::Kind::kernel, disk_key(plan.keys[i]));
        (missing.back().kept ? counts->loaded : counts->compiled)++;
    }
    if (auto made = compile(missing, plan, threads, progress); !made) return fail(std::move(made.error()));
    auto added = add(missing, progress);
    if (!added && !is_cancelled_error(added.error()) &&
        counts->loaded > 0) {  // kept by a build that made no code of it
        for (Missing& kernel : missing) kernel.kept.reset();
        *counts = {.compiled = static_cast<int64_t>(missing.size())};
        if (auto made = compile(missing, plan, threads, progress); !made) return fail(std::move(made.error()));
        added = add(missing, progress);
    }
    if (!added) return fail(std::move(added.error()));
    for (const Missing& kernel : missing) {
        if (folder && !kernel.kept)
            folder->store(cache::Kind::kernel, disk_key(*kernel.key), label_of(plan, kernel.tree),
                          std::as_bytes(std::span(kernel.made)));
    }
    std::vector<Entry> result;
    for (const std::string& key : plan.keys) result.push_back(entries_.at(key));
    return result;
}

namespace {

std::unexpected<Diagnostics> out_of_memory(int64_t bytes) {
    return fail({.code = "runtime.out_of_memory",
                 .summary = "the system has not the memory that the plan needs",
                 .expected = fmt::format("{} bytes", bytes)});
}

// An address for buffers that are the same in every run.
std::byte* fixed_address(const plan::Buffer& buffer, std::byte* prepared) {
    if (buffer.kind == plan::Buffer::Kind::prepared) return prepared + buffer.offset;
    // Kernels only read constants (plan::verify); the signature has no place to say so.
    if (buffer.kind == plan::Buffer::Kind::constant) return const_cast<std::byte*>(buffer.constant->data());
    return nullptr;
}

// By batch of `prepare`: the constants that nothing reads after it, since they lie in prepared memory now.
std::vector<std::vector<int32_t>> constants_spent(const plan::Plan& plan) {
    std::vector<size_t> last(plan.buffers.size(), 0);  // the batch, counted from one; 0: runs read it, or nothing does
    auto note = [&](const plan::Batch& batch, size_t number) {
        for (const plan::Launch& launch : batch) {
            for (int32_t b : launch.buffers) last[static_cast<size_t>(b)] = number;
        }
    };
    for (size_t i = 0; i < plan.prepare.size(); i++) note(plan.prepare[i], i + 1);
    for (const plan::Batch& batch : plan.run) note(batch, 0);
    std::vector<std::vector<int32_t>> spent(plan.prepare.size());
    for (size_t b = 0; b < plan.buffers.size(); b++) {
        if (plan.buffers[b].kind == plan::Buffer::Kind::constant && last[b] > 0)
            spent[last[b] - 1].push_back(static_cast<int32_t>(b));
    }
    return spent;
}

}  // namespace

Result<std::shared_ptr<const Executable>> Executable::make(plan::Plan plan, KernelCache& cache, ThreadPool& pool,
                                                           std::shared_ptr<std::byte> prepared, Progress* progress) {
    auto executable = std::make_shared<Executable>();
    auto functions = cache.functions(plan, pool.threads(), &executable->kernels_, progress);
    if (!functions) return fail(std::move(functions.error()));
    executable->functions_ = std::move(*functions);
    executable->plan_ = std::move(plan);
    const plan::Plan& p = executable->plan_;
    if (prepared) {
        executable->prepared_ = std::move(prepared);
        return executable;
    }
    const auto launches = static_cast<int64_t>(p.prepare.size());
    if (auto wanted = begin_stage(progress, Stage::prepare, launches); !wanted) return fail(wanted.error());
    executable->prepared_ = allocate_buffer(static_cast<size_t>(p.prepared_bytes));
    if (!executable->prepared_) return out_of_memory(p.prepared_bytes);
    auto scratch = allocate_scratch(p, pool.threads());
    auto address = [&](int32_t b) {
        return fixed_address(p.buffers[static_cast<size_t>(b)], executable->prepared_.get());
    };
    // Weights are in memory once: a mapped file's pages go as soon as they are packed.
    const auto spent = constants_spent(p);
    for (size_t i = 0; i < p.prepare.size(); i++) {
        auto done =
            run_batches(p, {&p.prepare[i], 1}, executable->functions_, address, scratch, pool, nullptr, progress);
        if (!done) return fail(std::move(done.error()));
        for (int32_t b : spent[i]) {
            const TensorData& constant = *p.buffers[static_cast<size_t>(b)].constant;
            give_back_pages(constant.lender(), {constant.data(), static_cast<size_t>(constant.byte_size())});
        }
    }
    return executable;
}

std::span<const std::byte> Executable::prepared() const {
    return {prepared_.get(), static_cast<size_t>(plan_.prepared_bytes)};
}

int64_t Executable::resident_bytes() const {
    int64_t bytes = plan_.prepared_bytes;
    for (const auto& buffer : plan_.buffers) {
        if (buffer.kind == plan::Buffer::Kind::constant && buffer.constant->data()) bytes += buffer.bytes;
    }
    return bytes;
}

namespace {

// Fills a buffer with margins with their value, interior and all: the interior is written before it is read.
void fill(std::byte* memory, const plan::Buffer& buffer) {
    TensorData one(buffer.dtype, {1});
    one.set_real(0, buffer.filling);
    int64_t width = heddle::bytes(buffer.dtype);
    for (int64_t i = 0; i < buffer.bytes; i += width) std::memcpy(memory + i, one.data(), static_cast<size_t>(width));
}

}  // namespace

Session::Session(std::shared_ptr<const Executable> executable, std::shared_ptr<ThreadPool> pool)
    : executable_(std::move(executable)), pool_(std::move(pool)) {
    const plan::Plan& p = executable_->plan();
    workspace_ = allocate_buffer(static_cast<size_t>(p.workspace_bytes));
    scratch_ = allocate_scratch(p, pool_->threads());
    for (const auto& buffer : p.buffers) {
        if (workspace_ && buffer.kind == plan::Buffer::Kind::margins && buffer.first >= 0)
            fill(workspace_.get() + buffer.offset, buffer);
    }
}

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
    const std::byte* memory =
        of_session ? workspace_.get() + buffer.offset : fixed_address(buffer, executable_->prepared_.get());
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
    if (!workspace_) return out_of_memory(p.workspace_bytes);
    if (auto fine = check_inputs(p.input_names, p.input_types, inputs); !fine) return fine;
    if (auto fine = check_decided(p, inputs); !fine) return fine;
    auto address = [&](int32_t b) -> std::byte* {
        const plan::Buffer& buffer = p.buffers[static_cast<size_t>(b)];
        using Kind = plan::Buffer::Kind;
        if (buffer.kind == Kind::input) return const_cast<std::byte*>(inputs[static_cast<size_t>(buffer.index)].data());
        if (buffer.kind == Kind::output) return outputs[static_cast<size_t>(buffer.index)].mutable_data();
        if (buffer.kind == Kind::workspace || buffer.kind == Kind::margins) return workspace_.get() + buffer.offset;
        return fixed_address(buffer, executable_->prepared_.get());
    };
    return run_batches(p, p.run, executable_->functions_, address, scratch_, *pool_, profile_);
}

}  // namespace heddle::runtime
