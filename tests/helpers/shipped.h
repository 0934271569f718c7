// Shipped operators by name, and tensors for them. Tests only.
#pragma once

#include <random>
#include <string>

#include "graph/graph.h"
#include "language/library.h"
#include "support/tensor_data.h"

namespace heddle {

// Of "domain::name", or of a name of the standard's own domain, which is "".
inline std::string domain_of(const std::string& name) {
    const size_t colons = name.find("::");
    return colons == std::string::npos ? "" : name.substr(0, colons);
}
inline std::string without_domain(const std::string& name) {
    const size_t colons = name.find("::");
    return colons == std::string::npos ? name : name.substr(colons + 2);
}

// By an entry of Library::onnx_names().
inline Result<const Template*> find_onnx(const Library& library, const std::string& name, int64_t opset) {
    return library.find_onnx(domain_of(name), without_domain(name), opset);
}

// Positive numbers around 1; integers below a limit.
inline TensorData made_up(const TensorType& type, std::mt19937_64& random, uint64_t below) {
    TensorData data(type.dtype, type.extents());
    std::uniform_real_distribution<double> between(0.2, 1.8);
    for (int64_t i = 0; i < data.size(); ++i) {
        if (is_float(type.dtype) || is_complex(type.dtype))
            data.set_real(i, between(random));
        else
            data.set_integer(i, static_cast<int64_t>(random() % below));
    }
    return data;
}

}  // namespace heddle
