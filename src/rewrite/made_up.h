// Uses of one operator that are made up: tensors, the values of those that must be known, and parameters, which fit its
// patterns and meet its constraints. The plainest come first: float32, sizes that all differ, defaults; then all that
// differ from it in one choice, then in two, then random ones. What binding refuses says mostly what would have fitted,
// and is mended by that (repair.h). The same ones each time.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "language/library.h"
#include "support/tensor_data.h"
#include "symbolic/environment.h"

namespace heddle::rewrite {

struct MadeUpUse {
    std::map<std::string, std::vector<TensorType>> tensors;  // by input; those that are not given are not there
    std::map<std::string, TensorData> values;                // of inputs whose values must be known
    std::map<std::string, StaticValue> parameters;
    // Where `$n` of a pattern stands: the tensor, and its dimension.
    struct Dimension {
        std::string input;
        size_t tensor = 0, dimension = 0;
    };
    std::multimap<std::string, Dimension> named;
    bool plain = true;   // no size that was free is below 3: of smaller ones much is right that is wrong otherwise
    int differences = 0;  // in how many choices it differs from the plainest one

    std::string text() const;  // "x: float32[7, 6], $axis = 1"
};

// Applies an operator, or only binds it, in a graph of its own.
class AppliedUse {
public:
    AppliedUse(const Template& metakernel, const Library& library, const MadeUpUse& use);
    ~AppliedUse();
    // The names of inputs and parameters, where they fit.
    Result<std::unique_ptr<Environment>> bind() const;
    Diagnostics failure();
    std::optional<Graph> graph();

private:
    struct State;
    std::unique_ptr<State> state_;
};

class MadeUpUses {
public:
    // `whole`: with all optional inputs.
    MadeUpUses(const Template& metakernel, const Library& library, bool whole);
    // The next one that fits; nothing if there are no more.
    std::optional<MadeUpUse> next();
    // An input's value must be known from now on; the uses begin anew. False if it is so already.
    bool need_value(const std::string& input);
    // All uses from now on have this value; the uses begin anew.
    void fix(const std::string& parameter, StaticValue value);
    // Why the last one that did not fit did not.
    const Diagnostics& misfit() const { return misfit_; }

private:
    struct Choice {
        enum class Kind : uint8_t { sizes, rank, dtype, count, value, parameter };
        Kind kind = Kind::sizes;
        std::string name;
        size_t candidates = 1;
    };
    using Choices = std::vector<uint8_t>;  // one a member of choices_

    void find_choices();
    void begin();
    std::optional<Choices> next_choices();
    MadeUpUse made_of(const Choices& chosen) const;
    bool fits(MadeUpUse& use);
    std::vector<DType> dtypes_of(const std::string& variable) const;
    friend class Draft;

    const Template& metakernel_;
    Template loose_;  // without what it requires
    const Library& library_;
    bool whole_;
    std::vector<Choice> choices_;
    std::vector<Choices> order_;
    size_t position_ = 0;
    std::mt19937_64 random_;
    std::set<std::string> known_;
    std::set<std::string> valued_;
    std::map<std::string, StaticValue> fixed_;
    Diagnostics misfit_;
};

}  // namespace heddle::rewrite
