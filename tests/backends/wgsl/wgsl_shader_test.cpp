// Scheduled trees as WGSL: what is written, that what implementations stumble over is not, and what is refused. Whether
// implementations take it is tests/webgpu/run.py's question, of the modules that are written here.
#include "backends/wgsl/wgsl_checks.h"
#include "backends/wgsl/wgsl_shader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "../kernel_harness.h"

namespace heddle::backends {
namespace {

std::shared_ptr<schedules::Tree> tree_of(const std::string& kernel, const Target& target = webgpu_target()) {
    auto parsed = schedules::parse_kernel(std::make_shared<SourceText>("kernel", kernel));
    EXPECT_TRUE(parsed) << (parsed ? "" : render(parsed.error()));
    if (!parsed) return nullptr;
    auto scheduled = schedules::schedule(*parsed, target);
    EXPECT_TRUE(scheduled) << (scheduled ? "" : render(scheduled.error()));
    return scheduled ? std::make_shared<schedules::Tree>(std::move(scheduled->tree)) : nullptr;
}

std::string code_of(const std::string& kernel, int64_t scratch = 1024) {
    const auto tree = tree_of(kernel);
    auto shader = wgsl_shader(*tree, webgpu_target(), scratch);
    EXPECT_TRUE(shader) << (shader ? "" : render(shader.error()));
    return shader ? shader->text : "";
}

std::string refusal_of(const std::string& kernel, const Target& target = webgpu_target()) {
    const auto tree = tree_of(kernel, target);
    auto shader = wgsl_shader(*tree, webgpu_target(), 1024);
    return shader ? "" : shader.error().front().code;
}

// A row-major kernel of one equation over n x m.
std::string rows(const std::string& tensors, const std::string& equations) {
    return "kernel test\naxis i = 5 hint 5\naxis j = 300 hint 300\n" + tensors + equations;
}

// Each tree of the corpus, and of the copies that pack its operands.
void each_tree(const std::vector<LoadedKernel>& kernels,
               const std::function<void(const std::string&, const Scheduled&)>& visit) {
    const std::function<void(const std::string&, const Prepared&)> all = [&](const std::string& name,
                                                                             const Prepared& p) {
        visit(name, *p.scheduled);
        for (const Prepared& packing : p.packings) all(name + " packing", packing);
    };
    for (const LoadedKernel& kernel : kernels) all(kernel.name, kernel.prepared);
}

size_t count(const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) found++;
    return found;
}

// What facts/webgpu lists, of every module that the corpus comes to. They are left in a folder for other tests.
TEST(Fusion19, NoModuleOfTheCorpusHasWhatImplementationsStumbleOver) {
    const std::filesystem::path folder = HEDDLE_WGSL_CORPUS;
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    std::set<std::string> texts, refused;
    size_t barriers = 0;
    each_tree(load_kernels(webgpu_target()), [&](const std::string& name, const Scheduled& scheduled) {
        auto shader = wgsl_shader(scheduled.tree, webgpu_target(), scheduled.launch.scratch_bytes);
        if (!shader) {
            refused.insert(shader.error().front().code);
            if (shader.error().front().code == "backends.wgsl_construct")
                ADD_FAILURE() << name << ": " << render(shader.error());
            return;
        }
        const std::string& text = shader->text;
        if (!texts.insert(text).second) return;
        // A barrier stands behind no return but that of whole workgroups.
        EXPECT_EQ(count(text, "return; }"), 1u) << name;
        EXPECT_NE(text.find("if (task >= launch[0].y) { return; }"), std::string::npos) << name;
        EXPECT_EQ(text.find("--"), std::string::npos) << name;
        EXPECT_FALSE(std::regex_search(text, std::regex("[^_a-z](inf|nan)[^_a-z]"))) << name;
        EXPECT_FALSE(std::regex_search(text, std::regex("[^_](tanh|exp|log|sin|cos|pow)\\("))) << name;
        EXPECT_FALSE(std::regex_search(text, std::regex("(v[0-9]+) (!=|==) \\1[^0-9]"))) << name;
        EXPECT_EQ(text.find("i64"), std::string::npos) << name;
        EXPECT_EQ(text.find("f64"), std::string::npos) << name;
        EXPECT_LE(shader->workgroup_bytes, webgpu_target().workgroup_bytes) << name;
        EXPECT_LE(shader->workgroup_size, 256) << name;
        barriers += count(text, "workgroupBarrier();");
        std::ofstream(folder / ("kernel_" + std::to_string(texts.size()) + ".wgsl")) << text;
    });
    EXPECT_GT(texts.size(), 100u);
    EXPECT_GT(barriers, 100u);
    for (const std::string& code : refused)
        EXPECT_TRUE(code == "backends.wgsl_type" || code == "backends.wgsl_integer" || code == "backends.wgsl_function")
            << code;
}

TEST(Fusion19, NanIsFoundByItsBits) {
    const std::string text = code_of(rows("input x: float32 [5, 300]\noutput y: bool [5, 300]\n",
                                          "common i j\ny[i, j] over [i, j] = is_nan(x[i, j])\n"));
    EXPECT_NE(text.find("& 0x7fffffffu) > 0x7f800000u"), std::string::npos) << text;
}

TEST(Fusion19, InfinitiesAreVariables) {
    const std::string text = code_of(
        rows("input x: float32 [5, 300]\noutput y: float32 [5]\n", "common i\ny[i] over [i] = max over [j] x[i, j]\n"));
    EXPECT_NE(text.find("var<private> infinity: u32 = 0x7f800000u;"), std::string::npos);
    EXPECT_NE(text.find("bitcast<f32>(infinity | 0x80000000u)"), std::string::npos) << text;
}

// Lanes join by halves, all of them at each barrier.
TEST(Fusion19, ReducedLanesFoldByATree) {
    const std::string text = code_of(
        rows("input x: float32 [5, 300]\noutput y: float32 [5]\n", "common i\ny[i] over [i] = sum over [j] x[i, j]\n"));
    for (int half : {32, 16, 8, 4, 2})
        EXPECT_NE(text.find("exchange[min(lane + " + std::to_string(half) + "i, 127i)]"), std::string::npos) << half;
    EXPECT_EQ(count(text, "workgroupUniformLoad"), 2u);
}

TEST(Fusion19, BytesOfAWordAreWrittenByAtomicOperations) {
    const std::string text = code_of(rows("input x: uint8 [5, 300]\noutput y: uint8 [5, 300]\n",
                                          "common i j\ny[i, j] over [i, j] = (x[i, j] + x[i, j])\n"));
    EXPECT_NE(text.find("m0: array<u32>"), std::string::npos) << text;
    EXPECT_NE(text.find("m1: array<atomic<u32>>"), std::string::npos) << text;
    EXPECT_NE(text.find("& 255u)"), std::string::npos) << "sums wrap";
}

TEST(Fusion19, ArraysThatDoNotFitAWorkgroupLieInABuffer) {
    const std::string kernel =
        rows("input x: float32 [5, 300]\noutput y: float32 [5, 300]\nlocal m: float32 [5]\n",
             "common i\nm[i] over [i] = max over [j] x[i, j]\ny[i, j] over [i, j] = x[i, j] - m[i]\n");
    EXPECT_NE(code_of(kernel).find("var<workgroup> scratch"), std::string::npos);
    const std::string large = code_of(kernel, 1 << 20);
    EXPECT_NE(large.find("var<storage, read_write> report"), std::string::npos);
    EXPECT_NE(large.find("let scratch_base = (task - launch[0].x) * launch[1].y;"), std::string::npos);
    EXPECT_NE(large.find("storageBarrier();"), std::string::npos);
}

// Updates that overlap from point to point go one element after another: lanes would read what others write.
TEST(Fusion19, LanesOfAnUpdateKeepToElementsOfTheirOwn) {
    const auto kernel = [](const std::string& place) {
        return "kernel test\naxis i = 300 hint 300\naxis k = 40 hint 40\naxis j = 64 hint 64\n"
               "input p: int64 [40]\ninput u: float32 [40, 64]\noutput y: float32 [300]\ncommon\n"
               "y[i] over [i] = 0.0\n"
               "update y[" +
               place + "] over [j] for [k] = inside(p[k], 200) ? (y[" + place + "] + u[k, j]) : y[" + place + "]\n";
    };
    const std::string own = code_of(kernel("j")), overlapping = code_of(kernel("p[k] + j"));
    const auto stores_of_lanes = [](const std::string& text) {
        const std::string update = text.substr(text.rfind("// phase"));
        return std::regex_search(update, std::regex("m[0-9]+\\[[^\\]]*lane\\] = "));
    };
    EXPECT_TRUE(stores_of_lanes(own)) << own;
    EXPECT_FALSE(stores_of_lanes(overlapping)) << overlapping;
}

// An echo from more than a vector's lanes back: on vectors a load of what an earlier one has stored; here a race.
TEST(Fusion19, NoLaneReadsWhatAnotherHasStoredInItsPhase) {
    const std::string kernel =
        "kernel test\naxis i = 100 hint 100\naxis t = 2000 hint 2000\ninput x: float32 [2000]\n"
        "output y: float32 [2100]\ncommon\ny[i] over [i] = 0.0\ny[t + 100] over [] step t = x[t] + y[t] * 0.5\n";
    const auto has_lanes = [](const schedules::Tree& tree) {
        const std::string text = schedules::print(tree);
        return text.find("lanes t") != std::string::npos;
    };
    EXPECT_TRUE(has_lanes(*tree_of(kernel, Target{})));
    EXPECT_FALSE(has_lanes(*tree_of(kernel)));
}

TEST(WgslShader, RefusesWhat32BitsCannotHold) {
    EXPECT_EQ(refusal_of(rows("input x: float64 [5, 300]\noutput y: float64 [5, 300]\n",
                              "common i j\ny[i, j] over [i, j] = (x[i, j] + x[i, j])\n")),
              "backends.wgsl_type");
    EXPECT_EQ(refusal_of(rows("input x: float32 [5, 300]\noutput y: float32 [5, 300]\n",
                              "common i j\ny[i, j] over [i, j] = lgamma(x[i, j])\n")),
              "backends.wgsl_function");
}

// Which integers of 64 bits are computed follows from what memories hold.
TEST(WgslShader, KnowsWhichIntegersFit32Bits) {
    const auto held_behind = [](const std::string& value, double x, double z) {
        const auto tree = tree_of(rows("input x: int64 [5, 300]\ninput z: int64 [5, 300]\noutput y: int64 [5, 300]\n",
                                       "common i j\ny[i, j] over [i, j] = " + value + "\n"));
        const auto held = check_wgsl_integers(*tree, std::vector<int64_t>(tree->numbers.size(), 300), {x, z, 0});
        EXPECT_TRUE(held || held.error().front().code == "backends.wgsl_integer");
        return held ? (*held)[2] : -1;
    };
    // The sum of two that are checked when they are read fits, and their product does not.
    EXPECT_EQ(held_behind("(x[i, j] + z[i, j])", most_read, most_read), 0x1p31);
    EXPECT_EQ(held_behind("mul(x[i, j], z[i, j])", most_read, most_read), -1);
    EXPECT_EQ(held_behind("mul(x[i, j], z[i, j])", 5000, 300), 1500000);
    // Bits above those of both are of neither.
    EXPECT_EQ(held_behind("bit_xor(x[i, j], z[i, j])", 5000, 300), 8192);
    EXPECT_EQ(held_behind("bit_xor(x[i, j], z[i, j])", 4096, 0), 8192);
    EXPECT_EQ(held_behind("bit_and((x[i, j] + z[i, j]), x[i, j])", most_read, most_read), 0x1p31);
}

// Of trees that are scheduled for vectors, whose lanes move.
TEST(WgslShader, RefusesWhatOnlyVectorsDo) {
    std::set<std::string> codes;
    each_tree(load_kernels(Target{}), [&](const std::string&, const Scheduled& scheduled) {
        auto shader = wgsl_shader(scheduled.tree, webgpu_target(), 1024);
        if (!shader) codes.insert(shader.error().front().code);
    });
    EXPECT_TRUE(codes.contains("backends.wgsl_construct"));
}

}  // namespace
}  // namespace heddle::backends
