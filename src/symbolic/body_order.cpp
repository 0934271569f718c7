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

// How many elements a network puts in order, as powers of two: `levels` of all, rounded up. Where few places are wanted, the
// elements lie in columns of 2^width rows, as many as there are places or up to twice as many. Each column is put in order; then
// the best of two columns are one, `rounds` times; the elements that are left are put in order once more.
struct NetworkSize {
    int levels = 0, width = 0, rounds = 0;
};

NetworkSize size_of_network(const Size& elements, const std::optional<Size>& places) {
    const auto bits = [](const Size& size) {
        int count = 0;
        while (count < 31 && Size::less(int64_t{1} << count, size)) count++;
        return count;
    };
    constexpr int least_width = 2, most_rounds = 6;  // behind six of them there is little left
    NetworkSize network{.levels = bits(elements)};
    network.width = places ? std::max(least_width, bits(*places)) : network.levels;
    if (network.width + 1 < network.levels)
        network.rounds = std::min(most_rounds, network.levels - network.width);
    else
        network.width = network.levels;
    return network;
}

// Batcher's bitonic networks (K. E. Batcher, Sorting networks and their applications, 1968): in each step every element
// meets the one whose number differs in one bit, and they change places if they are not in order, in time n log(n)^2. Of two
// columns in order, one of them turned, the lesser of each row are the best, and so that half of the network's last steps put
// them in order (n log(k)^2 for k places). What fills up to a power of two comes last: its keys are the greatest, and its
// places too. What a filter leaves out has a place below zero.
class NetworkText {
public:
    NetworkText(std::span<const DType> keys, bool filtered, NetworkSize size)
        : keys_(keys), filtered_(filtered), size_(size) {
        for (size_t k = 0; k < keys.size(); ++k) states_.push_back(fmt::format("sorted{}", k));
        states_.push_back("place");
    }

    std::string text() {
        add_columns(size_.width, size_.levels - size_.width);
        for (int round = 0; round < size_.rounds; round++) add_best_of_two();
        if (columns_ > 0) add_all();
        // Coordinates are compared with the size, and no elements, which would ask for its number.
        return text_ + fmt::format("let last[r < count] = {} ?? -1\n", read("place", at("r"))) +
               fmt::format("let at[r < count] = {} ? int64(last[r]) : -1\n", filtered_ ? "last[r] >= 0" : "r < n");
    }

private:
    // Of the states made last, behind their last step.
    std::string at(const std::string& places) const { return fmt::format("len(steps{}) - 1, {}", part_, places); }
    std::string read(const std::string& state, const std::string& places) const {
        return fmt::format("{}_{}[{}]", state, part_, places);
    }
    Reads reads(const std::string& places) const {
        Reads all;
        for (const std::string& state : states_) all.push_back(read(state, places));
        return all;
    }

    std::string before(const Reads& a, const Reads& b) const {
        const std::string less = comes_before(keys_, a, b);
        if (!filtered_) return less;
        return fmt::format("bit_or(bit_and({0} >= 0, {1} < 0), bit_and(({0} >= 0) == ({1} >= 0), {2}))", a.back(), b.back(), less);
    }

    // From now on states are those of these steps, each [distance, run]; they begin with `initial`.
    void add_steps(const std::string& steps, int width, int columns, const Reads& initial) {
        part_++;
        columns_ = columns;
        const std::string lane = columns > 0 ? ", c" : "";
        const std::string axes = fmt::format("i < {}", int64_t{1} << width) +
                                 (columns > 0 ? fmt::format(", c < {}", int64_t{1} << columns) : std::string());
        const Reads far = reads(fmt::format("t - 1, bit_xor(i, distance{}[t]){}", part_, lane));
        const Reads near = reads(fmt::format("t - 1, i{}", lane));
        text_ += fmt::format(
            "let steps{0} = {1}\n"
            "let distance{0} = [step[0] for step in steps{0}]\n"
            "let run{0} = [step[1] for step in steps{0}]\n"
            "scan t < len(steps{0}):\n"
            "  let changes{0}[{2}] = ({3}) == ((bit_and(i, distance{0}[t]) == 0) == (bit_and(i, run{0}[t]) == 0))\n",
            part_, steps, axes, before(far, near));
        for (size_t k = 0; k < states_.size(); ++k)
            text_ += fmt::format("  {} = changes{}[i{}] ? {} : {} from {}\n", read(states_[k], "t, " + axes), part_, lane, far[k],
                                 near[k], initial[k]);
    }

