#include "artefact/c_writer.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <set>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "artefact/group_rows.h"
#include "artefact/processor.h"
#include "backends/c/c_source.h"
#include "support/file.h"

namespace heddle::artefact {

// A text of C.
std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\')
            result += fmt::format("\\{}", c);
        else if (byte >= 0x20 && byte < 0x7f && c != '?')
            result += c;
        else
            result += fmt::format("\\{:03o}", byte);
    }
    return result + "\"";
}

// Words of a comment: nothing ends it.
std::string in_comment(std::string text) {
    for (size_t at = 0; (at = text.find("*/", at)) != std::string::npos;) text.replace(at, 2, "* /");
    std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    return text;
}

namespace {

std::string integer(int64_t value) {
    return value == std::numeric_limits<int64_t>::min() ? "(-9223372036854775807LL - 1)" : fmt::format("{}", value);
}

// "{...};", with many rows a line. C has no arrays of nothing.
template <typename Row>
std::string array_text(const std::vector<Row>& rows, const std::function<std::string(const Row&)>& of) {
    std::string text = "{";
    size_t width = 200;
    for (const Row& row : rows) {
        const std::string one = of(row) + ",";
        if (width + one.size() > 118) {
            text += "\n    ";
            width = 4;
        }
        text += one;
        width += one.size();
    }
    return text + (rows.empty() ? "0};\n" : "\n};\n");
}

void add_array(std::string& text, std::string_view type, const std::string& name, const std::string& rows) {
    text += fmt::format("static const {} {}[] = {}", type, name, rows);
}

template <typename Row>
void add_array(std::string& text, std::string_view type, const std::string& name, const std::vector<Row>& rows,
               const std::function<std::string(const Row&)>& of) {
    add_array(text, type, name, array_text<Row>(rows, of));
}

void add_integers(std::string& text, std::string_view type, const std::string& name, const std::vector<int64_t>& rows) {
    add_array<int64_t>(text, type, name, rows, [](const int64_t& value) { return integer(value); });
}

struct DlpackType {
    int code, bits;
};
DlpackType dlpack_type(DType dtype) {
    const int bits = static_cast<int>(bytes(dtype)) * 8;
    if (is_bool(dtype)) return {6, 8};
    if (is_complex(dtype)) return {5, bits};
    if (dtype == DType::bfloat16) return {4, 16};
    if (is_float(dtype)) return {2, bits};
    return {info(dtype).kind == DTypeClass::unsigned_integer ? 1 : 0, bits};
}

int kind_number(plan::Buffer::Kind kind) {
    switch (kind) {
    case plan::Buffer::Kind::input: return 0;
    case plan::Buffer::Kind::output: return 1;
    case plan::Buffer::Kind::constant:
    case plan::Buffer::Kind::prepared: return 2;
    case plan::Buffer::Kind::workspace: break;
    }
    return 3;
}

int operation_number(Origin::Kind operation) {
    return static_cast<int>(operation) - static_cast<int>(Origin::Kind::add);
}

// What arrays on the stack hold.
std::string limits_text(std::span<const Program> programs) {
    size_t buffers = 1, values = 1;
    for (const Program& program : programs) {
        for (const Variant& variant : program.variants) {
            for (const Group& group : variant.groups) {
                values = std::max(values, program.dimensions.size() + group.first_steps);
                for (const LaunchRow& launch : group.launches) buffers = std::max(buffers, launch.buffers.size());
            }
        }
    }
    return fmt::format("#define HEDDLE_BUFFERS {}\n#define HEDDLE_VALUES {}\n", buffers, values);
}

class CWriter {
public:
    CWriter(const Program& program, const CWriterOptions& options) : program_(program), options_(options) {}

