// Sessions over the operators of the library and of a test's own text.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "flavours/session.h"
#include "helpers/codes.h"
#include "helpers/library.h"

namespace heddle::flavours {

inline std::function<uint64_t()> seeded(uint64_t seed = 1) {
    return [generator = std::mt19937_64(seed)]() mutable { return generator(); };
}

inline TensorData words(const std::vector<uint64_t>& values) {
    TensorData data(DType::uint64, {static_cast<int64_t>(values.size())});
    std::ranges::copy(values, data.mutable_as<uint64_t>());
    return data;
}

inline std::vector<uint64_t> words(const Value& value) {
    if (!value.concrete() || !Opened(value).data()) return {};
    TensorData data = *Opened(value).data();
    return {data.as<uint64_t>(), data.as<uint64_t>() + data.size()};
}

inline std::string parameter(const Diagnostic& problem, const std::string& name) {
    for (const auto& [key, value] : problem.params) {
        if (key == name) return value;
    }
    return {};
}

struct FlavoursTest : testing::Test {
    // Registers kernels before the operators are loaded.
    void load(const std::string& text) {
        library = std::make_unique<Library>(library_with(text));
        matrix = std::make_unique<KernelMatrix>(*library, registry);
    }
    Session session(Mode mode, uint64_t seed = 1) const { return Session(*matrix, mode, seeded(seed)); }

    Value one(const Result<std::vector<Value>>& result) const {
        EXPECT_TRUE(result) << (result ? "" : render(result.error()));
        return result && result->size() == 1 ? result->front() : Value{};
    }
    // "called", "recorded", or the codes of the refusal.
    std::string outcome(Session& session, const std::string& name, const Placement& where,
                        const std::vector<Value>& arguments) {
        size_t before = count(session, name);
        last = session.apply(name, where, arguments);
        if (!last) return codes_text(last.error());
        bool recorded = count(session, name) > before;
        for (const Value& result : *last) EXPECT_TRUE(!recorded || !result.concrete());
        return recorded ? "recorded" : "called";
    }
    static size_t count(const Session& session, const std::string& name) {
        return static_cast<size_t>(
            std::ranges::count(session.computation().operations, name, &RecordedOperation::operator_name));
    }

    Registry registry;
    std::unique_ptr<Library> library;
    std::unique_ptr<KernelMatrix> matrix;
    Result<std::vector<Value>> last;
    Placement alice = host("alice"), bob = host("bob"), carole = host("carole"), dave = host("dave");
    Placement rep{"Replicated", "rep", {"alice", "bob", "carole"}};
};

inline const std::string ring_word = "HostRing64Tensor", shared_word = "ReplicatedRing64Tensor";

}  // namespace heddle::flavours
