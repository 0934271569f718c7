#include "flavours/kernel_matrix.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace heddle::flavours {
namespace {

std::vector<Flavour> flavours_of(const std::vector<std::string>& words) {
    std::vector<Flavour> list;
    for (const std::string& word : words) list.push_back(word == "concrete" ? Flavour::concrete : Flavour::transparent);
    return list;
}

std::string words(const std::vector<Flavour>& flavours) {
    std::vector<std::string> list;
    for (Flavour flavour : flavours) list.push_back(flavour == Flavour::concrete ? "concrete" : "transparent");
    return fmt::format("{}", fmt::join(list, ", "));
}

// A row's types and flavours, as written. Rows of stages are read only so far, so that no circle of stages is followed.
Result<Row> read_types(const KernelRow& written, const Vocabulary& vocabulary) {
    Row row{.written = &written,
            .argument_flavours = flavours_of(written.argument_flavours),
            .result_flavours = flavours_of(written.result_flavours),
            .runtime = written.runtime};
    Diagnostics problems;
    auto read = [&](const std::string& word) {
        auto type = vocabulary.parse(word, written.place);
        if (type) return *type;
        problems.insert(problems.end(), type.error().begin(), type.error().end());
        return Type{};
    };
    Type placement = read(written.placement);
    row.placement = placement.placement;
    if (problems.empty() && (placement.placement.empty() || !placement.element.empty() || !placement.form.empty())) {
        problems.push_back({.code = "flavours.type_word",
                            .summary = fmt::format("`{}` is not a placement", written.placement),
                            .place = written.place,
                            .remedy = fmt::format("write one of {}", fmt::join(vocabulary.placements, ", "))});
    }
    for (const std::string& word : written.arguments) row.arguments.push_back(read(word));
    for (const std::string& word : written.results) row.results.push_back(read(word));
    if (!problems.empty()) return fail(std::move(problems));
    return row;
}

// Reads the row of one operator: words, then the chain of stages and kernel, then what it opens.
class Loader {
public:
    Loader(const Template& metakernel, const Library& library, const Registry& registry)
        : metakernel_(metakernel), library_(library), registry_(registry) {}

    Result<Row> load(const KernelRow& written) {
        auto types = read_types(written, registry_.vocabulary);
        if (!types) return types;
        row_ = std::move(*types);
        check_counts();
        if (problems_.empty()) split_chain();
        if (problems_.empty()) check_kernel();
        if (!problems_.empty()) return fail(std::move(problems_));
        return std::move(row_);
    }

private:
    void error(const char* code, std::string summary, std::string reason, std::string remedy = {}) {
        problems_.push_back({.code = code,
                             .summary = std::move(summary),
                             .place = row_.written->place,
                             .reason = std::move(reason),
                             .remedy = std::move(remedy),
                             .params = {{"operator", metakernel_.name}}});
    }
    void contradiction(std::string summary, std::string reason) {
        error("flavours.contradiction", std::move(summary), std::move(reason),
              "write what the kernel does, or bind another kernel");
    }

    void check_counts() {
        size_t needed = 0;
        for (const TensorSpec& input : metakernel_.inputs) needed += !input.optional;
        size_t given = row_.arguments.size();
        if (given < needed || given > metakernel_.inputs.size() || row_.results.size() != metakernel_.outputs.size()) {
            error("flavours.row_types",
                  fmt::format("{} argument types and {} result types", given, row_.results.size()),
                  fmt::format("{} has {} inputs and {} outputs", metakernel_.name, metakernel_.inputs.size(),
                              metakernel_.outputs.size()),
                  "write one type for each; that of a variadic tensor stands for all of it");
        }
        for (const Type& type : row_.results) {
            if (type.placement.empty() || type.placement == row_.placement) continue;
            error("flavours.row_types", fmt::format("a result is a {}", type.text()),
                  fmt::format("the row is on {}, and so are its results", row_.placement));
        }
    }

    bool is_kernel(const std::string& name) const { return name == "body" || registry_.find(name); }

    // One name of the chain is the kernel: the registered one, else the last. Those before it convert arguments, those
    // behind it results.
    void split_chain() {
        const auto& names = row_.written->stages;
        auto kernel = std::ranges::find_if(names, [&](const std::string& name) { return is_kernel(name); });
        if (kernel == names.end()) --kernel;
        row_.kernel_name = *kernel;
        row_.kernel = registry_.find(*kernel);
        staged_.assign(row_.arguments.size(), {});
        std::vector<Type> types = row_.arguments;
        for (auto name = names.begin(); name != kernel && problems_.empty(); ++name) {
            row_.before.push_back(stage(*name, types, staged_, true));
        }
        finished_.assign(row_.results.size(), {});
        types = row_.results;
        for (auto name = names.end() - 1; name != kernel && problems_.empty(); --name) {
            row_.after.insert(row_.after.begin(), stage(*name, types, finished_, false));
        }
    }

