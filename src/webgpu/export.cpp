#include "webgpu/export.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "evaluate/compare.h"
#include "support/file.h"
#include "webgpu/web_files.h"

namespace heddle::webgpu {
namespace {

using Json = nlohmann::ordered_json;

// A file of parts, each at a multiple of 16 bytes.
class Parts {
public:
    Json add(std::span<const std::byte> bytes) {
        constexpr size_t alignment = 16;
        text_.resize((text_.size() + alignment - 1) / alignment * alignment);
        const Json place = {{"offset", text_.size()}, {"bytes", bytes.size()}};
        text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return place;
    }
    // Whole words may be copied from it.
    std::string padded() const {
        std::string text = text_;
        text.resize((text.size() + 15) / 16 * 16);
        return text;
    }

private:
    std::string text_;
};

std::span<const std::byte> bytes_of(const TensorData& data) {
    return {data.data(), static_cast<size_t>(data.byte_size())};
}

bool is_list_of_words(const Json& json) {
    return json.is_array() && std::ranges::all_of(json, [](const Json& part) { return part.is_primitive(); });
}

// What is short on one line, else a line for each part.
std::string readable(const Json& json, const std::string& indent = "") {
    constexpr size_t most = 120;
    std::string text = json.dump();
    if (text.size() + indent.size() <= most || !json.is_structured() || is_list_of_words(json)) return text;
    text = json.is_object() ? "{" : "[";
    const char* between = "\n";
    for (const auto& [key, part] : json.items()) {
        text += between + indent + " ";
        if (json.is_object()) text += Json(key).dump() + ": ";
        text += readable(part, indent + " ");
        between = ",\n";
    }
    return text + "\n" + indent + (json.is_object() ? "}" : "]");
}

// A size of an argument is a number, or an expression of dimensions.
Json shape_json(const artefact::Argument& argument, const std::vector<artefact::Dimension>& dimensions) {
    Json shape = Json::array();
    for (size_t d = 0; d < argument.shape.size(); d++) {
        const bool is_open = argument.sizes[d] != std::to_string(argument.shape[d]);
        const int32_t dimension = argument.axes.empty() ? -1 : argument.axes[d];
        if (dimension >= 0)
            shape.push_back(dimensions[static_cast<size_t>(dimension)].name);
        else
            shape.push_back(is_open ? Json(argument.sizes[d]) : Json(argument.shape[d]));
    }
    return shape;
}

Json ports(const std::vector<artefact::Argument>& arguments, const std::vector<artefact::Dimension>& dimensions) {
    Json list = Json::array();
    for (const artefact::Argument& argument : arguments)
        list.push_back(
            {{"name", argument.name}, {"dtype", name(argument.dtype)}, {"shape", shape_json(argument, dimensions)}});
    return list;
}

// A plan, with its numbers as the loader reads them: numbers, or texts "0", "1" ..., of which the first are the open
// dimensions, and each other one is a step: an operation and its two operands.
class PlanText {
public:
    PlanText(const PagePlan& plan) : plan_(plan) {
        for (const auto& [name, place] : plan.steps.names()) index_[place] = place;
        for (const SizeProgram::Step& step : plan.steps.steps())
            index_.emplace(step.to, static_cast<int32_t>(index_.size()));
    }

    Json json() const {
        Json ranges = Json::array();
        for (const artefact::SizeRange& range : plan_.domain.ranges) ranges.push_back({range.least, range.most});
        Json shapes = Json::array();
        for (const std::vector<int32_t>& shape : plan_.shapes) shapes.push_back(numbers(shape));
        return {{"ranges", std::move(ranges)}, {"facts", facts()},           {"steps", steps()},
                {"inputs", plan_.inputs},      {"outputs", plan_.outputs},   {"shapes", std::move(shapes)},
                {"buffers", buffers()},        {"dispatches", dispatches()}, {"report", plan_.report}};
    }

private:
    Json number(int32_t place) const {
        const auto value = plan_.steps.constant_at(place);
        return value ? Json(*value) : Json(std::to_string(index_.at(place)));
    }