    std::string write() {
        add_weights();
        for (size_t v = 0; v < program_.variants.size(); v++) add_kernels(v);
        add_arguments();
        add_dimensions();
        add_variants();
        add_program();
        return std::move(text_);
    }

private:
    void add_weights() {
        if (options_.weights == WeightsIn::assembly) {
            text_ += fmt::format(
                "extern const unsigned char {0}_weights[] __attribute__((visibility(\"hidden\")));\n"
                "__asm__(\".section .rodata\\n.balign 64\\n.global {0}_weights\\n.hidden "
                "{0}_weights\\n{0}_weights:\\n\"\n"
                "        \".incbin \\\"\" {1} \"\\\"\\n.previous\\n\");\n",
                program_.name, quoted(options_.weights_path));
        }
        if (options_.weights != WeightsIn::text) return;
        text_ +=
            fmt::format("static const unsigned char {}_weights[] __attribute__((aligned(64))) = {{\n", program_.name);
        size_t column = 0;
        program_.weights.write([&](std::span<const std::byte> bytes) {
            for (const std::byte byte : bytes) {
                text_ += fmt::format("{},", static_cast<int>(byte));
                if (++column % 32 == 0) text_ += '\n';
            }
        });
        text_ += "\n};\n";
    }

    void add_kernels(size_t v) {
        const Variant& variant = program_.variants[v];
        std::vector<std::string> names;
        for (size_t k = 0; k < variant.kernels.size(); k++) {
            names.push_back(kernel_name(program_, v, k));
            text_ += options_.kernels_in_c ? backends::c_source_of_several(*variant.kernels[k].tree, names.back())
                                           : fmt::format(
                                                 "extern int32_t {}(void* const*, const int64_t*, int64_t, int64_t) "
                                                 "__attribute__((visibility(\"hidden\")));\n",
                                                 names.back());
        }
        add_array<std::string>(text_, "heddle_kernel", fmt::format("{}_kernels_{}", program_.name, v), names,
                               [](const std::string& name) { return name; });
        // C becomes code for whatever its compiler is told.
        text_ += processor_test(options_.kernels_in_c ? std::nullopt : std::optional(variant.target),
                                fmt::format("{}_runs_here_{}", program_.name, v));
    }

    // The name of an array of these rows. Groups share those that are the same.
    template <typename Row>
    std::string shared(std::string_view type, const std::vector<Row>& rows,
                       const std::function<std::string(const Row&)>& of) {
        const std::string text = array_text<Row>(rows, of);
        const std::string name = fmt::format("{}_rows_{}", program_.name, shared_.size());
        const auto [known, is_new] = shared_.try_emplace(fmt::format("{} {}", type, text), name);
        if (is_new) add_array(text_, type, known->second, text);
        return known->second;
    }
    std::string shared(std::string_view type, const std::vector<int64_t>& rows) {
        return shared<int64_t>(type, rows, [](const int64_t& value) { return integer(value); });
    }

    void add_group(size_t v, size_t g) {
        const Group& group = program_.variants[v].groups[g];
        GroupRows rows(group);
        std::vector<int64_t> ranges, lists;
        for (const SizeRange& range : group.domain.ranges) ranges.insert(ranges.end(), {range.least, range.most});
        for (int32_t place : group.shapes) lists.push_back(rows.place(place));
        std::vector<std::string> arrays = {shared("int64_t", ranges)};
        arrays.push_back(shared<FactRow>("heddle_fact", group.facts, [&](const FactRow& row) {
            return fmt::format("{{{},{},{}}}", static_cast<int>(row.relation), rows.place(row.place),
                               rows.steps_before(row.place));
        }));
        using Step = SizeProgram::Step;
        arrays.push_back(shared<Step>("heddle_step", group.steps.steps(), [&](const Step& step) {
            return fmt::format("{{{},{},{}}}", operation_number(step.operation), rows.place(step.a),
                               rows.place(step.b));
        }));
        arrays.push_back(shared<BufferRow>("heddle_buffer", group.buffers, [&](const BufferRow& row) {
            return fmt::format("{{{},{},{},{}}}", kind_number(row.kind), row.index, rows.place(row.place),
                               rows.place(row.base));
        }));
        arrays.push_back(shared<LaunchRow>("heddle_launch", group.launches, [&](const LaunchRow& row) {
            const size_t begin = lists.size();
            lists.insert(lists.end(), row.buffers.begin(), row.buffers.end());
            return fmt::format("{{{},{},{},{},{},{},{}}}", row.kernel, begin, row.buffers.size(),
                               rows.numbers_at(row.numbers), rows.place(row.tasks), rows.place(row.rounds),
                               row.ends_batch ? 1 : 0);
        }));
        const int32_t workspace = rows.place(group.workspace), scratch = rows.place(group.scratch);
        arrays.push_back(shared("int32_t", lists));
        arrays.push_back(shared("int32_t", rows.numbers()));
        arrays.push_back(shared("int64_t", rows.constants()));
        groups_ += fmt::format("    {{{}, {}, {}, {}, {}, {}, {}, {}}},\n", fmt::join(arrays, ", "), group.facts.size(),
                               group.steps.steps().size(), group.first_steps, rows.numbers().size(),
                               group.launches.size(), workspace, scratch);
    }

