// Steps as C: the tables of exported/heddle_steps.c, and the files around them.
#include <algorithm>
#include <filesystem>
#include <functional>

#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "artefact/c_writer.h"
#include "artefact/linked_code.h"
#include "artefact/manifest.h"
#include "artefact/step_program.h"
#include "inference/build_info.h"
#include "support/file.h"

namespace heddle::artefact {
namespace {

// The fixed parts, of programs and of the steps between them.
struct StepTexts {
    DriverTexts parts, steps;
};

struct StepWriting {
    bool kernels_in_c = false;
    WeightsIn weights = WeightsIn::assembly;
    std::function<std::string(const std::string& name)> file;  // where it is
};

class StepsWriter {
public:
    StepsWriter(const StepProgram& program, const StepTexts& texts, const StepWriting& how)
        : program_(program), texts_(texts), how_(how) {}

    std::string write() {
        for (const StepRow& step : program_.steps) add_step(step);
        for (size_t c = 0; c < program_.constants.size(); c++) add_constant(c);
        std::string inputs, kinds;
        for (const Argument& input : program_.inputs) {
            kinds += fmt::format("    {{{:d}, {:d}}},\n", input.is_list, input.may_be_absent);
            inputs += fmt::format("    {{{}, {}, {}, 0, 0, 0}},\n", quoted(input.name), input.shape.size(),
                                  dlpack_code_text(input.dtype));
        }
        std::string text =
            fmt::format("/* The program '{0}', in steps, as heddle compile has written it. */\n", program_.name);
        text += driver_text(program_.parts, texts_.parts, how_.kernels_in_c) + texts_.steps.header + limits();
        for (const Program& part : program_.parts)
            text += tables_text(part, {how_.kernels_in_c, how_.weights, how_.file(part.name + ".weights")});
        text += texts_.steps.program + "\n/* ---- the steps */\n\n" + constant_bytes_;
        text += table("heddle_program* const", "heddle_parts", parts_text());
        text += integers_text("int64_t", "heddle_weights_at", places_of_weights(program_.parts));
        text += table("heddle_form", "heddle_forms", forms_);
        text += table("heddle_row", "heddle_rows", steps_);
        text += table("heddle_type", "heddle_types", types_);
        text += table("heddle_constant", "heddle_constants", constants_);
        text += table("heddle_argument", "heddle_inputs", inputs);
        text += table("heddle_holder", "heddle_input_kinds", kinds);
        text += integers_text("int32_t", "heddle_lists", lists_);
        text += integers_text("int64_t", "heddle_type_sizes", sizes_);
        text +=
            integers_text("int32_t", "heddle_outputs", {program_.output_values.begin(), program_.output_values.end()});
        text += fmt::format(
            "static const heddle_steps heddle_this = {{\n    heddle_parts, heddle_weights_at, heddle_forms, "
            "heddle_rows, heddle_types, heddle_lists, heddle_type_sizes,\n    heddle_constants, heddle_inputs, "
            "heddle_input_kinds, heddle_outputs, {}, {}, {}, {}, "
            "{}}};\n\n"
            "__attribute__((visibility(\"default\"))) int32_t {}_run(heddle_call* call, const heddle_memory* memory) "
            "{{\n"
            "    return heddle_steps_run(&heddle_this, call, memory);\n}}\n",
            program_.values.size(), program_.constants.size(), program_.inputs.size(), program_.outputs.size(),
            program_.first, program_.name);
        return text;
    }

private:
    static std::string table(const char* type, const char* name, const std::string& rows) {
        return fmt::format("static const {} {}[] = {{\n{}}};\n", type, name, rows.empty() ? "    {0},\n" : rows);
    }

    // What arrays on the stack hold.
    std::string limits() const {
        size_t arguments = 1, sizes = 1;
        for (const StepRow& step : program_.steps) {
            if (step.kind != StepRow::Kind::part) continue;
            arguments = std::max(arguments, step.inputs.size() + step.sizes.size());
            sizes = std::max(sizes, step.sizes.size());
            for (const StepForm& form : step.forms) arguments = std::max(arguments, form.outputs.size());
        }
        return fmt::format("#define HEDDLE_ARGUMENTS {}\n#define HEDDLE_SIZES {}\n", arguments, sizes);
    }

