#include "rewrite/instance.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::rewrite {

using Kind = Syntax::Kind;

// What the patterns of one call have bound so far.
struct InstanceMaker::CallShapes {
    std::map<std::string, Size> single;                // $n
    std::map<std::string, std::vector<Size>> several;  // $n...
    std::map<std::string, DType> dtypes;
    std::vector<std::optional<TensorType>> first;  // of each input of the operator
    std::vector<const Syntax*> solved;             // names that only expressions bind
};

std::string Instance::text() const {
    std::string text;
    for (const auto& [name, types] : tensors) {
        for (size_t i = 0; i < types.size(); ++i) {
            std::string extents;
            for (int64_t extent : types[i].extents()) extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
            text += fmt::format("{}{}: {}[{}]", text.empty() ? "" : ", ",
                                types.size() == 1 ? name : fmt::format("{}[{}]", name, i), heddle::name(types[i].dtype),
                                extents);
        }
    }
    for (const auto& [name, value] : values)
        text += fmt::format("{}${} = {}", text.empty() ? "" : ", ", name, value.print());
    return text;
}

InstanceMaker::InstanceMaker(const Rule& rule, const Library& library, uint64_t seed, bool named, bool all_dtypes)
    : rule_(rule), library_(library), random_(seed), named_(named), all_dtypes_(all_dtypes) {}

Instance InstanceMaker::next() {
    made_ = {};
    names_ = 0;
    list_length_ = 1 + below(3);
    empty_ = chance(15);
    ones_ = chance(25);
    large_ = chance(10);
    fill(*rule_.match);
    for (const Parameter& parameter : rule_.source->params) {
        if (made_.values.contains(parameter.name) || (parameter.default_value && chance(50))) continue;
        int64_t rank = 2;
        for (const auto& [name, types] : made_.tensors) {
            if (!types.empty()) rank = static_cast<int64_t>(types[0].shape.size());
        }
        made_.values.insert_or_assign(parameter.name, value_of(parameter.type, rank, false));
    }
    return made_;
}

// ---- tensors

// Inner calls first: what they give fixes names of the outer patterns.
void InstanceMaker::fill(const CallPattern& pattern) {
    CallShapes shapes;
    shapes.first.resize(pattern.inputs.size());
    shapes.solved = solved_names(*pattern.metakernel);
    for (const auto& operands : pattern.inputs) {
        for (const OperandPattern& operand : operands) {
            if (operand.call) fill(*operand.call);
        }
    }
    for (size_t slot = 0; slot < pattern.inputs.size(); ++slot) {
        const TensorSpec& specification = pattern.metakernel->inputs[slot];
        for (const OperandPattern& operand : pattern.inputs[slot]) {
            auto type = type_of(operand);
            if (!type) continue;
            if (!shapes.first[slot]) shapes.first[slot] = type;
            if (specification.dtype && specification.dtype->kind == Kind::static_name)
                shapes.dtypes.try_emplace(specification.dtype->text, type->dtype);
            if (specification.shape) learn(*specification.shape, *type, shapes);
        }
    }
    for (size_t slot = 0; slot < pattern.inputs.size(); ++slot) fill_operands(pattern, slot, shapes);
    fill_parameters(pattern, shapes);
}

void InstanceMaker::fill_operands(const CallPattern& pattern, size_t slot, CallShapes& shapes) {
    const TensorSpec& specification = pattern.metakernel->inputs[slot];
    for (const OperandPattern& operand : pattern.inputs[slot]) {
        bool list = operand.kind == OperandPattern::Kind::list;
        if ((!list && operand.kind != OperandPattern::Kind::variable) || made_.tensors.contains(operand.variable))
            continue;
        auto& types = made_.tensors[operand.variable];
        size_t count = list ? 1 + below(3) : 1;
        while (types.size() < count) types.push_back(make(specification, *pattern.metakernel, shapes));
        if (!shapes.first[slot]) shapes.first[slot] = types[0];
    }
}

