// Prepared programs on disk: found by later processes (here: engines of their own), and computing the same bits; not found
// where anything that they follow from is another.
#include "inference/kept_program.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include <fcntl.h>
#include <sys/stat.h>

#include "cache/entry.h"
#include "cache/folder.h"
#include "helpers/library.h"
#include "helpers/test_folder.h"
#include "inference/program_cache.h"
#include "symbolic/session.h"
#include "zspace/size_facts.h"

namespace heddle::inference {
namespace {

namespace fs = std::filesystem;

class KeptProgramTest : public testing::Test {
protected:
    // As another process has it.
    std::shared_ptr<Engine> engine() const {
        auto folder = cache::Folder::open(path_);
        EXPECT_TRUE(folder);
        return make_engine(2, make_kernel_cache(*folder));
    }
    std::vector<fs::path> files(const std::string& kind) const {
        std::vector<fs::path> files;
        for (const auto& entry : fs::directory_iterator(path_)) {
            if (entry.path().extension() == "." + kind) files.push_back(entry.path());
        }
        std::ranges::sort(files);
        return files;
    }

    const TestFolder folder_;
    const fs::path& path_ = folder_.path;
};

TensorData random_tensor(std::vector<int64_t> shape, unsigned seed) {
    TensorData data(DType::float32, std::move(shape));
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < data.size(); i++) data.set_real(i, normal(random));
    return data;
}

TensorData integers(const std::vector<int64_t>& values) {
    TensorData data(DType::int64, {static_cast<int64_t>(values.size())});
    for (size_t i = 0; i < values.size(); i++) data.set_integer(static_cast<int64_t>(i), values[i]);
    return data;
}

void expect_same(const std::vector<TensorData>& a, const std::vector<TensorData>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); i++) {
        ASSERT_EQ(a[i].shape(), b[i].shape());
        EXPECT_EQ(std::memcmp(a[i].data(), b[i].data(), static_cast<size_t>(a[i].byte_size())), 0);
    }
}

// relu(x W + b) + table[rows]: a constant to pack, a large one that is read as it is, a small one.
constexpr int64_t inner = 300, outer = 200;
Result<Graph> layer(const std::vector<TensorData>& inputs, Progress*) {
    Session session(library());
    const TensorType type{inputs[0].dtype(), {inputs[0].shape().begin(), inputs[0].shape().end()}};
    const TensorId x = session.add_input("x", type);
    const TensorId w = session.add_constant("w", random_tensor({inner, outer}, 1));
    const TensorId b = session.add_constant("b", random_tensor({outer}, 2));
    const auto lent = std::make_shared<TensorData>(random_tensor({500, outer}, 3));  // as of a file
    const TensorId table = session.add_constant("table", {DType::float32, {500, outer}, lent, lent->data()});
    const TensorId rows = session.add_input("rows", {inputs[1].dtype(), {inputs[1].size()}});
    const auto call = [&](const char* name, std::vector<Argument> arguments) {
        return session.apply(*library().find(name).value(), arguments).value()[0];
    };
    const TensorId picked = call("gather", {table, rows});
    const TensorId product = call("add2", {call("matmul", {x, w}), b});
    return session.finish({call("add2", {call("relu", {product}), picked})});
}

TEST_F(KeptProgramTest, computes_the_same_bits) {
    const std::vector<TensorData> inputs = {random_tensor({4, inner}, 9), integers({3, 499, 0, 77})};
    const ProgramSource source{"layer", "a layer"};
    ProgramCache first(engine(), source), without(make_engine(2));
    const auto expected = without.run("", inputs, layer);
    ASSERT_TRUE(expected) << render(expected.error());
    const auto made = first.run("", inputs, layer);
    ASSERT_TRUE(made);
    expect_same(*made, *expected);
    EXPECT_EQ(first.compiled(), 1u);
    EXPECT_EQ(files("program").size(), 1u);
    EXPECT_EQ(files("weights").size(), 2u) << "what was prepared, and the table";
    ProgramCache second(engine(), source);
    const auto kept = second.run("", inputs, [](const std::vector<TensorData>&, Progress*) -> Result<Graph> {
        ADD_FAILURE() << "made again";
        return Graph{};
    });
    ASSERT_TRUE(kept) << render(kept.error());
    expect_same(*kept, *expected);
    EXPECT_EQ(second.compiled(), 0u);
    EXPECT_TRUE(second.take_notes().empty());
}

// relu(x W) of any number of rows, with what the number decides.
Result<Graph> rows_of_any_number(const std::vector<TensorData>& inputs, Progress*) {
    SizeFacts facts;
    const RecordingFacts recording(facts);
    Session session(library());
    const int64_t rows = inputs[0].shape()[0];
    const TensorId x = session.add_input("x", {DType::float32, {named_size("rows", rows), inner}});
    const TensorId w = session.add_constant("w", random_tensor({inner, outer}, 1));
    const auto call = [&](const char* name, std::vector<Argument> arguments) {
        return session.apply(*library().find(name).value(), arguments).value()[0];
    };
    Graph graph = session.finish({call("relu", {call("matmul", {x, w})})});
    graph.dimension_names = {{"rows", rows}};
    graph.facts = std::move(facts);
    return graph;
}

