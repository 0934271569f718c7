// Names of bodies and compositions, statement by statement.
#include <algorithm>

#include <fmt/format.h>

#include "language/checks.h"
#include "support/dtype.h"

namespace heddle {
namespace {

using Kind = Syntax::Kind;

std::vector<std::string> output_names(const Template& made) {
    std::vector<std::string> names;
    for (const TensorSpec& output : made.outputs) names.push_back(output.name);
    return names;
}

void report_unwritten(const Template& made, const std::set<std::string>& written, NameChecker& names) {
    for (const TensorSpec& output : made.outputs) {
        if (written.contains(output.name) || names.failed.contains(output.name)) continue;
        names.report({.code = "language.output_not_written",
                      .summary = fmt::format("nothing computes the output `{}`", output.name),
                      .place = output.place,
                      .remedy = fmt::format("write {} = ...", output.name)});
    }
}

class BodyChecker {
public:
    BodyChecker(const Template& made, NameChecker& names) : made_(made), names_(names) {}

    void run() {
        names_.coordinates_allowed = true;
        statements(made_.body);
        report_unwritten(made_, written_, names_);
        names_.coordinates_allowed = false;
    }

private:
    void statements(const std::vector<SyntaxPointer>& list) {
        for (const SyntaxPointer& statement : list) {
            switch (statement->kind) {
            case Kind::let: let(*statement); break;
            case Kind::equation: equation(*statement); break;
            case Kind::parallel_block: parallel(*statement); break;
            default: scan(*statement); break;
            }
        }
    }

    void let(const Syntax& statement) {
        auto kind = statement.generators.empty() ? BareName::Kind::let : BareName::Kind::local;
        names_.with_generators(statement.generators, [&] { names_.check(statement.value); });
        if (names_.declare(statement.text, kind, statement.mark)) block_names_.push_back(statement.text);
    }

    // Names that a block's lets declare end with it.
    template <typename Inside>
    void in_block(const Inside& inside) {
        std::vector<std::string> outer;
        std::swap(outer, block_names_);
        inside();
        for (const std::string& name : block_names_) names_.scope.erase(name);
        std::swap(outer, block_names_);
    }

    void parallel(const Syntax& statement) {
        names_.with_generators(statement.generators, [&] { in_block([&] { statements(statement.children); }); });
    }

    // States may be read before their equation (at the step before) and after the scan: they are declared first, in the
    // scope around the scan.
    void scan(const Syntax& statement) {
        if (!scans_.empty() && statement.generators.size() > 1) return nested_scan(statement);
        scans_.push_back(&statement);
        for (const SyntaxPointer& child : statement.children) {
            if (is_without_initial(*child)) names_.failed.insert(child->text);  // said once, of its equation
            if (child->kind != Kind::equation || !child->initial) continue;
            if (names_.declare(child->text, BareName::Kind::state, child->mark)) block_names_.push_back(child->text);
        }
        names_.with_generators(statement.generators, [&] {
            in_block([&] {
                statements(statement.children);
                names_.check(statement.filter);
            });
        });
        scans_.pop_back();
    }

    // Nothing more is said of what it computes.
    void nested_scan(const Syntax& statement) {
        names_.report(
            {.code = "language.nested_scan",
             .summary = "a scan of several axes stands in a scan",
             .place = statement.place,
             .remedy = "make all of them axes of one scan, or give it one axis: of few steps it may stand there"});
        for (const SyntaxPointer& child : statement.children) {
            if (child->kind == Kind::equation) names_.failed.insert(child->text);
        }
    }

    void equation(const Syntax& statement) {
        check_target(statement);
        names_.check(statement.pick);
        std::vector<std::string> added;
        for (const SyntaxPointer& coordinate : statement.children) left(coordinate, added);
        names_.check(statement.value);
        names_.check(statement.initial);
        for (const std::string& name : added) names_.scope.erase(name);
    }

    // A state by its left side, which begins with the step: s[t] = ...
    bool is_without_initial(const Syntax& statement) const {
        return statement.kind == Kind::equation && !statement.initial && !made_.output(statement.text) &&
               !statement.children.empty() && statement.children[0]->kind == Kind::name &&
               statement.children[0]->text == scans_.back()->generators[0].name;
    }

    void check_target(const Syntax& statement) {
        if (made_.output(statement.text)) {
            written_.insert(statement.text);
            return;
        }
        const bool has_no_initial = !scans_.empty() && is_without_initial(statement);
        if (names_.failed.contains(statement.text) && !has_no_initial) return;
        if (statement.initial) {
            if (!scans_.empty()) return;  // its scan has declared it
            names_.report(
                {.code = "language.state_outside_scan",
                 .summary = fmt::format("`{}` has an initial value, but there is no scan around it", statement.text),
                 .place = statement.mark,
                 .remedy = "write scan t < $n: and the equation in its block"});
            return;
        }
        if (has_no_initial) {
            std::string axes;
            for (const Generator& axis : scans_.back()->generators) axes += (axes.empty() ? "" : ", ") + axis.name;
            names_.report({.code = "language.state_without_initial",
                           .summary = fmt::format("the state `{}` has no initial value", statement.text),
                           .place = statement.mark,
                           .reason = "its value at step -1 is what the first step reads",
                           .remedy = fmt::format("write {}[{}] = ... from 0", statement.text, axes)});
            return;
        }
        std::string nearest = nearest_name(statement.text, output_names(made_));
        auto known = names_.scope.find(statement.text);
        std::string remedy = !nearest.empty() ? fmt::format("did you mean {}?", nearest)
                                              : fmt::format("to name a value, write let {} = ...", statement.text);
        if (known != names_.scope.end())
            remedy = "a name has one value: what a loop adds up is a reduction, as in sum(k < $n : x[k]); steps that need "
                     "the step before are a scan, s[t] = s[t - 1] + x[t] from 0";
        std::string summary = known == names_.scope.end() ? fmt::format("no output is named `{}`", statement.text)
                                                          : fmt::format("`{}` is {} and cannot be written",
                                                                        statement.text, name(known->second.kind));
        names_.report(
            {.code = "language.unknown_output", .summary = summary, .place = statement.mark, .remedy = remedy});
        if (known == names_.scope.end()) names_.failed.insert(statement.text);
    }

