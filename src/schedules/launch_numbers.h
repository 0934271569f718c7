// The launch numbers of a tree under construction. What a number is, is said by structure: its role, and of which part
// of the kernel. Its text is made from that, for people.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schedules/kernel.h"
#include "schedules/tree.h"

namespace heddle::schedules {

struct LaunchNumbers;

// A part of the kernel that numbers belong to.
struct NumberSubject {
    enum class Kind : uint8_t {
        none,
        axis,
        fused_rows,  // all axes of fused rows; `index` is the innermost
        tensor,
        packed,       // a tensor's packed form
        value,        // of the kernel
        store,        // to a tensor
        accumulator,  // of a tensor: its index
        rounds,       // `index`: of the phases that begin with this group; -1: all
        parts,        // of a round
        bands,        // `index`: of the phases that begin with this group; `piece`: which number
    };
    Kind kind = Kind::none;
    int32_t index = -1;      // axis, tensor or number of a value
    int32_t dimension = -1;  // of the tensor, of the read value, of the store; -1: the whole
    int32_t piece = 0;       // of a store: which of the equations that write the tensor; of a packed form: which
    auto operator<=>(const NumberSubject&) const = default;

    NumberSubject at(size_t d) const { return {kind, index, static_cast<int32_t>(d), piece}; }
};

struct NumberId {
    enum class Role : uint8_t {
        literal,  // of a value
        extent,
        step,  // of tasks, as count and divisor; of parts
        count,
        divisor,
        stride,
        depth,  // elements of all panels before, a lane
        panel,  // elements of one
        place,  // of an array, in scratch
        offset,
        constant,
        bound,
        coefficient,
        value_coefficient,
        value_stride,
        first_inside,  // of an axis' interior
        end_inside,
        behind_inside,  // points from its first to the axis' end
        lower_clip,
        upper_clip,
        clip_divisor,
        prefetch,
        task_prefetch,
        prefetch_step,
    };
    Role role = Role::literal;
    NumberSubject subject;
    AxisId along = no_id;
    auto operator<=>(const NumberId&) const = default;
};

// Numbers with one id and one value are one number.
class NumberTable {
public:
    NumberTable(const Kernel& kernel, Tree& tree, LaunchNumbers& launch)
        : kernel_(kernel), tree_(tree), launch_(launch) {}
    // Values are numbered as they come, which is the same for every size; ids in the arena are not.
    NumberSubject value(Expr value);
    Number integer(const Size& value, const NumberId& id);
    Number real(double value, const NumberId& id);

private:
    Number add(const Size& bits, DType dtype, const NumberId& id);
    std::string text_of(const NumberId& id) const;
    std::string text_of(const NumberSubject& subject) const;

    const Kernel& kernel_;
    Tree& tree_;
    LaunchNumbers& launch_;
    std::map<NumberId, std::vector<int64_t>> known_;  // indices of launch numbers
    std::map<uint32_t, int32_t> values_;              // by id
};

}  // namespace heddle::schedules
