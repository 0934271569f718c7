// --bind: names that are there, names that are not, and all that are open.
#include <gtest/gtest.h>

#include "cli/bindings.h"
#include "command_test.h"
#include "onnx_writer.h"
#include "support/npz.h"

namespace heddle {
namespace {

using cli::BindableDimensions;
using cli::resolve_bindings;
using Texts = std::vector<std::string>;

TEST(Bindings, of_input_types) {
    const auto found = cli::dimensions_in({"x=float32[batch, seq = 4, 3]", "y=int64[seq, 2:5]", "z=float32"});
    EXPECT_EQ(found.all, (Texts{"batch", "seq"}));
    EXPECT_EQ(found.open, (Texts{"batch"}));
}

TEST(Bindings, a_star_is_all_that_are_open_and_not_named) {
    const BindableDimensions dimensions{{"batch", "seq", "fixed"}, {"batch", "seq"}};
    EXPECT_EQ(*resolve_bindings({"*=1"}, dimensions), (Texts{"batch=1", "seq=1"}));
    EXPECT_EQ(*resolve_bindings({"seq=1:64", "*=2"}, dimensions), (Texts{"seq=1:64", "batch=2"}));
    EXPECT_EQ(*resolve_bindings({"*=2,seq=3"}, dimensions), (Texts{"seq=3", "batch=2"}));
    EXPECT_EQ(*resolve_bindings({"*=1"}, {}), Texts{});
    const auto unknown = resolve_bindings({"bath=3", "sek=1,batch=1"}, dimensions);
    ASSERT_FALSE(unknown);
    ASSERT_EQ(unknown.error().size(), 2u);
    EXPECT_EQ(unknown.error()[0].code, "cli.unknown_dimension");
    EXPECT_EQ(unknown.error()[0].remedy, "did you mean 'batch'?");
    EXPECT_EQ(unknown.error()[1].remedy, "did you mean 'seq'?");
}

class BindCommand : public CommandTest {
protected:
    const std::string model_ = write("model.onnx", perceptron());
};

// In every command that takes it, also where another name is right.
TEST_F(BindCommand, an_unknown_name_is_an_error_everywhere) {
    const std::string svg = path("a.svg"), out = path("out");
    const std::vector<Texts> commands = {
        {"run", model_, "--random", "1"},
        {"compare", model_, "--with", "reference", "--random", "1"},
        {"graph", model_, "--svg", svg},
        {"grad", model_, "--random", "1"},
        {"compile", model_, "-o", out},
        {"compile", model_, "-o", out, "--target", "webgpu"},
        {"run", "--call", "exp(x)", "--input-type", "x=float32[batch]", "--random", "1"},
        {"compare", "--call", "exp(x)", "--input-type", "x=float32[batch]", "--random", "1", "--with", "reference"},
        {"graph", "--call", "exp(x)", "--input-type", "x=float32[batch]", "--svg", svg},
        {"grad", "--call", "exp(x)", "--input-type", "x=float32[batch]", "--random", "1"},
        {"compile", "--call", "exp(x)", "--input-type", "x=float32[batch]", "-o", out}};
    for (const Texts& command : commands) {
        for (const char* bound : {"bath=3", "batch=3,bath=3"}) {
            Texts words = command;
            words.insert(words.end(), {"--bind", bound});
            const auto outcome = heddle(words);
            EXPECT_EQ(outcome.status, 1) << command[0];
            EXPECT_CONTAINS(outcome.errors, "error[cli.unknown_dimension]: there is no dimension 'bath' to bind");
            EXPECT_CONTAINS(outcome.errors, "did you mean 'batch'?");
        }
    }
    const auto ranged = heddle({"compile", model_, "-o", out, "--bind", "batch=1,bath=1:4"});
    EXPECT_CONTAINS(ranged.errors, "cli.unknown_dimension");
}

TEST_F(BindCommand, a_star_binds_models_and_calls) {
    EXPECT_EQ(heddle({"run", model_, "--random", "1", "--bind", "*=2"}).status, 0);
    const auto called = heddle(
        {"run", "--call", "exp(x)", "--input-type", "x=float32[rows, cols=3]", "--random", "1", "--bind", "*=2"});
    EXPECT_CONTAINS(called.output, "float32[2, 3]");
    EXPECT_EQ(heddle({"compile", model_, "-o", path("out"), "--bind", "*=1:2", "--emit", "c"}).status, 0);
}

TEST_F(BindCommand, arrays_by_their_names_and_files_by_their_endings) {
    TensorData x(DType::float32, {2}), w(DType::float32, {2});
    for (int64_t i = 0; i < 2; i++) x.set_real(i, 1 + static_cast<double>(i)), w.set_real(i, 10);
    ASSERT_TRUE(write_npz(path("in.npz"), {{"x", &x}, {"w", &w}}));
    const auto all = heddle({"run", "--call", "mul(x, w)", "--input", path("in.npz"), "--output", path("y.npy")});
    ASSERT_EQ(all.status, 0) << all.errors;
    const auto y = read_npy(path("y.npy"));
    ASSERT_TRUE(y) << render(y.error());
    EXPECT_EQ(y->real_at(1), 20);
    const auto one =
        heddle({"run", "--call", "mul(x, x)", "--input", "x=" + path("in.npz"), "--output", path("y.npz")});
    ASSERT_EQ(one.status, 0) << one.errors;
    const auto zip = read_npz(path("y.npz"));
    ASSERT_TRUE(zip && zip->contains("result"));
    EXPECT_EQ(zip->at("result").real_at(1), 4);
    EXPECT_CONTAINS(heddle({"run", "--call", "exp(z)", "--input", "z=" + path("in.npz")}).errors, "has no array 'z'");
    // What cannot be written is told by its own name.
    const std::string nowhere = path("nowhere/y.npz");
    const auto refused = heddle({"run", "--call", "exp(x)", "--input", path("in.npz"), "--output", nowhere});
    EXPECT_CONTAINS(refused.errors, "cannot create '" + nowhere + "'");
    EXPECT_EQ(refused.errors.find(".part"), std::string::npos) << refused.errors;
    const auto several = heddle({"grad", "--call", "mul(x, w)", "--input", path("in.npz"), "--loss",
                                 "reduce_sum(result)", "--output", path("two.npy")});
    EXPECT_CONTAINS(several.errors, "cli.output");
}

}  // namespace
}  // namespace heddle
