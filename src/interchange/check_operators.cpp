// Applies the library's operators again to what the document says of their operands: the index, the projections and the
// outputs must come out as they stand there.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "interchange/box.h"
#include "interchange/issues.h"
#include "interchange/operator_use.h"
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

class OperatorsCheck {
public:
    OperatorsCheck(Checked& checked, Validation& validation)
        : checked_(checked), validation_(validation), session_(*checked.options.library) {}

    void use(const OperatorUse& use) {
        use_ = &use;
        first_ = use.parts[0].node;
        const OperationBody& body = body_of(first_);
        if (use.problem) return refuses(use.problem->node, use.problem->steps, use.problem->reason);
        const Template& metakernel = *use.metakernel;
        if (metakernel.each && !use.parts[0].each)
            return skip("it is one of several operations of its operator, and does not say which");
        for (const auto& [name, operands] : use.inputs) {
            if (metakernel.input(name)) continue;
            return refuses(first_, {"inputs", name}, fmt::format("{} has no input {}", body.kernel, name));
        }
        for (const auto& [name, operands] : use.outputs) {
            if (metakernel.output(name)) continue;
            return refuses(first_, {"outputs", name}, fmt::format("{} has no output {}", body.kernel, name));
        }
        if (!read_parameters(body)) return;
        if (charge_ < 0) return;
        Outcome outcome = apply(true);
        // What reads a part of a tensor is applied to all of it, or to that part alone.
        if (!outcome.right() && outcome.partial) {
            Outcome second = apply(false);
            if (second.right()) outcome = std::move(second);
        }
        report(outcome);
    }

private:
    // Of one application.
    struct Outcome {
        bool partial = false;                // some operand is larger than what is selected of it
        std::optional<std::string> skipped;  // why it could not be applied
        std::optional<Diagnostics> refused;
        std::vector<Issue> differences;

        bool right() const { return !skipped && !refused && differences.empty(); }
    };

    const OperationBody& body_of(size_t number) const { return std::get<OperationBody>(checked_.node(number).body); }

    // False: it cannot be applied, and that has been said.
    bool read_parameters(const OperationBody& body) {
        parameters_.clear();
        values_.clear();
        for (const auto& [name, json] : body.params.value_or(DocumentParameters{})) {
            if (is_part_parameter(name)) continue;
            auto value = parameter_value_of(json);
            const Parameter* parameter = use_->metakernel->parameter(name);
            if (value && value->is_text() && parameter && parameter->type.kind == ParameterType::Kind::dtype) {
                if (auto dtype = dtype_of(value->text())) value = StaticValue::of(*dtype);
            }
            const TensorSpec* input = use_->metakernel->input(name);
            if (value && input && !use_->inputs.contains(name)) {
                auto data = tensor_of(*value);
                if (data && input->flavour == Flavour::concrete && !input->variadic) {
                    values_.emplace(name, as_declared(std::move(*data), *input));
                    continue;
                }
                value.reset();
            }
            if (!value) {
                refuses(first_, {"params", name},
                        fmt::format("{} is no value of {}", name, input ? "an input" : "a parameter"));
                return false;
            }
            parameters_.emplace(name, std::move(*value));
        }
        return true;
    }

    Outcome apply(bool whole) {
        Outcome outcome;
        whole_ = whole;
        for (const auto* side : {&use_->inputs, &use_->outputs}) {
            for (const auto& [name, operands] : *side) {
                for (const auto& [element, used] : operands)
                    outcome.partial = outcome.partial || range_of(used) != used.selected;
            }
        }
        differences_.clear();
        std::vector<Argument> inputs = arguments(outcome);
        if (outcome.skipped) return outcome;
        ApplyOptions options;
        for (const TensorSpec& output : use_->metakernel->outputs)
            options.requested.push_back(use_->outputs.contains(output.name));
        size_t before = session_.graph().operations.size();
        auto results = session_.apply(*use_->metakernel, inputs, parameters_, options);
        if (!results) {
            outcome.refused = std::move(results.error());
            return outcome;
        }
        size_t made = session_.graph().operations.size() - before;
        charge(made);
        outputs(*results);
        if (use_->metakernel->each || made == 1) {
            for (const OperatorUse::Part& part : use_->parts) signature(part, before, made);
        }
        outcome.differences = std::exchange(differences_, {});
        return outcome;
    }

    // A small document may be of operators with thousands of operations.
    void charge(size_t made) {
        constexpr int64_t cost = 500;  // of an operation that the document does not have
        if (made <= use_->parts.size() || charge_ < 0) return;
        charge_ -= cost * static_cast<int64_t>(made - use_->parts.size());
        if (charge_ >= 0) return;
        Issue found = issue("interchange.limit", first_, {"body"}, "has more operations than can be made again,");
        found.reason = "operators from here on are not applied again";
        checked_.add(std::move(found));
    }

