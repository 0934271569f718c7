#include "random/random_program.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "random/random_calls.h"
#include "random/random_template.h"

namespace heddle::random {

int64_t Type::elements() const { return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()); }
std::string Type::text() const { return fmt::format("{}[{}]", name(dtype), fmt::join(shape, ", ")); }

Program random_program(Choices& choices) {
    RandomCalls calls(choices);
    for (int64_t count = 1 + choices.below(6); count > 0; count--) calls.add();
    return calls.finish();
}

Program random_movement(Choices& choices) {
    RandomCalls calls(choices);
    for (int64_t count = 1 + choices.below(8); count > 0; count--) calls.add_movement();
    Program program = calls.finish();
    program.adjoint = program.tangent = program.batched = false;
    return program;
}

bool occurs(const std::string& name, const std::string& text) {
    auto is_letter = [&](size_t i) {
        return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_');
    };
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
        if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + name.size())) return true;
    }
    return false;
}

Program without_unused(const Program& program) {
    Program kept = program;
    kept.calls.clear();
    std::string read = fmt::format("{}", fmt::join(program.outputs, " "));
    for (size_t i = program.calls.size(); i-- > 0;) {
        const Call& call = program.calls[i];
        if (std::ranges::none_of(call.results, [&](const std::string& result) { return occurs(result, read); }))
            continue;
        read += " " + call.text;
        kept.calls.insert(kept.calls.begin(), call);
    }
    std::erase_if(kept.inputs, [&](const Input& input) { return !occurs(input.name, read); });
    std::erase_if(kept.templates, [&](const Section& section) { return !occurs(section.name, read); });
    return kept;
}

std::string calls_of(const Program& program) {
    std::string text;
    for (const Call& call : program.calls) text += fmt::format("{} = {}\n", fmt::join(call.results, ", "), call.text);
    // The results of the last call are the program's.
    std::vector<std::string> names;
    for (size_t i = 0; i < program.outputs.size(); i++) names.push_back(fmt::format("o{}", i));
    return text + fmt::format("{} = all_outputs({})\n", fmt::join(names, ", "), fmt::join(program.outputs, ", "));
}

std::string templates_of(const Program& program) {
    std::string text;
    for (const Section& section : program.templates) text += section.text;
    std::vector<std::string> inputs, outputs, lines;
    for (size_t i = 0; i < program.outputs.size(); i++) {
        inputs.push_back(fmt::format("a{}: \"$t{}[$s{}...]\"", i, i, i));
        outputs.push_back(fmt::format("o{}: \"$t{}[$s{}...]\"", i, i, i));
        lines.push_back(fmt::format("    o{} = a{}\n", i, i));
    }
    return text + fmt::format("all_outputs:\n  inputs: {{{}}}\n  outputs: {{{}}}\n  graph: |\n{}",
                              fmt::join(inputs, ", "), fmt::join(outputs, ", "), fmt::join(lines, ""));
}

std::string print(const Program& program) {
    std::string text;
    for (const Input& input : program.inputs) {
        const std::string values = input.values == Input::Values::normal  ? "normal"
                                   : input.values == Input::Values::whole ? "whole"
                                                                          : fmt::format("below {}", input.limit);
        text += fmt::format("input {}: {} {}\n", input.name, input.type.text(), values);
    }
    if (program.adjoint) text += "adjoint\n";
    if (program.tangent) text += "tangent\n";
    if (program.batched) text += "batched\n";
    if (program.unfused) text += "unfused\n";
    for (const Call& call : program.calls) text += fmt::format("{} = {}\n", fmt::join(call.results, ", "), call.text);
    text += fmt::format("outputs {}\n", fmt::join(program.outputs, ", "));
    if (!program.templates.empty()) text += "---\n";
    for (const Section& section : program.templates) text += section.text;
    return text;
}

namespace {

std::unexpected<Diagnostics> wrong(const std::string& line) {
    return fail(
        {.code = "random.syntax",
         .summary = "a line of a random program is not understood",
         .expected = "input NAME: DTYPE[EXTENT, ...] normal | whole | below N; NAME, ... = CALL; outputs NAME, ...",
         .found = line});
}

Result<Input> parse_input(const std::string& line) {
    const size_t colon = line.find(": "), open = line.find('['), close = line.find(']');
    if (colon == std::string::npos || open == std::string::npos || close == std::string::npos || open < colon)
        return wrong(line);
    Input input;
    input.name = line.substr(6, colon - 6);
    const auto dtype = dtype_named(line.substr(colon + 2, open - colon - 2));
    if (!dtype) return wrong(line);
    input.type.dtype = *dtype;
    std::istringstream extents(line.substr(open + 1, close - open - 1)), values(line.substr(close + 1));
    for (std::string one; std::getline(extents, one, ',');) input.type.shape.push_back(std::stoll(one));
    std::string kind;
    values >> kind;
    if (kind == "below") {
        input.values = Input::Values::indices;
        if (!(values >> input.limit)) return wrong(line);
    } else if (kind == "whole") {
        input.values = Input::Values::whole;
    } else if (kind != "normal") {
        return wrong(line);
    }
    return input;
}

}  // namespace

// "a, b" in its parts.
static std::vector<std::string> names_in(const std::string& text) {
    std::vector<std::string> names;
    std::istringstream parts(text);
    for (std::string name; std::getline(parts, name, ',');) names.push_back(name.substr(name.find_first_not_of(' ')));
    return names;
}

Result<Program> parse_program(const std::string& text) {
    Program program;
    std::istringstream lines(text);
    bool templates = false;
    for (std::string line; std::getline(lines, line);) {
        if (templates) {
            if (!line.empty() && line[0] != ' ') program.templates.push_back({line.substr(0, line.find(':')), ""});
            if (!program.templates.empty()) program.templates.back().text += line + "\n";
        } else if (line == "---") {
            templates = true;
        } else if (line.starts_with("input ")) {
            auto input = parse_input(line);
            if (!input) return fail(input.error());
            program.inputs.push_back(std::move(*input));
        } else if (line == "adjoint") {
            program.adjoint = true;
        } else if (line == "tangent") {
            program.tangent = true;
        } else if (line == "batched") {
            program.batched = true;
        } else if (line == "unfused") {
            program.unfused = true;
        } else if (line.starts_with("outputs ")) {
            program.outputs = names_in(line.substr(8));
        } else if (!line.empty() && !line.starts_with("#")) {
            const size_t equal = line.find(" = ");
            if (equal == std::string::npos) return wrong(line);
            program.calls.push_back({names_in(line.substr(0, equal)), {}, line.substr(equal + 3)});
        }
    }
    return program;
}

}  // namespace heddle::random