    // What a stage makes of `types`; forwards from its argument to its result, or backwards. Each conversion's row is
    // kept in `history` of its position.
    Stage stage(const std::string& name, std::vector<Type>& types, std::vector<std::vector<Row>>& history,
                bool forwards) {
        Stage made{.operator_name = name};
        auto problem = [&](std::string reason) {
            error("flavours.stage", fmt::format("`{}` is no stage here", name), std::move(reason),
                  "a stage is an operator of one input and one output, with rows of kernels for such a value");
            return made;
        };
        if (is_kernel(name)) return problem(fmt::format("it is a kernel, and {} is this row's", row_.kernel_name));
        auto found = library_.find(name);
        if (!found) return problem("there is no operator of this name");
        const Template& converter = **found;
        if (converter.inputs.size() != 1 || converter.outputs.size() != 1) return problem("it is not of one input");
        std::vector<Row> rows;
        for (const KernelRow& written : converter.kernels) {
            auto row = read_types(written, registry_.vocabulary);
            if (!row) return problem("its rows have errors");
            if (row->arguments.size() == 1 && row->results.size() == 1) rows.push_back(std::move(*row));
        }
        for (size_t position = 0; position < types.size(); ++position) {
            for (const Row& row : rows) {
                if (!matches(forwards ? row.arguments[0] : row.results[0], types[position])) continue;
                types[position] = forwards ? row.results[0] : row.arguments[0];
                history[position].push_back(row);
                made.positions.push_back(position);
                break;
            }
        }
        if (made.positions.empty()) return problem("it converts none of the values");
        return made;
    }

    static bool gives_concrete(const Row& row) { return !row.runtime && row.result_flavours[0] == Flavour::concrete; }
    static bool opens(const Row& row) { return !row.runtime && row.argument_flavours[0] == Flavour::concrete; }

    void check_kernel() {
        if (row_.body() && !metakernel_.has_body() && !metakernel_.is_composition())
            return contradiction("the row runs a body", fmt::format("{} has none", metakernel_.name));
        if (row_.body() || row_.kernel) check_runtime();
        if (!row_.kernel || row_.runtime || !problems_.empty()) return;
        const Kernel& kernel = *row_.kernel;
        bool variadic = !metakernel_.inputs.empty() && row_.arguments.size() == metakernel_.inputs.size() &&
                        metakernel_.inputs.back().variadic;
        if (kernel.arguments.size() != row_.arguments.size() || kernel.results.size() != row_.results.size() ||
            kernel.variadic != variadic) {
            return contradiction(fmt::format("the kernel {} takes {} arguments and gives {} results", kernel.name,
                                             kernel.arguments.size(), kernel.results.size()),
                                 "the row has other numbers, or one of them has a variadic argument");
        }
        for (size_t i = 0; i < row_.arguments.size(); ++i) check_argument(i, kernel.arguments[i]);
        for (size_t i = 0; i < row_.results.size(); ++i) check_result(i, kernel.results[i]);
    }

    void check_runtime() {
        bool runs_late = row_.body() || row_.kernel->runtime();
        if (runs_late != row_.runtime) {
            contradiction(fmt::format("the row says {}", row_.flavours()),
                          fmt::format("{} is {} kernel", row_.kernel_name, runs_late ? "a [runtime]" : "no [runtime]"));
        }
        if (row_.runtime && row_.placement != "Host")
            contradiction(fmt::format("the row is on {}", row_.placement), "a [runtime] kernel runs on one host");
    }

    // The value goes through its stages to the kernel; whoever opens it must be given it concrete.
    void check_argument(size_t position, Flavour kernel) {
        const auto& stages = staged_[position];
        bool opened = stages.empty() ? kernel == Flavour::concrete : opens(stages[0]);
        bool known = true;
        for (size_t i = 0; i <= stages.size(); ++i) {
            bool wants = i < stages.size() ? opens(stages[i]) : kernel == Flavour::concrete;
            if (wants && !known) {
                return contradiction(
                    fmt::format("argument {} is opened, but the stage before gives no concrete value", position + 1),
                    fmt::format("{} => {}", stages[i - 1].written->text, row_.kernel_name));
            }
            if (i < stages.size()) known = gives_concrete(stages[i]);
        }
        if (opened != (row_.argument_flavours[position] == Flavour::concrete)) {
            contradiction(fmt::format("argument {} is {}", position + 1, words({row_.argument_flavours[position]})),
                          fmt::format("{} {} it", stages.empty() ? row_.kernel_name : "its stage",
                                      opened ? "opens" : "does not open"));
        }
    }

