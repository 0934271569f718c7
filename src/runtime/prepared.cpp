#include "runtime/prepared.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cache/hash.h"
#include "codegen/device.h"
#include "runtime/arena.h"
#include "runtime/launcher.h"
#include "support/descriptor.h"
#include "support/tensor_data.h"
#include "zspace/checked.h"

namespace heddle::runtime {

using plan::Buffer;
using plan::Launch;

// ---- the store

Block PreparedStore::living(const Entry& entry) {
    const bool owned = std::ranges::none_of(entry.owners, [](const auto& owner) { return owner.expired(); });
    return owned ? entry.block.lock() : nullptr;
}

Block PreparedStore::find(const std::string& key) {
    std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : living(found->second);
}

Block PreparedStore::add(const std::string& key, Block block, Owners owners) {
    std::lock_guard lock(mutex_);
    if (const auto found = entries_.find(key); found != entries_.end()) {
        if (Block known = living(found->second)) return known;
    }
    std::erase_if(entries_, [](const auto& entry) { return !living(entry.second); });
    entries_.insert_or_assign(key, Entry{block, std::move(owners)});
    return block;
}

// ---- what contents follow from

namespace {

struct Contents {
    std::string key;
    PreparedStore::Owners owners;
};

// Of borrowed memory the address says which; of owned memory the bytes do, since each graph has copies of its own.
Contents contents_of(const TensorData& constant) {
    const auto size = static_cast<size_t>(constant.byte_size());
    if (constant.lender())
        return {fmt::format("{} bytes at {}", size, static_cast<const void*>(constant.data())), {constant.lender()}};
    return {cache::digest({constant.data(), size}), {}};
}

// Whose memory and whose code: nothing is shared between devices, or by backends whose results may differ.
std::string origin_of(const CompileConfig& config, const codegen::Device* device) {
    return fmt::format("{} on {}", cache::digest(canonical_bytes(config)), static_cast<const void*>(device));
}

// Of all buffers after `prepare`.
std::vector<Contents> contents_of(const plan::Plan& plan, const std::string& origin) {
    std::vector<Contents> contents(plan.buffers.size());
    for (const plan::Batch& batch : plan.prepare) {
        for (const Launch& launch : batch) {
            std::string all = fmt::format("{}\n{}\n{} of {}", origin, plan.keys[static_cast<size_t>(launch.tree)],
                                          fmt::join(launch.numbers, " "), launch.tasks);
            PreparedStore::Owners owners;
            for (int32_t b : launch.buffers) {
                const Buffer& buffer = plan.buffers[static_cast<size_t>(b)];
                Contents& before = contents[static_cast<size_t>(b)];
                if (before.key.empty())
                    before = buffer.constant ? contents_of(*buffer.constant) : Contents{"nothing", {}};
                all += fmt::format("\n{} from {}: {}", buffer.bytes, buffer.base, before.key);
                owners.insert(owners.end(), before.owners.begin(), before.owners.end());
            }
            const std::string key = cache::digest(all);
            for (size_t i = 0; i < launch.buffers.size(); i++) {
                if (writes(plan, launch, i))
                    contents[static_cast<size_t>(launch.buffers[i])] = {fmt::format("{} {}", key, i), owners};
            }
        }
    }
    return contents;
}

// ---- one plan

class Preparation {
    static constexpr auto alignment = static_cast<int64_t>(buffer_alignment);

public:
    Preparation(const plan::Plan& plan, PreparedStore& store, const std::string& origin, codegen::Device* device)
        : plan_(plan),
          store_(store),
          device_(device),
          contents_(contents_of(plan, origin)),
          blocks_(plan.buffers.size()),
          last_(blocks_.size()) {
        for (size_t b = 0; b < blocks_.size(); b++) {
            if (is_constant(b) && is_kept(b)) contents_[b] = on_device(contents_of(*plan.buffers[b].constant), origin);
        }
        for (size_t b = 0; b < blocks_.size(); b++) {
            if (is_kept(b)) blocks_[b] = store_.find(contents_[b].key);
        }
        while (choose()) {
        }
        find_last();
    }

