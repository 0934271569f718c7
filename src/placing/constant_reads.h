// Which processes read which parts of the constants that all of them have.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "placing/module.h"
#include "zspace/box.h"

namespace heddle::placing {

struct ConstantRead {
    std::string name;
    TensorData constant;
    Box box;
    std::set<int32_t> readers;  // of each element of the box, all that read it
};

// By process what steps read and entries give as they are. Boxes of one constant share no point, and what is in none of them
// nobody reads. Their order follows from bodies and names alone.
std::vector<ConstantRead> constant_reads(const std::vector<Module>& processes);

}  // namespace heddle::placing
