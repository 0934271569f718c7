// `heddle check` sees every shipped operator work, and notices single mistakes that are put into them.
#include <regex>
#include <set>

#include "helpers/shipped.h"
#include "rewrite/trial.h"

#include "rewrite_session.h"
#include "support/file.h"

namespace heddle::rewrite {
namespace {

const Library& shipped() {
    static const Library library = [] {
        Library made;
        EXPECT_TRUE(made.add_folder(in_source("operators")));
        EXPECT_TRUE(made.add_folder(in_source("operators/onnx"), Namespace::onnx));
        EXPECT_TRUE(made.add_library(in_source("examples/gallery"), "gallery"));
        return made;
    }();
    return library;
}

std::string outcome(const Template& metakernel, const Library& library) {
    const Trial trial = try_operator(metakernel, library);
    if (!trial.mistakes.empty()) return render(trial.mistakes);
    return trial.not_shown ? render(*trial.not_shown) : "";
}

TEST(ShippedTrials, EveryOperatorIsSeenToWork) {
    int tried = 0;
    for (const std::string& name : shipped().names()) {
        const auto found = shipped().find(name);
        ASSERT_TRUE(found) << name;
        EXPECT_EQ(outcome(**found, shipped()), "") << name;
        ++tried;
    }
    for (const std::string& name : shipped().onnx_names()) {
        const auto found = find_onnx(shipped(), name, 25);
        if (!found) continue;  // of newer operator sets
        // Made-up sizes do not fit what their patterns cannot say: as many columns as there are windows; tensors of three
        // kinds in turn in one list; packed bytes, whose number is a product of parameters.
        const std::set<std::string> not_made_up = {"Col2Im", "com.microsoft::QLinearConcat", "com.microsoft::MatMulNBits"};
        if (not_made_up.contains(name)) continue;
        EXPECT_EQ(outcome(**found, shipped()), "") << name;
        ++tried;
    }
    EXPECT_GE(tried, 400);
}

// ---- mistakes that are put in

// The lines of one template, and of the functions of its file.
struct Text {
    std::string functions, lines;
};

std::vector<Text> templates_of(const std::string& path) {
    const auto text = read_file(path, 1 << 22);
    EXPECT_TRUE(text) << path;
    std::vector<std::string> blocks;
    std::istringstream lines(text.value_or(""));
    for (std::string line; std::getline(lines, line);) {
        const bool begins = !line.empty() && line[0] != ' ' && line[0] != '#';
        if (begins || blocks.empty()) blocks.emplace_back();
        blocks.back() += line + "\n";
    }
    std::string functions;
    std::vector<Text> found;
    for (const std::string& block : blocks)
        if (block.starts_with("let:")) functions = block;
    for (const std::string& block : blocks)
        if (block.find("\n  body: ") != std::string::npos && block.find("\n  family:") == std::string::npos)
            found.push_back({functions, block});
    return found;
}

// The first place that a pattern finds in the body, or in the signature before it, changed; nothing where it finds none.
std::string changed(const Text& text, const char* pattern, const char* into, bool in_body) {
    const size_t body = text.lines.find("\n  body: ");
    const std::string head = text.lines.substr(0, body), tail = text.lines.substr(body);
    const std::string& part = in_body ? tail : head;
    const std::string made = std::regex_replace(part, std::regex(pattern), into, std::regex_constants::format_first_only);
    return made == part ? "" : text.functions + (in_body ? head + made : made + tail);
}

struct Mistake {
    const char* what;
    const char* pattern;
    const char* into;
    bool in_body;
};
const Mistake mistakes[] = {
    {"a coordinate is missing", R"((\b[a-zA-Z]\w*\[@[^\[\],]*(?:, [^\[\],]*)*), [^\[\],]*\])", "$1]", true},
    {"a coordinate too many", R"((\b[a-zA-Z]\w*\[@[^\[\]]*)\])", "$1, 0]", true},
    {"a name that is not there", R"(\b([a-zA-Z]\w*)(\[@))", "$1_$2", true},
    {"an axis that is not there", R"(@([a-z]\w*))", "@$1_", true},
    {"the element type of the result", R"(outputs: \{(\w+): "?\$\w+)", "outputs: {$1: \"bool", false},
    {"a condition for a number", R"( ([+*]) )", " && ", true},
    {"a function of integers", R"(\b(exp|log|sqrt|tanh|sin|cos)\()", "bit_not(", true},
    {"two coordinates change places", R"((\b[a-zA-Z]\w*\[)(@\w+), (@\w+)([,\]]))", "$1$3, $2$4", true},
};

// What only moves elements is right of bools, too.
bool has_arithmetic(const Text& text) { return std::regex_search(text.lines, std::regex(R"( / |\b(exp|log|sqrt|tanh)\()")); }

// Some of what is put in is no mistake: coordinates of a guarded read, or of a branch that is not there.
TEST(ShippedTrials, MistakesThatArePutInAreNoticed) {
    std::map<std::string, std::pair<int, int>> noticed;  // of how many
    for (const char* file : {"contraction", "convolution", "normalisation", "pooling", "movement", "reduction", "recurrent",
                             "attention", "spectral", "activation"}) {
        for (const Text& text : templates_of(in_source(std::string("operators/") + file + ".yaml"))) {
            for (const Mistake& mistake : mistakes) {
                const std::string wrong = changed(text, mistake.pattern, mistake.into, mistake.in_body);
                if (wrong.empty() || (!mistake.in_body && !has_arithmetic(text))) continue;
                Library library;
                ASSERT_TRUE(library.add_folder(in_source("operators")));
                auto& [found, all] = noticed[mistake.what];
                ++all;
                const auto added = library.add_source(std::make_shared<const SourceText>("t.yaml", wrong));
                const auto metakernel = library.find(text.lines.substr(0, text.lines.find(':')));
                const bool seen = !added || !metakernel || !outcome(**metakernel, library).empty();
                found += seen;
            }
        }
    }
    int found = 0, all = 0;
    for (const auto& [what, counts] : noticed) {
        RecordProperty(what, std::to_string(counts.first) + " of " + std::to_string(counts.second));
        found += counts.first;
        all += counts.second;
    }
    EXPECT_GE(all, 250);
    EXPECT_GE(found * 100, all * 94) << found << " of " << all;
}

}  // namespace
}  // namespace heddle::rewrite
