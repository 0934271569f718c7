// What `prepare` makes of a plan's constants: packed weights, tensors that follow from weights alone. It is made once a
// process: a plan takes what another one has made by the same kernels from the same constants, for another shape or in
// another session.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "runtime/executable.h"
#include "support/progress.h"
#include "support/thread_pool.h"

namespace heddle::runtime {

// Aligned, with slack behind; only read once it is filled.
using Block = std::shared_ptr<std::byte>;

// Blocks by what their contents follow from, as long as somebody has them.
class PreparedStore {
public:
    // What addresses in a key are of: while these live, no other bytes have the addresses.
    using Owners = std::vector<std::weak_ptr<const void>>;

    // Null: none.
    Block find(const std::string& key);
    // The block of this key that is there already, else this one from now on.
    Block add(const std::string& key, Block block, Owners owners = {});

private:
    struct Entry {
        std::weak_ptr<std::byte> block;
        Owners owners;
    };
    static Block living(const Entry& entry);

    std::mutex mutex_;
    std::map<std::string, Entry> entries_;
};

// By buffer: the memory of prepared ones that `run` reads, else null; on a device, whose memory it is then, of constants
// that `run` reads too. Launches run whose results are not in the store; what other launches of `prepare` alone read is
// freed at once. A mapped file's pages go as soon as nothing reads them any more. Codes runtime.out_of_memory,
// support.cancelled, those of the device.
Result<std::vector<Block>> prepare(const plan::Plan& plan, const PlanKernels& kernels, ThreadPool& pool,
                                   PreparedStore& store, codegen::Device* device, Progress* progress);

// Constants that runs read and that are copies of the plan's own come from the store as well, but small ones: they are
// borrowed from their blocks then.
void share_constants(plan::Plan& plan, std::vector<Block>& blocks, PreparedStore& store);

}  // namespace heddle::runtime
