// .npz files. That NumPy reads them is seen where tests/models/gradients.py does.
#include "support/npz.h"

#include <gtest/gtest.h>

#include <map>
#include <span>

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

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST(Npz, IsReadAsItWasWritten) {
    const TensorData a = one(1), b = one(2);
    const auto read = parse_npz(bytes_of(npz_bytes({{"a", &a}, {"layer/b", &b}})), "x.npz");
    ASSERT_TRUE(read) << render(read.error());
    ASSERT_EQ(read->size(), 2u);
    EXPECT_EQ(read->at("layer/b").real_at(0), 2);
    EXPECT_TRUE(parse_npz(bytes_of(npz_bytes({})), "x.npz")->empty());
    // A comment behind it, as zips may have.
    std::string commented = npz_bytes({{"a", &a}});
    commented[commented.size() - 2] = 3;
    EXPECT_EQ(parse_npz(bytes_of(commented + "abc"), "x.npz")->at("a").real_at(0), 1);
}

// Whatever it is, it is read or refused.
TEST(Npz, BrokenFilesAreRefused) {
    const TensorData a = one(1), b = one(2);
    const std::string whole = npz_bytes({{"a", &a}, {"b", &b}});
    for (size_t size = 0; size < whole.size(); size++)
        EXPECT_FALSE(parse_npz(bytes_of(whole.substr(0, size)), "x.npz")) << size;
    size_t refused = 0;
    for (size_t i = 0; i < whole.size(); i++) {
        for (const int bit : {0, 4, 7}) {
            std::string broken = whole;
            broken[i] = static_cast<char>(broken[i] ^ (1 << bit));
            refused += !parse_npz(bytes_of(broken), "x.npz");
        }
    }
    EXPECT_GT(refused, 100u);
    std::string packed = whole;
    packed[packed.find("PK\1\2") + 10] = 8;  // deflated
    const auto compressed = parse_npz(bytes_of(packed), "x.npz");
    ASSERT_FALSE(compressed);
    EXPECT_EQ(compressed.error()[0].code, "support.npz_format");
    EXPECT_EQ(compressed.error()[0].remedy, "save it by numpy.savez");
}

}  // namespace
}  // namespace heddle
