// Applies the library's operators again to what the document says of their operands: the index, the projections and the
// outputs must come out as they stand there.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "interchange/box.h"
#include "interchange/issues.h"
#include "interchange/parameters.h"
#include "interchange/to_document.h"
#include "symbolic/session.h"
#include "symbolic/static_tensor.h"
#include "zspace/checked.h"

namespace heddle::interchange {
namespace {

constexpr int64_t largest_tensor = int64_t{1} << 48;  // elements

// What the document says of an operation, taken to indices and tensors that begin at zero, where coefficients of
// columns of one point or none are zero: they have no meaning.
DocumentProjection normal(const DocumentProjection& projection, const DocumentRange& index, const DocumentRange& box) {
    DocumentProjection result{projection.projection, projection.offset, projection.shape};
    for (size_t row = 0; row < result.shape.size(); row++) {
        // Wraps alike on both sides of a comparison.
        auto offset = static_cast<uint64_t>(result.offset[row]) - static_cast<uint64_t>(box.start[row]);
        for (size_t column = 0; column < index.start.size(); column++) {
            int64_t& coefficient = result.projection[row][column];
            offset += static_cast<uint64_t>(coefficient) * static_cast<uint64_t>(index.start[column]);
            if (index.end[column] - index.start[column] <= 1) coefficient = 0;
        }
        result.offset[row] = static_cast<int64_t>(offset);
    }
    return result;
}

std::string text(const DocumentProjection& projection) {
    std::vector<std::string> rows;
    for (const auto& row : projection.projection) rows.push_back(fmt::format("[{}]", fmt::join(row, ", ")));
    return fmt::format("projection [{}], offset [{}], shape [{}]", fmt::join(rows, ", "),
                       fmt::join(projection.offset, ", "), fmt::join(projection.shape, ", "));
}

class Check {
public:
    Check(Checked& checked, Validation& validation)
        : checked_(checked), validation_(validation), session_(*checked.options.library) {}

    void operation(size_t number, const OperationBody& body) {
        const Template* found = checked_.operator_of(body.kernel);
        if (!found) return;  // the environment says whether that is legal
        const Template& metakernel = *found;
        if (metakernel.each) return skip(number, "it is one of several operations of its operator");
        for (const auto& [name, list] : body.inputs.value_or(DocumentSelections{})) {
            if (metakernel.input(name)) continue;
            return refuses(number, {"inputs", name}, fmt::format("{} has no input {}", body.kernel, name));
        }
        for (const auto& [name, list] : body.outputs.value_or(DocumentSelections{})) {
            if (metakernel.output(name)) continue;
            return refuses(number, {"outputs", name}, fmt::format("{} has no output {}", body.kernel, name));
        }
        std::map<std::string, StaticValue> parameters;
        values_.clear();
        for (const auto& [name, json] : body.params.value_or(std::vector<std::pair<std::string, std::string>>{})) {
            auto value = parameter_value_of(json);
            if (!value) return refuses(number, {"params", name}, fmt::format("{} is no value of a parameter", name));
            if (const TensorSpec* input = metakernel.input(name); input && !selections(body, *input, true)) {
                auto data = tensor_of(*value);
                if (!data || input->flavour != Flavour::concrete || input->variadic)
                    return refuses(number, {"params", name}, fmt::format("{} is no value of an input", name));
                values_.emplace(name, as_declared(std::move(*data), *input));
                continue;
            }
            parameters.emplace(name, std::move(*value));
        }
        std::vector<Argument> inputs;
        if (!arguments(number, body, metakernel, inputs)) return;
        ApplyOptions options;
        for (const TensorSpec& output : metakernel.outputs)
            options.requested.push_back(selections(body, output) != nullptr);
        size_t before = session_.graph().operations.size();
        auto results = session_.apply(metakernel, inputs, parameters, options);
        if (!results) return refused(number, metakernel, body, results.error());
        outputs(number, body, metakernel, *results);
        const auto& tags = checked_.node(number).tags;
        const auto& operations = session_.graph().operations;
        if (operations.size() == before + 1 && tags && tags->signature && tags->index &&
            signature_fits(*tags->signature, *tags->index, body, nullptr))
            signature(number, body, operations.back());
        if (!differences_.empty() && misses_value(body, metakernel)) {
            skip(number, "a value that decides what it does is not in the document");
        } else {
            validation_.applied_again++;
            for (Issue& difference : differences_) checked_.add(std::move(difference));
        }
        differences_.clear();
    }

private:
    void skip(size_t number, const std::string& why) {
        validation_.not_applied_again.push_back(fmt::format("{}: {}", checked_.title(number), why));
    }

