// heddle target
#include "inference/host.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "cli/support.h"
#include "target/measure_host.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string_view origin_of(const TargetField& field, const Target& target) {
    switch (field.source) {
    case FieldSource::flags: return "CPU flags";
    case FieldSource::system: return "system";
    case FieldSource::speed: return can_measure_speed(target) ? "measured" : "assumed";
    case FieldSource::design: break;
    }
    return "design";
}

// "3.0e+10" as "30 G": figures that have a thousand millions.
std::string shortened(const std::string& value) {
    const double number = std::strtod(value.c_str(), nullptr);
    if (number >= 1e9 && value.find('"') == std::string::npos) return fmt::format("{:g} G", number / 1e9);
    return value;
}

void print_target_text(const Target& target) {
    for (const TargetField& field : fields_of(target)) {
        if (field.value.size() > 16) {  // the flags
            fmt::print("{:20} {:10} {}\n    {}\n", field.name, origin_of(field, target), field.meaning, field.value);
            continue;
        }
        fmt::print("{:20} {:10} {:>12}  {}\n", field.name, origin_of(field, target), shortened(field.value),
                   field.meaning);
    }
}

void print_target_json(const Target& target) {
    Json json = Json::object();
    for (const TargetField& field : fields_of(target))
        json[field.name] = {
            {"value", Json::parse(field.value)}, {"origin", origin_of(field, target)}, {"meaning", field.meaning}};
    fmt::print("{}\n", json.dump(2));
}

}  // namespace

int show_target(const TargetCommandOptions& options) {
    const auto folder = usable_folder(options.cache);
    const Target target =
        options.measure ? inference::measure_host(folder.get()) : inference::host_target(folder.get());
    options.common.json ? print_target_json(target) : print_target_text(target);
    return 0;
}

}  // namespace heddle::cli