// Of what is known already: a variable's, or what an inner call gives.
std::optional<TensorType> InstanceMaker::type_of(const OperandPattern& operand) {
    if (operand.kind == OperandPattern::Kind::variable || operand.kind == OperandPattern::Kind::list) {
        auto found = made_.tensors.find(operand.variable);
        if (found == made_.tensors.end() || found->second.empty()) return std::nullopt;
        return found->second[0];
    }
    if (!operand.call) return std::nullopt;
    Template inner = rule_.pattern;
    auto assignment = std::make_shared<Syntax>(*inner.graph[0]);
    assignment->value = operand.call->syntax;
    TensorSpec output = inner.outputs[0];
    output.variadic = operand.call->several;
    for (size_t i = 0; i < inner.inputs.size(); ++i) inner.inputs[i].optional = true;
    inner.outputs = {output};
    std::erase_if(inner.params, [&](const Parameter& parameter) {
        return !parameter.default_value && !made_.values.contains(parameter.name);
    });
    assignment->children.resize(1);
    auto target = std::make_shared<Syntax>(*assignment->children[0]);
    target->text = output.name;
    assignment->children[0] = target;
    inner.graph = {assignment};
    Session session(library_);
    std::vector<Argument> arguments;
    for (const std::string& variable : rule_.variables) {
        auto known = made_.tensors.find(variable);
        if (known == made_.tensors.end()) {
            arguments.emplace_back();
            continue;
        }
        std::vector<TensorId> tensors;
        for (const TensorType& type : known->second) tensors.push_back(session.add_input(variable, type));
        if (variable == rule_.list_variable)
            arguments.emplace_back(std::move(tensors));
        else
            arguments.emplace_back(tensors[0]);
    }
    auto results = session.apply(inner, arguments, made_.values);
    if (!results || results->empty()) return std::nullopt;
    size_t at = operand.call->result && operand.call->several ? static_cast<size_t>(*operand.call->result) : 0;
    return session.graph().tensor((*results)[std::min(at, results->size() - 1)]).type;
}

bool is_open(const Syntax& dimension) {
    return dimension.kind == Kind::dimensions || dimension.kind == Kind::any_dimensions;
}

std::vector<SyntaxPointer> flat(const std::vector<SyntaxPointer>& dimensions) {
    std::vector<SyntaxPointer> all;
    for (const auto& dimension : dimensions) {
        if (dimension->kind == Kind::dimension_group)
            all.insert(all.end(), dimension->children.begin(), dimension->children.end());
        else
            all.push_back(dimension);
    }
    return all;
}

// Names that a shape binds: single ones from both ends, an ellipsis in between.
void InstanceMaker::learn(const Syntax& pattern, const TensorType& type, CallShapes& shapes) {
    auto dimensions = flat(pattern.children);
    auto learn_one = [&](const Syntax& dimension, const Size& size) {
        if (dimension.kind != Kind::dimension || !dimension.collector.empty()) return;
        auto [known, fresh] = shapes.single.try_emplace(dimension.text, size);
        if (!fresh && dimension.broadcast && known->second.value() == 1) known->second = size;
    };
    size_t front = 0, back = 0, rank = type.shape.size();
    while (front < dimensions.size() && front < rank && !is_open(*dimensions[front])) {
        learn_one(*dimensions[front], type.shape[front]);
        ++front;
    }
    while (back < dimensions.size() - front && back < rank - front &&
           !is_open(*dimensions[dimensions.size() - 1 - back])) {
        learn_one(*dimensions[dimensions.size() - 1 - back], type.shape[rank - 1 - back]);
        ++back;
    }
    if (front + back + 1 != dimensions.size() || dimensions[front]->kind != Kind::dimensions) return;
    shapes.several.try_emplace(dimensions[front]->text,
                               std::vector<Size>(type.shape.begin() + static_cast<std::ptrdiff_t>(front),
                                                 type.shape.end() - static_cast<std::ptrdiff_t>(back)));
}

Size InstanceMaker::extent() {
    int64_t value = empty_ && chance(15)  ? 0
                    : ones_ && chance(40) ? 1
                                          : 1 + static_cast<int64_t>(below(large_ ? 24 : 5));
    return named_ ? named_size(fmt::format("d{}", ++names_), value) : Size(value);
}

// A tensor that broadcasts to the joint dimensions.
std::vector<Size> InstanceMaker::narrowed(std::vector<Size> joint, bool may_drop) {
    if (chance(60)) return joint;
    if (may_drop && chance(40))
        joint.erase(joint.begin(), joint.begin() + static_cast<std::ptrdiff_t>(below(joint.size() + 1)));
    for (Size& size : joint) {
        if (chance(30)) size = Size(1);
    }
    return joint;
}

