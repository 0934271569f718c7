// Weights in memory of others: at any address, used where they lie, and given back once they are packed.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include <dlfcn.h>

#include "helpers/running.h"
#include "support/file.h"
#include "support/resident_memory.h"

namespace heddle {
namespace {

// Elements one byte behind an aligned address.
TensorData shifted(const TensorData& data) {
    auto memory = std::make_shared<std::string>(static_cast<size_t>(data.byte_size()) + 65, '\0');
    const auto address = reinterpret_cast<uintptr_t>(memory->data());
    std::byte* begin = reinterpret_cast<std::byte*>((address + 63) / 64 * 64 + 1);
    std::memcpy(begin, data.data(), static_cast<size_t>(data.byte_size()));
    return TensorData(data.dtype(), data.shape(), memory, begin);
}

// Rows of a table, times a matrix, and a part of the table beside it: weights that are packed, and that are not.
Graph graph_of(const TensorData& table, const TensorData& matrix, const TensorData& numbers) {
    Session session(library());
    const TensorId at = session.add_input("at", {DType::int64, {7}});
    const TensorId t = session.add_constant("table", table);
    const TensorId rows = call(session, "gather", {t, at});
    const TensorId product = call(session, "numpy_matmul", {rows, session.add_constant("matrix", matrix)});
    const TensorId number = call(session, "gather", {session.add_constant("numbers", numbers), at});
    return session.finish({product, rows, number});
}

TEST(LentWeights, lie_at_any_address_and_are_not_copied) {
    const TensorData table = random_tensor({500, 130}, 1), matrix = random_tensor({130, 150}, 2);
    TensorData numbers(DType::int64, {20'000}), at(DType::int64, {7});
    for (int64_t i = 0; i < numbers.size(); i++) numbers.set_integer(i, i * i - 77);
    for (int64_t i = 0; i < at.size(); i++) at.set_integer(i, 71 * i);
    const TensorData lent[] = {shifted(table), shifted(matrix), shifted(numbers)};
    auto run = [&](const Graph& graph, bool is_lent) {
        const plan::Plan plan = plan_of(graph);
        int constants = 0;
        for (const plan::Buffer& buffer : plan.buffers) {
            if (buffer.kind != plan::Buffer::Kind::constant) continue;
            EXPECT_EQ(buffer.constant->owned(), !is_lent) << buffer.name;
            constants++;
        }
        EXPECT_EQ(constants, 3);
        const auto executable = compiled(plan);
        auto results = runtime::Session(executable, std::make_shared<ThreadPool>(2)).run({at});
        EXPECT_TRUE(results) << render(results.error());
        return results ? std::move(*results) : std::vector<TensorData>{};
    };
    const auto expected = run(graph_of(table, matrix, numbers), false);
    const auto found = run(graph_of(lent[0], lent[1], lent[2]), true);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); i++) {
        ASSERT_EQ(found[i].byte_size(), expected[i].byte_size());
        EXPECT_EQ(std::memcmp(found[i].data(), expected[i].data(), static_cast<size_t>(found[i].byte_size())), 0) << i;
    }
}

TEST(LentWeights, of_a_file_leave_memory_when_they_are_packed) {
    constexpr int64_t size = 4096, bytes = size * size * 4;  // 64 MB
    const auto path = std::filesystem::path(testing::TempDir()) / "heddle_lent_weights";
    std::ofstream(path, std::ios::binary) << "";
    std::filesystem::resize_file(path, bytes);
    auto file = map_file(path);
    ASSERT_TRUE(file);
    const TensorData matrix(DType::float32, {size, size}, file->owner, file->bytes.data());
    Session session(library());
    const TensorId x = session.add_input("x", {DType::float32, {24, size}});
    const TensorId y = call(session, "numpy_matmul", {x, session.add_constant("w", matrix)});
    const plan::Plan plan = plan_of(session.finish({y}));
    ASSERT_GE(plan.prepared_bytes(), bytes) << "it is packed";
    const int64_t before = resident_bytes();
    const auto executable = compiled(plan);
    EXPECT_LT(resident_bytes() - before, bytes + bytes / 2);
    std::filesystem::remove(path);
}

// What is no file's is freed once it is packed, when nobody else has it.
TEST(LentWeights, of_others_are_let_go_when_they_are_packed) {
    auto memory = std::make_shared<std::vector<std::byte>>(300 * 200 * 4, std::byte{0});
    const std::weak_ptr<std::vector<std::byte>> lent = memory;
    std::shared_ptr<const runtime::Executable> executable;
    {
        Session session(library());
        const TensorData matrix(DType::float32, {300, 200}, memory, memory->data());
        const TensorId x = session.add_input("x", {DType::float32, {24, 300}});
        const TensorId y = call(session, "numpy_matmul", {x, session.add_constant("w", matrix)});
        executable = compiled(plan_of(session.finish({y})));
        memory.reset();
    }
    EXPECT_TRUE(lent.expired());
    ASSERT_TRUE(executable);
    const auto result =
        runtime::Session(executable, std::make_shared<ThreadPool>(1)).run({random_tensor({24, 300}, 1)});
    ASSERT_TRUE(result);
    EXPECT_EQ((*result)[0].real_at(77), 0);
}

// Pages in memory of the mapping in which this function stands.
int64_t resident_around(const void* function) {
    std::ifstream maps("/proc/self/smaps");
    bool here = false;
    for (std::string line; std::getline(maps, line);) {
        uintptr_t begin = 0, end = 0;
        int64_t kilobytes = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
            here = begin <= reinterpret_cast<uintptr_t>(function) && reinterpret_cast<uintptr_t>(function) < end;
        if (here && std::sscanf(line.c_str(), "Rss: %ld", &kilobytes) == 1) return kilobytes * 1024;
    }
    return 0;
}

TEST(Compiler, leaves_memory_when_nobody_wants_code) {
    Session session(library());
    const TensorId x = session.add_input("x", {DType::float32, {24, 30}});
    const plan::Plan plan = plan_of(session.finish({call(session, "softmax", {x}, {{"axis", StaticValue::of(1)}})}));
    backends::LlvmBackend backend;
    const auto object = [&] { return backend.objects({plan.trees[0].get()}, plan.target, 1); };
    const auto first = object();
    ASSERT_TRUE(first);
    const void* place = ::dlsym(RTLD_DEFAULT, "LLVMGetVersion");
    const int64_t before = resident_around(place);
    EXPECT_GT(before, 1 << 20);
    backend.rest();
    EXPECT_LT(resident_around(place), before / 2);
    const auto second = object();
    ASSERT_TRUE(second);
    EXPECT_EQ(*first, *second);
}

}  // namespace
}  // namespace heddle