    Result<std::vector<Block>> run(const std::vector<KernelCode>& kernels, ThreadPool& pool, Progress* progress) {
        const auto scratch = device_ ? std::vector<Block>() : allocate_scratch(plan_, pool.threads());
        if (std::ranges::find(scratch, nullptr) != scratch.end()) return out_of_memory(plan_.scratch_bytes);
        if (auto there = allocate_together(); !there) return fail(std::move(there.error()));
        const auto address = [this](int32_t b) {
            const Buffer& buffer = plan_.buffers[static_cast<size_t>(b)];
            // Kernels only read constants (plan::verify); the signature has no place to say so.
            std::byte* const begin = buffer.constant && !device_ ? const_cast<std::byte*>(buffer.constant->data())
                                                                 : blocks_[static_cast<size_t>(b)].get();
            return begin + buffer.base.number();
        };
        for (size_t i = 0; i < batches_.size(); i++) {
            if (auto there = allocate(batches_[i]); !there) return fail(std::move(there.error()));
            auto done = batches_[i].empty() ? step_done(progress)
                                            : run_batches(plan_, {&batches_[i], 1}, plan::LaunchNumbers({&batches_[i], 1}), kernels,
                                                          address, {pool, scratch, device_}, nullptr, progress);
            if (!done) return fail(std::move(done.error()));
            release(i);
        }
        for (size_t b = 0; b < blocks_.size(); b++) {
            if (!is_kept(b)) continue;
            if (auto there = allocate(b); !there)
                return fail(std::move(there.error()));  // what nobody writes: no elements
            if (!contents_[b].key.empty()) blocks_[b] = store_.add(contents_[b].key, blocks_[b], contents_[b].owners);
        }
        return std::move(blocks_);
    }

private:
    bool is_prepared(size_t b) const { return plan_.buffers[b].kind == Buffer::Kind::prepared; }
    // Whether it is a constant that needs memory of the device.
    bool is_constant(size_t b) const { return device_ && plan_.buffers[b].constant; }
    bool is_kept(size_t b) const { return (is_prepared(b) || is_constant(b)) && plan_.buffers[b].first >= 0; }

    static Contents on_device(Contents contents, const std::string& origin) {
        contents.key = fmt::format("{}\nconstant {}", origin, contents.key);
        return contents;
    }

    // The launches that make what is not there, from the last to the first. True if one of these also makes what was
    // found, which others read meanwhile: then that is made again, apart, and the choice is to be made anew.
    bool choose() {
        batches_.assign(plan_.prepare.size(), {});
        std::vector<bool> missing(blocks_.size());
        for (size_t b = 0; b < blocks_.size(); b++) missing[b] = is_kept(b) && !blocks_[b];
        for (size_t i = batches_.size(); i-- > 0;) {
            for (const Launch& launch : plan_.prepare[i]) {
                bool wanted = false;
                for (size_t k = 0; k < launch.buffers.size(); k++)
                    wanted = wanted || (writes(plan_, launch, k) && missing[static_cast<size_t>(launch.buffers[k])]);
                if (!wanted) continue;
                batches_[i].push_back(launch);
                for (size_t k = 0; k < launch.buffers.size(); k++) {
                    const auto b = static_cast<size_t>(launch.buffers[k]);
                    if (writes(plan_, launch, k) && blocks_[b]) {
                        blocks_[b].reset();
                        return true;
                    }
                    missing[b] = missing[b] || (is_prepared(b) && !blocks_[b]);
                }
            }
        }
        return false;
    }

    // By buffer: the last batch that needs it, counted from one; 0: none, or runs read it.
    void find_last() {
        for (size_t i = 0; i < batches_.size(); i++) {
            for (const Launch& launch : batches_[i]) {
                for (int32_t b : launch.buffers) last_[static_cast<size_t>(b)] = i + 1;
            }
        }
        for (size_t b = 0; b < blocks_.size(); b++) {
            if (plan_.buffers[b].first >= 0) last_[b] = 0;
        }
    }