    static std::string steps_of_order(int width) {
        return fmt::format("[[2 ^ (k - j), 2 ^ (k + 1)] for k < {0}, j < {0} if j <= k]", width);
    }

    void add_columns(int width, int columns) {
        const std::string element = columns > 0 ? fmt::format("i * {} + c", int64_t{1} << columns) : "i";
        // The greatest of the type: highest(uint64) is no static number.
        const auto greatest = [](DType dtype) {
            return is_float(dtype) ? "(inf - inf)" : fmt::format("bit_xor(bit_not({0}(0)), lowest({0}))", name(dtype));
        };
        Reads initial;
        for (size_t k = 0; k < keys_.size(); ++k)
            initial.push_back(fmt::format("key{}[{}] ?? {}", k, element, greatest(keys_[k])));
        initial.push_back(filtered_ ? fmt::format("(kept[{0}] ?? false) ? int32({0}) : int32({0}) - {1}", element, 2 * most_ordered)
                                    : fmt::format("int32({})", element));
        add_steps(steps_of_order(width), width, columns, initial);
    }

    void add_best_of_two() {
        const int width = size_.width, columns = columns_ - 1;
        const int64_t rows = int64_t{1} << width, apart = int64_t{1} << columns;
        const std::string lane = columns > 0 ? "c" : "0";
        const Reads one = reads(at("i, " + lane)), other = reads(at(fmt::format("{} - i, {} + {}", rows - 1, lane, apart)));
        const std::string place = columns > 0 ? "i, c" : "i";
        text_ += fmt::format("let best{}[i < {}{}] = {}\n", part_, rows, columns > 0 ? fmt::format(", c < {}", apart) : "",
                             before(one, other));
        Reads initial;
        for (size_t k = 0; k < states_.size(); ++k)
            initial.push_back(fmt::format("best{}[{}] ? {} : {}", part_, place, one[k], other[k]));
        add_steps(fmt::format("[[2 ^ ({0} - j), 2 ^ {1}] for j < {1}]", width - 1, width), width, columns, initial);
    }

    void add_all() {
        const int64_t columns = int64_t{1} << columns_;
        add_steps(steps_of_order(size_.width + columns_), size_.width + columns_, 0,
                  reads(at(fmt::format("i // {0}, i % {0}", columns))));
    }

    const std::span<const DType> keys_;
    const bool filtered_;
    const NetworkSize size_;
    std::vector<std::string> states_;
    std::string text_;
    int part_ = 0, columns_ = 0;  // of the states made last
};

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
    const Value count = expressions_.evaluate(*statement.generators[0].range, around);
    const auto text = [&] {
        if (terms.extent < most_counted) return by_counting(terms.dtypes, filtered);
        const auto places = count.is_integer() ? std::optional(count.size()) : std::nullopt;
        return NetworkText(terms.dtypes, filtered, size_of_network(terms.extent, places)).text();
    };
    StandsFor& order = orders_.emplace_back(StandsFor{parsed(text()), {}});
    Scope own;  // nothing of the body has a name in it
    own.names.set("n", Value::of(terms.extent));
    own.names.set("count", count);
    if (filtered) own.names.set("kept", *terms.kept);
    for (size_t k = 0; k < terms.keys.size(); ++k)
        own.names.set(order.names.emplace_back(fmt::format("key{}", k)), terms.keys[k]);
    StateTypes types;  // of the network's states: its keys', and its places'
    for (const SyntaxPointer& each : order.statements) {
        if (each->kind != Syntax::Kind::scan_block) continue;
        size_t key = 0;
        for (const SyntaxPointer& state : each->children) {
            if (!state->initial) continue;
            const DType dtype = key < terms.dtypes.size() ? terms.dtypes[key] : DType::int32;
            types[state.get()] = {dtype, Element::Weak::no};
            key++;
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
