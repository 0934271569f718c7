#include "api/data_folder.h"

#include <gtest/gtest.h>

#include "helpers/codes.h"

namespace heddle {
namespace {

TEST(EmbeddedData, LieBesideTheLibraryOrAreMissed) {
    const auto operators = api::data_folder("operators");
    ASSERT_TRUE(operators);
    EXPECT_TRUE(std::filesystem::exists(*operators / "onnx"));
    EXPECT_EQ(code_of(api::data_folder("no-such-data")), "api.operators");
}

}  // namespace
}  // namespace heddle
