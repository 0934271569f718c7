#include "runtime/executable.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <functional>

#include <fmt/format.h>

#include "codegen/device.h"
#include "runtime/launcher.h"
#include "runtime/prepared.h"

namespace heddle::runtime {

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
                                                           Progress* progress, PreparedStore* store,
                                                           KernelCache::Coming* coming) {
    auto executable = std::make_shared<Executable>();
    auto kernels = coming ? cache.kernels(plan, *coming, &executable->counts_, progress)
                          : cache.kernels(plan, pool.threads(), &executable->counts_, progress);
    if (!kernels) return fail(std::move(kernels.error()));
    executable->device_ = cache.device();
    PreparedStore own;
    if (!store) store = &own;
    cache.make_way(plan);
    auto prepared = prepare(plan, *kernels, pool, *store, executable->device_.get(), progress);
    if (!prepared) return fail(std::move(prepared.error()));
    give_up_constants(plan);
    if (!executable->device_) share_constants(plan, *prepared, *store);
    executable->kernels_ = std::move(kernels->kernels);
    executable->config_ = std::move(kernels->config);
    executable->plan_ = std::move(plan);
    executable->prepared_ = std::move(*prepared);
    return executable;
}

Result<std::shared_ptr<const Executable>> Executable::make_prepared(plan::Plan plan, KernelCache& cache,
                                                                    ThreadPool& pool,
                                                                    std::vector<std::shared_ptr<std::byte>> prepared,
                                                                    PreparedStore& store) {
    assert(prepared.size() == plan.buffers.size() && !cache.device());
    auto executable = std::make_shared<Executable>();
    auto kernels = cache.kernels(plan, pool.threads(), &executable->counts_);
    if (!kernels) return fail(std::move(kernels.error()));
    share_constants(plan, prepared, store);
    executable->kernels_ = std::move(kernels->kernels);
    executable->config_ = std::move(kernels->config);
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
    if (!prepared_[b] || device_) return {};
    return {prepared_[b].get(), static_cast<size_t>(plan_.buffers[b].bytes)};
}

// Of a buffer that is the same in every run.
std::byte* Executable::fixed_address(int32_t buffer) const {
    const plan::Buffer& b = plan_.buffers[static_cast<size_t>(buffer)];
    // Kernels only read constants (plan::verify); the signature has no place to say so.
    if (b.kind == plan::Buffer::Kind::constant && !device_) return const_cast<std::byte*>(b.constant->data());
    return prepared_[static_cast<size_t>(buffer)].get();
}