    void report(Outcome& outcome) {
        if (outcome.skipped) return skip(*outcome.skipped);
        if (outcome.refused) return refused(*outcome.refused);
        if (!outcome.differences.empty() && misses_value())
            return skip("a value that decides what it does is not in the document");
        validation_.applied_again++;
        for (Issue& difference : outcome.differences) checked_.add(std::move(difference));
    }

    void skip(const std::string& why) {
        validation_.not_applied_again.push_back(fmt::format("{}: {}", checked_.title(first_), why));
    }

    Issue issue(const char* code, size_t number, std::vector<std::string> steps, const char* what) const {
        const std::string& kernel = body_of(number).kernel;
        Issue result{.code = code,
                     .summary = fmt::format("the operator {} {} {}", kernel, what, checked_.title(number)),
                     .part = {number, std::move(steps)}};
        result.params = {{"operator", kernel}};
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
            if (is_float(*dtype) || is_complex(*dtype))
                converted.set_real(i,
                                   is_float(data.dtype()) ? data.real_at(i) : static_cast<double>(data.integer_at(i)));
            else if (!is_float(data.dtype()))
                converted.set_integer(i, data.integer_at(i));
        }
        return converted;
    }

    // Operations do not list inputs whose value is all that counts. `params` has the value unless it is large; what it
    // does not have is the dtype, which may follow from the template.
    bool misses_value() const {
        return std::ranges::any_of(use_->metakernel->inputs, [&](const TensorSpec& input) {
            if (input.flavour != Flavour::concrete || use_->inputs.contains(input.name)) return false;
            return !values_.contains(input.name) || !declared_dtype(input);
        });
    }

    void refused(const Diagnostics& errors) {
        bool value = misses_value();
        for (const Diagnostic& error : errors) {
            if (value || error.code == "symbolic.missing_input" || error.code == "symbolic.not_concrete")
                return skip(error.summary);
        }
        Issue found = issue("interchange.operator_refuses", first_, {"body"}, "refuses the operands of");
        found.expected = errors[0].expected;
        found.found = errors[0].found;
        found.reason = fmt::format("{}: {}", errors[0].code, errors[0].summary);
        found.remedy = errors[0].remedy;
        found.params.emplace_back("error", errors[0].code);
        checked_.add(std::move(found));
    }

    // What the operator is applied to: all of a tensor, or what is selected of it.
    DocumentRange range_of(const UsedTensor& used) const {
        const TensorBody* tensor = checked_.tensor(used.id);
        bool all = whole_ && tensor && tensor->range.start.size() == used.selected.start.size();
        return all ? tensor->range : used.selected;
    }

    std::vector<Argument> arguments(Outcome& outcome) {
        std::vector<Argument> inputs;
        for (const TensorSpec& specification : use_->metakernel->inputs) {
            auto found = use_->inputs.find(specification.name);
            if (found == use_->inputs.end()) {
                auto value = values_.find(specification.name);
                inputs.push_back(value == values_.end()
                                     ? Argument()
                                     : Argument(session_.add_constant(specification.name, value->second)));
                continue;
            }
            std::vector<TensorId> tensors;
            for (const auto& [element, used] : found->second) {
                auto type = type_of(used);
                bool next = element == static_cast<int64_t>(tensors.size());
                if (!type || !next) {
                    outcome.skipped = next ? "a tensor is not there, too large, or of a dtype that no operator has"
                                           : "a tensor that another operation of its use reads is not there";
                    return inputs;
                }
                tensors.push_back(session_.add_input(specification.name, std::move(*type)));
            }
            bool one = !specification.variadic && tensors.size() == 1;
            inputs.push_back(one ? Argument(tensors[0]) : Argument(std::move(tensors)));
        }
        while (!inputs.empty() && !inputs.back().given) inputs.pop_back();
        return inputs;
    }

    std::optional<TensorType> type_of(const UsedTensor& used) const {
        const TensorBody* tensor = checked_.tensor(used.id);
        auto dtype = tensor ? dtype_of(tensor->dtype) : std::nullopt;
        auto sizes = extents(range_of(used));
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

    // The types of all outputs. A variadic one has a result for each operation.
    void outputs(const std::vector<TensorId>& results) {
        size_t single = 0, variadic = 0, next = 0;
        for (const TensorSpec& output : use_->metakernel->outputs)
            (output.variadic && use_->outputs.contains(output.name) ? variadic : single)++;
        for (const TensorSpec& output : use_->metakernel->outputs) {
            auto found = use_->outputs.find(output.name);
            size_t count = output.variadic && found != use_->outputs.end() ? (results.size() - single) / variadic : 1;
            size_t begin = std::exchange(next, next + count);  // -1 there: not asked for
            if (found == use_->outputs.end()) continue;
            for (const auto& [element, used] : found->second) {
                auto type = type_of(used);
                if (element >= static_cast<int64_t>(count)) {
                    output_differs(output.name, element, fmt::format("{} tensors", count),
                                   fmt::format("number {}", element));
                    continue;
                }
                const TensorType& right = session_.graph().tensor(results[begin + static_cast<size_t>(element)]).type;
                if (type && type->dtype == right.dtype && type->extents() == right.extents()) continue;
                output_differs(output.name, element, right.text(), type ? type->text() : "a tensor that is not there");
            }
        }
    }

    // At the first operation that has it.
    void output_differs(const std::string& name, int64_t element, std::string expected, std::string found) {
        PartOfNode place{first_, {"body", "outputs", name}};
        bool known = false;
        for (const OperatorUse::Part& part : use_->parts) {
            each_selection(body_of(part.node).outputs, part.node, "outputs",
                           [&](PartOfNode here, const std::string& operand, size_t position, const auto&) {
                               if (known || operand != name || part.element("outputs", name, position) != element)
                                   return;
                               place = std::move(here);
                               known = true;
                           });
        }
        differs(place.node, std::move(place.steps), std::move(expected), std::move(found), "has another output than");
    }

    // The index and the projections of one operation of the use; `made` operations stand from `before` on.
    void signature(const OperatorUse::Part& part, size_t before, size_t made) {
        size_t number = part.node;
        const auto value = static_cast<size_t>(part.each ? part.each->value : 0);
        if (value >= made) {
            if (made == 0) return;  // the result was known at once
            return differs(number, {"body", "params"}, fmt::format("a value below {}", made), std::to_string(value),
                           "has fewer operations than");
        }
        const auto& tags = checked_.node(number).tags;
        const OperationBody& body = body_of(number);
        if (!tags || !tags->signature || !tags->index || !signature_fits(*tags->signature, *tags->index, body, nullptr))
            return;
        const Operation& again = session_.graph().operations[before + value];
        DocumentRange index;
        for (const IndexAxis& axis : again.index) {
            if (axis.extends()) continue;
            index.start.push_back(0);
            index.end.push_back(axis.extent.value());
        }
        if (extents(*tags->index) != numbers_of(index.end)) {
            differs(number, {"tags", "IPFIndex"}, heddle::text(index), heddle::text(*tags->index),
                    "has another index than");
            return;
        }
        auto right = signature_of(session_.graph(), again);
        if (!right) return;
        compare(part, "inputs", use_->inputs, tags->signature->inputs, right->inputs, index, again.input_names);
        compare(part, "outputs", use_->outputs, tags->signature->outputs, right->outputs, index, again.output_names);
    }

    void compare(const OperatorUse::Part& part, const char* side, const OperatorUse::Operands& operands,
                 const DocumentProjections& written, const DocumentProjections& right, const DocumentRange& index,
                 const OperandNames& names) {
        std::map<std::pair<std::string, int64_t>, std::pair<const DocumentProjection*, size_t>> ours;
        for (const auto& [name, list] : written) {
            for (size_t i = 0; i < list.size(); i++) ours[{name, part.element(side, name, i)}] = {&list[i], i};
        }
        for (const auto& [name, list] : right) {
            // The numbers of the operands that the body reads, in order: those of `list`.
            std::vector<int64_t> elements;
            for (const OperandName& operand : names) {
                if (operand.name == name) elements.push_back(operand.element);
            }
            std::ranges::sort(elements);
            for (size_t i = 0; i < list.size() && i < elements.size(); i++) {
                auto found = ours.find({name, elements[i]});
                if (found == ours.end()) continue;
                const auto& [projection, position] = found->second;
                DocumentRange zero{std::vector<int64_t>(list[i].shape.size(), 0), {}};
                DocumentProjection expected = normal(list[i], index, zero);
                DocumentProjection found_here = normal(*projection, *checked_.node(part.node).tags->index,
                                                       range_of(operands.at(name).at(elements[i])));
                if (expected == found_here) continue;
                differs(part.node, {"tags", "IPFSignature", side, name, std::to_string(position)}, text(expected),
                        text(found_here), "has another projection than");
            }
        }
    }

    Checked& checked_;
    Validation& validation_;
    Session session_;
    int64_t charge_ = largest_search;
    // Of the use at hand.
    const OperatorUse* use_ = nullptr;
    size_t first_ = 0;   // the node of its first operation
    bool whole_ = true;  // applied to whole tensors
    std::vector<Issue> differences_;
    std::map<std::string, StaticValue> parameters_;
    std::map<std::string, TensorData> values_;  // of inputs, from `params`
};

}  // namespace

void check_operators(Checked& checked, Validation& validation) {
    if (!checked.options.library || !checked.options.dialect.library) return;
    OperatorsCheck check(checked, validation);
    for (const OperatorUse& use : operator_uses(checked)) {
        if (checked.full()) return;
        check.use(use);
    }
}

}  // namespace heddle::interchange
