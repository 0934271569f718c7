// Runs kernels, with their packing launches, on code from any backend. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../schedules/kernel_cases.h"
#include "../schedules/kernel_reference.h"
#include "codegen/backend.h"
#include "helpers/source_folder.h"
#include "codegen/functions.h"
#include "schedules/schedule.h"

namespace heddle::backends {

using codegen::KernelFunction;
using schedules::Kernel;
using schedules::KernelTensor;
using schedules::Scheduled;
using schedules::Tree;
using schedules::reference::Buffer;

// A kernel and the kernels that pack its operands, scheduled.
struct Prepared {
    Kernel kernel;
    std::unique_ptr<Scheduled> scheduled;
    std::vector<Prepared> packings;
};

inline Result<Prepared> prepare(const Kernel& kernel, const Target& target) {
    Prepared prepared{kernel, nullptr, {}};
    auto scheduled = schedules::schedule(kernel, target);
    if (!scheduled) return fail(scheduled.error());
    auto fits = schedules::verify(scheduled->tree, scheduled->launch.numbers, scheduled->launch.tasks,
                                  scheduled->launch.rounds);
    if (!fits) return fail(fits.error());
    prepared.scheduled = std::make_unique<Scheduled>(std::move(*scheduled));
    for (const auto& packing : prepared.scheduled->packings) {
        auto inner = prepare(packing.copy, target);
        if (!inner) return fail(inner.error());
        prepared.packings.push_back(std::move(*inner));
    }
    return prepared;
}

// A kernel of the corpus at some sizes, as its name says. Those of one `test` have one tree.
struct LoadedKernel {
    std::string test, name;
    Prepared prepared;
};

inline std::vector<LoadedKernel> load_kernels(const Target& target) {
    std::vector<LoadedKernel> loaded;
    for (const auto& test : schedules::testing::load_kernel_cases(in_source())) {
        for (size_t i = 0; i < test.sizes.size(); i++) {
            const auto& sizes = test.sizes[i];
            std::string name = test.name;
            for (const auto& [size, value] : sizes) name += " " + size + "=" + std::to_string(value);
            auto kernel = schedules::parse_kernel(
                std::make_shared<SourceText>(name, schedules::testing::with_sizes(test.text, sizes)));
            EXPECT_TRUE(kernel) << name << "\n" << (kernel ? "" : render(kernel.error()));
            if (!kernel) continue;
            auto prepared = prepare(*kernel, target);
            EXPECT_TRUE(prepared) << name << "\n" << (prepared ? "" : render(prepared.error()));
            if (prepared) loaded.push_back({test.alone[i] ? name : test.name, name, std::move(*prepared)});
        }
    }
    return loaded;
}

// Cuts the phases of each scan that may be cut, into bands where it may.
inline Target with_eager_rounds(Target target) {
    target.cores = 3;
    target.launch_seconds = 0;
    target.l2_bytes = 1024;
    return target;
}

inline bool is_in_rounds(const LoadedKernel& loaded) {
    const auto& tasks = loaded.prepared.scheduled->tree.tasks;
    return !tasks.empty() && tasks.front().rounds;
}

// The corpus, and once more those of its kernels that run in rounds where these cost nothing.
inline std::vector<LoadedKernel> load_kernels_and_rounds(const Target& target) {
    std::vector<LoadedKernel> all = load_kernels(target);
    for (LoadedKernel& loaded : load_kernels(with_eager_rounds(target))) {
        if (!is_in_rounds(loaded)) continue;
        loaded.test += " in rounds";
        loaded.name += " in rounds";
        all.push_back(std::move(loaded));
    }
    return all;
}

// Distinct trees by key.
class TreeSet {
public:
    explicit TreeSet(const Target& target) : target_(target) {}
    void add(const Prepared& prepared) {
        const Tree& tree = prepared.scheduled->tree;
        if (numbers_.emplace(schedules::key(tree, target_), trees_.size()).second) trees_.push_back(&tree);
        for (const Prepared& packing : prepared.packings) add(packing);
    }
    // By which LLVM's code is made: C's must have the same bits.
    codegen::Units units() const {
        const bool has_parts = target_.features.contains("+avx512bw") && target_.features.contains("+avx512vl");
        return has_parts ? codegen::Units::parts_of_floats : codegen::Units::plain;
    }
    size_t index(const Tree& tree) const { return numbers_.at(schedules::key(tree, target_)); }
    const std::vector<const Tree*>& trees() const { return trees_; }

private:
    Target target_;
    std::map<std::string, size_t> numbers_;
    std::vector<const Tree*> trees_;
};

using Functions = std::function<KernelFunction(const Tree&)>;

// Scratch starts as NaNs; of each round, the tasks run in two halves, the later first. Returns the first status that is
// not 0; its report is in `report`.
inline int32_t run(const Prepared& prepared, std::vector<Buffer*> buffers, const Functions& functions,
                   std::vector<int64_t>* report = nullptr) {
    std::vector<Buffer> packed;
    for (const auto& packing : prepared.scheduled->packings) {
        KernelTensor dense;
        dense.dtype = packing.dtype;
        dense.dimensions.push_back({packing.elements, 1, 0, 0});
        packed.push_back(schedules::reference::make_buffer(dense));
    }
    for (size_t p = 0; p < packed.size(); p++) {
        Buffer* source = buffers[static_cast<size_t>(prepared.scheduled->packings[p].tensor)];
        run(prepared.packings[p], {source, &packed[p]}, functions);
    }
    std::vector<void*> pointers;
    std::list<Buffer> shared;
    for (size_t i = 0; i < prepared.scheduled->buffers.size(); i++) {
        const auto& source = prepared.scheduled->buffers[i];
        if (source.elements >= 0) {
            KernelTensor dense;
            dense.dtype = prepared.scheduled->tree.memories[i].dtype;
            dense.dimensions.push_back({source.elements, 1, 0, 0});
            pointers.push_back(shared.emplace_back(schedules::reference::make_buffer(dense)).data());
            continue;
        }
        if (source.packing >= 0) {
            pointers.push_back(packed[static_cast<size_t>(source.packing)].data());
            continue;
        }
        Buffer* buffer = buffers[static_cast<size_t>(source.tensor)];
        pointers.push_back(buffer->data() + buffer->base * bytes(prepared.kernel.tensor(source.tensor).dtype));
    }
    const auto& launch = prepared.scheduled->launch;
    std::vector<char> memory(static_cast<size_t>(launch.scratch_bytes) + 128, static_cast<char>(0xff));
    char* scratch = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
    pointers.push_back(scratch);
    const std::vector<int64_t> numbers = numbers_of(launch.numbers);
    const KernelFunction function = functions(prepared.scheduled->tree);
    const int64_t tasks = launch.tasks / std::max<int64_t>(1, launch.rounds);
    for (int64_t first = 0; first < launch.tasks; first += tasks) {
        const int64_t half = first + tasks / 2;
        for (const auto& [begin, end] : {std::pair(half, first + tasks), std::pair(first, half)}) {
            if (begin >= end) continue;
            if (const int32_t status = function(pointers.data(), numbers.data(), begin, end)) {
                const auto* point = reinterpret_cast<const int64_t*>(scratch);
                if (report) report->assign(point, point + 4);
                return status;
            }
        }
    }
    return 0;
}

// Seeded by the tensor's number: small numbers, exact in halves; integers from 0 to 3; indices (int64) into what comes
// first.
inline std::vector<Buffer> random_buffers(const Kernel& kernel) {
    std::vector<Buffer> buffers;
    const bool any = !kernel.tensors.empty() && !kernel.tensors[0].dimensions.empty();
    const int64_t indices = any ? std::max<int64_t>(1, kernel.tensors[0].dimensions[0].extent) : 1;
    for (size_t t = 0; t < kernel.tensors.size(); t++) {
        const KernelTensor& tensor = kernel.tensors[t];
        std::mt19937 random(static_cast<uint32_t>(t) + 1);
        buffers.push_back(schedules::reference::make_buffer(tensor));
        if (tensor.role != KernelTensor::Role::input && tensor.role != KernelTensor::Role::in_out) continue;
        schedules::reference::for_each_element(tensor, [&](int64_t element) {
            schedules::reference::Scalar s;
            s.real = (static_cast<int>(random() % 513) - 256) / 128.0;
            s.integer = static_cast<int64_t>(random()) % (tensor.dtype == DType::int64 ? indices : 4);
            schedules::reference::store(buffers.back(), tensor.dtype, element, s);
        });
    }
    return buffers;
}

inline std::vector<Buffer*> pointers_to(std::vector<Buffer>& buffers) {
    std::vector<Buffer*> pointers;
    for (Buffer& buffer : buffers) pointers.push_back(&buffer);
    return pointers;
}

// Whether two tensors hold equal elements; NaNs are equal.
inline bool same(const KernelTensor& tensor, Buffer& a, Buffer& b) {
    bool equal = true;
    schedules::reference::for_each_element(tensor, [&](int64_t element) {
        const auto x = schedules::reference::load(a, tensor.dtype, element);
        const auto y = schedules::reference::load(b, tensor.dtype, element);
        const bool both_nan = std::isnan(x.real) && std::isnan(y.real);
        equal = equal && x.integer == y.integer && (x.real == y.real || both_nan);
    });
    return equal;
}

}  // namespace heddle::backends