    std::string parts_text() const {
        std::string text;
        for (const Program& part : program_.parts)
            text += fmt::format("    &{}_this,\n", part.name);
        return text;
    }

    size_t list_of(const std::vector<int32_t>& list) {
        const size_t at = lists_.size();
        lists_.insert(lists_.end(), list.begin(), list.end());
        return at;
    }

    std::string type_text(const StepType& type) {
        const size_t at = sizes_.size();
        sizes_.insert(sizes_.end(), type.shape.begin(), type.shape.end());
        return fmt::format("{{{}, {}, {}}}", dlpack_code_text(type.dtype), type.shape.size(), at);
    }

    size_t types_of(const std::vector<StepType>& types) {
        const size_t at = type_count_;
        for (const StepType& type : types) types_ += fmt::format("    {},\n", type_text(type));
        type_count_ += types.size();
        return at;
    }

    void add_step(const StepRow& step) {
        const auto row = [&](int kind, size_t list, size_t count, int64_t first, int64_t second, int64_t body,
                             size_t stacked, size_t types, size_t drops) {
            steps_ += fmt::format("    {{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}},\n", kind, step.next, list,
                                  count, step.scanned.size(), first, second, body, stacked, types, drops,
                                  quoted(step.name));
        };
        switch (step.kind) {
        case StepRow::Kind::branch:
        case StepRow::Kind::presence:
            row(static_cast<int>(step.kind), 0, 0, step.first, step.second, 0, 0, 0, 0);
            break;
        case StepRow::Kind::loop: {
            const size_t list = list_of(step.inputs);
            list_of(step.scanned);
            list_of(step.body_inputs);
            list_of(step.body_outputs);
            list_of(step.results);
            list_of(step.drops);
            for (const auto& ways : {step.scan_ways, step.stack_ways}) {
                for (const onnx::ScanWay& way : ways) list_of({static_cast<int32_t>(way.axis), way.reversed ? 1 : 0});
            }
            row(2, list, step.inputs.size(), step.first, step.second, step.body, step.stacked.size(),
                types_of(step.stacked), step.drops.size());
            break;
        }
        case StepRow::Kind::part: {
            const size_t list = list_of(step.inputs), sizes = lists_.size(), forms = form_count_;
            for (const auto& [value, element] : step.sizes) list_of({value, element});
            for (const StepForm& form : step.forms) {
                const size_t outputs = list_of(form.outputs), drops = list_of(form.drops);
                forms_ += fmt::format("    {{{}, {}, {}, {}, {}, {}, {}, {}}},\n", form.part, form.next, outputs,
                                      form.outputs.size(), types_of(form.types), drops, form.drops.size(), form.open);
            }
            form_count_ += step.forms.size();
            row(0, list, step.inputs.size(), static_cast<int64_t>(sizes), std::ssize(step.sizes),
                static_cast<int64_t>(forms), step.forms.size(), 0, 0);
            break;
        }
        default: {
            const size_t list = list_of(step.inputs);
            list_of(step.drops);
            row(static_cast<int>(step.kind), list, step.inputs.size(), step.axis, step.changes_rank ? 1 : 0,
                step.results[0], 0, 0, step.drops.size());
        }
        }
    }

    void add_constant(size_t c) {
        const StepConstant& constant = program_.constants[c];
        std::string bytes;
        for (int64_t b = 0; b < constant.data.byte_size(); b++) {
            bytes += fmt::format("{},", static_cast<int>(constant.data.data()[b]));
            if (b % 32 == 31) bytes += '\n';
        }
        const std::string name = fmt::format("heddle_bytes_{}", c);
        constant_bytes_ +=
            fmt::format("static const unsigned char {}[] __attribute__((aligned(64))) = {{{}0}};\n", name, bytes);
        constants_ += fmt::format("    {{{}, {}, {}}},\n", constant.value,
                                  type_text({constant.data.dtype(), constant.data.shape()}), name);
    }

    const StepProgram& program_;
    const StepTexts& texts_;
    const StepWriting& how_;
    std::string steps_, forms_, types_, constants_, constant_bytes_;
    std::vector<int64_t> lists_, sizes_;
    size_t form_count_ = 0, type_count_ = 0;
};

class StepArtefactWriter {
public:
    StepArtefactWriter(const StepProgram& program, const std::string& folder, const ArtefactOptions& options)
        : program_(program), folder_(folder), options_(options) {}

