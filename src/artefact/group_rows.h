// A group's places and numbers as the tables of exported/heddle_program.c have them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "artefact/program.h"

namespace heddle::artefact {

// There, places are: from 0 on the dimensions' sizes, then what steps come to; below 0 constants, -1 the first.
class GroupRows {
public:
    explicit GroupRows(const Group& group);

    int32_t place(int32_t of_steps);
    int32_t steps_before(int32_t of_steps) const;  // how many must be done to know what is there
    // Where numbers of a launch begin: of `numbers`, which are worked out for each size; below 0: -1 - where among the
    // constants, if that is what they are.
    int32_t numbers_at(const std::vector<int32_t>& of_steps);

    // What the calls above have asked for.
    const std::vector<int64_t>& constants() const { return constants_; }
    const std::vector<int64_t>& numbers() const { return numbers_; }  // places

private:
    const Group& group_;
    std::map<int32_t, int32_t> place_of_;  // of names and steps, by the steps' own
    std::map<int64_t, int32_t> constant_of_;
    std::map<std::vector<int32_t>, int32_t> known_;
    std::vector<int64_t> constants_, numbers_;
};

}  // namespace heddle::artefact