// The value of a dimension written as an expression of names that are bound: 2 * $half + 1. Nothing if it is of others.
std::optional<Size> InstanceMaker::value_of(const Syntax& written, const CallShapes& shapes) {
    if (written.kind == Kind::integer) return Size(written.integer);
    if (written.kind == Kind::static_name) {
        const auto known = shapes.single.find(written.text);
        return known == shapes.single.end() ? std::nullopt : std::optional(known->second);
    }
    if (written.kind != Kind::binary) return std::nullopt;
    const auto left = value_of(*written.children[0], shapes), right = value_of(*written.children[1], shapes);
    if (!left || !right) return std::nullopt;
    if (written.text == "+") return Size(left->value() + right->value());
    if (written.text == "*") return Size(left->value() * right->value());
    return std::nullopt;
}

void InstanceMaker::make_dimensions(const std::vector<SyntaxPointer>& dimensions, CallShapes& shapes,
                                    std::vector<Size>& into) {
    for (const auto& dimension : flat(dimensions)) {
        std::vector<Size> sizes;
        if (dimension->kind == Kind::dimension) {
            if (dimension->collector.empty())
                sizes = {shapes.single.contains(dimension->text) ? shapes.single.at(dimension->text)
                                                                 : (shapes.single[dimension->text] = extent())};
            else
                sizes = {extent()};
        } else if (is_open(*dimension)) {
            auto known = shapes.several.find(dimension->text);
            if (known != shapes.several.end() && dimension->collector.empty()) {
                sizes = known->second;
            } else {
                // Alone, an ellipsis is the whole shape: permutations show themselves from rank 3 on.
                for (size_t i = below(dimensions.size() == 1 ? 5 : 3); i > 0; --i) sizes.push_back(extent());
                if (dimension->kind == Kind::dimensions) shapes.several.emplace(dimension->text, sizes);
            }
        } else {
            for (const Syntax* solved : shapes.solved) shapes.single.try_emplace(solved->text, extent());
            const auto known = value_of(*dimension, shapes);
            sizes = {known ? *known : extent()};
        }
        if (dimension->broadcast) sizes = narrowed(std::move(sizes), dimension->kind == Kind::dimensions);
        into.insert(into.end(), sizes.begin(), sizes.end());
    }
}

TensorType InstanceMaker::make(const TensorSpec& specification, const Template& metakernel, CallShapes& shapes) {
    TensorType type{dtype_for(specification, metakernel, shapes), {}};
    if (specification.shape) {
        make_dimensions(specification.shape->children, shapes, type.shape);
    } else {
        for (size_t i = below(4); i > 0; --i) type.shape.push_back(extent());
    }
    return type;
}

DType InstanceMaker::dtype_for(const TensorSpec& specification, const Template& metakernel, CallShapes& shapes) {
    const Syntax* written = specification.dtype.get();
    if (written && written->kind == Kind::name) {
        if (auto dtype = dtype_named(written->text)) return *dtype;
    }
    bool variable = written && written->kind == Kind::static_name;
    if (variable && shapes.dtypes.contains(written->text)) return shapes.dtypes.at(written->text);
    std::vector<DType> allowed;
    for (const DTypeConstraint& constraint : metakernel.dtypes) {
        if (!variable || constraint.name != written->text) continue;
        for (const std::string& name : constraint.dtype_names) {
            if (auto dtype = dtype_named(name)) allowed.push_back(*dtype);
        }
    }
    if (allowed.empty()) {
        using enum DType;
        allowed = {float32, float32, float32, float32, float64, int32, int32, int64, float16, uint8, boolean};
        if (all_dtypes_) allowed.insert(allowed.end(), {complex64, complex64, uint32});
        if (all_dtypes_ && chance(20)) {
            allowed.clear();
            for (const DTypeInfo& info : heddle::all_dtypes()) allowed.push_back(info.dtype);
        }
    }
    DType dtype = allowed[below(allowed.size())];
    if (variable) shapes.dtypes.emplace(written->text, dtype);
    return dtype;
}

// ---- parameters

int64_t InstanceMaker::small_integer() {
    if (chance(60)) return 1 + static_cast<int64_t>(below(4));
    return static_cast<int64_t>(below(10)) - 3;
}