    void check_result(size_t position, Flavour kernel) {
        const auto& stages = finished_[position];  // the last conversion first
        bool known = kernel == Flavour::concrete;
        for (size_t i = stages.size(); i-- > 0; known = gives_concrete(stages[i])) {
            if (opens(stages[i]) && !known) {
                return contradiction(fmt::format("result {} is opened by a stage", position + 1),
                                     "what comes before it gives no concrete value");
            }
        }
        if (known != (row_.result_flavours[position] == Flavour::concrete)) {
            contradiction(fmt::format("result {} is {}", position + 1, words({row_.result_flavours[position]})),
                          fmt::format("{} gives it {}", stages.empty() ? row_.kernel_name : "its stage",
                                      words({known ? Flavour::concrete : Flavour::transparent})));
        }
    }

    const Template& metakernel_;
    const Library& library_;
    const Registry& registry_;
    Row row_;
    std::vector<std::vector<Row>> staged_, finished_;  // the rows of the conversions, by position
    Diagnostics problems_;
};

// Of an operator that has a body and no rows.
Row body_row(const Template& metakernel) {
    return {.placement = "Host",
            .arguments = std::vector<Type>(metakernel.inputs.size(), Type{.placement = "Host"}),
            .results = std::vector<Type>(metakernel.outputs.size(), Type{.placement = "Host", .form = "Tensor"}),
            .kernel_name = "body",
            .runtime = true};
}

}  // namespace

std::string Row::flavours() const {
    if (runtime) return "[runtime]";
    std::string arguments = words(argument_flavours), results = words(result_flavours);
    return fmt::format("[{}{}->{}{}]", arguments, arguments.empty() ? "" : " ", results.empty() ? "" : " ", results);
}

Flavour Row::argument_flavour(size_t position) const {
    return argument_flavours[std::min(position, argument_flavours.size() - 1)];
}

const Row* OperatorRows::row_for(const Placement& placement, const std::vector<Value>& arguments) const {
    bool variadic = !metakernel->inputs.empty() && metakernel->inputs.back().variadic;
    for (const Row& row : rows) {
        bool open = variadic && row.arguments.size() == metakernel->inputs.size();
        bool count = open ? arguments.size() + 1 >= row.arguments.size() : arguments.size() == row.arguments.size();
        if (!row.written) count = arguments.size() <= row.arguments.size() || open;
        bool fits = count && row.placement == placement.kind;
        for (size_t i = 0; i < arguments.size() && fits; ++i) fits = matches(row.argument(i), arguments[i].type());
        if (fits) return &row;
    }
    return nullptr;
}

KernelMatrix::KernelMatrix(const Library& library, const Registry& registry) : library_(library), registry_(registry) {}

Result<const OperatorRows*> KernelMatrix::find(const std::string& operator_name) const {
    auto known = loaded_.find(operator_name);
    if (known != loaded_.end()) return known->second.get();
    auto metakernel = library_.find(operator_name);
    if (!metakernel) return fail(std::move(metakernel.error()));
    auto made = std::make_unique<OperatorRows>(OperatorRows{.name = operator_name, .metakernel = *metakernel});
    Diagnostics problems;
    for (const KernelRow& written : (*metakernel)->kernels) {
        auto row = Loader(**metakernel, library_, registry_).load(written);
        if (row)
            made->rows.push_back(std::move(*row));
        else
            problems.insert(problems.end(), row.error().begin(), row.error().end());
    }
    if (!problems.empty()) return fail(std::move(problems));
    if ((*metakernel)->kernels.empty() && ((*metakernel)->has_body() || (*metakernel)->is_composition()))
        made->rows.push_back(body_row(**metakernel));
    return loaded_.emplace(operator_name, std::move(made)).first->second.get();
}

Diagnostics KernelMatrix::check(const std::vector<std::string>& operators) const {
    Diagnostics problems;
    for (const std::string& name : operators) {
        auto rows = find(name);
        if (!rows) problems.insert(problems.end(), rows.error().begin(), rows.error().end());
    }
    return problems;
}

}  // namespace heddle::flavours
