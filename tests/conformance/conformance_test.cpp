// A backend that keeps its promises passes all checks; one that breaks one of them fails the check of it.
#include "conformance/conformance.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "conformance/cases.h"
#include "helpers/codes.h"
#include "helpers/device_backend.h"
#include "helpers/library.h"

namespace heddle::conformance {
namespace {

using CheckNames = std::vector<std::string>;

std::string failures(const std::vector<Check>& checks) {
    std::string text;
    for (const Check& check : checks) {
        if (!check.passed()) text += text_of(check);
    }
    return text;
}

std::vector<Check> run(std::shared_ptr<codegen::Backend> backend, CheckNames only = {}, uint64_t seed = 1) {
    return check_backend(std::move(backend), library(),
                         {.seed = seed, .threads = 2, .only = std::move(only), .told = {}});
}

// The code of the check's first problem.
std::string refused(std::shared_ptr<codegen::Backend> backend, const std::string& name) {
    const auto checks = run(std::move(backend), {name});
    EXPECT_EQ(checks.size(), 1u) << name;
    if (checks.empty() || checks.front().passed()) return "ok";
    return checks.front().problems.front().code;
}

TEST(Conformance, OurOwnBackendPasses) {
    const auto checks = run(std::make_shared<backends::LlvmBackend>());
    EXPECT_TRUE(all_passed(checks)) << failures(checks);
    EXPECT_GT(checks.size(), 60u);
}

TEST(Conformance, ADevicePasses) {
    const auto backend = std::make_shared<FarBackend>();
    const auto checks = run(backend, {}, 2);
    EXPECT_TRUE(all_passed(checks)) << failures(checks);
    EXPECT_GT(backend->far->in_rounds, 0) << "no scan runs in rounds";
}

TEST(Conformance, OtherSeedsMakeOtherShapes) {
    const Case& made = cases().front();
    const auto first = instance_of(made, library(), 1), other = instance_of(made, library(), 2);
    ASSERT_TRUE(first && other);
    EXPECT_NE(first->feeds[0].shape(), other->feeds[0].shape());
}

// ---- what breaks one promise

struct WrongBackend : FarBackend {
    enum class Mistake { config_changes, config_of_program, no_config, other_code, takes_any_bytes, throws };
    explicit WrongBackend(Mistake wrong) : mistake(wrong) {}

    Result<CompileConfig> compile_config(const CompileRequest& request) const override {
        if (mistake == Mistake::no_config) return ConfigSource::compile_config(request);
        auto config = FarBackend::compile_config(request);
        if (mistake == Mistake::config_changes) config->version += std::to_string(asked++);
        if (mistake == Mistake::config_of_program) config->options += request.program;
        if (mistake == Mistake::other_code) config->target.clear();
        return config;
    }
    Result<std::vector<std::string>> objects(const std::vector<const codegen::Tree*>& trees, const Target& target,
                                             int threads, Progress* progress,
                                             std::shared_ptr<const void> owner) override {
        if (mistake == Mistake::throws) throw std::runtime_error("thrown");
        return FarBackend::objects(trees, target, threads, progress, owner);
    }
    Result<std::shared_ptr<codegen::CompiledKernels>> link(const std::vector<std::string_view>& objects) override {
        auto linked = FarBackend::link(objects);
        if (linked || mistake != Mistake::takes_any_bytes) return linked;
        return std::make_shared<FarKernels>(nullptr);
    }

