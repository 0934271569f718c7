#include "code_shape.h"

#include <map>
#include <sstream>
#include <string_view>

namespace heddle::backends {
namespace {

struct Line {
    std::string label;  // or
    std::string name, operands;
};

// Without directives and comments.
std::vector<Line> read_lines(const std::string& assembly) {
    std::vector<Line> lines;
    std::istringstream stream(assembly);
    for (std::string text; std::getline(stream, text);) {
        if (const size_t comment = text.find('#'); comment != std::string::npos) text.resize(comment);
        const size_t start = text.find_first_not_of(" \t");
        if (start == std::string::npos) continue;
        const size_t end = text.find_last_not_of(" \t");
        text = text.substr(start, end - start + 1);
        if (text.back() == ':') {
            lines.push_back({text.substr(0, text.size() - 1), "", ""});
        } else if (text[0] != '.') {
            const size_t gap = text.find_first_of(" \t");
            lines.push_back({"", text.substr(0, gap), gap == std::string::npos ? "" : text.substr(gap + 1)});
        }
    }
    return lines;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// AT&T: the destination is the last operand.
bool stores(const Line& line) {
    return !line.operands.empty() && contains(line.operands.substr(line.operands.rfind('%')), ")");
}

void count(LoopShape& shape, const Line& line) {
    const std::string& name = line.name;
    const bool memory = contains(line.operands, "(");
    const bool vector =
        contains(line.operands, "%zmm") || contains(line.operands, "%ymm") || contains(line.operands, "%xmm");
    shape.instructions++;
    if (contains(line.operands, "(%rsp")) shape.stack_accesses++;
    if (contains(name, "gather") || contains(name, "scatter"))
        shape.gathers++;
    else if (memory && (contains(name, "broadcast") || contains(line.operands, "{1to")))
        shape.broadcasts++;
    else if (memory && vector && stores(line))
        shape.vector_stores++;
    else if (memory && vector)
        shape.vector_loads++;
    if (name.starts_with("vfmadd") || name.starts_with("vfnmadd")) shape.fused_multiply_adds++;
    if (name.starts_with("vperm") || name.starts_with("vunpck") || name.starts_with("vshuf")) shape.shuffles++;
    if (name.starts_with("vdiv") || name.starts_with("div") || name.starts_with("idiv")) shape.divisions++;
    if (name.starts_with("call")) shape.calls++;
    if (name[0] == 'j') shape.branches++;
}

}  // namespace

std::vector<LoopShape> innermost_loops(const std::string& assembly) {
    const std::vector<Line> lines = read_lines(assembly);
    std::map<std::string, size_t> labels;
    struct Span {
        size_t first, last;
    };
    std::vector<Span> loops;
    for (size_t i = 0; i < lines.size(); i++) {
        if (!lines[i].label.empty()) labels[lines[i].label] = i;
        if (lines[i].name.empty() || lines[i].name[0] != 'j') continue;
        if (const auto target = labels.find(lines[i].operands); target != labels.end())
            loops.push_back({target->second, i});
    }
    std::vector<LoopShape> shapes;
    for (const Span& loop : loops) {
        bool innermost = true;
        for (const Span& other : loops) {
            const bool same = other.first == loop.first && other.last == loop.last;
            innermost = innermost && (same || other.first < loop.first || other.last > loop.last);
        }
        if (!innermost) continue;
        LoopShape shape;
        for (size_t i = loop.first; i <= loop.last; i++) {
            if (lines[i].label.empty()) count(shape, lines[i]);
        }
        shape.branches--;
        shapes.push_back(shape);
    }
    return shapes;
}

int calls(const std::string& assembly) {
    int found = 0;
    for (const Line& line : read_lines(assembly)) found += line.name.starts_with("call");
    return found;
}

}  // namespace heddle::backends
