// Small libraries of templates and sessions over them, for the tests of symbolic execution.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "helpers/library.h"
#include "symbolic/session.h"

namespace heddle::session_test {

inline const Template& find(const Library& library, const std::string& name) {
    auto found = library.find(name);
    EXPECT_TRUE(found) << (found ? "" : render(found.error()));
    return **found;
}

inline TensorType type(std::vector<Size> shape, DType dtype = DType::float32) { return {dtype, std::move(shape)}; }

inline TensorData integers(std::vector<int64_t> values) {
    TensorData data(DType::int64, {static_cast<int64_t>(values.size())});
    for (size_t i = 0; i < values.size(); ++i) data.set_integer(static_cast<int64_t>(i), values[i]);
    return data;
}

// "float32[2, batch]", or the codes of the diagnostics.
inline std::string shape_text(const Session& session, const Result<std::vector<TensorId>>& applied) {
    std::string text;
    if (!applied) {
        for (const Diagnostic& diagnostic : applied.error()) text += (text.empty() ? "" : " ") + diagnostic.code;
        return text;
    }
    for (TensorId id : *applied)
        text += (text.empty() ? "" : " ") + (id < 0 ? "-" : session.graph().tensor(id).type.text());
    return text;
}

}  // namespace heddle::session_test