    // What is kept lies side by side, in large pages of the system: buffers of their own would end in small ones, or lie in them
    // whole. Measured, Granite Rapids, one core, products of one row with 390 MB of weights of 2 to 50 MB: 13.5 GB/s, so 18.6.
    Result<void> allocate_together() {
        if (device_) return {};
        int64_t end = 0;
        for (size_t b = 0; b < blocks_.size(); b++) {
            if (!is_prepared(b) || !is_kept(b) || blocks_[b]) continue;
            place_.emplace(b, end);
            end += ceil_divide(plan_.buffers[b].bytes.number() + alignment, alignment) * alignment;
        }
        if (end > 0) together_ = allocate_buffer(static_cast<size_t>(end));
        return end > 0 && !together_ ? out_of_memory(end) : Result<void>();
    }

    Result<void> allocate(const plan::Batch& batch) {
        for (const Launch& launch : batch) {
            for (int32_t b : launch.buffers) {
                if (!is_prepared(static_cast<size_t>(b)) && !is_constant(static_cast<size_t>(b))) continue;
                if (auto there = allocate(static_cast<size_t>(b)); !there) return there;
            }
        }
        return {};
    }

    Result<void> allocate(size_t b) {
        const int64_t bytes = plan_.buffers[b].bytes;
        if (blocks_[b]) return {};
        const auto place = place_.find(b);
        blocks_[b] = place == place_.end() ? allocate_on(device_, bytes) : Block(together_, together_.get() + place->second);
        if (!blocks_[b]) return out_of_memory(bytes);
        if (!is_constant(b)) return {};
        const TensorData& constant = *plan_.buffers[b].constant;
        return device_->copy_to(blocks_[b].get(), {constant.data(), static_cast<size_t>(constant.byte_size())});
    }

    // Weights are in memory once.
    void release(size_t batch) {
        for (size_t b = 0; b < blocks_.size(); b++) {
            if (last_[b] != batch + 1) continue;
            blocks_[b].reset();
            if (const auto& constant = plan_.buffers[b].constant)
                give_back_pages(constant->lender(), {constant->data(), static_cast<size_t>(constant->byte_size())});
        }
    }

    const plan::Plan& plan_;
    PreparedStore& store_;
    codegen::Device* const device_;
    std::vector<Contents> contents_;
    std::vector<Block> blocks_;
    std::vector<plan::Batch> batches_;  // as the plan's, without launches whose results are there
    std::vector<size_t> last_;
    Block together_;                   // what is kept, in this process
    std::map<size_t, int64_t> place_;  // in it, by buffer
};

}  // namespace

Result<std::vector<Block>> prepare(const plan::Plan& plan, const PlanKernels& kernels, ThreadPool& pool,
                                   PreparedStore& store, codegen::Device* device, Progress* progress) {
    const auto launches = static_cast<int64_t>(plan.prepare.size());
    if (auto wanted = begin_stage(progress, Stage::prepare, launches); !wanted) return fail(wanted.error());
    return Preparation(plan, store, origin_of(kernels.config, device), device).run(kernels.kernels, pool, progress);
}

void share_constants(plan::Plan& plan, std::vector<Block>& blocks, PreparedStore& store) {
    constexpr int64_t smallest = 4096;
    for (size_t b = 0; b < blocks.size(); b++) {
        Buffer& buffer = plan.buffers[b];
        if (!buffer.constant || !buffer.constant->owned() || buffer.first < 0 || buffer.bytes < smallest) continue;
        const auto own = std::make_shared<TensorData>(*buffer.constant);
        const std::string key = fmt::format("constant of {} bytes {}", buffer.bytes, contents_of(*own).key);
        blocks[b] = store.add(key, {own, own->mutable_data()});
        buffer.constant = TensorData(own->dtype(), own->shape(), blocks[b], blocks[b].get());
    }
}

}  // namespace heddle::runtime