MemoryInUse Executable::memory() const {
    MemoryInUse memory{{this, bytes_of(plan_)}};
    for (const KernelCode& kernel : kernels_) memory.emplace(kernel.code.get(), kernel.code_bytes);
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
      arena_(arena && arena->device() == executable_->device()
                 ? std::move(arena)
                 : std::make_shared<Arena>(pool_->threads(), executable_->device())),
      numbers_(executable_->plan()) {}

bool Session::resize(std::span<const TensorData> inputs, const std::map<std::string, int64_t>& names,
                     const plan::ChooseCapacity& capacity) {
    if (!plan().facts) return false;
    if (!sized_) sized_ = std::make_unique<plan::SizedPlan>(plan());
    if (!sized_->resize(numbers_, inputs, names, capacity)) return false;
    staged_.clear();
    return true;
}

int64_t Session::bytes() const {
    return numbers_.workspace_bytes + numbers_.scratch_bytes * pool_->threads();
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

Result<void> check_donated(const plan::Plan& plan, const std::vector<TensorData>& inputs) {
    const auto overlap = [](const TensorData& a, const TensorData& b) {
        return a.byte_size() > 0 && b.byte_size() > 0 && a.data() < b.data() + b.byte_size() &&
               b.data() < a.data() + a.byte_size();
    };
    const auto is_donated = [&](size_t input) {
        return std::ranges::find(plan.donations, static_cast<int32_t>(input), &plan::Donation::input) !=
               plan.donations.end();
    };
    Diagnostics problems;
    for (const plan::Donation& donation : plan.donations) {
        const auto donated = static_cast<size_t>(donation.input);
        for (size_t i = 0; i < inputs.size(); i++) {
            const bool told = i < donated && is_donated(i);  // of the two together
            if (i == donated || told || !overlap(inputs[donated], inputs[i])) continue;
            const std::string &name = plan.input_names[donated], &other = plan.input_names[i];
            problems.push_back(
                {.code = "runtime.donation",
                 .summary = fmt::format("the memory of donated input '{}' is that of '{}' too", name, other),
                 .reason = "it is overwritten while the other input may still be read",
                 .remedy = fmt::format("give a copy for '{}', or do not donate '{}'", other, name),
                 .params = {{"input", name}, {"other", other}}});
            break;
        }
    }
    if (!problems.empty()) return fail(std::move(problems));
    return {};
}

std::vector<TensorData> Session::make_outputs() const { return arena_->results(plan(), numbers_); }

// Results, of which some lie in memory that was lent as donated: who lends it says that it may be written to.
static std::byte* writable(const TensorData& result) { return const_cast<std::byte*>(result.data()); }

Result<TensorData> Session::contents(int32_t index) const {
    plan::Buffer buffer = plan().buffers[static_cast<size_t>(index)];
    for (auto* sizes : {&buffer.storage.extent, &buffer.storage.margin_before, &buffer.storage.margin_after, &buffer.storage.room})
        for (Size& size : *sizes) size = size.at(numbers_.names);
    const int64_t bytes = numbers_.bytes[static_cast<size_t>(index)], base = numbers_.base[static_cast<size_t>(index)];
    const bool of_session = buffer.kind == plan::Buffer::Kind::workspace;
    const std::byte* memory = of_session ? arena_->workspace() + numbers_.offset[static_cast<size_t>(index)]
                                         : executable_->fixed_address(index);
    std::shared_ptr<std::byte> host;
    if (codegen::Device* device = executable_->device().get()) {
        host = allocate_buffer(static_cast<size_t>(bytes));
        if (!host) return out_of_memory(bytes);
        if (auto done = device->copy_from({host.get(), static_cast<size_t>(bytes)}, memory); !done)
            return fail(std::move(done.error()));
        memory = host.get();
    }
    TensorData result(buffer.dtype, numbers_of(buffer.storage.extent));
    auto strides = buffer.storage.strides();
    std::vector<int64_t> point(strides.size(), 0);
    int64_t width = heddle::bytes(buffer.dtype), elements = result.size();
    for (int64_t i = 0; i < elements; i++) {
        int64_t at = 0;
        for (size_t d = 0; d < point.size(); d++) at += point[d] * strides[d];
        std::memcpy(result.mutable_data() + i * width, memory + base + at * width, static_cast<size_t>(width));
        for (size_t d = point.size(); d-- > 0 && ++point[d] == buffer.storage.extent[d];) point[d] = 0;
    }
    return result;
}

Result<std::vector<TensorData>> Session::run(const std::vector<TensorData>& inputs, Progress* watched) {
    std::vector<TensorData> outputs;
    try {
        outputs = make_outputs();
    } catch (const std::bad_alloc&) {
        return out_of_memory(plan(), numbers_);
    }
    if (auto done = run(inputs, outputs, watched); !done) return fail(std::move(done.error()));
    return outputs;
}

// What callers give, and what they will get, in memory of the device.
Result<void> Session::stage_inputs(const std::vector<TensorData>& inputs) {
    codegen::Device& device = *executable_->device();
    const plan::Plan& p = plan();
    staged_.resize(p.buffers.size());
    std::map<int32_t, std::shared_ptr<std::byte>> given;  // by input: its memory, which an output may take over
    for (size_t b = 0; b < p.buffers.size(); b++) {
        const plan::Buffer& buffer = p.buffers[b];
        const bool is_input = buffer.kind == plan::Buffer::Kind::input;
        if (!is_input && buffer.kind != plan::Buffer::Kind::output) continue;
        const int32_t input = is_input ? buffer.index : p.input_below(buffer.index);
        const auto known = given.find(input);
        if (known != given.end()) staged_[b] = known->second;
        if (!staged_[b]) staged_[b] = allocate_on(&device, numbers_.bytes[b]);
        if (!staged_[b]) return out_of_memory(numbers_.bytes[b]);
        if (input < 0 || known != given.end()) continue;
        given.emplace(input, staged_[b]);
        const TensorData& data = inputs[static_cast<size_t>(input)];
        auto done = device.copy_to(staged_[b].get(), {data.data(), static_cast<size_t>(data.byte_size())});
        if (!done) return done;
    }
    return {};
}

Result<void> Session::take_outputs(std::vector<TensorData>& outputs) const {
    const auto& buffers = plan().buffers;
    for (size_t b = 0; b < buffers.size(); b++) {
        if (buffers[b].kind != plan::Buffer::Kind::output) continue;
        const TensorData& wanted = outputs[static_cast<size_t>(buffers[b].index)];
        auto done = executable_->device()->copy_from({writable(wanted), static_cast<size_t>(wanted.byte_size())},
                                                     staged_[b].get());
        if (!done) return done;
    }
    return {};
}

Result<void> Session::run(const std::vector<TensorData>& inputs, std::vector<TensorData>& outputs, Progress* watched) {
    const plan::Plan& p = plan();
    if (!expected_) return expected_;
    if (auto fine = check_inputs(p.input_names, numbers_.input_types, inputs); !fine) return fine;
    if (auto fine = check_decided(p, inputs); !fine) return fine;
    if (auto fine = check_donated(p, inputs); !fine) return fine;
    for (const plan::Donation& donation : p.donations)
        outputs[static_cast<size_t>(donation.output)] = inputs[static_cast<size_t>(donation.input)];
    codegen::Device* const device = executable_->device().get();
    if (device) {
        if (auto taken = arena_->take(p, numbers_); !taken) return taken;
        if (auto staged = stage_inputs(inputs); !staged) return staged;
    }
    std::vector<const std::byte*> begins;
    for (const TensorData& input : inputs) begins.push_back(input.data());
    auto done = launch(begins, outputs, watched);
    if (!done || !device) return done;
    return take_outputs(outputs);
}

Result<void> Session::run_fitting(std::span<const std::byte* const> inputs, std::vector<TensorData>& outputs,
                                  Progress* watched, BetweenBatches* between) {
    assert(!executable_->device() && plan().donations.empty());
    if (!expected_) return expected_;
    return launch(inputs, outputs, watched, between);
}

Result<void> Session::launch(std::span<const std::byte* const> inputs, std::vector<TensorData>& outputs,
                             Progress* watched, BetweenBatches* between) {
    const plan::Plan& p = plan();
    if (auto taken = arena_->take(p, numbers_); !taken) return taken;
    codegen::Device* const device = executable_->device().get();
    const auto begin = [&](int32_t b) -> std::byte* {
        const plan::Buffer& buffer = p.buffers[static_cast<size_t>(b)];
        using Kind = plan::Buffer::Kind;
        const bool of_caller = buffer.kind == Kind::input || buffer.kind == Kind::output;
        if (of_caller && device) return staged_[static_cast<size_t>(b)].get();
        if (buffer.kind == Kind::input) return const_cast<std::byte*>(inputs[static_cast<size_t>(buffer.index)]);
        if (buffer.kind == Kind::output) return writable(outputs[static_cast<size_t>(buffer.index)]);
        if (buffer.kind == Kind::workspace) return arena_->workspace() + numbers_.offset[static_cast<size_t>(b)];
        return executable_->fixed_address(b);
    };
    const auto address = [&](int32_t b) { return begin(b) + numbers_.base[static_cast<size_t>(b)]; };
    return run_batches(p, p.run, numbers_.run, executable_->kernels_, std::ref(address),
                       {*pool_, arena_->scratch(), device, watched, between}, profile_);
}

}  // namespace heddle::runtime