    Issue issue(const char* code, size_t number, std::vector<std::string> steps, const char* what) const {
        const auto& body = std::get<OperationBody>(checked_.node(number).body);
        Issue result{.code = code,
                     .summary = fmt::format("the operator {} {} {}", body.kernel, what, checked_.title(number)),
                     .part = {number, std::move(steps)}};
        result.params = {{"operator", body.kernel}};
        return result;
    }

    void refuses(size_t number, std::vector<std::string> part, std::string reason) {
        part.insert(part.begin(), "body");
        Issue found = issue("interchange.operator_refuses", number, std::move(part), "refuses the operands of");
        found.reason = std::move(reason);
        checked_.add(std::move(found));
    }

    static std::optional<DType> declared_dtype(const TensorSpec& input) {
        return input.dtype && input.dtype->kind == Syntax::Kind::name ? dtype_named(input.dtype->text) : std::nullopt;
    }

    // The value of an input as the tensor that its operator asks for.
    static TensorData as_declared(TensorData data, const TensorSpec& input) {
        auto dtype = declared_dtype(input);
        if (!dtype || *dtype == data.dtype()) return data;
        TensorData converted(*dtype, data.shape());
        for (int64_t i = 0; i < data.size(); i++) {
            if (is_float(*dtype))
                converted.set_real(i,
                                   is_float(data.dtype()) ? data.real_at(i) : static_cast<double>(data.integer_at(i)));
            else if (!is_float(data.dtype()))
                converted.set_integer(i, data.integer_at(i));
        }
        return converted;
    }

    // Operations do not list inputs whose value is all that counts. `params` has the value unless it is large; what it
    // does not have is the dtype, which may follow from the template.
    bool misses_value(const OperationBody& body, const Template& metakernel) const {
        return std::ranges::any_of(metakernel.inputs, [&](const TensorSpec& input) {
            if (input.flavour != Flavour::concrete || selections(body, input, true)) return false;
            return !values_.contains(input.name) || !declared_dtype(input);
        });
    }

    void refused(size_t number, const Template& metakernel, const OperationBody& body, const Diagnostics& errors) {
        bool value = misses_value(body, metakernel);
        for (const Diagnostic& error : errors) {
            if (value || error.code == "symbolic.missing_input" || error.code == "symbolic.not_concrete")
                return skip(number, error.summary);
        }
        Issue found = issue("interchange.operator_refuses", number, {"body"}, "refuses the operands of");
        found.expected = errors[0].expected;
        found.found = errors[0].found;
        found.reason = fmt::format("{}: {}", errors[0].code, errors[0].summary);
        found.remedy = errors[0].remedy;
        found.params.emplace_back("error", errors[0].code);
        checked_.add(std::move(found));
    }

    static const std::vector<DocumentSelection>* selections(const OperationBody& body, const TensorSpec& specification,
                                                            bool input = false) {
        const auto& side = input ? body.inputs : body.outputs;
        if (!side) return nullptr;
        for (const auto& [name, list] : *side) {
            if (name == specification.name) return &list;
        }
        return nullptr;
    }

    // False: it cannot be applied, and that has been said.
    bool arguments(size_t number, const OperationBody& body, const Template& metakernel,
                   std::vector<Argument>& inputs) {
        for (const TensorSpec& specification : metakernel.inputs) {
            const auto* list = selections(body, specification, true);
            if (auto value = values_.find(specification.name); !list && value != values_.end()) {
                inputs.emplace_back(session_.add_constant(specification.name, value->second));
                continue;
            }
            if (!list) {
                inputs.emplace_back();
                continue;
            }
            std::vector<TensorId> tensors;
            for (const DocumentSelection& selection : *list) {
                auto type = type_of(selection);
                if (!type) {
                    skip(number, "a tensor is not there, too large, or of a dtype that no operator has");
                    return false;
                }
                tensors.push_back(session_.add_input(specification.name, std::move(*type)));
            }
            if (specification.variadic) {
                inputs.emplace_back(std::move(tensors));
            } else if (tensors.size() == 1) {
                inputs.emplace_back(tensors[0]);
            } else {
                refuses(number, {"inputs", specification.name},
                        fmt::format("input {} is one tensor, and {} are given", specification.name, tensors.size()));
                return false;
            }
        }
        while (!inputs.empty() && !inputs.back().given) inputs.pop_back();
        return true;
    }

