// Models in stages for tests: what compiled programs give is what the interpreter does.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "frontends/onnx/model_builder.h"
#include "helpers/codes.h"
#include "inference/staged_model.h"

namespace heddle::inference {

using onnx::graph_attribute;
using onnx::integer_attribute;
using onnx::ModelText;
using onnx::NodeText;

inline constexpr int int64_type = 7, bool_type = 9;

inline TensorData floats(const std::vector<double>& values) {
    TensorData data(DType::float32, {static_cast<int64_t>(values.size())});
    for (size_t i = 0; i < values.size(); i++) data.set_real(static_cast<int64_t>(i), values[i]);
    return data;
}

inline TensorData number(int64_t value, DType dtype = DType::int64) {
    TensorData data(dtype, {});
    data.set_integer(0, value);
    return data;
}

inline std::vector<double> reals(const Value& value) {
    std::vector<double> result;
    for (int64_t i = 0; value.tensor && i < value.tensor->size(); i++) result.push_back(value.tensor->real_at(i));
    return result;
}

inline bool equal(const Value& a, const Value& b) {
    if (a.list || b.list) return a.list && b.list && std::ranges::equal(*a.list, *b.list, equal);
    if (!a.tensor || !b.tensor) return !a.tensor && !b.tensor;
    return a.tensor->dtype() == b.tensor->dtype() && a.tensor->shape() == b.tensor->shape() &&
           std::memcmp(a.tensor->data(), b.tensor->data(), static_cast<size_t>(a.tensor->byte_size())) == 0;
}

// A model with its programs. What they compute is what the interpreter does.
class Staged {
public:
    explicit Staged(const ModelText& text) : model_(*onnx::parse(text.bytes())), programs_(make_engine(1)) {
        staged_ = std::make_unique<StagedModel>(model_, heddle::library(), watched(compiled_by(programs_)), Bindings());
        interpreted_ = std::make_unique<StagedModel>(model_, heddle::library(), interpreted(), Bindings());
    }
    Result<std::vector<Value>> run(const std::vector<TensorData>& inputs, const WorkLimit& limit = {}) {
        auto results = staged_->run(values_of(inputs), {nullptr, nullptr, limit});
        const auto expected = interpreted_->run(values_of(inputs), {nullptr, nullptr, limit});
        EXPECT_EQ(codes(results), codes(expected));
        if (results && expected) EXPECT_TRUE(std::ranges::equal(*results, *expected, equal));
        return results;
    }
    size_t compiled() const { return programs_.compiled(); }
    size_t memories() const { return memories_; }  // in which results grew

private:
    RunPart watched(RunPart run) {
        return [this, run = std::move(run)](const ProgramCache::Part& part, std::span<const Value* const> inputs,
                                            const Specialise& specialise, const RunWatch& watch) {
            auto results = run(part, inputs, specialise, watch);
            for (size_t i = 0; results && i < results->values.size(); i++) {
                const auto& growing = results->values[i].growing;
                if (!growing) continue;
                const bool continues = std::ranges::any_of(inputs, [&](const Value* input) {
                    return input->growing && input->growing->memory == growing->memory;
                });
                memories_ += continues ? 0 : 1;
            }
            return results;
        };
    }

    using Bindings = std::map<std::string, int64_t>;
    onnx::OnnxModel model_;
    ProgramCache programs_;
    std::unique_ptr<StagedModel> staged_, interpreted_;
    size_t memories_ = 0;
};

}  // namespace heddle::inference