TEST_F(KeptProgramTest, serves_other_sizes) {
    const ProgramSource source{"rows", "rows"};
    ProgramCache first(engine(), source);
    ASSERT_TRUE(first.run("", {random_tensor({40, inner}, 1)}, rows_of_any_number));
    ProgramCache second(engine(), source), without(make_engine(2));
    for (const int64_t rows : {40, 100, 17, 255, 16}) {
        const std::vector<TensorData> inputs = {random_tensor({rows, inner}, static_cast<unsigned>(rows))};
        const auto found = second.run("", inputs, rows_of_any_number), expected = without.run("", inputs, rows_of_any_number);
        ASSERT_TRUE(found && expected) << rows;
        expect_same(*found, *expected);
    }
    EXPECT_EQ(second.compiled(), 0u) << "the one that was kept is for all of these";
    EXPECT_EQ(without.compiled(), 1u);
    EXPECT_EQ(files("program").size(), 1u);
}

// Programs for several shapes keep their packed weights in one file, and have it in memory once.
TEST_F(KeptProgramTest, shapes_share_weights) {
    const ProgramSource source{"layer", "a layer"};
    const auto inputs = [](int64_t rows) {
        return std::vector<TensorData>{random_tensor({rows, inner}, 9), integers(std::vector<int64_t>(rows, 77))};
    };
    ProgramCache first(engine(), source);
    for (int64_t rows : {20, 24}) ASSERT_TRUE(first.run("", inputs(rows), layer));
    EXPECT_EQ(files("program").size(), 2u);
    EXPECT_EQ(files("weights").size(), 2u) << "what was prepared, and the table";
    ProgramCache second(engine(), source), alone(engine(), source);
    ASSERT_TRUE(alone.run("", inputs(24), layer));
    for (int64_t rows : {20, 24}) {
        const auto expected = first.run("", inputs(rows), layer), found = second.run("", inputs(rows), layer);
        ASSERT_TRUE(expected && found);
        expect_same(*found, *expected);
    }
    EXPECT_EQ(second.compiled(), 0u);
    int64_t both = 0, one = 0;
    for (const auto& [begin, size] : second.memory()) both += size;
    for (const auto& [begin, size] : alone.memory()) one += size;
    EXPECT_LT(both - one, inner * outer * 4);
}

TEST_F(KeptProgramTest, follows_from_its_source) {
    const std::vector<TensorData> inputs = {random_tensor({4, inner}, 9), integers({3, 499, 0, 77})};
    const auto made = [&](const std::string& source, const std::string& key, const Target* target = nullptr) {
        auto on = engine();
        if (target) on->target = *target;
        ProgramCache programs(on, source.empty() ? ProgramSource{} : ProgramSource{source, ""});
        EXPECT_TRUE(programs.run(key, inputs, layer));
        return programs.compiled();
    };
    EXPECT_EQ(made("layer", ""), 1u);
    EXPECT_EQ(made("layer", ""), 0u);
    EXPECT_EQ(made("another", ""), 1u);
    EXPECT_EQ(made("layer", "key"), 1u);
    Target target = detect_host();
    target.cores++;
    EXPECT_EQ(made("layer", "", &target), 1u);
    EXPECT_EQ(made("layer", ""), 0u);
    EXPECT_EQ(made("", ""), 1u) << "without a source it is not kept";
    EXPECT_EQ(made("", ""), 1u);
}

// One of four shapes by a value, found again by that value; each of two values leads on.
Result<Graph> reshaped(const std::vector<TensorData>& inputs, Progress*) {
    Session session(library());
    std::vector<Argument> arguments;
    for (size_t i = 0; i < inputs.size(); i++) {
        const TensorType type{inputs[i].dtype(), {inputs[i].shape().begin(), inputs[i].shape().end()}};
        const TensorId id = session.add_input(i == 0 ? "x" : "shape", type);
        session.offer_value(id, inputs[i].clone());
        arguments.emplace_back(id);
    }
    auto results = session.apply(*library().find("reshape").value(), arguments);
    if (!results) return fail(std::move(results.error()));
    return session.finish(std::move(*results));
}

TEST_F(KeptProgramTest, is_found_by_the_values_that_decide) {
    const auto x = random_tensor({6}, 4);
    for (int round = 0; round < 2; round++) {
        ProgramCache programs(engine(), {"reshape", ""});
        for (int64_t rows : {1, 2, 3, 6}) {
            const auto result = programs.run("", {x, integers({rows, 6 / rows})}, reshaped);
            ASSERT_TRUE(result) << render(result.error());
            EXPECT_EQ((*result)[0].shape(), (std::vector<int64_t>{rows, 6 / rows}));
            EXPECT_EQ(std::memcmp((*result)[0].data(), x.data(), 24), 0);
        }
        EXPECT_EQ(programs.compiled(), round == 0 ? 4u : 0u);
    }
    EXPECT_EQ(files("program").size(), 5u) << "four, and which input decides";
}

