// One kernel of a partition, with its storage applied: dimensions cut into digits where every access is a full mixed
// radix there, axes merged where every access runs through both as through one, axes named by first use. What comes out
// is what a schedule is made for; kernels that differ in sizes only come out alike.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "equations/fusion.h"
#include "equations/kept_steps.h"
#include "equations/scatter.h"
#include "plan/storage.h"
#include "schedules/kernel.h"

namespace heddle::plan {

struct FormedKernel {
    schedules::Kernel kernel;
    // For every buffer of the kernel (its tensors that are not locals, in order), the system's tensor.
    std::vector<equations::TensorIndex> buffers;
    std::vector<equations::TensorIndex> locals;  // the same for l0, l1 ..
};

// How a buffer tensor is seen by this kernel. `maps` has a map for every tensor that is a buffer.
struct FormRequest {
    const equations::System& system;
    const equations::Kernel& kernel;
    const std::vector<std::optional<StorageMap>>& maps;
    // The row-major extents of a tensor at the representative of its size class.
    std::function<std::vector<int64_t>(equations::TensorIndex)> hint_shape;
    const std::vector<equations::KeptSteps>& kept;  // by tensor
    // Tensors whose buffer holds what they start from (`overwriting` below): nothing fills them.
    const std::set<equations::TensorIndex>& in_place;
};

FormedKernel form_kernel(const FormRequest& request);

// How the equation would be worked out if its tensor already held the old values: they are all of one tensor at the
// same coordinates, `initial` reads them, and nothing else in the update does.
std::optional<equations::ScatterInto> overwriting(const equations::System& system, const equations::Equation& equation);

// A kernel that copies one tensor between two maps of the same shape: layout, not arithmetic. `named`: the dimensions
// that have an origin; empty: none.
schedules::Kernel form_copy(const StorageMap& from, const StorageMap& to, DType dtype,
                            const std::vector<int64_t>& hint_shape, const std::vector<bool>& named = {},
                            const std::map<std::string, int64_t>& representatives = {});

// A kernel that fills the margins of a buffer, and leaves all else of it alone.
schedules::Kernel form_margins(const StorageMap& map, DType dtype);

}  // namespace heddle::plan
