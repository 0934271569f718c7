// Inputs and outputs as callers see them: heddle_port, with the memory behind its pointers.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "api/heddle/c_api.h"
#include "support/dtype.h"

namespace heddle::api {

struct PortDimension {
    int64_t size = -1;  // -1: open
    std::string name;   // may be empty
};

class Ports {
public:
    Ports() = default;
    Ports(const Ports&) = delete;
    Ports& operator=(const Ports&) = delete;

    // Without a shape its rank is not known.
    void add(std::string name, std::optional<DType> dtype, const std::vector<PortDimension>* shape,
             bool is_read = true);

    size_t size() const { return entries_.size(); }
    const heddle_port* at(size_t index) const { return index < size() ? &entries_[index].port : nullptr; }
    const std::string& name(size_t index) const { return entries_[index].name; }
    bool is_read(size_t index) const { return entries_[index].port.is_read != 0; }
    // "float32[batch, 3]", for messages.
    std::string text(size_t index) const;

private:
    struct Entry {
        std::string name;
        std::vector<int64_t> shape;
        std::vector<std::string> names;
        std::vector<const char*> name_pointers;
        heddle_port port = {};
    };
    std::deque<Entry> entries_;  // they stay where they are
};

}  // namespace heddle::api