    Result<std::vector<WrittenFile>> write() {
        auto driver = read_driver(options_.driver_folder);
        if (!driver) return fail(std::move(driver.error()));
        auto steps = read_step_driver(options_.driver_folder);
        if (!steps) return fail(std::move(steps.error()));
        if (auto open = workshop_.open(folder_); !open) return fail(std::move(open.error()));
        const Program shell{.name = program_.name,
                            .dimensions = program_.dimensions,
                            .inputs = program_.inputs,
                            .outputs = program_.outputs};
        const std::string header = fmt::format(
            "{0}\n{1}\n{2}#ifdef __cplusplus\nextern \"C\" {{\n#endif\n"
            "int32_t {3}_run(heddle_call* call, const heddle_memory* memory);\n#ifdef __cplusplus\n}}\n#endif\n",
            driver->header, steps->header, arguments_text(shell), program_.name);
        if (auto done = add(program_.name + ".h", header); !done) return fail(std::move(done.error()));
        if (auto done = add_code({std::move(*driver), std::move(*steps)}); !done) return fail(std::move(done.error()));
        if (auto done = add_manifest(shell); !done) return fail(std::move(done.error()));
        if (auto moved = workshop_.move_all(made_); !moved) return fail(std::move(moved.error()));
        return std::move(files_);
    }

private:
    Result<void> add(const std::string& name, const std::string& text) {
        made_.push_back(name);
        return write_file(workshop_.file(name), text);
    }

    // The weights of all parts, one behind the other, or each for itself.
    Result<void> add_weights(WeightsIn weights) {
        const std::string name = program_.name + ".weights";
        if (weights == WeightsIn::beside) {
            made_.push_back(name);
            return write_weights(program_.parts, workshop_.file(name));
        }
        for (const Program& part : program_.parts) {
            if (weights == WeightsIn::text) break;
            if (auto done = write_weights({&part, 1}, workshop_.file(part.name + ".weights")); !done) return done;
        }
        return {};
    }

    Result<void> add_code(const StepTexts& texts) {
        const bool in_c = options_.emit == Emit::c;
        const WeightsIn weights = options_.weights_beside ? WeightsIn::beside
                                  : in_c                  ? WeightsIn::text
                                                          : WeightsIn::assembly;
        if (auto done = add_weights(weights); !done) return done;
        const auto file = [&](const std::string& name) { return workshop_.file(name); };
        const std::string text = StepsWriter(program_, texts, {in_c, weights, file}).write();
        if (in_c) return add(program_.name + ".c", text);
        if (auto done = write_file(workshop_.file(program_.name + ".c"), text); !done) return done;
        std::vector<std::string> objects;
        for (const Program& part : program_.parts) {
            auto kernels = write_kernels(part, workshop_, options_);
            if (!kernels) return fail(std::move(kernels.error()));
            std::ranges::move(*kernels, std::back_inserter(objects));
        }
        auto made = link_code(program_.name, objects, workshop_, options_);
        if (!made) return fail(std::move(made.error()));
        made_.push_back(std::move(*made));
        return {};
    }

    Result<void> add_manifest(const Program& shell) {
        for (const std::string& name : made_) files_.push_back(workshop_.written(name));
        auto digest = workshop_.digest_of(made_);
        if (!digest) return fail(std::move(digest.error()));
        const std::string name = program_.name + ".json";
        auto json = manifest_of(shell, options_, files_, *digest);
        json["format"] = "heddle.step_artefact/1";
        json["steps"] = program_.steps.size();
        json["parts"] = program_.parts.size();
        if (auto done = add(name, manifest_text(json)); !done) return done;
        files_.push_back(workshop_.written(name));
        return {};
    }

    const StepProgram& program_;
    const std::filesystem::path folder_;
    const ArtefactOptions& options_;
    Workshop workshop_;
    std::vector<std::string> made_;
    std::vector<WrittenFile> files_;
};

}  // namespace

Result<std::vector<WrittenFile>> write_step_artefact(const StepProgram& program, const std::string& folder,
                                                     const ArtefactOptions& options) {
    return StepArtefactWriter(program, folder, options).write();
}

}  // namespace heddle::artefact
