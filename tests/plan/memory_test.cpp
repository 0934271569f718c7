// Memory placement on random plans, and what the verifier must notice.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <random>

#include "plan/kernel_former.h"
#include "plan/memory.h"
#include "plan/plan.h"

namespace heddle::plan {
namespace {

// A tree of `inputs` buffers that are read and one that is written, without numbers: only what the plan looks at.
std::shared_ptr<const schedules::Tree> tree_of(size_t inputs) {
    auto tree = std::make_shared<schedules::Tree>();
    using Kind = schedules::Memory::Kind;
    for (size_t i = 0; i < inputs; i++)
        tree->memories.push_back({.name = "in" + std::to_string(i), .kind = Kind::input});
    tree->memories.push_back({.name = "out", .kind = Kind::output});
    return tree;
}

constexpr size_t most_inputs = 3;

int32_t add_buffer(Plan& plan, Buffer::Kind kind, int64_t bytes) {
    Buffer buffer{.name = "b" + std::to_string(plan.buffers.size()), .kind = kind, .bytes = bytes};
    buffer.storage = StorageMap::row_major({bytes / 4});
    buffer.sizes = {bytes / 4};
    if (kind == Buffer::Kind::constant) buffer.constant = TensorData(buffer.dtype, {bytes / 4});
    auto give = [&](auto& types, auto& names) {
        buffer.index = static_cast<int32_t>(types.size());
        types.push_back({buffer.dtype, buffer.sizes});
        names.push_back(buffer.name);
    };
    if (kind == Buffer::Kind::input) give(plan.input_types, plan.input_names);
    if (kind == Buffer::Kind::output) give(plan.output_types, plan.output_names);
    plan.graph_tensor.push_back(no_id);
    plan.buffers.push_back(buffer);
    return static_cast<int32_t>(plan.buffers.size() - 1);
}

// With margins at both ends of a dimension.
int32_t add_buffer_with_margins(Plan& plan, int64_t inside, int64_t margin, double filling) {
    const int32_t b = add_buffer(plan, Buffer::Kind::workspace, 4 * inside);
    Buffer& buffer = plan.buffers.back();
    buffer.storage.margin_before = buffer.storage.margin_after = {margin};
    buffer.bytes += 8 * margin;
    buffer.base = 4 * margin;
    buffer.filling = buffer.storage.filling = filling;
    return b;
}

// Behind all other launches, as in plans that are made.
void add_fillings(Plan& plan) {
    find_lifetimes(plan);
    for (size_t b = 0; b < plan.buffers.size(); b++) {
        const Buffer& buffer = plan.buffers[b];
        if (!buffer.is_filled()) continue;
        auto made = schedules::schedule(form_margins(buffer.storage, buffer.dtype), plan.target);
        ASSERT_TRUE(made) << render(made.error());
        const std::string key = schedules::key(made->tree, plan.target);
        const auto known = std::ranges::find(plan.keys, key) - plan.keys.begin();
        if (static_cast<size_t>(known) == plan.keys.size()) {
            plan.keys.push_back(key);
            plan.trees.push_back(std::make_shared<const schedules::Tree>(std::move(made->tree)));
        }
        plan.run[static_cast<size_t>(buffer.first)].push_back({.name = buffer.name + " margins",
                                                               .tree = static_cast<int32_t>(known),
                                                               .buffers = {static_cast<int32_t>(b)},
                                                               .numbers = made->launch.numbers,
                                                               .tasks = made->launch.tasks,
                                                               .layout = true,
                                                               .fills = true});
    }
}

void place(Plan& plan, bool keep_all = false) {
    add_fillings(plan);
    place_memory(plan, keep_all);
}

Launch launch(const std::vector<int32_t>& inputs, int32_t output) {
    Launch launch{.name = "to " + std::to_string(output),
                  .tree = static_cast<int32_t>(inputs.size()) - 1,
                  .buffers = inputs,
                  .tasks = 1};
    launch.buffers.push_back(output);
    return launch;
}

Plan empty_plan() {
    Plan plan;
    for (size_t inputs = 1; inputs <= most_inputs; inputs++) {
        plan.trees.push_back(tree_of(inputs));
        plan.keys.push_back(std::string(16, static_cast<char>('0' + inputs)));
    }
    return plan;
}

// Every launch reads up to three earlier buffers and writes a new one.
Plan random_plan(uint32_t seed) {
    std::mt19937 random(seed);
    Plan plan = empty_plan();
    std::vector<int32_t> known{add_buffer(plan, Buffer::Kind::input, 256)};
    for (int b = 0; b < 12; b++) {
        Batch batch;
        std::vector<int32_t> made;
        for (size_t l = 0; l < 1 + random() % 3; l++) {
            std::vector<int32_t> inputs;
            for (size_t i = 0; i < 1 + random() % most_inputs; i++) {
                size_t recent = std::min<size_t>(known.size(), 6);
                inputs.push_back(known[known.size() - 1 - random() % recent]);
            }
            const auto elements = static_cast<int64_t>(1 + random() % 2'000);
            const int32_t output = random() % 4 == 0
                                       ? add_buffer_with_margins(plan, elements, 1 + static_cast<int64_t>(random() % 40),
                                                                 static_cast<double>(random() % 2))
                                       : add_buffer(plan, Buffer::Kind::workspace, 4 * elements);
            batch.push_back(launch(inputs, output));
            made.push_back(output);
        }
        known.insert(known.end(), made.begin(), made.end());
        plan.run.push_back(std::move(batch));
    }
    return plan;
}

std::string why(const Result<void>& result) { return result ? "" : render(result.error()); }

// How many plans, when there is time (docs/developing.md).
uint32_t plans() {
    const char* text = std::getenv("HEDDLE_TEST_COUNT");
    return text ? static_cast<uint32_t>(std::atoi(text)) : 300;
}

TEST(Memory, live_buffers_share_no_bytes) {
    for (uint32_t seed = 0; seed < plans(); seed++) {
        Plan plan = random_plan(seed);
        place(plan);
        auto fine = verify(plan);
        ASSERT_TRUE(fine) << seed << "\n" << why(fine);
        int64_t sum = 0;
        for (const Buffer& buffer : plan.buffers) {
            if (buffer.kind == Buffer::Kind::input) continue;
            EXPECT_EQ(buffer.offset % 64, 0);
            EXPECT_GE(buffer.first, 0);
            sum += (buffer.bytes + 127) / 64 * 64;
        }
        EXPECT_LE(plan.workspace_bytes, sum);
        EXPECT_GE(plan.workspace_bytes, plan.most_live_bytes());
        EXPECT_GT(plan.most_live_bytes(), 0);
    }
}

TEST(Memory, bytes_are_used_again) {
    Plan plan = empty_plan();
    int32_t last = add_buffer(plan, Buffer::Kind::input, 4'096);
    for (int i = 0; i < 20; i++) {
        int32_t next = add_buffer(plan, Buffer::Kind::workspace, 4'096);
        plan.run.push_back({launch({last}, next)});
        last = next;
    }
    place(plan);
    EXPECT_EQ(plan.most_live_bytes(), 2 * 4'096);
    EXPECT_EQ(plan.workspace_bytes, 2 * (4'096 + 64)) << "two of them, with slack behind each";
}

TEST(Memory, keep_all_keeps_all) {
    for (uint32_t seed = 0; seed < 30; seed++) {
        Plan plan = random_plan(seed);
        place(plan, true);
        EXPECT_TRUE(verify(plan));
        for (const Buffer& a : plan.buffers) {
            for (const Buffer& b : plan.buffers) {
                if (&a == &b || a.kind == Buffer::Kind::input || b.kind == Buffer::Kind::input) continue;
                EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
                    << a.name << " and " << b.name;
            }
        }
    }
}

TEST(Memory, buffers_with_margins_share_bytes_with_all_others) {
    Plan plan = empty_plan();
    int32_t last = add_buffer(plan, Buffer::Kind::input, 4'096);
    for (int i = 0; i < 20; i++) {
        const int32_t next = add_buffer_with_margins(plan, 1'024 + 64 * i, 1 + i % 3, i % 2);
        plan.run.push_back({launch({last}, next)});
        last = next;
    }
    place(plan);
    auto fine = verify(plan);
    EXPECT_TRUE(fine) << why(fine);
    EXPECT_LE(plan.workspace_bytes, plan.most_live_bytes() + 4 * 64);
}

// ---- each kind of corruption is noticed -----------------------------------------------------------------------------

// x -> a -> b, c (one batch) -> y, with a weight packed in `prepare` that the last launch reads.
struct GoodPlan {
    Plan plan = empty_plan();
    int32_t x, w, p, a, b, c, y;

    GoodPlan() {
        x = add_buffer(plan, Buffer::Kind::input, 1'024);
        w = add_buffer(plan, Buffer::Kind::constant, 1'024);
        p = add_buffer(plan, Buffer::Kind::prepared, 1'024);
        a = add_buffer(plan, Buffer::Kind::workspace, 1'024);
        b = add_buffer(plan, Buffer::Kind::workspace, 1'024);
        c = add_buffer_with_margins(plan, 250, 3, 0);
        y = add_buffer(plan, Buffer::Kind::output, 1'024);
        plan.prepare = {{launch({w}, p)}};
        plan.run = {{launch({x}, a)}, {launch({a}, b), launch({a, x}, c)}, {launch({b, c, p}, y)}};
        place(plan);
    }
};

// That of `tree` + 1 inputs with another first memory.
std::shared_ptr<const schedules::Tree> changed(size_t tree, const std::function<void(schedules::Memory&)>& change) {
    schedules::Tree copy = *tree_of(tree + 1);
    change(copy.memories[0]);
    return std::make_shared<const schedules::Tree>(copy);
}

TEST(PlanVerify, accepts_a_good_plan) {
    auto fine = verify(GoodPlan().plan);
    EXPECT_TRUE(fine) << why(fine);
}

TEST(PlanVerify, notices_each_corruption) {
    struct Corruption {
        const char* summary;  // part of what is said
        std::function<void(GoodPlan&)> corrupt;
    };
    auto last = [](GoodPlan& g) -> Launch& { return g.plan.run.back().front(); };
    auto filling = [](GoodPlan& g) -> Launch& { return g.plan.run[1].back(); };
    auto at = [](GoodPlan& g, int32_t buffer) -> Buffer& { return g.plan.buffers[static_cast<size_t>(buffer)]; };
    const Corruption corruptions[] = {
        {"no tree", [&](GoodPlan& g) { last(g).tree = 99; }},
        {"no tree", [&](GoodPlan& g) { last(g).tree = -1; }},
        {"buffers do not fit", [&](GoodPlan& g) { last(g).buffers.pop_back(); }},
        {"numbers do not fit", [&](GoodPlan& g) { last(g).numbers.push_back(1); }},
        {"numbers do not fit", [&](GoodPlan& g) { ++last(g).tasks; }},
        {"not there", [&](GoodPlan& g) { last(g).buffers[0] = 99; }},
        {"not there", [&](GoodPlan& g) { last(g).buffers[0] = -1; }},
        {"writes what is read-only", [&](GoodPlan& g) { last(g).buffers.back() = g.x; }},
        {"writes what is read-only", [&](GoodPlan& g) { last(g).buffers.back() = g.w; }},
        {"writes what is read-only", [](GoodPlan& g) { g.plan.run.insert(g.plan.run.begin(), {launch({g.x}, g.p)}); }},
        {"nothing has written", [](GoodPlan& g) { g.plan.run.erase(g.plan.run.begin()); }},
        {"nothing has written", [](GoodPlan& g) { std::swap(g.plan.run[1], g.plan.run[2]); }},
        {"nothing has written", [](GoodPlan& g) { g.plan.prepare.clear(); }},
        {"nothing has written", [](GoodPlan& g) { g.plan.run[1][1].buffers[0] = g.b; }},
        {"two live buffers share bytes",
         [](GoodPlan& g) {
             g.plan.buffers[static_cast<size_t>(g.b)].offset = g.plan.buffers[static_cast<size_t>(g.a)].offset;
         }},
        {"two live buffers share bytes",
         [](GoodPlan& g) {
             g.plan.buffers[static_cast<size_t>(g.c)].offset = g.plan.buffers[static_cast<size_t>(g.b)].offset;
         }},
        {"two live buffers share bytes",
         [](GoodPlan& g) {
             g.plan.buffers[static_cast<size_t>(g.b)].offset = g.plan.buffers[static_cast<size_t>(g.a)].offset + 960;
         }},
        {"outside of the workspace",
         [](GoodPlan& g) { g.plan.buffers[static_cast<size_t>(g.a)].offset = g.plan.workspace_bytes; }},
        {"outside of the workspace", [](GoodPlan& g) { g.plan.buffers[static_cast<size_t>(g.a)].offset = -64; }},
        {"outside of the workspace", [](GoodPlan& g) { g.plan.workspace_bytes /= 2; }},
        {"no tasks", [&](GoodPlan& g) { last(g).tasks = -1; }},
        {"more scratch", [&](GoodPlan& g) { last(g).scratch_bytes = 64; }},
        {"one key", [](GoodPlan& g) { g.plan.keys[1] = g.plan.keys[0]; }},
        {"one key", [](GoodPlan& g) { g.plan.keys.pop_back(); }},
        {"tables differ", [](GoodPlan& g) { g.plan.graph_tensor.pop_back(); }},
        {"none of its tensor", [&](GoodPlan& g) { at(g, g.a).sizes = {2, 128}; }},
        {"none of its tensor", [&](GoodPlan& g) { at(g, g.a).storage.order = {1}; }},
        {"none of its tensor", [&](GoodPlan& g) { at(g, g.a).storage.margin_before = {-1}; }},
        {"none of its tensor",
         [&](GoodPlan& g) {
             at(g, g.a).sizes = {int64_t(1) << 62};
             at(g, g.a).storage.extent = {int64_t(1) << 62};
         }},
        {"not those of its map", [&](GoodPlan& g) { at(g, g.a).bytes = 1'020; }},
        {"not those of its map", [&](GoodPlan& g) { at(g, g.a).base = 64; }},
        {"has no bytes, or a base", [&](GoodPlan& g) { at(g, g.a).packed = "map", at(g, g.a).base = 4; }},
        {"not filled", [&](GoodPlan& g) { at(g, g.c).filling = -0.0; }},
        {"a constant", [&](GoodPlan& g) { at(g, g.w).constant.reset(); }},
        {"a constant", [&](GoodPlan& g) { at(g, g.w).constant = TensorData(DType::float32, {255}); }},
        {"does not have", [&](GoodPlan& g) { at(g, g.x).index = 1; }},
        {"does not have", [&](GoodPlan& g) { at(g, g.y).index = -1; }},
        {"as its owner sees it", [&](GoodPlan& g) { g.plan.input_types[0].dtype = DType::int32; }},
        {"as its owner sees it", [&](GoodPlan& g) { g.plan.output_types[0].shape = {16, 16}; }},
        {"an output has no buffer",
         [](GoodPlan& g) {
             g.plan.output_types.push_back({DType::float32, {256}});
             g.plan.output_names.push_back("z");
         }},
        {"an output is not written", [](GoodPlan& g) { g.plan.run.pop_back(); }},
        {"another dtype", [](GoodPlan& g) { g.plan.trees[2] = changed(2, [](auto& m) { m.dtype = DType::int32; }); }},
        {"not ours", [](GoodPlan& g) { g.plan.trees[0] = changed(0, [](auto& m) { m.slack = true; }); }},
        {"not ours", [](GoodPlan& g) { g.plan.trees[0] = changed(0, [](auto& m) { m.aligned = true; }); }},
        {"a base that is not aligned",
         [&](GoodPlan& g) {
             g.plan.trees[2] = changed(2, [](auto& m) { m.aligned = true; });
             at(g, g.b).storage.margin_before = {1};
             at(g, g.b).bytes += 4;
             at(g, g.b).base = 4;
         }},
        {"is not aligned", [&](GoodPlan& g) { at(g, g.a).offset += 4, g.plan.workspace_bytes += 64; }},
        {"nothing fills the margins", [](GoodPlan& g) { g.plan.run[1].pop_back(); }},
        {"nothing fills the margins", [&](GoodPlan& g) { filling(g).fills = false; }},
        {"nothing fills the margins",
         [&](GoodPlan& g) {
             g.plan.run.insert(g.plan.run.begin() + 2, Batch{filling(g)});
             g.plan.run[1].pop_back();
             for (int32_t b : {g.b, g.c, g.p, g.y}) at(g, b).last++;
         }},
        {"other margins", [&](GoodPlan& g) { ++filling(g).numbers.back(); }},
        {"other margins", [&](GoodPlan& g) { at(g, g.c).filling = at(g, g.c).storage.filling = 1; }},
        {"other margins",
         [&](GoodPlan& g) {
             at(g, g.c).storage.margin_before = {4}, at(g, g.c).storage.margin_after = {2};
             at(g, g.c).base = 16;
         }},
        {"neither lies above", [](GoodPlan& g) { g.plan.stack.back().below.clear(); }},
        {"leaves a buffer out", [](GoodPlan& g) { g.plan.stack.pop_back(); }},
        {"where the stack has it",
         [&](GoodPlan& g) {
             for (int32_t b : {g.a, g.b, g.c}) at(g, b).offset += 64;
             g.plan.workspace_bytes += 64;
         }},
        {"as the stack is high", [](GoodPlan& g) { g.plan.workspace_bytes += 64; }},
        {"lifetime", [](GoodPlan& g) { g.plan.buffers[static_cast<size_t>(g.b)].last = 1; }},
        {"lifetime", [](GoodPlan& g) { g.plan.buffers[static_cast<size_t>(g.a)].first = 1; }},
    };
    for (size_t i = 0; i < std::size(corruptions); i++) {
        GoodPlan good;
        corruptions[i].corrupt(good);
        auto fine = verify(good.plan);
        ASSERT_FALSE(fine) << "corruption " << i << " is not noticed: " << corruptions[i].summary;
        EXPECT_EQ(fine.error().front().code, "plan.broken");
        EXPECT_NE(fine.error().front().summary.find(corruptions[i].summary), std::string::npos)
            << i << ": " << why(fine);
    }
}

TEST(PlanVerify, notices_launches_of_one_batch_that_depend_on_each_other) {
    GoodPlan good;
    // The buffer was written before, so that only the batch is wrong.
    good.plan.run[1].push_back(launch({good.x}, good.a));
    auto fine = verify(good.plan);
    ASSERT_FALSE(fine);
    EXPECT_NE(fine.error().front().summary.find("depend on each other"), std::string::npos) << why(fine);
}

}  // namespace
}  // namespace heddle::plan
