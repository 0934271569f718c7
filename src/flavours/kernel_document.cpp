// The kernel matrix as a document.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "flavours/kernel_matrix.h"

namespace heddle::flavours {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> texts(const std::vector<Type>& types) {
    std::vector<std::string> list;
    for (const Type& type : types) list.push_back(type.text());
    return list;
}

Json names(const std::vector<Stage>& stages) {
    Json list = Json::array();
    for (const Stage& stage : stages) list.push_back(stage.operator_name);
    return list;
}

Json row_json(const std::string& operator_name, const Row& row) {
    return {{"operator", operator_name},     {"placement", row.placement}, {"arguments", texts(row.arguments)},
            {"results", texts(row.results)}, {"flavours", row.flavours()}, {"before", names(row.before)},
            {"kernel", row.kernel_name},     {"after", names(row.after)},  {"registered", row.body() || row.kernel}};
}

// Rows, and by operator and placement how many of them have a kernel.
Json document(const KernelMatrix& matrix, const std::vector<std::string>& operators) {
    Json rows = Json::array(), coverage = Json::array();
    int64_t registered = 0, bodies = 0;
    const auto& placements = matrix.registry().vocabulary.placements;
    for (const std::string& name : operators) {
        auto found = matrix.find(name);
        if (!found) continue;
        std::map<std::string, std::pair<int64_t, int64_t>> counts;
        for (const Row& row : (*found)->rows) {
            bodies += !row.written;
            if (!row.written) continue;
            Json made = row_json(name, row);
            counts[row.placement].first += made["registered"].get<bool>();
            counts[row.placement].second++;
            registered += made["registered"].get<bool>();
            rows.push_back(std::move(made));
        }
        if (counts.empty()) continue;
        Json line = {{"operator", name}};
        for (const std::string& placement : placements) {
            const auto& [with_kernel, all] = counts[placement];
            line[placement] = {{"registered", with_kernel}, {"rows", all}};
        }
        coverage.push_back(std::move(line));
    }
    int64_t count = static_cast<int64_t>(rows.size());
    return {{"rows", std::move(rows)},
            {"coverage", std::move(coverage)},
            {"row_count", count},
            {"registered", registered},
            {"by_body_alone", bodies}};
}

std::string joined(const Json& list, const char* separator = ", ") {
    return fmt::format("{}", fmt::join(list.get<std::vector<std::string>>(), separator));
}

}  // namespace

std::string KernelMatrix::json(const std::vector<std::string>& operators) const {
    return document(*this, operators).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string KernelMatrix::markdown(const std::vector<std::string>& operators) const {
    Json made = document(*this, operators);
    std::string text =
        "| operator | placement | arguments | results | flavours | kernel |\n|---|---|---|---|---|---|\n";
    for (const Json& row : made["rows"]) {
        std::vector<std::string> chain = row["before"];
        chain.push_back(row["kernel"]);
        for (const Json& stage : row["after"]) chain.push_back(stage);
        text += fmt::format("| {} | {} | {} | {} | {} | {}{} |\n", row["operator"].get<std::string>(),
                            row["placement"].get<std::string>(), joined(row["arguments"]), joined(row["results"]),
                            row["flavours"].get<std::string>(), fmt::join(chain, " => "),
                            row["registered"].get<bool>() ? "" : " (not registered)");
    }
    text += "\n| coverage |";
    std::string rule = "\n|---|";
    const auto& placements = registry_.vocabulary.placements;
    for (const std::string& placement : placements) text += fmt::format(" {} |", placement), rule += "---|";
    text += rule + "\n";
    for (const Json& line : made["coverage"]) {
        text += fmt::format("| {} |", line["operator"].get<std::string>());
        for (const std::string& placement : placements) {
            int64_t rows = line[placement]["rows"], registered = line[placement]["registered"];
            text += rows == 0            ? " - |"
                    : rows == registered ? fmt::format(" {} |", rows)
                                         : fmt::format(" {} of {} |", registered, rows);
        }
        text += "\n";
    }
    return text + fmt::format("\n{} of {} rows have a kernel; {} operators without rows run their body on a host.\n",
                              made["registered"].get<int64_t>(), made["row_count"].get<int64_t>(),
                              made["by_body_alone"].get<int64_t>());
}

}  // namespace heddle::flavours
