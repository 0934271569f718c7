#include "flavours/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>

#include "flavours/typing.h"

namespace heddle::flavours {

struct Session::Application {
    const OperatorRows& rows;
    const Row& row;
    const Placement& placement;
    const std::vector<Value>& arguments;
    const Parameters& parameters;
    std::vector<TensorType> types = {};  // of the results

    const Template& metakernel() const { return *rows.metakernel; }
    std::string input_name(size_t position) const {
        const auto& inputs = metakernel().inputs;
        const TensorSpec& spec = inputs[std::min(position, inputs.size() - 1)];
        return spec.variadic ? fmt::format("{}[{}]", spec.name, position + 1 - inputs.size()) : spec.name;
    }
    Diagnostic error(const char* code, std::string summary) const {
        return {.code = code,
                .summary = std::move(summary),
                .place = row.written ? row.written->place : metakernel().place,
                .params = {{"operator", metakernel().name}, {"placement", placement.text()}}};
    }
};

namespace {

std::string types_text(const std::vector<Value>& values) {
    std::vector<std::string> words;
    for (const Value& value : values) words.push_back(value.type().text());
    return fmt::format("({})", fmt::join(words, ", "));
}

Diagnostic no_row(const OperatorRows& rows, const Placement& placement, const std::vector<Value>& arguments) {
    std::string types = types_text(arguments), known;
    for (const Row& row : rows.rows) {
        if (row.written) known += (known.empty() ? "" : "; ") + row.written->text;
    }
    return {.code = "flavours.no_row",
            .summary = fmt::format("{} has no kernel on {} for {}", rows.metakernel->name, placement.text(), types),
            .place = rows.metakernel->place,
            .expected = known.empty() ? "an operator with rows of kernels, or with a body and on a host" : known,
            .remedy = "convert the arguments, or add a row to `kernels`",
            .params = {{"operator", rows.metakernel->name}, {"placement", placement.text()}, {"types", types}}};
}

// What a row's result word leaves open: a tensor, where the operator is applied; its element is that of the first
// argument that is stored alike, else the stored one.
Type result_type(const Type& word, const Placement& placement, const std::vector<Value>& arguments, DType stored) {
    Type type = word;
    if (type.placement.empty()) type.placement = placement.kind;
    if (type.form.empty()) type.form = "Tensor";
    for (const Value& argument : arguments) {
        if (type.element.empty() && argument.tensor().dtype == stored) type.element = argument.type().element;
    }
    if (type.element.empty()) type.element = name(stored);
    return type;
}

template <typename Function>
void each_leaf(const Value& value, const Function& function) {
    if (!value.concrete() || Opened(value).data()) return function(value);
    for (const Value& part : Opened(value).parts()) each_leaf(part, function);
}

bool same(const TensorType& a, const TensorType& b) { return a.dtype == b.dtype && a.extents() == b.extents(); }

uint64_t system_random() {
    static thread_local std::random_device device;
    return uint64_t{device()} << 32 | device();
}

}  // namespace

Session::Session(const KernelMatrix& matrix, Mode mode, std::function<uint64_t()> random)
    : matrix_(matrix), mode_(mode), random_(random ? std::move(random) : system_random) {}

RecordedId Session::add_tensor(RecordedTensor tensor) {
    std::string base = tensor.name;
    for (size_t number = computation_.tensors.size(); !names_.insert(tensor.name).second; ++number)
        tensor.name = fmt::format("{}_{}", base, number);
    computation_.tensors.push_back(std::move(tensor));
    return last_id<RecordedId>(computation_.tensors);
}

Result<Value> Session::input(std::string name, const std::string& word, std::vector<Size> shape,
                             const Placement& placement) {
    auto type = matrix_.registry().vocabulary.parse(word, {});
    if (!type) return std::unexpected(type.error());
    if (mode_ == Mode::eager || type->placement != placement.kind || type->element.empty() || type->form.empty()) {
        return fail({.code = "flavours.input",
                     .summary = fmt::format("{} cannot be an input on {}", word, placement.text()),
                     .expected = "a whole type of that placement, in a symbolic session"});
    }
    TensorType tensor{matrix_.registry().vocabulary.elements.at(type->element), std::move(shape)};
    RecordedId id = add_tensor({.name = std::move(name), .type = *type, .tensor = tensor, .placement = placement});
    computation_.inputs.push_back(id);
    return Value(*type, std::move(tensor), placement, id);
}

Result<Value> Session::constant(const std::string& word, TensorData data, const Placement& placement) {
    const Vocabulary& vocabulary = matrix_.registry().vocabulary;
    auto type = vocabulary.parse(word, {});
    if (!type) return std::unexpected(type.error());
    auto stored = vocabulary.elements.find(type->element);
    bool known = stored != vocabulary.elements.end() && stored->second == data.dtype() && !type->form.empty();
    if (!known || type->placement != placement.kind || placement.hosts.size() != 1) {
        return fail({.code = "flavours.input",
                     .summary = fmt::format("{} cannot be a {} on {}", name(data.dtype()), word, placement.text()),
                     .expected = "a whole type of one host, and data that stores its element"});
    }
    return add_constant(std::move(*type), std::move(data), placement);
}

Value Session::add_constant(Type type, TensorData data, const Placement& placement) {
    if (mode_ == Mode::eager) return Value(std::move(type), std::move(data), placement);
    TensorType tensor{data.dtype(), {data.shape().begin(), data.shape().end()}};
    RecordedId id = add_tensor(
        {.name = "constant", .type = type, .tensor = std::move(tensor), .placement = placement, .constant = data});
    return Value(std::move(type), std::move(data), placement, id);
}

Result<std::vector<Value>> Session::apply(const std::string& operator_name, const Placement& placement,
                                          const std::vector<Value>& arguments, const Parameters& parameters) {
    auto rows = matrix_.find(operator_name);
    if (!rows) return std::unexpected(rows.error());
    const Row* row = (*rows)->row_for(placement, arguments);
    if (!row) return fail(no_row(**rows, placement, arguments));
    Application application{**rows, *row, placement, arguments, parameters};
    if (depth_ >= deepest_application) {
        return fail(application.error(
            "flavours.depth", fmt::format("{} kernels apply operators one within another", deepest_application)));
    }
    size_t tensors = computation_.tensors.size(), operations = computation_.operations.size();
    auto once = once_;
    ++depth_;
    auto results = apply_within(application);
    --depth_;
    if (results) return results;
    // Undo what was recorded before the error.
    for (size_t i = tensors; i < computation_.tensors.size(); ++i) names_.erase(computation_.tensors[i].name);
    computation_.tensors.resize(tensors);
    computation_.operations.resize(operations);
    once_ = std::move(once);
    for (Diagnostic& problem : results.error()) {
        problem.contexts.push_back({fmt::format("in {} on {}", operator_name, placement.text()),
                                    row->written ? row->written->place : Place{}});
    }
    return results;
}

// The rule (docs/flavours.md).
Result<std::vector<Value>> Session::apply_within(const Application& given) {
    Application application = given;
    if (auto leaves = check_leaves(application); !leaves) return std::unexpected(leaves.error());
    auto typed =
        type_application(application.metakernel(), matrix_.library(), application.arguments, application.parameters);
    if (!typed) return std::unexpected(typed.error());
    application.types = typed->types();
    if (mode_ == Mode::eager) return run(application);
    const Row& row = application.row;
    if (row.runtime) return record(application);
    bool handles = true;
    std::optional<size_t> closed;  // the first argument that is to be opened and cannot be
    for (size_t i = application.arguments.size(); i-- > 0;) {
        bool concrete = application.arguments[i].concrete();
        handles = handles && !concrete;
        if (!concrete && row.argument_flavour(i) == Flavour::concrete) closed = i;
    }
    if (!closed) return run(application);
    if (handles) return record(application);
    return fail(mixed(application, *closed));
}

// Values of an eager session are known throughout; those of a symbolic session are its own.
Result<void> Session::check_leaves(const Application& application) const {
    for (size_t i = 0; i < application.arguments.size(); ++i) {
        bool fine = true;
        each_leaf(application.arguments[i], [&](const Value& leaf) {
            bool own = leaf.recorded() >= 0 && static_cast<size_t>(leaf.recorded()) < computation_.tensors.size();
            fine = fine && (mode_ == Mode::eager ? leaf.concrete() : own);
        });
        if (fine) continue;
        return fail(application.error(
            "flavours.input", fmt::format("argument {} is no value of this session", application.input_name(i))));
    }
    return {};
}

std::string Session::producer_text(const Value& value) const {
    const RecordedTensor& tensor = computation_.tensors[static_cast<size_t>(value.recorded())];
    if (tensor.producer < 0) return fmt::format("{}, an input on {}", tensor.name, tensor.placement.text());
    const RecordedOperation& producer = computation_.operations[static_cast<size_t>(tensor.producer)];
    return fmt::format("{}, the result of {} on {}", tensor.name, producer.operator_name, producer.placement.text());
}

Diagnostic Session::mixed(const Application& application, size_t argument) const {
    std::string name = application.input_name(argument), producer = producer_text(application.arguments[argument]);
    Diagnostic diagnostic = application.error(
        "flavours.mixed", fmt::format("{} on {} opens its argument {}, which is not known at symbolic execution",
                                      application.metakernel().name, application.placement.text(), name));
    diagnostic.expected = fmt::format("a concrete value, or handles alone: {}", application.row.flavours());
    diagnostic.found = producer;
    diagnostic.reason = "other arguments are concrete, so the operation cannot be recorded either";
    diagnostic.remedy = fmt::format("lower what makes {} first, or record the other arguments too", name);
    diagnostic.params.emplace_back("argument", name);
    diagnostic.params.emplace_back("producer", producer);
    return diagnostic;
}

Result<std::vector<Value>> Session::record(const Application& application) {
    RecordedOperation operation{.operator_name = application.rows.name,
                                .placement = application.placement,
                                .parameters = application.parameters,
                                .inputs = application.arguments};
    std::vector<Value> results;
    for (size_t i = 0; i < application.types.size(); ++i) {
        const TensorType& tensor = application.types[i];
        Type type = result_type(application.row.result(i), application.placement, application.arguments, tensor.dtype);
        RecordedId id = add_tensor({.name = operation.operator_name,
                                    .type = type,
                                    .tensor = tensor,
                                    .placement = application.placement,
                                    .producer = static_cast<int32_t>(computation_.operations.size())});
        operation.outputs.push_back(id);
        results.emplace_back(std::move(type), tensor, application.placement, id);
    }
    computation_.operations.push_back(std::move(operation));
    return results;
}

// `positions` is the number of the row's types: the last stands for all of a variadic tensor.
Result<void> Session::convert(const std::vector<Stage>& stages, size_t positions, std::vector<Value>& values) {
    for (const Stage& stage : stages) {
        for (size_t i = 0; i < values.size(); ++i) {
            if (!std::ranges::count(stage.positions, std::min(i, positions - 1))) continue;
            auto converted = apply(stage.operator_name, values[i].placement(), {values[i]});
            if (!converted) return std::unexpected(converted.error());
            values[i] = std::move(converted->front());
        }
    }
    return {};
}

Result<std::vector<Value>> Session::run(const Application& application) {
    const Row& row = application.row;
    if (!row.body() && !row.kernel) {
        Diagnostic diagnostic = application.error(
            "flavours.unknown_kernel",
            fmt::format("the kernel {} of {} is not registered", row.kernel_name, application.metakernel().name));
        diagnostic.remedy = "register a C++ function under this name";
        return fail(std::move(diagnostic));
    }
    std::vector<Value> arguments = application.arguments;
    if (auto converted = convert(row.before, row.arguments.size(), arguments); !converted)
        return std::unexpected(converted.error());
    auto results = row.runtime ? compute(application, arguments) : call(application, arguments);
    if (!results) return results;
    if (auto converted = convert(row.after, row.results.size(), *results); !converted)
        return std::unexpected(converted.error());
    bool fits = results->size() == application.types.size();
    std::vector<std::string> expected;
    for (size_t i = 0; i < application.types.size(); ++i) {
        fits = fits && matches(row.result(i), (*results)[i].type()) &&
               same((*results)[i].tensor(), application.types[i]) &&
               (*results)[i].placement().kind == application.placement.kind;
        expected.push_back(fmt::format("{} of {}", row.result(i).text(), application.types[i].text()));
    }
    if (fits) return results;
    Diagnostic diagnostic = application.error(
        "flavours.result_type", fmt::format("the kernel {} gives other results than its row", row.kernel_name));
    diagnostic.expected = fmt::format("{}", fmt::join(expected, ", "));
    for (const Value& result : *results)
        diagnostic.found += fmt::format("{}{} of {}", diagnostic.found.empty() ? "" : ", ", result.type().text(),
                                        result.tensor().text());
    return fail(std::move(diagnostic));
}

Result<std::vector<Value>> Session::call(const Application& application, const std::vector<Value>& arguments) {
    const Kernel& kernel = *application.row.kernel;
    Context context(*this, application.placement, application.parameters);
    for (size_t i = 0; i < arguments.size(); ++i) {
        if (kernel.arguments[std::min(i, kernel.arguments.size() - 1)] == Flavour::concrete)
            context.opened(arguments[i]);
    }
    if (!context.problems().empty()) return fail(context.problems());
    std::vector<Value> results = kernel.run(context, arguments);
    if (!context.problems().empty()) return fail(context.problems());
    return results;
}

Result<std::vector<Value>> Session::compute(const Application& application, const std::vector<Value>& arguments) {
    std::vector<TensorData> inputs;
    for (const Value& argument : arguments)
        each_leaf(argument, [&](const Value& leaf) { inputs.push_back(*Opened(leaf).data()); });
    auto computed = [&]() -> Result<std::vector<TensorData>> {
        if (!application.row.body()) {
            return application.row.kernel->compute(
                {application.placement, inputs, application.parameters, application.types, random_});
        }
        auto typed = type_application(application.metakernel(), matrix_.library(), arguments, application.parameters);
        if (!typed) return std::unexpected(typed.error());
        return typed->evaluate(inputs);
    }();
    if (!computed) return std::unexpected(computed.error());
    std::vector<Value> results;
    for (TensorData& data : *computed) {
        Type type = result_type(application.row.result(results.size()), application.placement, arguments, data.dtype());
        results.push_back(add_constant(std::move(type), std::move(data), application.placement));
    }
    return results;
}

// ---- what kernels see

Value Context::apply(const std::string& operator_name, const Placement& placement, const std::vector<Value>& arguments,
                     const Parameters& parameters) {
    if (!problems_.empty()) return {};
    auto results = session_.apply(operator_name, placement, arguments, parameters);
    if (results && results->size() == 1) return results->front();
    if (results) {
        fail({{.code = "flavours.result_type", .summary = fmt::format("{} has not one result", operator_name)}});
    } else {
        fail(std::move(results.error()));
    }
    return {};
}

Value Context::constant(const std::string& type, TensorData data, const Placement& placement) {
    if (!problems_.empty()) return {};
    auto value = session_.constant(type, std::move(data), placement);
    if (!value) fail(std::move(value.error()));
    return value ? *value : Value{};
}

Opened Context::compose(const std::string& word, TensorType tensor, std::vector<Value> parts) {
    if (!problems_.empty()) return {};
    auto type = session_.matrix().registry().vocabulary.parse(word, {});
    if (!type) {
        fail(std::move(type.error()));
        return {};
    }
    return Opened(Value(std::move(*type), std::move(tensor), placement_, std::move(parts)));
}

Opened Context::opened(const Value& value) {
    if (value.concrete()) return Opened(value);
    if (problems_.empty()) {
        fail({{.code = "flavours.not_concrete",
               .summary = fmt::format("a kernel on {} needs a {} concrete", placement_.text(), value.type().text()),
               .found = value.recorded() < 0 ? "no value" : "a handle: " + session_.producer_text(value)}});
    }
    return {};
}

std::vector<Value> Context::once(const Placement& placement, const std::string& name,
                                 const std::function<std::vector<Value>()>& make) {
    std::string key = fmt::format("{} {}", placement.text(), name);
    if (auto found = session_.once_.find(key); found != session_.once_.end()) return found->second;
    auto made = make();
    return session_.once_.insert_or_assign(std::move(key), std::move(made)).first->second;
}

void Context::fail(Diagnostics problems) {
    problems_.insert(problems_.end(), std::make_move_iterator(problems.begin()),
                     std::make_move_iterator(problems.end()));
}

}  // namespace heddle::flavours