// A wrong byte in any file, or any file gone: made again, with the same results.
TEST_F(KeptProgramTest, is_made_again_where_files_are_damaged) {
    const std::vector<TensorData> inputs = {random_tensor({4, inner}, 9), integers({3, 499, 0, 77})};
    const ProgramSource source{"layer", ""};
    const auto expected = ProgramCache(engine(), source).run("", inputs, layer);
    ASSERT_TRUE(expected);
    std::mt19937 random(8);
    for (const char* kind : {"program", "weights", "kernel"}) {
        for (int i = 0; i < 6; i++) {
            const auto all = files(kind);
            const fs::path file = all[random() % all.size()];
            if (i % 2 == 0) {
                fs::remove(file);
            } else {
                std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
                const auto place = static_cast<std::streamoff>(random() % fs::file_size(file));
                stream.seekg(place);
                const auto byte = static_cast<char>(stream.get() ^ (1 << random() % 8));
                stream.seekp(place);
                stream.put(byte);
            }
            ProgramCache programs(engine(), source);
            const auto found = programs.run("", inputs, layer);
            ASSERT_TRUE(found) << render(found.error());
            expect_same(*found, *expected);
            EXPECT_EQ(programs.compiled(), std::string(kind) == "kernel" ? 0u : 1u) << "a kernel is compiled alone";
            EXPECT_EQ(programs.take_notes().size(), i % 2 == 0 ? 0u : 1u);
            ProgramCache again(engine(), source);
            ASSERT_TRUE(again.run("", inputs, layer));
            EXPECT_EQ(again.compiled(), 0u);
            EXPECT_TRUE(again.take_notes().empty());
        }
    }
}

std::string content_of(const fs::path& file) {
    std::stringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

// Files with right checksums whose contents nobody wrote are refused or taken, but break nothing.
TEST_F(KeptProgramTest, is_read_with_care) {
    const std::vector<TensorData> inputs = {random_tensor({4, inner}, 9), integers({3, 499, 0, 77})};
    const ProgramSource source{"layer", ""};
    const auto on = engine();
    ProgramCache programs(on, source);
    ASSERT_TRUE(programs.run("", inputs, layer));
    const auto none = [](size_t, const std::string&) -> const TensorData* { return nullptr; };
    const std::string types = "float32[4, 300], int64[4]";
    const auto found = [&] { return find_program({"layer\n\n" + types, ""}, none, *on).has_value(); };
    EXPECT_TRUE(found());
    ASSERT_EQ(files("program").size(), 1u);
    const fs::path file = files("program")[0];
    const std::string whole = content_of(file);
    const auto entry = cache::read_entry(std::as_bytes(std::span(whole)));
    ASSERT_TRUE(entry);
    const std::string contents(reinterpret_cast<const char*>(entry->contents.data()), entry->contents.size());
    const auto write = [&](const std::string& other) {
        const auto bytes = std::as_bytes(std::span(other));
        std::ofstream(file, std::ios::binary)
            << cache::header(file.stem().string(), "", bytes) << other << std::string(cache::trailing_zeros, '\0');
    };
    write(contents);
    EXPECT_TRUE(found());
    std::mt19937 random(12);
    for (int i = 0; i < 100; i++) {
        write(contents.substr(0, random() % contents.size()));
        EXPECT_FALSE(found());
        std::string changed = contents;
        changed[random() % contents.size()] = static_cast<char>(random());
        write(changed);
        found();
        write(contents + static_cast<char>(random()));
        EXPECT_FALSE(found());
    }
    EXPECT_TRUE(on->kernels->folder()->take_notes().empty());
}

TEST_F(KeptProgramTest, digests_of_files_are_remembered) {
    const auto on = engine();
    cache::Folder& folder = *on->kernels->folder();
    const fs::path file = path_ / "model";
    const auto write = [&](const std::string& text, int age) {
        std::ofstream(file, std::ios::binary) << text;
        timespec times[2] = {{time(nullptr) - age, 0}, {time(nullptr) - age, 0}};
        ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
    };
    write("one", 0);
    const auto one = digest_of_file(file, folder);
    ASSERT_TRUE(one);
    EXPECT_TRUE(files("model").empty()) << "it may change within the same tick of the clock";
    write("two", 0);
    const auto two = digest_of_file(file, folder);
    ASSERT_TRUE(two);
    EXPECT_NE(*one, *two);
    EXPECT_FALSE(digest_of_file(path_ / "none", folder));
    EXPECT_FALSE(digest_of_file(path_, folder));
}

}  // namespace
}  // namespace heddle::inference
