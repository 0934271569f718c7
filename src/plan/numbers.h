// What of a plan is another number for other sizes, as runs need it: flat, and found for new sizes in one pass over the plan's
// expressions, without a search. The plan itself stays as it is.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "support/tensor_data.h"
#include "zspace/size_program.h"

namespace heddle::plan {

// Of the launches of these batches, in their order.
class LaunchNumbers {
public:
    explicit LaunchNumbers(std::span<const Batch> batches);

    int64_t tasks(size_t launch) const { return row(launch)[0]; }
    int64_t rounds(size_t launch) const { return row(launch)[1]; }
    int64_t scratch_bytes(size_t launch) const { return row(launch)[2]; }
    std::span<const int64_t> of_tree(size_t launch) const {
        return {row(launch) + head, row(launch + 1)};
    }
    bool operator==(const LaunchNumbers& other) const = default;

private:
    friend class SizedPlan;
    static constexpr size_t head = 3;
    const int64_t* row(size_t launch) const { return all_.data() + begin_[launch]; }

    std::vector<int64_t> all_;
    std::vector<size_t> begin_;  // of each launch, and the end
};

struct Numbers {
    explicit Numbers(const Plan& plan);
    bool operator==(const Numbers& other) const;

    std::map<std::string, int64_t> names;
    std::vector<TensorType> input_types, output_types;  // with sizes' origins
    std::vector<int64_t> bytes, base, offset;           // by buffer
    int64_t workspace_bytes = 0, scratch_bytes = 0;
    int64_t capacity = 0;  // of what growths have places for; 0: there are none
    LaunchNumbers run;
};

// How many places memory that grows should have, for the longest tensor in it.
using ChooseCapacity = std::function<int64_t(int64_t longest)>;

// A plan that holds for more sizes than those it was made for; it outlives this.
class SizedPlan {
public:
    explicit SizedPlan(const Plan& plan);

    // Gives the numbers, which are those of the plan for some sizes, what they are for inputs of these shapes and for `given`
    // names, and the capacity that is chosen. False, and nothing is changed, where shapes do not fit together, or what the plan
    // follows from does not hold for them, or a number is beyond 64 bits.
    bool resize(Numbers& numbers, std::span<const TensorData> inputs, const std::map<std::string, int64_t>& given = {},
                const ChooseCapacity& capacity = {});

private:
    struct Fact {
        int32_t place = -1;
        SizeFact::Relation relation = SizeFact::Relation::zero;
    };
    struct Extent {  // of an input or an output
        size_t tensor = 0, dimension = 0;
        int32_t place = -1;  // of its value; -1: `number`
        int64_t number = 0;
        bool is_name = false;
    };
    struct Entry {  // of a table of the numbers
        size_t at = 0;
        int32_t place = -1;
    };
    using Entries = std::vector<Entry>;

    void note(Entries& entries, size_t at, const Size& size);
    std::vector<Extent> extents_of(const std::vector<TensorType>& types);
    void note_launches();
    bool take_names(std::span<const TensorData> inputs, const std::map<std::string, int64_t>& given);
    bool take_capacity(const ChooseCapacity& capacity);
    bool holds(std::span<const TensorData> inputs);
    bool is_sensible() const;
    void set(std::vector<int64_t>& table, const Entries& entries) const;
    void place(Numbers& numbers);

    const Plan& plan_;
    SizeProgram program_;
    std::vector<Extent> inputs_, outputs_;
    std::vector<Fact> facts_;
    size_t length_steps_ = 0, fact_steps_ = 0;  // of the program: shapes and lengths of what grows come first, then facts
    std::vector<int32_t> lengths_;              // places of these lengths
    int32_t capacity_ = -1;                     // and of what there is room for
    Entries bytes_, base_, launches_, scratch_;
    int64_t least_scratch_ = 0;  // that launches need for any sizes
    std::vector<int64_t> values_, rooms_;
};

}  // namespace heddle::plan
