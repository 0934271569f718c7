// Phases that hand one another rows of arrays go together over bands of rows: what a window over rows reads has been
// made just before, and of each array the last few rows are kept, in turn. So arrays stay in L1, and what is read and
// written goes through memory once, row after row.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "schedules/phases.h"

namespace heddle::schedules {

// In band k, a phase does the rows from `rows * k + first` on, `rows` of them, as far as there are any.
struct RowBands {
    int64_t rows = 0;
    Size count = 0;
    size_t begin = 0;  // the first group that goes by bands
    struct Rows {
        AxisId axis = no_id;
        int64_t first = 0;
        bool operator==(const Rows&) const = default;
    };
    std::map<EquationIndex, Rows> of;
};

// The kernel whose arrays keep the rows of a band and those that later ones read, and its bands. Nothing if a phase
// waits for rows far behind, or if arrays are small anyway.
struct BandedKernel {
    Kernel kernel;
    RowBands bands;
};
std::optional<BandedKernel> in_row_bands(const Kernel& kernel, const Target& target,
                                         const std::vector<PhaseGroup>& groups,
                                         const std::vector<LocalStorage>& storage);

// Gives the groups of such a kernel their rows; false if one of them cannot go by bands as it was chosen.
bool take_bands(const RowBands& bands, std::vector<PhaseGroup>& groups);

}  // namespace heddle::schedules
