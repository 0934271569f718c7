// Compile configs and jobs as values, and the hook that backends give them by: points 1, 3, 4 and 5 of the requirements on
// compile jobs, here and in tests/runtime, tests/plugins and tests/gradient.
#include "target/compile_job.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "helpers/codes.h"

namespace heddle {
namespace {

CompileJob some_job() {
    return {{.backend = "some", .target = "cpu a", .options = "-O2", .version = "1"},
            "program",
            {.mode = Derivation::Mode::augmented,
             .width = 2,
             .activities = {Activity::duplicated, Activity::constant},
             .tape_policy = "save all"}};
}

// One for each field, and for what text fields may hold.
std::vector<std::function<void(CompileJob&)>> changes() {
    return {[](CompileJob& job) { job.config.backend = "other"; },
            [](CompileJob& job) { job.config.target = "cpu b"; },
            [](CompileJob& job) { job.config.target = "cpu a\n"; },
            [](CompileJob& job) { job.config.target += std::string("\0", 1); },
            [](CompileJob& job) { job.config.options.clear(); },
            [](CompileJob& job) { job.config.options = "-O2\nversion 1\n1"; },
            [](CompileJob& job) { job.config.version = "2"; },
            [](CompileJob& job) { job.program = "programs"; },
            [](CompileJob& job) { job.derivation.mode = Derivation::Mode::reverse; },
            [](CompileJob& job) { job.derivation.width = -1; },
            [](CompileJob& job) { job.derivation.activities.pop_back(); },
            [](CompileJob& job) { job.derivation.activities[1] = Activity::batched; },
            [](CompileJob& job) { job.derivation.tape_policy = ""; }};
}

TEST(CompileJobs4, EveryFieldMakesAnotherValue) {
    std::set<std::string> bytes = {canonical_bytes(some_job())};
    std::set<uint64_t> hashes = {hash_of(some_job())};
    EXPECT_EQ(some_job(), some_job());
    EXPECT_EQ(canonical_bytes(some_job()), canonical_bytes(some_job()));
    for (size_t i = 0; i < changes().size(); i++) {
        CompileJob job = some_job();
        changes()[i](job);
        EXPECT_NE(job, some_job()) << i;
        EXPECT_TRUE(bytes.insert(canonical_bytes(job)).second) << i;
        EXPECT_TRUE(hashes.insert(hash_of(job)).second) << i;
    }
}

TEST(CompileJobs4, BytesParseBack) {
    for (size_t i = 0; i <= changes().size(); i++) {
        CompileJob job = some_job();
        if (i > 0) changes()[i - 1](job);
        const auto parsed = parse_compile_job(canonical_bytes(job));
        ASSERT_TRUE(parsed) << render(parsed.error());
        EXPECT_EQ(*parsed, job);
        const auto config = parse_compile_config(canonical_bytes(job.config));
        ASSERT_TRUE(config) << render(config.error());
        EXPECT_EQ(*config, job.config);
    }
}

// One value has one text: what is accepted is what would be written.
TEST(CompileJobs4, OtherBytesAreRefused) {
    const std::string bytes = canonical_bytes(some_job());
    for (size_t cut = 0; cut < bytes.size(); cut++)
        EXPECT_EQ(code_of(parse_compile_job(bytes.substr(0, cut))), "target.compile_job") << cut;
    EXPECT_EQ(code_of(parse_compile_job(bytes + " ")), "target.compile_job");
    EXPECT_EQ(code_of(parse_compile_config(bytes)), "target.compile_job");
    for (size_t place = 0; place < bytes.size(); place++) {
        for (char other : {'9', '0', '+', ' ', '\n', 'x'}) {
            std::string damaged = bytes;
            damaged[place] = other;
            const auto parsed = parse_compile_job(damaged);
            if (parsed) {
                EXPECT_EQ(canonical_bytes(*parsed), damaged);
            }
        }
    }
}

struct WithoutConfig : ConfigSource {
    std::string name() const override { return "plain"; }
};

struct OfAnother : ConfigSource {
    std::string name() const override { return "mine"; }
    Result<CompileConfig> compile_config(const CompileRequest& request) const override {
        return CompileConfig{"yours", request.target.cpu, "", ""};
    }
};

TEST(CompileJobs3, SaysWhichBackendAndFunction) {
    const auto found = compile_config_for(WithoutConfig(), {});
    ASSERT_EQ(code_of(found), "backends.no_compile_config");
    using Params = std::vector<std::pair<std::string, std::string>>;
    EXPECT_EQ(found.error().front().params, (Params{{"backend", "plain"}, {"function", "compile_config"}}));
    EXPECT_FALSE(found.error().front().remedy.empty());
    EXPECT_EQ(code_of(compile_job_for(WithoutConfig(), {})), "backends.no_compile_config");
}

TEST(CompileConfigFor, RefusesTheConfigOfAnother) {
    EXPECT_EQ(code_of(compile_config_for(OfAnother(), {})), "backends.wrong_compile_config");
}

TEST(CompileJobs5, SaysWhatDiffers) {
    const CompileConfig config = some_job().config;
    EXPECT_EQ(code_of(check_same_config(config, config)), "ok");
    CompileConfig other = config;
    other.options = "-O3";
    const auto found = check_same_config(config, other);
    ASSERT_EQ(code_of(found), "backends.config_mismatch");
    EXPECT_EQ(found.error().front().expected, "options -O2");
    EXPECT_EQ(found.error().front().found, "options -O3");
}

}  // namespace
}  // namespace heddle
