// What heddle compile exports, as a program in C or as a page: a model or a call, for the sizes of --bind.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "artefact/plans.h"
#include "cli/commands.h"
#include "cli/support.h"

namespace heddle::cli {

class Exported {
public:
    // Both outlive it.
    static Result<Exported> open(const CompileOptions& options, const Library& library);

    // As --bind says them. Codes cli.unknown_dimension, artefact.range.
    Result<std::vector<artefact::Dimension>> dimensions() const;

    Result<Graph> graph(const artefact::SizeNames& sizes);

    // A graph names its inputs as words; callers know them by the model's names. Of the last graph.
    void name(std::vector<artefact::Argument>& inputs, std::vector<artefact::Argument>& outputs) const;

    // The model, where it may be exported in steps.
    const onnx::OnnxModel* staged() const {
        return given_.empty() && options_.rules.empty() ? model_.get() : nullptr;
    }

    const std::vector<std::string>& input_names() const { return input_names_; }
    const std::map<std::string, TensorData>& given() const { return given_; }  // of --input
    std::string name() const;  // of the program: --name, or the model's

private:
    Exported(const CompileOptions& options, const Library& library) : options_(options), library_(library) {}
    Result<Source> load(artefact::SizeNames sizes) const;

    const CompileOptions& options_;
    const Library& library_;
    std::map<std::string, TensorData> given_;
    std::shared_ptr<onnx::OnnxModel> model_;
    std::vector<std::string> input_names_, output_names_;
};

}  // namespace heddle::cli
