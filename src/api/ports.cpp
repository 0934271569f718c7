#include "api/ports.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/tensors.h"

namespace heddle::api {

void Ports::add(std::string name, std::optional<DType> dtype, const std::vector<PortDimension>* shape, bool is_read) {
    Entry& entry = entries_.emplace_back();
    entry.name = std::move(name);
    if (shape) {
        for (const PortDimension& dimension : *shape) {
            entry.shape.push_back(dimension.size);
            entry.names.push_back(dimension.name);
        }
    }
    for (const std::string& dimension : entry.names) entry.name_pointers.push_back(dimension.c_str());
    entry.port = {.name = entry.name.c_str(),
                  .dtype = dtype ? dlpack_type(*dtype) : heddle_dtype{},
                  .ndim = shape ? static_cast<int32_t>(shape->size()) : -1,
                  .shape = entry.shape.data(),
                  .dimension_names = entry.name_pointers.data(),
                  .is_read = is_read ? 1 : 0};
}

std::string Ports::text(size_t index) const {
    const Entry& entry = entries_[index];
    const auto dtype = dtype_of(entry.port.dtype);
    std::string text(dtype ? heddle::name(*dtype) : "any type");
    if (entry.port.ndim < 0) return text;
    std::vector<std::string> shape;
    for (size_t d = 0; d < entry.shape.size(); d++) {
        if (entry.shape[d] >= 0)
            shape.push_back(std::to_string(entry.shape[d]));
        else
            shape.push_back(entry.names[d].empty() ? "?" : entry.names[d]);
    }
    return text + fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace heddle::api
