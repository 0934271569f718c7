#include "support/npy.h"

#include <cstring>
#include <filesystem>
#include <random>

#include <unistd.h>

#include <gtest/gtest.h>

#include "support/file.h"

namespace heddle {
namespace {

std::span<const std::byte> span_of(const std::string& text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string file(std::string header, std::string payload, int version = 1) {
    std::string text = "\x93NUMPY";
    text += {static_cast<char>(version), '\0', static_cast<char>(header.size() & 255),
             static_cast<char>(header.size() >> 8)};
    if (version == 2) text += {'\0', '\0'};
    return text + header + payload;
}

std::string code_of(const std::string& text) {
    auto parsed = parse_npy(span_of(text), "x.npy");
    return parsed ? "fine" : parsed.error()[0].code;
}

TEST(Npy, RoundTripsEveryType) {
    for (const DTypeInfo& row : all_dtypes()) {
        if (row.npy_name.empty()) continue;
        for (std::vector<int64_t> shape : {std::vector<int64_t>{}, {3}, {0, 4}, {2, 3, 2}}) {
            TensorData data(row.dtype, shape);
            for (int64_t i = 0; i < data.size(); i++) data.set_integer(i, is_bool(row.dtype) ? i % 2 : i + 1);
            auto text = npy_bytes(data);
            EXPECT_EQ((text.size() - static_cast<size_t>(data.byte_size())) % 64, 0u);
            auto back = parse_npy(span_of(text), "x");
            ASSERT_TRUE(back) << render(back.error());
            EXPECT_EQ(back->dtype(), row.dtype);
            EXPECT_EQ(back->shape(), shape);
            EXPECT_EQ(std::memcmp(back->data(), data.data(), static_cast<size_t>(data.byte_size())), 0);
        }
    }
}

TEST(Npy, ReadsWhatNumpyWrites) {
    float values[2] = {1.5f, -2};
    std::string payload(reinterpret_cast<const char*>(values), 8);
    for (int version : {1, 2}) {
        std::string text = file("{'shape': (2,), \"fortran_order\": False, 'descr': '<f4'}  \n", payload, version);
        auto data = parse_npy(span_of(text), "x");
        ASSERT_TRUE(data);
        EXPECT_EQ(data->real_at(1), -2);
    }
    EXPECT_EQ(code_of(file("{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}", payload)),
              "fine");  // one dimension has one order
}

TEST(Npy, Refuses) {
    std::string payload(24, 'x');
    EXPECT_EQ(code_of("hello"), "support.npy_format");
    EXPECT_EQ(code_of(file("{}", payload, 3)), "support.npy_format");
    EXPECT_EQ(code_of(file("{'descr': '<f4'}", payload)), "support.npy_format");
    EXPECT_EQ(code_of(file("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", payload)),
              "support.npy_format");
    EXPECT_EQ(code_of(file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'shape': (2,)}", payload)),
              "support.npy_format");
    EXPECT_EQ(code_of(file("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", payload)), "support.npy_dtype");
    EXPECT_EQ(code_of(file("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", payload)), "support.npy_dtype");
    EXPECT_EQ(code_of(file("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", payload)), "support.npy_order");
    EXPECT_EQ(code_of(file("{'descr': '<f4', 'fortran_order': False, 'shape': (7,)}", payload)), "support.npy_size");
    EXPECT_EQ(code_of(file("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8)}", payload)),
              "support.npy_size");
    EXPECT_EQ(code_of(file("{'descr': '|b1', 'fortran_order': False, 'shape': (4611686018427387904, 2, 0)}", payload)),
              "support.npy_size");
}

TEST(Npy, WritesTheBytesOfTypesThatNumpyHasNot) {
    for (const DTypeInfo& row : all_dtypes()) {
        if (!row.npy_name.empty()) continue;
        TensorData data(row.dtype, {3});
        data.set_real(0, 2);
        const std::string text = npy_bytes(data);
        EXPECT_NE(text.find("'descr': '<V" + std::to_string(bytes(row.dtype)) + "'"), text.npos) << row.name;
        EXPECT_EQ(text.size(), 64u + 64u + static_cast<size_t>(3 * bytes(row.dtype))) << row.name;
        EXPECT_EQ(code_of(text), "support.npy_dtype") << row.name;
    }
}

TEST(Npy, MutatedFilesNeverCrash) {
    TensorData data(DType::float32, {2, 3});
    std::string good = npy_bytes(data);
    std::mt19937 random(1);
    for (int round = 0; round < 20000; round++) {
        std::string text = good;
        for (int n = 0; n < 3; n++) text[random() % 128] = static_cast<char>(random() % 256);
        text.resize(random() % (text.size() + 1));
        (void)parse_npy(span_of(text), "x");
    }
}

class Files : public testing::Test {
protected:
    Files() {
        folder = std::filesystem::temp_directory_path() / ("heddle_files_" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder);
    }
    ~Files() override { std::filesystem::remove_all(folder); }
    std::string path(const char* name) const { return (folder / name).string(); }
    std::filesystem::path folder;
};

TEST_F(Files, WriteReadMap) {
    ASSERT_TRUE(write_file(path("a"), "hello"));
    ASSERT_TRUE(write_file(path("a"), "hello again"));
    EXPECT_EQ(*read_file(path("a"), 100), "hello again");
    auto mapped = map_file(path("a"));
    ASSERT_TRUE(mapped);
    EXPECT_EQ(mapped->bytes.size(), 11u);
    EXPECT_EQ(static_cast<char>(mapped->bytes[6]), 'a');
    ASSERT_TRUE(write_file(path("empty"), ""));
    EXPECT_EQ(map_file(path("empty"))->bytes.size(), 0u);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2);  // no temporary is left
    TensorData data(DType::int32, {3});
    ASSERT_TRUE(write_npy(path("n.npy"), data));
    EXPECT_EQ(read_npy(path("n.npy"))->shape(), data.shape());
}

TEST_F(Files, Refuse) {
    EXPECT_EQ(read_file(path("none"), 10).error()[0].code, "support.file_open");
    EXPECT_EQ(map_file(path("none")).error()[0].code, "support.file_open");
    EXPECT_EQ(read_file(folder.string(), 10).error()[0].code, "support.file_open");
    ASSERT_TRUE(write_file(path("a"), "hello"));
    EXPECT_EQ(read_file(path("a"), 4).error()[0].code, "support.file_too_large");
    EXPECT_EQ(write_file(path("no/where"), "x").error()[0].code, "support.file_write");
    std::filesystem::create_directories(path("folder/inside"));
    EXPECT_EQ(write_file(path("folder"), "x").error()[0].code, "support.file_write");  // cannot be renamed over
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2);
}

}  // namespace
}  // namespace heddle
