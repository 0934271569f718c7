// heddle check on the compiler's own text forms.
#include "command_test.h"

#include <sstream>

namespace heddle {
namespace {

class CheckText : public CommandTest {
protected:
    // What `explain` prints from the line that begins with `first` to the last that is indented deeper.
    std::string printed(const std::string& option, const std::string& first) {
        const auto found = heddle({"explain", "softmax", "x=float32[8,100]", option});
        EXPECT_EQ(found.status, 0) << found.errors;
        std::istringstream lines(found.output);
        std::string text;
        size_t depth = std::string::npos;
        for (std::string line; std::getline(lines, line);) {
            const size_t indent = line.find_first_not_of(' ');
            if (depth == std::string::npos && line.substr(std::min(indent, line.size())).starts_with(first))
                depth = indent;
            else if (depth != std::string::npos && (indent == std::string::npos || indent <= depth))
                break;
            if (depth != std::string::npos) text += line.substr(depth) + "\n";
        }
        return text;
    }
    void expect_fine(const std::string& text, const std::string& says) {
        const auto found = heddle({"check", write("form.txt", text)});
        EXPECT_EQ(found.status, 0) << found.errors << text;
        EXPECT_NE(found.output.find("fine; "), std::string::npos) << found.output;
        EXPECT_NE(found.output.find(says), std::string::npos) << found.output;
    }
    void expect_problem(const std::string& text, const std::string& code, const std::string& place) {
        const auto found = heddle({"check", write("form.txt", text)});
        EXPECT_EQ(found.status, 1) << text;
        EXPECT_NE(found.errors.find(code), std::string::npos) << found.errors;
        EXPECT_NE(found.errors.find(place), std::string::npos) << found.errors;
    }
};

const char* const kernel =
    "# rows\nkernel k\n  axis a = 5\n  axis b = 300\n  input x: float32 [5, 300]\n  output y: float32 [5]\n  common "
    "a\n"
    "  y[a] over [a] = sum over [b] x[a, b]\n";

TEST_F(CheckText, AKernelAndWhatIsChosenForIt) {
    expect_fine(kernel, "phase y");
    std::string wrong = kernel;
    expect_problem(wrong.replace(wrong.find("x[a, b]\n"), 8, "z[a, b]\n"), "expr.unknown_name", "form.txt:8");
}

TEST_F(CheckText, ASystem) {
    const std::string system =
        "system s\n  in x: float32[4, 5]\n  local m: float32[4]\n  local y: float32[4, 5]\n"
        "  for a < 4: m[a] = max(b < 5: x[a, b])\n  for a < 4, b < 5: y[a, b] = value.add(x[a, b], m[a])\n  outputs "
        "y\n";
    expect_fine(system, "2 equations, 2 after substitution, in 1 kernels");
    std::string wrong = system;
    expect_problem(wrong.replace(wrong.find("x[a, b])"), 8, "x[a, 9])"), "expr.out_of_range", "form.txt");
}

TEST_F(CheckText, AScheduledKernel) {
    const std::string tree = printed("--schedule", "scheduled ");
    expect_fine(tree, "launch numbers, key ");
    std::string wrong = tree;
    expect_problem(wrong.replace(wrong.find("phase "), 6, "phrase "), "schedules.syntax", "form.txt:");
}

TEST_F(CheckText, APlan) {
    const std::string plan = printed("--schedule", "plan: ");
    expect_fine(plan, "1 launches, 1 kernels; for all of its sizes ");
    expect_problem(plan + "  run 0 frobnicate\n", "schedules.syntax", "form.txt:");
}

// Lines of what is printed fit a terminal, and what goes on in the next line is read back.
TEST_F(CheckText, NoLineOfASchedulesTextIsLong) {
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"softmax", "x=float32[8,100]"},
             {"matmul", "X=float32[100,200]", "W=float32[200,300]"},
             {"conv", "X=float32[1,16,19,19]", "W=float32[32,16,3,3]", "pads=1"},
             {"lstm", "X=float32[3,2,4]", "W=float32[1,12,4]", "R=float32[1,12,3]"}}) {
        SCOPED_TRACE(words[0]);
        std::vector<std::string> all = {"explain"};
        all.insert(all.end(), words.begin(), words.end());
        all.insert(all.end(), {"--equations", "--schedule"});
        const auto found = heddle(all);
        ASSERT_EQ(found.status, 0) << found.errors;
        const size_t begin = found.output.find("\nequations as lowered\n"), plan = found.output.find("\nplan: ");
        ASSERT_TRUE(begin != std::string::npos && plan != std::string::npos);
        std::istringstream lines(found.output.substr(begin));
        for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
        EXPECT_CONTAINS(found.output.substr(plan), "\\\n");
        if (words[0] != "lstm") expect_fine(found.output.substr(plan + 1), "launches");  // its constants are no text
    }
}

TEST_F(CheckText, AnotherTextIsNone) {
    expect_problem("frobnicate 1\n", "cli.text_form", "form.txt:1:1");
    expect_problem("", "cli.text_form", "form.txt");
    EXPECT_EQ(heddle({"check", path("absent.txt")}).status, 1);
}

// What is chosen for another machine than this one.
TEST_F(CheckText, ATargetIsAFile) {
    const std::string target =
        write("target.json", "{\"name\": \"small\", \"vector_bytes\": 16, \"vector_registers\": 16}");
    const auto found = heddle({"explain", "softmax", "x=float32[8,100]", "--schedule", "--target", target});
    EXPECT_EQ(found.status, 0) << found.errors;
    EXPECT_NE(found.output.find("by 8 x 4 mask last reduced"), std::string::npos) << found.output;
    EXPECT_EQ(heddle({"explain", "softmax", "x=float32[8,100]", "--target", path("absent.json")}).status, 1);
}

}  // namespace
}  // namespace heddle