    Json numbers(const std::vector<int32_t>& places) const {
        Json list = Json::array();
        for (int32_t place : places) list.push_back(number(place));
        return list;
    }

    Json facts() const {
        static constexpr const char* relations[] = {"==", "!=", ">="};
        Json list = Json::array();
        for (size_t i = 0; i < plan_.facts.size(); i++) {
            list.push_back(relations[static_cast<size_t>(plan_.domain.facts[i].relation)]);
            list.push_back(number(plan_.facts[i]));
        }
        return list;
    }

    Json steps() const {
        static constexpr const char* operations[] = {"+", "-", "*", "/", "%", "min", "max"};
        Json list = Json::array();
        for (const SizeProgram::Step& step : plan_.steps.steps()) {
            list.push_back(operations[static_cast<size_t>(step.operation) - static_cast<size_t>(Origin::Kind::add)]);
            list.push_back(number(step.a));
            list.push_back(number(step.b));
        }
        return list;
    }

    Json buffers() const {
        Json list = Json::array();
        for (const DeviceBuffer& buffer : plan_.buffers) {
            Json entry = {{"bytes", number(buffer.bytes)}};
            if (buffer.weight >= 0) entry["weight"] = buffer.weight;
            if (!buffer.holds.empty() && entry["bytes"].is_string())
                entry["name"] = plan_.plan->buffers[static_cast<size_t>(buffer.holds[0])].name;
            list.push_back(std::move(entry));
        }
        return list;
    }

    Json dispatches() const {
        Json list = Json::array();
        for (const Dispatch& dispatch : plan_.dispatches) {
            list.push_back({{"name", dispatch.name},
                            {"kernel", dispatch.kernel},
                            {"buffers", dispatch.buffers},
                            {"tasks", number(dispatch.tasks)},
                            {"rounds", number(dispatch.rounds)},
                            {"scratch", number(dispatch.scratch)},
                            {"words", numbers(dispatch.words)}});
            if (std::ranges::find(dispatch.buffers, plan_.report) != dispatch.buffers.end())
                list.back()["indexed"] = dispatch.indexed;
        }
        return list;
    }

    const PagePlan& plan_;
    std::map<int32_t, int32_t> index_;  // by place
};

// Values and bounds as float64, and the share of the greatest element that decides where no bound does.
Json expected(const BoundedTensor& tensor, DType dtype, Parts& parts) {
    const int64_t size = tensor.value.size();
    std::vector<double> values(static_cast<size_t>(size)), bounds(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; i++) {
        const bool whole = !is_float(tensor.value.dtype());
        double& value = values[static_cast<size_t>(i)];
        value = whole ? static_cast<double>(tensor.value.integer_at(i)) : tensor.value.real_at(i);
        // What is beyond the type's range is infinite in it.
        if (!whole && std::abs(value) > info(dtype).format.greatest) value = std::copysign(INFINITY, value);
        if (tensor.bound.data()) bounds[static_cast<size_t>(i)] = tensor.bound.as<double>()[i];
    }
    const auto add = [&](const std::vector<double>& list) { return parts.add(std::as_bytes(std::span(list))); };
    Json values_at = add(values);
    Json bounds_at = add(bounds);
    return {
        {"values", std::move(values_at)}, {"bounds", std::move(bounds_at)}, {"share", model_tolerance(dtype).maximum}};
}

class Writer {
public:
    Writer(const Package& package, const std::vector<Check>& checks, const std::string& name, const std::string& folder)
        : package_(package), checks_(checks), folder_(folder) {
        json_ = {{"format", "heddle-webgpu"}, {"version", 2}, {"name", name}};
    }