    std::optional<TensorType> type_of(const DocumentSelection& selection) const {
        const TensorBody* tensor = checked_.tensor(selection.tensor_id);
        auto dtype = tensor ? dtype_of(tensor->dtype) : std::nullopt;
        auto sizes = extents(selection.range);
        if (!dtype || !sizes || sizes->size() > largest_rank) return std::nullopt;
        int64_t elements = 1;
        for (int64_t size : *sizes) {
            auto product = checked_multiply(elements, std::max<int64_t>(size, 1));
            if (!product || *product > largest_tensor) return std::nullopt;
            elements = *product;
        }
        return TensorType{*dtype, {sizes->begin(), sizes->end()}};
    }

    void differs(size_t number, std::vector<std::string> steps, std::string expected, std::string found,
                 const char* what) {
        Issue result = issue("interchange.operator_differs", number, std::move(steps), what);
        result.expected = std::move(expected);
        result.found = std::move(found);
        result.contexts = {{"the operation", {number, {"body"}}}};
        differences_.push_back(std::move(result));
    }

    void outputs(size_t number, const OperationBody& body, const Template& metakernel,
                 const std::vector<TensorId>& results) {
        size_t next = 0;
        for (const TensorSpec& specification : metakernel.outputs) {
            const auto* list = selections(body, specification);
            if (!list) {
                next++;  // -1: not asked for
                continue;
            }
            for (size_t i = 0; i < list->size() && next < results.size(); i++, next++) {
                auto type = type_of((*list)[i]);
                const TensorType& right = session_.graph().tensor(results[next]).type;
                if (type && type->dtype == right.dtype && type->extents() == right.extents()) continue;
                differs(number, {"body", "outputs", specification.name, std::to_string(i)}, right.text(),
                        type ? type->text() : "a tensor that is not there", "has another output than");
            }
        }
    }

    void signature(size_t number, const OperationBody& body, const Operation& again) {
        const auto& tags = *checked_.node(number).tags;
        DocumentRange index;
        for (const IndexAxis& axis : again.index) {
            if (axis.extends()) continue;
            index.start.push_back(0);
            index.end.push_back(axis.extent.value);
        }
        if (extents(*tags.index) != index.end) {
            differs(number, {"tags", "IPFIndex"}, heddle::interchange::text(index),
                    heddle::interchange::text(*tags.index), "has another index than");
            return;
        }
        auto right = signature_of(session_.graph(), again);
        if (!right) return;
        compare(number, "inputs", tags.signature->inputs, body.inputs, right->inputs, *tags.index, index,
                again.input_names);
        compare(number, "outputs", tags.signature->outputs, body.outputs, right->outputs, *tags.index, index,
                again.output_names);
    }

    void compare(size_t number, const char* side, const DocumentProjections& projections,
                 const std::optional<DocumentSelections>& selections, const DocumentProjections& right,
                 const DocumentRange& index, const DocumentRange& right_index, const std::vector<OperandName>& names) {
        std::map<std::pair<std::string, size_t>, std::pair<const DocumentProjection*, const DocumentRange*>> ours;
        for (const auto& [name, list] : projections) {
            for (size_t i = 0; i < list.size(); i++) ours[{name, i}].first = &list[i];
        }
        each_selection(selections, number, side,
                       [&](const auto&, const std::string& name, size_t i, const auto& selection) {
                           ours[{name, i}].second = &selection.range;
                       });
        for (const auto& [name, list] : right) {
            // The numbers of the operands that the body reads, in order: those of `list`.
            std::vector<size_t> elements;
            for (const OperandName& operand : names) {
                if (operand.name == name) elements.push_back(static_cast<size_t>(operand.element));
            }
            std::ranges::sort(elements);
            for (size_t i = 0; i < list.size() && i < elements.size(); i++) {
                auto found = ours.find({name, elements[i]});
                if (found == ours.end()) continue;
                DocumentRange zero{std::vector<int64_t>(list[i].shape.size(), 0), {}};
                DocumentProjection expected = normal(list[i], right_index, zero);
                DocumentProjection written = normal(*found->second.first, index, *found->second.second);
                if (expected == written) continue;
                differs(number, {"tags", "IPFSignature", side, name, std::to_string(elements[i])}, text(expected),
                        text(written), "has another projection than");
            }
        }
    }

    Checked& checked_;
    Validation& validation_;
    Session session_;
    // Of the operation at hand.
    std::vector<Issue> differences_;
    std::map<std::string, TensorData> values_;  // of inputs, from `params`
};

}  // namespace

void check_operators(Checked& checked, Validation& validation) {
    if (!checked.options.library || !checked.options.dialect.library) return;
    Check check(checked, validation);
    for (size_t i = 0; i < checked.document.nodes.size(); i++) {
        if (checked.full()) return;
        if (const auto* body = std::get_if<OperationBody>(&checked.node(i).body)) check.operation(i, *body);
    }
}

}  // namespace heddle::interchange
