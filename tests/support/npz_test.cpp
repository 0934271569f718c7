// .npz files. That NumPy reads them is seen where tests/models/gradients.py does.
#include "support/npz.h"

#include <gtest/gtest.h>

#include <map>

#include "helpers/test_folder.h"
#include "support/file.h"
#include "support/npy.h"

namespace heddle {
namespace {

uint64_t number(const std::string& bytes, size_t at, size_t count) {
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++) value |= uint64_t{static_cast<uint8_t>(bytes[at + i])} << 8 * i;
    return value;
}

// By the directory at the end, as readers find members.
std::map<std::string, std::string> members(const std::string& zip) {
    std::map<std::string, std::string> found;
    const size_t end = zip.size() - 22 - 20 - 56;
    EXPECT_EQ(number(zip, end, 4), 0x06064b50u);
    size_t at = number(zip, end + 48, 8);
    for (uint64_t left = number(zip, end + 32, 8); left > 0; left--) {
        EXPECT_EQ(number(zip, at, 4), 0x02014b50u);
        const size_t name_size = number(zip, at + 28, 2), extra = at + 46 + name_size;
        const size_t size = number(zip, extra + 4, 8), local = number(zip, extra + 20, 8);
        EXPECT_EQ(number(zip, local, 4), 0x04034b50u);
        const size_t data = local + 30 + number(zip, local + 26, 2) + number(zip, local + 28, 2);
        found[zip.substr(at + 46, name_size)] = zip.substr(data, size);
        at = extra + number(zip, at + 30, 2);
    }
    EXPECT_EQ(at, end);
    return found;
}

TensorData one(double value) {
    TensorData data(DType::float32, {1});
    data.set_real(0, value);
    return data;
}

TEST(Npz, MembersByName) {
    const TensorData a = one(1), b = one(2);
    const auto found = members(npz_bytes({{"a", &a}, {"layer/b", &b}}));
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found.at("a.npy"), npy_bytes(a));
    EXPECT_EQ(found.at("layer/b.npy"), npy_bytes(b));
    EXPECT_TRUE(members(npz_bytes({})).empty());
}

TEST(Npz, ChecksumsAreThoseOfZip) {
    // Of the .npy file of a float32 1 in one dimension; by zlib.
    const TensorData a = one(1);
    EXPECT_EQ(number(npz_bytes({{"a", &a}}), 14, 4), 1935095377u);
}

TEST(Npz, NamesLeadNowhereElse) {
    const TensorData a = one(1);
    const auto found =
        members(npz_bytes({{"../a", &a}, {"/b", &a}, {"x/../../c", &a}, {"", &a}, {"..", &a}, {"d", &a}, {"d", &a}}));
    std::string names;
    for (const auto& [name, data] : found) names += name + " ";
    EXPECT_EQ(names, "_.npy _/b.npy __.npy __/a.npy d.npy d_2.npy x/__/__/c.npy ");
    EXPECT_EQ(members(npz_bytes({{std::string(100000, 'n'), &a}})).begin()->first.size(), 60004u);
}

TEST(Npz, AFileThatCannotBeWritten) {
    const TestFolder folder;
    const TensorData a = one(1);
    EXPECT_FALSE(write_npz((folder.path / "missing/a.npz").string(), {{"a", &a}}));
}

}  // namespace
}  // namespace heddle
