// Orders: let at[r < k] = order(i < n if c : key). An order is no statement of its own for whatever comes behind: it
// stands for the statements below, local arrays and a scan, so that it is checked, differentiated and compiled as they are.
#include <fmt/format.h>

#include "language/parser.h"
#include "symbolic/body_statements.h"

namespace heddle {
namespace {

// Places are counted in int32, and twice as many, rounded up to a power of two, must have numbers.
constexpr int64_t most_ordered = int64_t{1} << 29;

// How many terms are put in order by counting, which has no steps.
constexpr int64_t most_counted = 512;

// How the keys of an element are read, and behind them its place.
using Reads = std::vector<std::string>;

// Whether element a comes before element b, as one value: elements that a condition chooses would be read again for
// each condition. Of equal keys that whose place is less comes first.
std::string comes_before(std::span<const DType> keys, const Reads& a, const Reads& b) {
    std::string before = fmt::format("{} < {}", a.back(), b.back());
    for (size_t k = keys.size(); k-- > 0;) {
        std::string less = fmt::format("{} < {}", a[k], b[k]), same = fmt::format("{} == {}", a[k], b[k]);
        if (is_float(keys[k])) {  // a NaN comes behind all numbers
            less = fmt::format("bit_or({}, bit_and(!is_nan({}), is_nan({})))", less, a[k], b[k]);
            same = fmt::format("bit_or({}, bit_and(is_nan({}), is_nan({})))", same, a[k], b[k]);
        }
        before = fmt::format("bit_or({}, bit_and({}, {}))", less, same, before);
    }
    return before;
}

// Each element's place is how many come before it.
std::string by_counting(std::span<const DType> keys, bool filtered) {
    const auto at = [&](std::string_view variable) {
        Reads reads;
        for (size_t k = 0; k < keys.size(); ++k) reads.push_back(fmt::format("key{}[{}]", k, variable));
        reads.push_back(fmt::format("int32({})", variable));
        return reads;
    };
    return fmt::format(
        "let rank[i < n] = sum(q < n if {} : int32(1))\n"
        "let behind[r < count] = sum(i < n if rank[i] == r{} : int32(i + 1))\n"
        "let at[r < count] = int64(behind[r]) - 1\n",
        (filtered ? "kept[q] && " : "") + comes_before(keys, at("q"), at("i")), filtered ? " && kept[i]" : "");
}

// Batcher's bitonic network (K. E. Batcher, Sorting networks and their applications, 1968): in each stage every element
// meets the one whose number differs in one bit, and they change places if they are not in order, in time n log(n)^2.
// What fills up to a power of two comes last: its keys are the greatest, and its places too. What a filter leaves out
// has a place below zero.
std::string by_network(std::span<const DType> keys, bool filtered) {
    std::vector<std::string> states;
    for (size_t k = 0; k < keys.size(); ++k) states.push_back(fmt::format("sorted{}", k));
    states.push_back("place");
    Reads far, near;
    for (const std::string& state : states) {
        far.push_back(fmt::format("{}[t - 1, bit_xor(i, distance[t])]", state));
        near.push_back(fmt::format("{}[t - 1, i]", state));
    }
    std::string before = comes_before(keys, far, near);
    if (filtered)
        before = fmt::format("bit_or(bit_and({0} >= 0, {1} < 0), bit_and(({0} >= 0) == ({1} >= 0), {2}))", far.back(),
                             near.back(), before);
    std::string text = fmt::format(
        "let levels = len([b for b < 62 if 2 ^ b < n])\n"
        "let all = 2 ^ levels\n"
        "let stages = [[k, k - j] for k < levels, j < levels if j <= k]\n"
        "let distance = [2 ^ stage[1] for stage in stages]\n"
        "let run = [2 ^ (stage[0] + 1) for stage in stages]\n"
        "scan t < len(stages):\n"
        "  let changes[i < all] = ({}) == ((bit_and(i, distance[t]) == 0) == (bit_and(i, run[t]) == 0))\n",
        before);
    // The greatest of the type: highest(uint64) is no static number.
    const auto greatest = [](DType dtype) {
        return is_float(dtype) ? "(inf - inf)" : fmt::format("bit_xor(bit_not({0}(0)), lowest({0}))", name(dtype));
    };
    const std::string own =
        filtered ? fmt::format("(kept[i] ?? false) ? int32(i) : int32(i) - {}", 2 * most_ordered) : "int32(i)";
    for (size_t k = 0; k < states.size(); ++k) {
        const std::string initial = k == keys.size() ? own : fmt::format("key{}[i] ?? {}", k, greatest(keys[k]));
        text += fmt::format("  {}[t, i < all] = changes[i] ? {} : {} from {}\n", states[k], far[k], near[k], initial);
    }
    // Coordinates are compared with the size, and no elements, which would ask for its number.
    return text + "let last[r < count] = place[len(stages) - 1, r] ?? -1\n" +
           fmt::format("let at[r < count] = {} ? int64(last[r]) : -1\n", filtered ? "last[r] >= 0" : "r < n");
}

std::vector<SyntaxPointer> parsed(std::string text) {
    DiagnosticSink sink;
    std::vector<std::string> failed;
    return parse_body(fragment_of(std::make_shared<SourceText>("order", std::move(text))), sink, failed);
}

}  // namespace

bool is_order(const Syntax& syntax) { return syntax.kind == Syntax::Kind::reduction && syntax.text == "order"; }

// An array of each key, and of what the filter says.
OrderTerms BodyExpressions::order_terms(const Syntax& syntax, const Scope& scope) {
    OrderTerms terms;
    Scope inner{&scope, {}};
    VariableList places;
    for (const Generator& generator : syntax.generators) bind(generator, Variable::Kind::parallel, inner, places);
    if (places.size() != 1)
        operations().refuse_type(syntax.place, "an order over several variables", "one variable",
                                 "count the terms by one variable, and take it apart with // and %");
    terms.extent = body_.variable(places[0]).extent;
    const auto array = [&](std::string name, Element value) {
        return Value::of(BodyArray{BodyArray::Kind::local, add_local(std::move(name), places, value)});
    };
    const Value filter = filter_of(syntax, Generators{&syntax.generators[0]}, inner);
    if (!filter.is_boolean() || !filter.boolean())
        terms.kept = array("kept", operations().element(filter, syntax.place));
    const Syntax& written = *syntax.children[0];
    const Value given = evaluate(written, inner);
    if (given.is_list() && given.list().empty())
        operations().refuse_type(written.place, "an order by no key", "a key, or a list of keys", "");
    for (const Value& key : given.is_list() ? given.list() : Value::List{given}) {
        Element element = operations().element(key, written.place);
        if (is_complex(elements_.dtype(element))) elements_.refuse_complex("order of", written.place);
        if (is_bool(elements_.dtype(element))) element = elements_.cast(element, DType::uint8, written.place);
        element.weak = Element::Weak::no;  // what has no dtype of its own is compared as it is counted
        terms.dtypes.push_back(elements_.dtype(element));
        terms.keys.push_back(array("key", element));
    }
    return terms;
}

Value BodyBuilder::order(const Syntax& statement, const Scope& scope, const VariableList& variables) {
    const Syntax& written = *statement.value;
    Operations& operations = expressions_.operations();
    if (in_scan_)
        operations.refuse_type(written.place, "an order in a scan", "an order of what does not depend on steps",
                               "put it before the scan");
    if (statement.generators.size() != 1)
        operations.refuse_type(statement.place, "an order of several axes",
                               "one axis, as in let at[r < k] = order(...)",
                               "open a block for the others: for g < groups:");
    const Scope around{&scope, {}};
    const OrderTerms terms = expressions_.order_terms(written, around);
    if (terms.extent > most_ordered) {
        Diagnostic diagnostic =
            expressions_.elements().error("symbolic.limit", written.place, "an order of too many terms");
        diagnostic.expected = fmt::format("at most {}", most_ordered);
        expressions_.elements().refuse(std::move(diagnostic));
    }
    const bool filtered = terms.kept.has_value();
    StandsFor& order = orders_.emplace_back(StandsFor{
        parsed(terms.extent < most_counted ? by_counting(terms.dtypes, filtered) : by_network(terms.dtypes, filtered)),
        {}});
    Scope own;  // nothing of the body has a name in it
    own.names.set("n", Value::of(terms.extent));
    own.names.set("count", expressions_.evaluate(*statement.generators[0].range, around));
    if (filtered) own.names.set("kept", *terms.kept);
    for (size_t k = 0; k < terms.keys.size(); ++k)
        own.names.set(order.names.emplace_back(fmt::format("key{}", k)), terms.keys[k]);
    StateTypes types;  // of the network's states: its keys', and its places'
    for (const SyntaxPointer& each : order.statements) {
        if (each->kind != Syntax::Kind::scan_block) continue;
        for (const SyntaxPointer& state : each->children) {
            if (!state->initial) continue;
            const DType dtype = types.size() < terms.dtypes.size() ? terms.dtypes[types.size()] : DType::int32;
            types[state.get()] = {dtype, Element::Weak::no};
        }
    }
    const StateTypes* const before = std::exchange(types_, &types);
    expressions_.stand_for_others(true);
    block(order.statements, own, variables);
    expressions_.stand_for_others(false);
    types_ = before;
    const Value* at = own.names.find("at");
    if (at && at->is_array()) body_.locals[LocalId(at->array().index)].name = statement.text;
    return at ? *at : Value::failed();
}

}  // namespace heddle
