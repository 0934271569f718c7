#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "placing/module.h"

namespace heddle::placing {
namespace {

using Json = nlohmann::ordered_json;

const char* name(Function::Side side) {
    switch (side) {
    case Function::Side::source: return "source";
    case Function::Side::host: return "host";
    case Function::Side::device: return "device";
    }
    return "";
}

// On one line: what tells it from others.
std::string target_text(const Target& target) {
    std::string text = target.kind;
    const auto add = [&](const std::string& part) { text += part.empty() ? "" : " " + part; };
    add(target.arch);
    add(target.cpu);
    add(target.library);
    add(target.version);
    for (const auto& [option, value] : target.options) text += fmt::format(" {}={}", option, value);
    return text;
}

std::string extents_text(const std::vector<Size>& extents) {
    std::string text;
    for (const Size& size : extents) text += (text.empty() ? "" : ", ") + size.text();
    return "[" + text + "]";
}

class Printer {
public:
    explicit Printer(const Module& module) : module_(module) {}

    std::string text() const {
        std::string text;
        for (const Function& function : module_.functions) {
            if (!text.empty()) text += "\n";
            text += text_of(function);
        }
        return text;
    }

private:
    std::string values(const Function& function, const std::vector<ValueId>& ids, bool typed = false) const {
        std::string text;
        for (ValueId v : ids) {
            const Value& value = function.value(v);
            text += (text.empty() ? "" : ", ") + value.name;
            if (typed) text += ": " + value.type.text();
            if (typed && value.memory != no_id) text += " on " + module_.system->memory(value.memory).text();
        }
        return text;
    }

    std::string text_of(const Function& function) const {
        std::string text =
            fmt::format("{} function {}({}) -> ({})", name(function.side), function.name,
                        values(function, function.parameters, true), values(function, function.results, true));
        if (function.target) text += " for " + target_text(*function.target);
        if (function.entry) text += ", entry";
        text += "\n";
        for (const Step& step : function.steps) text += "    " + text_of(function, step) + "\n";
        return text;
    }

    std::string text_of(const Function& function, const Step& step) const {
        if (step.kind == Step::Kind::send)
            return fmt::format("send {} to process {}", values(function, step.inputs), step.process);
        std::string text = values(function, step.outputs) + " = ";
        if (step.kind == Step::Kind::receive) return text + fmt::format("receive from process {}", step.process);
        if (step.kind == Step::Kind::copy) {
            text += fmt::format("copy {}", values(function, step.inputs));
            for (size_t i = 1; i < step.route.size(); i++)
                text += " to " + module_.system->memory(step.route[i]).text();
            return text;
        }
        if (step.kind == Step::Kind::call) {
            const Function& callee = module_.function(step.callee);
            const bool launch = function.side != Function::Side::device && callee.side == Function::Side::device;
            text += fmt::format("{} {}({})", launch ? "launch" : "call", callee.name, values(function, step.inputs));
            for (size_t i = 0; i < step.extents.size(); i++)
                text += (i == 0 ? " over " : ", ") + extents_text(step.extents[i]);
        } else {
            std::string operations;
            for (const Operation& operation : step.graph->operations)
                operations += (operations.empty() ? "" : ", ") + operation.name;
            text += fmt::format("compute({}): {}", values(function, step.inputs), operations);
        }
        if (step.device != no_id) text += " on " + module_.system->device(step.device).name;
        for (const Exchange& exchange : step.exchanges)
            text += fmt::format("\n        {} {} {} process {}", exchange.comes ? "receive" : "send",
                                values(function, exchange.values), exchange.comes ? "from" : "to", exchange.process);
        return text;
    }

    const Module& module_;
};

Json names(const Function& function, const std::vector<ValueId>& ids) {
    Json list = Json::array();
    for (ValueId v : ids) list.push_back(function.value(v).name);
    return list;
}

Json step_json(const Module& module, const Function& function, const Step& step) {
    Json json;
    json["inputs"] = names(function, step.inputs);
    json["outputs"] = names(function, step.outputs);
    if (step.kind == Step::Kind::copy) {
        json["kind"] = "copy";
        for (MemoryId memory : step.route) json["route"].push_back(module.system->memory(memory).text());
    } else if (step.kind == Step::Kind::send || step.kind == Step::Kind::receive) {
        json["kind"] = step.kind == Step::Kind::send ? "send" : "receive";
        json["process"] = step.process;
    } else if (step.kind == Step::Kind::call) {
        json["kind"] = step.extents.empty() ? "call" : "launch";
        json["function"] = module.function(step.callee).name;
        for (const auto& row : step.extents) {
            Json extents = Json::array();
            for (const Size& size : row) extents.push_back(size.text());
            json["extents"].push_back(std::move(extents));
        }
    } else {
        json["kind"] = "compute";
        for (const Operation& operation : step.graph->operations) json["operations"].push_back(operation.name);
        for (const Exchange& exchange : step.exchanges)
            json["exchanges"].push_back({{"kind", exchange.comes ? "receive" : "send"},
                                         {"process", exchange.process},
                                         {"values", names(function, exchange.values)}});
    }
    if (step.device != no_id) json["device"] = module.system->device(step.device).name;
    return json;
}

Json values_json(const Module& module, const Function& function, const std::vector<ValueId>& ids) {
    Json list = Json::array();
    for (ValueId v : ids) {
        const Value& value = function.value(v);
        Json entry = {{"name", value.name}, {"type", value.type.text()}};
        if (value.memory != no_id) entry["memory"] = module.system->memory(value.memory).text();
        list.push_back(std::move(entry));
    }
    return list;
}

}  // namespace

std::string print(const Module& module) { return Printer(module).text(); }

std::string print_json(const Module& module) {
    Json json = Json::array();
    for (const Function& function : module.functions) {
        Json entry = {{"name", function.name}, {"side", name(function.side)}, {"entry", function.entry}};
        if (function.target) entry["target"] = target_text(*function.target);
        if (function.device != no_id) entry["device"] = module.system->device(function.device).name;
        entry["parameters"] = values_json(module, function, function.parameters);
        entry["results"] = values_json(module, function, function.results);
        entry["steps"] = Json::array();
        for (const Step& step : function.steps) entry["steps"].push_back(step_json(module, function, step));
        json.push_back(std::move(entry));
    }
    return json.dump(2) + "\n";
}

}  // namespace heddle::placing
