// Reductions by words: the same values as element by element, where words are filled, have a rest, or are empty.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "equations/fusion.h"
#include "equations/passes.h"
#include "helpers/run_system.h"
#include "partition_checker.h"

namespace heddle::equations::testing {
namespace {

System parsed(const std::string& text) {
    auto system = parse_system(std::make_shared<SourceText>("system", text));
    EXPECT_TRUE(system) << (system ? "" : render(system.error())) << text;
    return system ? std::move(*system) : System();
}

std::vector<TensorData> random_feeds(const System& system, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<TensorData> feeds;
    for (TensorIndex input : system.inputs) {
        const SystemTensor& tensor = system.tensor(input);
        TensorData data(tensor.dtype, numbers_of(tensor.shape));
        for (int64_t i = 0; i < data.size() * bytes(tensor.dtype); i++) {
            const bool extreme = random() % 4 == 0;
            const uint64_t value = is_bool(tensor.dtype) ? extreme : extreme ? 0x80 : random();
            data.mutable_data()[i] = static_cast<std::byte>(value);
        }
        feeds.push_back(std::move(data));
    }
    return feeds;
}

// How many tensors of words the pass makes; the values and those of the kernels that fusion makes stay.
int words_of(const std::string& text) {
    const System before = parsed(text);
    System after = parsed(text);
    if (before.outputs.empty() || after.outputs.empty()) return -1;
    const size_t tensors = after.tensors.size();
    pack_words(after, {.terms = 1, .uses = 2, .work = 1});
    const auto sound = verify(after);
    EXPECT_TRUE(sound) << (sound ? "" : render(sound.error())) << print(after);
    if (!sound) return -1;
    int packed = 0;
    for (size_t t = tensors; t < after.tensors.size(); t++)
        packed += after.tensors[t].name.find("_packed") != std::string::npos;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        const auto feeds = random_feeds(before, seed);
        const auto wanted = run(before, feeds), found = run(after, feeds);
        const auto in_kernels = run_partition(after, fuse(after, Target(), {}), feeds, seed);
        EXPECT_TRUE(wanted && found && in_kernels) << print(after);
        if (!wanted || !found || !in_kernels) return -1;
        for (TensorIndex output : before.outputs) {
            const TensorData& w = (*wanted)[static_cast<size_t>(output)];
            for (int64_t i = 0; i < w.size(); i++) {
                EXPECT_EQ(w.integer_at(i), (*found)[static_cast<size_t>(output)].integer_at(i)) << i << print(after);
                EXPECT_EQ(w.integer_at(i), (*in_kernels)[static_cast<size_t>(output)].integer_at(i))
                    << i << print(after);
            }
        }
    }
    return packed;
}

std::string of_truths(int64_t k, const std::string& right, const std::string& result = "bool", const char* named = "") {
    return fmt::format(
        "system s\n in a: bool[3, {0}]\n in b: bool[{0}, 5]\n in c: bool[3, {0}]\n out y: {2}[3, 5]\n"
        " for m < 3, n < 5: y[m, n] = {1}\n outputs y\n",
        k, fmt::format(fmt::runtime(right), fmt::format("k < {}{}", k, named)), result);
}

TEST(Words, TruthsGoByBits) {
    for (int64_t k : {2, 31, 32, 33, 64, 70}) {
        for (const char* named : {"", " named 1"}) {
            const auto words = [&](const std::string& right, const std::string& result = "bool") {
                return words_of(of_truths(k, right, result, named));
            };
            EXPECT_EQ(words("any({} : (a[m, k] ? b[k, n] : false))"), 2);
            EXPECT_EQ(words("any({} : (a[m, k] && b[k, n]))"), 2);
            EXPECT_EQ(words("all({} : (a[m, k] || not(b[k, n])))"), k % 32 == 0 && *named == 0 ? 2 : 3);
            EXPECT_EQ(words("any({} : ((a[m, k] && not(c[m, k])) ? b[k, n] : false))"), 2);
            EXPECT_EQ(words("sum({} : (not_equal(a[m, k], b[k, n]) ? 1 : 0))", "int64"), 2);
            EXPECT_EQ(words("sum({} : int32(equal(a[m, k], b[k, n])))", "int32"), k % 32 == 0 && *named == 0 ? 2 : 3);
            EXPECT_EQ(words("sum({} : (a[m, k] ? 2 : 0))", "int64"), 0);
        }
    }
    EXPECT_EQ(words_of(of_truths(1, "any({} : (a[m, k] && b[k, n]))")), 0);
    EXPECT_EQ(words_of(of_truths(0, "any({} : (a[m, k] && b[k, n]))")), 0);
}

std::string of_products(int64_t k, const std::string& right) {
    return fmt::format(
        "system s\n in a: int8[3, {0}]\n in b: uint8[{0}, 5]\n in c: int16[1, {0}, 9]\n"
        " in d: int32[{0}, 5]\n"
        " local e: int32[3, {0}]\n out y: int32[3, 5]\n"
        " for m < 3, k < {0}: e[m, k] = (int32(a[m, k]) - int32(100))\n"
        " for m < 3, n < 5: y[m, n] = {1}\n outputs y\n",
        k, fmt::format(fmt::runtime(right), fmt::format("k < {}", k)));
}

TEST(Words, ProductsGoByPairs) {
    for (int64_t k : {2, 3, 8, 31}) {
        const auto words = [&](const std::string& right) { return words_of(of_products(k, right)); };
        EXPECT_EQ(words("sum({} : (int32(a[m, k]) * int32(b[k, n])))"), 2);
        EXPECT_EQ(words("sum({} : (e[m, k] * int32(b[k, n])))"), 2);
        EXPECT_EQ(words("sum({} : (e[m, k] * (int32(b[k, n]) - int32(7))))"), 2);
        // The window's other coordinates stay where they are, also outside.
        EXPECT_EQ(words("sum({}, q < 3 : (int32(c[0, k, (n + 2 * q - 1)] ?? int16(0)) * e[m, k]))"), 2);
        EXPECT_EQ(words("sum({} : (e[m, k] * d[k, n]))"), 0);  // 16 bits do not hold it
    }
}

}  // namespace
}  // namespace heddle::equations::testing
