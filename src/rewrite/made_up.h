// Uses of one operator that are made up: tensors, the values of those that must be known, and parameters, which fit its
// patterns and meet its constraints. The plainest comes first: float32, sizes that all differ, defaults; then those that
// differ from it in one choice. Each of these that fails in a new way is a step on, so that its neighbours are next; in
// the end random ones. What binding refuses says mostly what would have fitted, and is mended by that (repair.h). The
// same ones each time.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "rewrite/made_up_use.h"

namespace heddle::rewrite {

// What a use may owe to chance: "equal sizes", "no dimensions of $inner". The others, as plain, are less special.
struct Chance {
    std::string only;
    std::vector<MadeUpUse> others;
};

class MadeUpUses {
public:
    // `whole`: with all optional inputs.
    MadeUpUses(const Template& metakernel, const Library& library, bool whole);
    // The next one that fits; nothing if there are no more.
    std::optional<MadeUpUse> next();
    // A use that failed, changed by what its parts say would have fitted; nothing where that is no new one.
    std::optional<MadeUpUse> mended(MadeUpUse use, const Diagnostics& problems);
    // What the last one failed with.
    void failed(const Diagnostics& problems);
    std::vector<Chance> chances_of(const MadeUpUse& use);
    // All uses from now on have this value; the uses begin anew.
    void fix(const std::string& parameter, StaticValue value);
    // Why the last one that did not fit did not.
    const Diagnostics& misfit() const { return misfit_; }

private:
    struct Choice {
        enum class Kind : uint8_t { sizes, rank, dtype, count, value, length, parameter };
        Kind kind = Kind::sizes;
        std::string name;
        size_t candidates = 1;
    };
    using Choices = std::vector<uint8_t>;  // one a member of choices_

    // Whose neighbours are looked at: those with another candidate for one choice.
    struct Step {
        Choices from;
        size_t candidate = 1, choice = 0;
    };

    void find_choices();
    bool is_empty(const MadeUpUse& use, const Choice& rank) const;
    std::vector<Choices> with_dimensions(const Choices& of, size_t rank) const;
    bool is_of_values(const std::string& open) const;
    void add_if_it_fits(const Choices& chosen, std::vector<MadeUpUse>& uses);
    void begin();
    std::optional<Choices> neighbour(Step& step) const;
    std::optional<Choices> next_choices();
    bool fits(MadeUpUse& use);
    std::vector<DType> dtypes_of(const std::string& variable) const;
    friend class Draft;

    const Template& metakernel_;
    Template loose_;  // without what it requires
    const Library& library_;
    bool whole_;
    std::vector<Choice> choices_;
    std::vector<Step> steps_;
    size_t next_step_ = 0, tries_ = 0;
    Choices last_;
    std::mt19937_64 random_;
    std::set<Choices> tried_;
    std::set<std::string> known_, failures_;
    std::set<std::string> valued_;
    std::map<std::string, StaticValue> fixed_;
    Diagnostics misfit_;
};

}  // namespace heddle::rewrite