    Result<std::vector<WrittenFile>> written() {
        describe();
        std::error_code problem;
        const bool is_new = std::filesystem::create_directories(folder_, problem);
        if (problem || !std::filesystem::is_directory(folder_)) {
            return fail({.code = "webgpu.folder",
                         .summary = fmt::format("cannot make the folder '{}'", folder_),
                         .reason = problem ? problem.message() : "it is no folder"});
        }
        std::vector<WrittenFile> made;
        for (const auto& [name, text] : files_) {
            const std::string path = folder_ + "/" + name;
            auto done = write_file(path, text);
            if (done) {
                made.push_back({path, static_cast<int64_t>(text.size())});
                continue;
            }
            for (const WrittenFile& file : made) std::filesystem::remove(file.path, problem);
            if (is_new) std::filesystem::remove(folder_, problem);
            return fail(std::move(done.error()));
        }
        return made;
    }

private:
    void describe() {
        const artefact::Interface& interface = package_.interface;
        Json dimensions = Json::array();
        for (const auto& [name, from, to, step, is_open] : interface.dimensions)
            dimensions.push_back({{"name", name}, {"from", from}, {"to", to}, {"step", step}});
        json_["dimensions"] = std::move(dimensions);
        json_["inputs"] = ports(interface.inputs, interface.dimensions);
        json_["outputs"] = ports(interface.outputs, interface.dimensions);
        for (const auto& [input, place] : package_.fixed)
            json_["inputs"][input]["fixed"] = {{"offset", place},
                                               {"bytes", interface.inputs[input].value->byte_size()}};
        Json limits = Json::object();
        for (const Limit& limit : limits_of(package_)) limits[limit.name] = limit.value;
        json_["limits"] = std::move(limits);
        add_weights();
        add_kernels();
        Json plans = Json::array();
        for (const PagePlan& plan : package_.plans) plans.push_back(PlanText(plan).json());
        json_["plans"] = std::move(plans);
        add_checks();
        files_.emplace_back("model.json", readable(json_) + "\n");
        files_.emplace_back("heddle.js", loader_script());
        files_.emplace_back("check.js", check_script());
        files_.emplace_back("index.html", page());
    }

    void add_weights() {
        json_["weights"] = nullptr;
        if (package_.weights.empty()) return;
        json_["weights"] = {{"file", "weights.bin"}};
        std::string text;
        text.reserve(static_cast<size_t>(package_.weights.bytes()));
        package_.weights.write([&](std::span<const std::byte> bytes) {
            text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        });
        files_.emplace_back("weights.bin", std::move(text));
    }

    void add_kernels() {
        Json kernels = Json::array();
        for (const Kernel& kernel : package_.kernels) {
            const std::string file = fmt::format("kernel_{}.wgsl", kernels.size());
            Json bindings = Json::array();
            for (bool written : kernel.written) bindings.push_back(written ? "read_write" : "read");
            kernels.push_back({{"file", file},
                               {"workgroup_size", kernel.workgroup_size},
                               {"workgroup_bytes", kernel.workgroup_bytes},
                               {"launch_words", kernel.launch_words},
                               {"bindings", std::move(bindings)}});
            files_.emplace_back(file, kernel.text);
        }
        json_["kernels"] = std::move(kernels);
    }

    void add_checks() {
        json_["check"] = nullptr;
        if (checks_.empty()) return;
        Parts parts;
        Json runs = Json::array();
        for (const Check& check : checks_) {
            Json inputs = Json::array(), outputs = Json::array();
            for (const TensorData& input : check.inputs) {
                Json place = parts.add(bytes_of(input));
                place["shape"] = input.shape();
                inputs.push_back(std::move(place));
            }
            for (size_t i = 0; i < check.outputs.size(); i++)
                outputs.push_back(expected(check.outputs[i], package_.interface.outputs[i].dtype, parts));
            runs.push_back({{"inputs", std::move(inputs)}, {"outputs", std::move(outputs)}});
        }
        json_["check"] = {{"file", "check.bin"}, {"runs", std::move(runs)}};
        files_.emplace_back("check.bin", parts.padded());
    }

    const Package& package_;
    const std::vector<Check>& checks_;
    const std::string folder_;
    Json json_;
    std::vector<std::pair<std::string, std::string>> files_;
};

}  // namespace

Result<std::vector<WrittenFile>> write_package(const Package& package, const std::vector<Check>& checks,
                                               const std::string& name, const std::string& folder) {
    return Writer(package, checks, name, folder).written();
}

}  // namespace heddle::webgpu