    // A name alone that means nothing yet is a new variable over the whole dimension.
    void left(const SyntaxPointer& coordinate, std::vector<std::string>& added) {
        if (coordinate->kind == Kind::binder) {
            names_.check(coordinate->children[0]);
            if (names_.declare(coordinate->text, BareName::Kind::variable, coordinate->place))
                added.push_back(coordinate->text);
            return;
        }
        const Syntax* item = coordinate.get();
        if (item->kind == Kind::spread && item->children.size() == 1) item = item->children[0].get();
        if (item->kind != Kind::name || names_.failed.contains(item->text)) return names_.check(coordinate);
        auto known = names_.scope.find(item->text);
        bool usable = known != names_.scope.end() &&
                      (known->second.kind == BareName::Kind::variable || known->second.kind == BareName::Kind::let);
        if (usable) return;
        if (names_.axes.contains(item->text)) {
            names_.report(
                {.code = "language.forgotten_at",
                 .summary = fmt::format("`{}` is a new variable here, but also an axis of the index", item->text),
                 .place = item->place,
                 .remedy = fmt::format("did you mean @{}?", item->text)});
        }
        if (names_.declare(item->text, BareName::Kind::variable, item->place)) added.push_back(item->text);
    }

    const Template& made_;
    NameChecker& names_;
    std::set<std::string> written_;
    std::vector<std::string> block_names_;
    std::vector<const Syntax*> scans_;  // those around
};

}  // namespace

void check_body(const Template& made, NameChecker& names) { BodyChecker(made, names).run(); }

namespace {

// The lines of a composition; the names that they make.
std::set<std::string> check_assignments(const std::vector<SyntaxPointer>& lines, NameChecker& names) {
    std::set<std::string> made;
    for (const SyntaxPointer& assignment : lines) {
        names.static_only = true;
        names.check_graph(assignment->value);
        names.static_only = false;
        for (const SyntaxPointer& target : assignment->children) {
            auto known = names.scope.find(target->text);
            bool is_output = known != names.scope.end() && known->second.kind == BareName::Kind::output;
            if (is_output) names.scope.erase(known);  // a result may be used once it is made
            names.declare(target->text, BareName::Kind::result, target->place);
            made.insert(target->text);
        }
    }
    return made;
}

// Of a float type, whatever is given for it.
bool is_surely_float(const Template& made, const TensorSpec& tensor) {
    auto is_float_name = [](const std::string& name) {
        auto dtype = dtype_named(name);
        return dtype && is_float(*dtype);
    };
    if (!tensor.dtype) return false;
    if (tensor.dtype->kind == Kind::name) return is_float_name(tensor.dtype->text);
    for (const DTypeConstraint& constraint : made.dtypes)
        if (tensor.dtype->kind == Kind::static_name && constraint.name == tensor.dtype->text)
            return std::ranges::all_of(constraint.dtype_names, is_float_name);
    return false;
}

}  // namespace

void check_graph(const Template& made, NameChecker& names) {
    report_unwritten(made, check_assignments(made.graph, names), names);
}

void check_gradient(const Template& made, NameChecker& names) {
    auto refuse = [&](const Place& place, std::string summary, std::string reason, std::string remedy) {
        names.report({.code = "language.grad",
                      .summary = std::move(summary),
                      .place = place,
                      .reason = std::move(reason),
                      .remedy = std::move(remedy)});
    };
    bool lists = made.each || std::ranges::any_of(made.inputs, &TensorSpec::variadic);
    if (!made.graph.empty())
        return refuse(made.grad[0]->place, fmt::format("the composition `{}` has a gradient rule", made.name),
                      "its gradient is made of those of its parts", "give the rule to one of them");
    if (lists)
        return refuse(made.grad[0]->place, fmt::format("`{}` has a gradient rule and lists of tensors", made.name),
                      "a rule is for one operation on single tensors", "remove the rule: gradients are derived");
    names.scope.clear();
    for (const TensorSpec& input : made.inputs) names.scope[input.name] = {BareName::Kind::input, input.place};
    for (const TensorSpec& output : made.outputs) {
        names.scope[output.name] = {BareName::Kind::result, output.place};
        names.declare("d_" + output.name, BareName::Kind::result, output.place);
        names.presence.insert("d_" + output.name);
    }
    std::set<std::string> written = check_assignments(made.grad, names);
    bool any = false;
    for (const TensorSpec& input : made.inputs) {
        bool found = written.contains("d_" + input.name);
        any = any || found;
        if (found || !is_surely_float(made, input)) continue;
        refuse(made.grad[0]->place, fmt::format("the gradient rule of `{}` gives no `d_{}`", made.name, input.name),
               fmt::format("`{}` is of a float type", input.name), fmt::format("write d_{} = ...", input.name));
        any = true;
    }
    if (!any)
        refuse(made.grad[0]->place, fmt::format("the gradient rule of `{}` gives nothing", made.name), "",
               made.inputs.empty() ? "remove the rule" : fmt::format("write d_{} = ...", made.inputs[0].name));
}

}  // namespace heddle