    const Mistake mistake;
    mutable std::atomic<int> asked = 0;
};

TEST(Conformance, NoticesWrongConfigsAndCode) {
    using enum WrongBackend::Mistake;
    const auto with = [](WrongBackend::Mistake mistake) { return std::make_shared<WrongBackend>(mistake); };
    EXPECT_EQ(refused(with(no_config), "config"), "backends.no_compile_config");
    EXPECT_EQ(refused(with(no_config), "operator relu"), "backends.no_compile_config");
    EXPECT_EQ(refused(with(config_changes), "config"), "conformance.config");
    EXPECT_EQ(refused(with(config_of_program), "config"), "conformance.config");
    EXPECT_EQ(refused(with(other_code), "config"), "ok");
    EXPECT_EQ(refused(with(other_code), "code"), "conformance.code");
    EXPECT_EQ(refused(with(takes_any_bytes), "code"), "conformance.code");
    EXPECT_EQ(refused(with(throws), "code"), "conformance.broken");
    EXPECT_EQ(refused(with(throws), "memory"), "ok");
}

// A device that does some of what it is asked for.
struct WrongDevice : FarDevice {
    enum class Mistake { skips_a_task, forgets_an_offset, loses_the_index, reports_the_last };
    explicit WrongDevice(Mistake wrong) : mistake(wrong) {}

    Result<void> copy_from(std::span<std::byte> host, const std::byte* device) override {
        const auto place = reinterpret_cast<uintptr_t>(device);
        if (mistake == Mistake::forgets_an_offset)
            device = reinterpret_cast<const std::byte*>(place / buffer_alignment * buffer_alignment);
        return FarDevice::copy_from(host, device);
    }
    Result<std::optional<codegen::IndexFailure>> launch(const codegen::DeviceLaunch& launch) override {
        codegen::DeviceLaunch passed = launch;
        if (mistake == Mistake::skips_a_task) passed.tasks = std::max<int64_t>(launch.tasks - 1, 0);
        auto found = FarDevice::launch(passed);
        if (mistake == Mistake::loses_the_index && found) found->reset();
        if (mistake == Mistake::reports_the_last && found && *found) (*found)->index += 1;
        return found;
    }

    const Mistake mistake;
};

struct WithDevice : FarBackend {
    explicit WithDevice(std::shared_ptr<FarDevice> device) : other(std::move(device)) {}
    std::shared_ptr<codegen::Device> device() override { return other; }
    std::shared_ptr<FarDevice> other;
};

TEST(Conformance, NoticesWrongDevices) {
    using enum WrongDevice::Mistake;
    const auto with = [](WrongDevice::Mistake mistake) {
        return std::make_shared<WithDevice>(std::make_shared<WrongDevice>(mistake));
    };
    EXPECT_EQ(refused(with(skips_a_task), "operator relu"), "conformance.result");
    EXPECT_EQ(refused(with(skips_a_task), "gradient softmax"), "conformance.result");
    EXPECT_EQ(refused(with(forgets_an_offset), "memory"), "conformance.memory");
    EXPECT_EQ(refused(with(loses_the_index), "index"), "conformance.index");
    EXPECT_EQ(refused(with(reports_the_last), "index"), "conformance.index");
    const auto backwards = std::make_shared<FarDevice>();
    backwards->rounds_backwards = true;
    EXPECT_EQ(refused(std::make_shared<WithDevice>(backwards), "operator gru"), "conformance.result");
    EXPECT_GT(backwards->in_rounds, 0);
    const auto small = std::make_shared<FarDevice>();
    small->limit = 10'000;
    EXPECT_EQ(refused(std::make_shared<WithDevice>(small), "memory"), "conformance.memory");
    EXPECT_EQ(refused(std::make_shared<WithDevice>(small), "index"), "runtime.out_of_memory");
}

TEST(Conformance, SaysWhatFailed) {
    const auto checks = run(std::make_shared<WrongBackend>(WrongBackend::Mistake::no_config), {"config", "memory"});
    ASSERT_EQ(checks.size(), 2u);
    EXPECT_FALSE(all_passed(checks));
    EXPECT_NE(text_of(checks[0]).find("FAILED config"), std::string::npos);
    EXPECT_NE(text_of(checks[0]).find("backends.no_compile_config"), std::string::npos);
    EXPECT_EQ(summary_of(checks), "1 of 2 checks passed\n");
}

}  // namespace
}  // namespace heddle::conformance
