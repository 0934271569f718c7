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
    bool empty() const { return text_.empty(); }

private:
    std::string text_;
};

std::span<const std::byte> bytes_of(const TensorData& data) {
    return {data.data(), static_cast<size_t>(data.byte_size())};
}

Json ports(const std::vector<Port>& ports) {
    Json list = Json::array();
    for (const Port& port : ports) {
        list.push_back(
            {{"name", port.name}, {"dtype", name(port.dtype)}, {"shape", port.shape}, {"buffer", port.buffer}});
    }
    return list;
}

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
    Writer(const Package& package, const Check* check, const std::string& name, const std::string& folder)
        : package_(package), check_(check), folder_(folder) {
        json_ = {{"format", "heddle-webgpu"}, {"version", 1}, {"name", name}};
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
        json_["inputs"] = ports(package_.inputs);
        json_["outputs"] = ports(package_.outputs);
        for (size_t i = 0; i < package_.inputs.size(); i++) {
            if (const auto& fixed = package_.inputs[i].fixed)
                json_["inputs"][i]["fixed"] = weights_.add(bytes_of(*fixed));
        }
        Json limits = Json::object();
        for (const Limit& limit : limits_of(package_)) limits[limit.name] = limit.value;
        json_["limits"] = std::move(limits);
        json_["workspace_bytes"] = package_.workspace_bytes;
        add_buffers();
        add_kernels();
        json_["launches"] = {{"file", "launches.bin"}};
        const auto words = std::as_bytes(std::span(package_.launches));
        std::string launches(reinterpret_cast<const char*>(words.data()), words.size());
        launches.resize(std::max<size_t>(launches.size(), 16));
        files_.emplace_back("launches.bin", std::move(launches));
        json_["status"] = package_.status < 0 ? Json(nullptr) : Json(package_.status);
        add_dispatches();
        add_check();
        files_.emplace_back("model.json", json_.dump(1) + "\n");
        files_.emplace_back("heddle.js", loader_script());
        files_.emplace_back("index.html", page());
    }

    void add_buffers() {
        Json buffers = Json::array();
        for (const DeviceBuffer& buffer : package_.buffers) {
            Json entry = {{"bytes", buffer.bytes}};
            if (!buffer.content.empty()) entry["weights"] = weights_.add(buffer.content);
            buffers.push_back(std::move(entry));
        }
        json_["weights"] = weights_.empty() ? Json(nullptr) : Json{{"file", "weights.bin"}};
        json_["buffers"] = std::move(buffers);
        if (!weights_.empty()) files_.emplace_back("weights.bin", weights_.padded());
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
                               {"bindings", std::move(bindings)}});
            files_.emplace_back(file, kernel.text);
        }
        json_["kernels"] = std::move(kernels);
    }

    void add_dispatches() {
        Json dispatches = Json::array();
        for (const Dispatch& dispatch : package_.dispatches) {
            dispatches.push_back({{"name", dispatch.name},
                                  {"kernel", dispatch.kernel},
                                  {"buffers", dispatch.buffers},
                                  {"launch", {{"offset", dispatch.launch * 4}, {"bytes", dispatch.launch_words * 4}}},
                                  {"groups", {dispatch.groups_x, dispatch.groups_y}},
                                  {"indexed", dispatch.indexed}});
        }
        json_["dispatches"] = std::move(dispatches);
    }

    void add_check() {
        json_["check"] = nullptr;
        if (!check_) return;
        Parts parts;
        Json inputs = Json::array(), outputs = Json::array();
        for (const TensorData& input : check_->inputs) inputs.push_back(parts.add(bytes_of(input)));
        for (size_t i = 0; i < check_->outputs.size(); i++)
            outputs.push_back(expected(check_->outputs[i], package_.outputs[i].dtype, parts));
        json_["check"] = {{"file", "check.bin"}, {"inputs", std::move(inputs)}, {"outputs", std::move(outputs)}};
        files_.emplace_back("check.bin", parts.padded());
    }

    const Package& package_;
    const Check* const check_;
    const std::string folder_;
    Json json_;
    Parts weights_;
    std::vector<std::pair<std::string, std::string>> files_;
};

}  // namespace

Result<std::vector<WrittenFile>> write_package(const Package& package, const Check* check, const std::string& name,
                                               const std::string& folder) {
    return Writer(package, check, name, folder).written();
}

}  // namespace heddle::webgpu