StaticValue InstanceMaker::value_of(const ParameterType& type, int64_t rank, bool element) {
    using enum ParameterType::Kind;
    auto list_of = [&](size_t length) {
        StaticValue::List list;
        for (size_t i = 0; i < length; ++i) list.push_back(value_of(type, rank, true));
        return StaticValue::of(std::move(list));
    };
    if (type.is_list && !element) {
        if (type.kind == integer && chance(35)) {  // the dimensions of a tensor in other groups, or another order
            std::vector<int64_t> extents;
            for (const auto& [name, types] : made_.tensors) {
                if (!types.empty() && (extents.empty() || chance(50))) extents = types[0].extents();
            }
            std::shuffle(extents.begin(), extents.end(), random_);
            while (extents.size() > 1 && chance(50)) {
                extents[extents.size() - 2] *= extents.back();
                extents.pop_back();
            }
            return StaticValue::of_integers(extents);
        }
        return list_of(chance(80) ? list_length_ : below(4));
    }
    switch (type.kind) {
    case integer: return StaticValue::of(small_integer());
    case real:
    case number: return StaticValue::of(static_cast<double>(small_integer()) / 2);
    case boolean: return StaticValue::of(chance(50));
    case dtype: return StaticValue::of(all_dtypes()[below(all_dtypes().size())].dtype);
    case choice: return StaticValue::of(type.choices[below(type.choices.size())]);
    case axis: return StaticValue::of(rank > 0 ? static_cast<int64_t>(below(static_cast<size_t>(2 * rank))) - rank : 0);
    case axes: {
        std::vector<int64_t> axes;
        for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
        std::shuffle(axes.begin(), axes.end(), random_);
        if (element) return StaticValue::of(axes.empty() ? 0 : axes[0]);
        if (chance(40)) axes.resize(below(axes.size() + 1));
        return StaticValue::of_integers(axes);
    }
    case string:
    case any: break;
    }
    return StaticValue::none();
}

void InstanceMaker::fill_parameters(const CallPattern& pattern, const CallShapes& shapes) {
    for (const NamedArgument& argument : pattern.syntax->named) {
        const Parameter* parameter = pattern.metakernel->parameter(argument.name);
        int64_t rank = 2;
        visit_all(parameter->type.of, [&](const Syntax& node) {
            for (size_t slot = 0; slot < shapes.first.size(); ++slot) {
                bool named = node.kind == Kind::static_name && pattern.metakernel->inputs[slot].name == node.text;
                if (named && shapes.first[slot]) rank = static_cast<int64_t>(shapes.first[slot]->shape.size());
            }
        });
        if (parameter->type.of && parameter->type.of->kind == Kind::binary) ++rank;
        bool whole = argument.value->kind == Kind::static_name;
        visit_all(argument.value, [&](const Syntax& node) {
            if (node.kind != Kind::static_name || made_.values.contains(node.text)) return;
            if (rule_.bound.contains(node.text))
                made_.values.emplace(node.text, value_of(parameter->type, rank, !whole));
            else if (const Parameter* own = rule_.pattern.parameter(node.text))
                made_.values.emplace(node.text, value_of(own->type, rank, false));
        });
    }
}

// ---- both sides

Result<std::optional<Sides>> sides_of(const std::shared_ptr<const Rule>& rule, const Library& library,
                                      const Instance& instance) {
    Sides sides{CallGraph(library), {}, {}};
    std::vector<Argument> arguments;
    for (const std::string& variable : rule->variables) {
        const auto& types = instance.tensors.at(variable);
        std::vector<TensorId> tensors;
        for (size_t i = 0; i < types.size(); ++i) {
            std::string name = types.size() == 1 ? variable : fmt::format("{}_{}", variable, i);
            tensors.push_back(sides.graph.add_input(std::move(name), types[i]));
        }
        if (variable == rule->list_variable)
            arguments.emplace_back(std::move(tensors));
        else
            arguments.emplace_back(tensors.at(0));
    }
    auto results = sides.graph.add(rule->pattern, arguments, instance.values);
    if (!results) return std::nullopt;
    auto made = results->empty() ? std::nullopt : sides.graph.producer(results->front());
    if (!made) return std::nullopt;
    RuleUse use{rule, {}};
    for (const Parameter& parameter : rule->source->params) {
        auto value = instance.values.find(parameter.name);
        if (rule->is_free(parameter) && value != instance.values.end()) use.parameters.insert(*value);
    }
    auto replacement = replacement_at(sides.graph, use, made->call);
    if (!replacement) return std::unexpected(replacement.error());
    if (!*replacement) return std::nullopt;
    sides.left = std::move((*replacement)->before);
    sides.right = std::move((*replacement)->after);
    return sides;
}

}  // namespace heddle::rewrite
