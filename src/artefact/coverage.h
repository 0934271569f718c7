// Which plans a range of sizes needs. A plan holds where its facts do; so plans are asked for, one at sizes for which
// none holds yet, until there is one for all.
#pragma once

#include <functional>
#include <vector>

#include "artefact/sizes.h"
#include "zspace/size_facts.h"

namespace heddle::artefact {

struct SizeRange {
    int64_t least = 0, most = 0;
    bool is_empty() const { return least > most; }
    bool within(const SizeRange& other) const { return least >= other.least && most <= other.most; }
    bool operator==(const SizeRange&) const = default;
};

// Sizes of some dimensions: those within ranges for which facts hold.
struct SizeDomain {
    std::vector<SizeRange> ranges;  // by dimension; both ends are sizes of it
    std::vector<SizeFact> facts;    // that do not follow from the ranges

    bool has(const std::vector<Dimension>& dimensions, const SizeNames& sizes) const;
};

// Where all of these hold. Names that are no dimensions have the numbers of `fixed`.
SizeDomain domain_of(const std::vector<SizeFact>& facts, const std::vector<Dimension>& dimensions,
                     const SizeNames& fixed);

// Makes what holds for sizes, and says where else it does. Called with all dimensions and what is fixed.
using MakeAt = std::function<Result<SizeDomain>(const SizeNames& sizes)>;

// Calls `make` until there is something for all sizes of the dimensions. Where ranges are wide and facts are of several
// dimensions, or of remainders, that nothing is left out is looked for, and not proved. Sizes that are beyond what can
// be counted are left out; of open dimensions also those for which `make` fails. Codes: those of `make`;
// artefact.too_many_sizes (what is made holds for so few sizes that there is no end to it).
Result<void> cover(const std::vector<Dimension>& dimensions, const SizeNames& fixed, const MakeAt& make);

}  // namespace heddle::artefact