    void add_values() {
        for (size_t i = 0; i < program_.inputs.size(); i++) {
            const std::optional<TensorData>& value = program_.inputs[i].value;
            if (!value) continue;
            std::vector<int64_t> elements;
            for (int64_t b = 0; b < value->byte_size(); b++) elements.push_back(static_cast<int64_t>(value->data()[b]));
            add_integers(text_, "unsigned char", fmt::format("{}_value_{}", program_.name, i), elements);
        }
    }

    void add_arguments() {
        add_values();
        std::vector<int64_t> axes;
        const auto add = [&](const char* list, const std::vector<Argument>& arguments) {
            const std::string name = program_.name + list;
            add_array<Argument>(text_, "heddle_argument", name, arguments, [&](const Argument& argument) {
                const size_t begin = axes.size();
                for (size_t d = 0; d < argument.axes.size(); d++)
                    axes.push_back(argument.axes[d] >= 0 ? argument.axes[d] : -1 - argument.shape[d]);
                const DlpackType type = dlpack_type(argument.dtype);
                const auto number = &argument - arguments.data();
                const std::string value = argument.value ? fmt::format("{}_value_{}", program_.name, number) : "0";
                return fmt::format("{{{},{},{},{},{},{},{}}}", quoted(argument.name), argument.shape.size(), type.code,
                                   type.bits, begin, value, argument.value ? argument.value->byte_size() : 0);
            });
        };
        add("_inputs", program_.inputs);
        add("_outputs", program_.outputs);
        add_integers(text_, "int64_t", program_.name + "_axes", axes);
    }

    void add_dimensions() {
        add_array<Dimension>(text_, "heddle_dimension", program_.name + "_dimensions", program_.dimensions,
                             [](const Dimension& dimension) {
                                 return fmt::format("{{{},{},{},{}}}", quoted(dimension.name), dimension.from,
                                                    dimension.step, dimension.count());
                             });
    }

    void add_variants() {
        std::string rows;
        for (size_t v = 0; v < program_.variants.size(); v++) {
            const size_t count = program_.variants[v].groups.size();
            groups_.clear();
            for (size_t g = 0; g < count; g++) add_group(v, g);
            text_ += fmt::format("static const heddle_group {}_groups_{}[] = {{\n{}}};\n", program_.name, v, groups_);
            rows += fmt::format("    {{{0}_runs_here_{1}, {0}_kernels_{1}, {0}_groups_{1}, {2}}},\n", program_.name, v,
                                count);
        }
        text_ += fmt::format("static const heddle_variant {}_variants[] = {{\n{}}};\n", program_.name, rows);
    }

    void add_program() {
        const std::string weights =
            options_.weights == WeightsIn::beside ? std::string("0") : program_.name + "_weights";
        text_ += fmt::format(
            "static const heddle_program {0}_this = {{\n    {0}_inputs, {0}_outputs, {0}_axes, {0}_dimensions, "
            "{0}_variants,\n    {1}, {2}, {3}, {4}, {5}}};\n\n",
            program_.name, weights, program_.inputs.size(), program_.outputs.size(), program_.dimensions.size(),
            program_.variants.size());
    }

    const Program& program_;
    const CWriterOptions& options_;
    std::string text_, groups_;
    std::map<std::string, std::string> shared_;  // names of arrays, by what they are
};

std::string argument_lines(const char* what, const std::vector<Argument>& arguments) {
    std::string text;
    for (size_t i = 0; i < arguments.size(); i++)
        text += fmt::format(" * {} {}: {}: {}\n", what, i, in_comment(arguments[i].name),
                            in_comment(text_of(arguments[i])));
    return text;
}

}  // namespace

std::string dlpack_type_text(DType dtype) { return fmt::format("{{{}, 1}}", dlpack_code_text(dtype)); }

std::string dlpack_code_text(DType dtype) {
    const DlpackType type = dlpack_type(dtype);
    return fmt::format("{}, {}", type.code, type.bits);
}

