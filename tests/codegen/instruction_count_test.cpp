// How much code the kernels of each kind are. More of it takes longer to compile, and is seen here.
#include "codegen/instruction_count.h"

#include <gtest/gtest.h>

#include "helpers/source_folder.h"
#include "schedules/kernel_cases.h"
#include "schedules/schedule.h"

namespace heddle::codegen {
namespace {

std::map<std::string, int64_t> counts() {
    Target target;
    target.cpu = "x86-64-v4";
    std::map<std::string, int64_t> result;
    for (const auto& test : schedules::testing::load_kernel_cases(in_source())) {
        const std::string text = schedules::testing::with_sizes(test.text, test.sizes[0]);
        auto kernel = schedules::parse_kernel(std::make_shared<SourceText>(test.name, text));
        EXPECT_TRUE(kernel) << test.name;
        auto scheduled = schedules::schedule(*kernel, target);
        EXPECT_TRUE(scheduled) << test.name;
        if (scheduled) result[test.name] = instruction_count(scheduled->tree);
    }
    return result;
}

// A tenth above what they are. A change that makes one larger has a reason, or is a mistake.
TEST(InstructionCount, KernelsAreSmall) {
    const std::map<std::string, int64_t> limits = {
        {"chain", 115},       {"sum_last", 100},    {"softmax", 505}, {"layernorm", 330}, {"transpose", 420},
        {"matmul_gelu", 500}, {"matvec", 370},      {"conv", 480},    {"depthwise", 825}, {"maxpool", 1120},
        {"attention", 1225},  {"update_rows", 190}, {"colour", 900},  {"bilateral", 685},
    };
    const auto found = counts();
    for (const auto& [name, limit] : limits) {
        ASSERT_TRUE(found.contains(name)) << name;
        EXPECT_LE(found.at(name), limit) << name;
        EXPECT_GE(found.at(name), limit * 3 / 4) << name << ": a lower limit would say more";
    }
}

TEST(InstructionCount, NoKernelOfTheCorpusIsLarge) {
    for (const auto& [name, count] : counts()) EXPECT_LE(count, 1650) << name;
}

}  // namespace
}  // namespace heddle::codegen