std::string integers_text(const std::string& type, const std::string& name, const std::vector<int64_t>& rows) {
    std::string text;
    add_integers(text, type, name, rows);
    return text;
}

namespace {

Result<DriverTexts> read_texts(const std::string& folder,
                               const std::vector<std::pair<const char*, std::string DriverTexts::*>>& files) {
    constexpr int64_t most = 1 << 20;
    DriverTexts texts;
    for (const auto& [name, text] : files) {
        auto read = read_file(fmt::format("{}/{}", folder, name), most);
        if (!read) return fail(std::move(read.error()));
        texts.*text += *read;
    }
    return texts;
}

}  // namespace

Result<DriverTexts> read_driver(const std::string& folder) {
    return read_texts(folder, {{"heddle_program.h", &DriverTexts::header},
                               {"heddle_program.c", &DriverTexts::program},
                               {"heddle_math.h", &DriverTexts::math}});
}

Result<DriverTexts> read_step_driver(const std::string& folder) {
    return read_texts(folder, {{"heddle_steps.h", &DriverTexts::header},
                               {"heddle_values.c", &DriverTexts::program},
                               {"heddle_lists.c", &DriverTexts::program},
                               {"heddle_steps.c", &DriverTexts::program}});
}

std::string kernel_name(const Program& program, size_t variant, size_t kernel) {
    return fmt::format("{}_kernel_{}_{}", program.name, variant, kernel);
}

std::string arguments_text(const Program& program) {
    std::string dimensions;
    for (const Dimension& dimension : program.dimensions)
        dimensions += fmt::format(" * {} from {} to {} by {}\n", in_comment(dimension.name), dimension.from,
                                  dimension.to, dimension.step);
    return fmt::format("/* The program '{}'.\n{}{}{} */\n", program.name, argument_lines("input", program.inputs),
                       argument_lines("output", program.outputs), dimensions);
}

std::string header_text(const Program& program, const DriverTexts& texts) {
    return fmt::format(
        "{0}\n{2}#ifdef __cplusplus\nextern \"C\" {{\n#endif\n"
        "/* Writes the output's sizes to `shape`, for the inputs of the call; its rank. */\n"
        "int32_t {1}_output_shape(heddle_call* call, int32_t output, int64_t* shape);\n"
        "/* That a run needs, for the inputs and workers of the call. */\n"
        "int64_t {1}_workspace_bytes(heddle_call* call);\n"
        "int32_t {1}_run(heddle_call* call);\n"
        "#ifdef __cplusplus\n}}\n#endif\n",
        texts.header, program.name, arguments_text(program));
}

std::string driver_text(std::span<const Program> programs, const DriverTexts& texts, bool kernels_in_c) {
    // What is rounded twice is not to be rounded once; GCC makes no calls of memset and memcpy.
    std::string text = limits_text(programs) + R"(#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off,no-tree-loop-distribute-patterns")
#endif
)";
    text += texts.header + "\n" + texts.program + "\n/* ---- the program */\n\n";
    // Each kernel has all that one may need.
    text += R"(#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-function"
)";
    return kernels_in_c ? text + texts.math : text;
}

std::string tables_text(const Program& program, const CWriterOptions& options) {
    return CWriter(program, options).write();
}

std::string c_text(const Program& program, const DriverTexts& texts, const CWriterOptions& options) {
    const std::string functions = fmt::format(
        "#define HEDDLE_PUBLIC __attribute__((visibility(\"default\")))\n"
        "HEDDLE_PUBLIC int32_t {0}_output_shape(heddle_call* call, int32_t output, int64_t* shape) {{\n"
        "    return heddle_program_output_shape(&{0}_this, call, output, shape);\n}}\n"
        "HEDDLE_PUBLIC int64_t {0}_workspace_bytes(heddle_call* call) {{\n"
        "    return heddle_program_workspace_bytes(&{0}_this, call);\n}}\n"
        "HEDDLE_PUBLIC int32_t {0}_run(heddle_call* call) {{ return heddle_program_run(&{0}_this, call); }}\n",
        program.name);
    return fmt::format("/* The program '{}' as heddle compile has written it. */\n", program.name) +
           driver_text(std::span(&program, 1), texts, options.kernels_in_c) + tables_text(program, options) + functions;
}

}  // namespace heddle::artefact
