#include "zspace/origin.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "support/intern_table.h"
#include "support/lexer.h"
#include "support/spelling.h"
#include "zspace/checked.h"

namespace heddle {
namespace {

using Kind = Origin::Kind;
using Term = Origin::Term;

// A sum of products that is being made. Terms are sorted, no two have the same atoms, no coefficient is 0.
struct Sum {
    int64_t constant = 0;
    std::vector<Term> terms;
};

constexpr size_t most_terms = 16;
constexpr size_t most_atoms = 8;

bool atom_before(OriginPointer a, OriginPointer b) {
    if (const int order = a->text().compare(b->text()); order != 0) return order < 0;
    return a->kind() != b->kind() ? a->kind() < b->kind() : a < b;
}

bool term_before(const Term& a, const Term& b) {
    return std::ranges::lexicographical_compare(a.atoms, b.atoms, atom_before);
}

Sum sum_of(OriginPointer origin) {
    if (origin->is_constant()) return {origin->constant_value(), {}};
    if (origin->kind() == Kind::sum) return {origin->constant_value(), {origin->terms().begin(), origin->terms().end()}};
    return {0, {Term{1, {origin}}}};
}

std::optional<Sum> normal(std::optional<int64_t> constant, std::vector<Term> terms) {
    if (!constant) return std::nullopt;
    std::ranges::sort(terms, term_before);
    Sum result{*constant, {}};
    for (Term& term : terms) {
        if (result.terms.empty() || !(result.terms.back().atoms == term.atoms)) {
            result.terms.push_back(std::move(term));
            continue;
        }
        const auto total = checked_add(result.terms.back().coefficient, term.coefficient);
        if (!total) return std::nullopt;
        result.terms.back().coefficient = *total;
    }
    std::erase_if(result.terms, [](const Term& term) { return term.coefficient == 0; });
    const bool extreme = std::ranges::any_of(result.terms, [](const Term& t) { return t.coefficient == INT64_MIN; });
    if (extreme || result.constant == INT64_MIN || result.terms.size() > most_terms) return std::nullopt;
    return result;
}

std::optional<Sum> added(Sum a, const Sum& b, int64_t sign) {
    const auto constant = sign > 0 ? checked_add(a.constant, b.constant) : checked_subtract(a.constant, b.constant);
    for (Term term : b.terms) {
        term.coefficient *= sign;  // which is not the least of the type
        a.terms.push_back(std::move(term));
    }
    return normal(constant, std::move(a.terms));
}

std::optional<Sum> multiplied(const Sum& a, const Sum& b) {
    std::vector<Term> terms;
    const auto add = [&](const Term& x, const Term& y) {
        const auto coefficient = checked_multiply(x.coefficient, y.coefficient);
        if (!coefficient || x.atoms.size() + y.atoms.size() > most_atoms) return false;
        Term product{*coefficient, x.atoms};
        product.atoms.append(y.atoms.begin(), y.atoms.end());
        std::ranges::sort(product.atoms, atom_before);
        terms.push_back(std::move(product));
        return true;
    };
    for (const Term& x : a.terms) {
        for (const Term& y : b.terms) {
            if (!add(x, y)) return std::nullopt;
        }
        if (b.constant != 0 && !add(x, {b.constant, {}})) return std::nullopt;
    }
    for (const Term& y : b.terms) {
        if (a.constant != 0 && !add({a.constant, {}}, y)) return std::nullopt;
    }
    return normal(checked_multiply(a.constant, b.constant), std::move(terms));
}

// `a` without this factor, if it has it.
std::optional<Term> without(Term a, const Term& factor) {
    if (factor.coefficient == -1 || a.coefficient % factor.coefficient != 0) return std::nullopt;
    a.coefficient /= factor.coefficient;
    InlineVector<OriginPointer, 4> left;
    size_t next = 0;
    for (OriginPointer atom : a.atoms) {
        if (next < factor.atoms.size() && factor.atoms[next] == atom)
            next++;
        else
            left.push_back(atom);
    }
    if (next < factor.atoms.size()) return std::nullopt;
    a.atoms = left;
    return a;
}

// Whether sums are divided by this term first: it has more of the first atom in which they differ.
bool leads(const Term& a, const Term& b) {
    const auto [x, y] = std::ranges::mismatch(a.atoms, b.atoms);
    if (x == a.atoms.end() || y == b.atoms.end()) return a.atoms.size() > b.atoms.size();
    return atom_before(*x, *y);
}

Term leading(const Sum& sum) {
    return sum.terms.empty() ? Term{sum.constant, {}} : *std::ranges::min_element(sum.terms, leads);
}

// The quotient, if `a` is a multiple of `b` whatever the names are.
std::optional<Sum> exactly_divided(const Sum& a, const Sum& b) {
    const Term divisor = leading(b);
    if (divisor.coefficient == 0) return std::nullopt;
    Sum rest = a;
    int64_t constant = 0;
    std::vector<Term> terms;
    while (!rest.terms.empty() || rest.constant != 0) {
        const auto part = without(leading(rest), divisor);
        if (!part || terms.size() > most_terms) return std::nullopt;
        const Sum times = part->atoms.empty() ? Sum{part->coefficient, {}} : Sum{0, {*part}};
        const auto product = multiplied(b, times);
        auto less = product ? added(std::move(rest), *product, -1) : std::nullopt;
        if (!less) return std::nullopt;
        rest = std::move(*less);
        constant += times.constant;
        terms.insert(terms.end(), times.terms.begin(), times.terms.end());
    }
    return normal(constant, std::move(terms));
}

// a = divisor * first + second, where second's coefficients and constant are not negative and below the divisor.
std::pair<Sum, Sum> split(const Sum& a, int64_t divisor) {
    Sum whole{floor_divide(a.constant, divisor), {}}, rest{floor_modulo(a.constant, divisor), {}};
    for (const Term& term : a.terms) {
        const int64_t times = floor_divide(term.coefficient, divisor), left = floor_modulo(term.coefficient, divisor);
        if (times != 0) whole.terms.push_back({times, term.atoms});
        if (left != 0) rest.terms.push_back({left, term.atoms});
    }
    return {std::move(whole), std::move(rest)};
}

// The dividend without what divides its terms and the divisor, and that: (2 * a + 1) // 4 is a // 2.
int64_t without_common_factor(Sum& sum, int64_t divisor) {
    int64_t factor = divisor;
    for (const Term& term : sum.terms) factor = std::gcd(factor, term.coefficient);
    for (Term& term : sum.terms) term.coefficient /= factor;
    sum.constant = floor_divide(sum.constant, factor);
    return factor;
}

struct Operation {
    Kind kind;
    OriginPointer a, b;
    bool operator==(const Operation&) const = default;
};

struct OperationHash {
    size_t operator()(const Operation& o) const {
        return mixed_hash(mixed_hash(static_cast<size_t>(o.kind), reinterpret_cast<size_t>(o.a)), reinterpret_cast<size_t>(o.b));
    }
};

}  // namespace

// All origins there are.
struct Origin::Table {
    std::mutex mutex;
    std::unordered_multimap<size_t, std::unique_ptr<const Origin>> origins;  // by hash

    static Table& get() {
        static Table* table = new Table;  // used until the process has ended
        return *table;
    }

    static size_t hash_of(const Origin& o) {
        size_t hash = std::hash<std::string>()(o.name_) ^ (static_cast<size_t>(o.kind_) + 1) * 0x9e3779b97f4a7c15ull;
        const auto mix = [&](size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15ull + (hash >> 29); };
        const auto mix_pointer = [&](OriginPointer p) { mix(reinterpret_cast<size_t>(p)); };
        mix(static_cast<size_t>(o.constant_));
        mix_pointer(o.a_);
        mix_pointer(o.b_);
        for (const Term& term : o.terms_) {
            mix(static_cast<size_t>(term.coefficient));
            std::ranges::for_each(term.atoms, mix_pointer);
        }
        return hash;
    }

    static bool same(const Origin& a, const Origin& b) {
        return a.kind_ == b.kind_ && a.constant_ == b.constant_ && a.a_ == b.a_ && a.b_ == b.b_ && a.name_ == b.name_ &&
               a.terms_ == b.terms_;
    }

    static OriginPointer kept(Origin origin) {
        const size_t hash = hash_of(origin);
        Table& table = get();
        std::lock_guard lock(table.mutex);
        const auto [first, last] = table.origins.equal_range(hash);
        for (auto known = first; known != last; ++known) {
            if (same(*known->second, origin)) return known->second.get();
        }
        origin.text_ = origin.written(Spelling::shown);
        return table.origins.emplace(hash, std::make_unique<const Origin>(std::move(origin)))->second.get();
    }

    static OriginPointer result_of(Kind operation, OriginPointer a, OriginPointer b);

    static OriginPointer operation(Kind kind, OriginPointer a, OriginPointer b) {
        Origin origin;
        origin.kind_ = kind;
        origin.a_ = a;
        origin.b_ = b;
        return kept(std::move(origin));
    }

    static OriginPointer made(Sum sum) {
        if (sum.terms.empty()) return of_constant(sum.constant);
        const Term& first = sum.terms[0];
        const bool is_atom = sum.terms.size() == 1 && first.atoms.size() == 1 && first.coefficient == 1;
        if (is_atom && sum.constant == 0) return first.atoms[0];
        Origin origin;
        origin.kind_ = Kind::sum;
        origin.constant_ = sum.constant;
        origin.terms_ = std::move(sum.terms);
        return kept(std::move(origin));
    }

    // (x // m + y) // divisor = (x + m * y) // (m * divisor); null where `sum` is of no such form.
    static OriginPointer joined_quotient(const Sum& sum, int64_t divisor) {
        const auto inner = std::ranges::find_if(sum.terms, [](const Term& term) {
            return term.coefficient == 1 && term.atoms.size() == 1 && term.atoms[0]->kind() == Kind::floor_divide &&
                   term.atoms[0]->right()->is_constant() && term.atoms[0]->right()->constant_value() > 0;
        });
        if (inner == sum.terms.end()) return nullptr;
        const OriginPointer quotient = inner->atoms[0];
        const int64_t within = quotient->right()->constant_value();
        const auto both = checked_multiply(within, divisor);
        const auto others = added(sum, Sum{0, {*inner}}, -1);
        const auto larger = others && both ? multiplied(*others, Sum{within, {}}) : std::nullopt;
        const auto above = larger ? added(*larger, sum_of(quotient->left()), 1) : std::nullopt;
        return above ? of(Kind::floor_divide, made(*above), of_constant(*both)) : nullptr;
    }

    static OriginPointer quotient(OriginPointer a, OriginPointer b) {
        const Sum x = sum_of(a), y = sum_of(b);
        if (const auto exact = exactly_divided(x, y)) return made(*exact);
        if (a->kind() == Kind::modulo && a->right() == b) return of_constant(0);
        if (!b->is_constant() || b->constant_value() <= 0) return operation(Kind::floor_divide, a, b);
        auto [whole, rest] = split(x, b->constant_value());
        if (rest.terms.empty()) return made(whole);
        const int64_t divisor = b->constant_value() / without_common_factor(rest, b->constant_value());
        const OriginPointer joined = joined_quotient(rest, divisor);
        if (joined) return of(Kind::add, made(whole), joined);
        // What is left of it may be simpler still.
        const OriginPointer left = made(rest), by = of_constant(divisor);
        const bool is_same = left == a && by == b;
        return of(Kind::add, made(whole),
                  is_same ? operation(Kind::floor_divide, a, b) : of(Kind::floor_divide, left, by));
    }

    static OriginPointer remainder(OriginPointer a, OriginPointer b) {
        const Sum x = sum_of(a), y = sum_of(b);
        if (exactly_divided(x, y)) return of_constant(0);
        if (a->kind() == Kind::modulo && a->right() == b) return a;
        if (!b->is_constant() || b->constant_value() <= 0) return operation(Kind::modulo, a, b);
        const auto [whole, rest] = split(x, b->constant_value());
        if (rest.terms.empty()) return of_constant(rest.constant);
        const OriginPointer left = made(rest);
        return left == a ? operation(Kind::modulo, a, b) : of(Kind::modulo, left, b);
    }

    static OriginPointer extreme(Kind kind, OriginPointer a, OriginPointer b) {
        const auto above = [](OriginPointer x, OriginPointer y) {
            auto difference = added(sum_of(x), sum_of(y), -1);
            return difference && made(std::move(*difference))->is_never_negative();
        };
        // Beyond all others.
        const auto is_limit = [](OriginPointer x, int64_t limit) { return x->is_constant() && x->constant_value() == limit; };
        const int64_t chosen = kind == Kind::minimum ? INT64_MIN : INT64_MAX, never = kind == Kind::minimum ? INT64_MAX : INT64_MIN;
        if (is_limit(a, chosen) || is_limit(b, never)) return a;
        if (is_limit(b, chosen) || is_limit(a, never)) return b;
        if (above(a, b)) return kind == Kind::minimum ? b : a;
        if (above(b, a)) return kind == Kind::minimum ? a : b;
        const bool ordered = a->is_constant() != b->is_constant() ? b->is_constant() : atom_before(a, b);
        return operation(kind, ordered ? a : b, ordered ? b : a);
    }
};

OriginPointer Origin::of_name(const std::string& name) {
    Origin origin;
    origin.kind_ = Kind::name;
    origin.name_ = name;
    return Table::kept(std::move(origin));
}

OriginPointer Origin::of_constant(int64_t value) {
    thread_local std::unordered_map<int64_t, OriginPointer> known;  // the same are asked for again and again
    OriginPointer& result = known[value];
    if (result) return result;
    Origin origin;
    origin.constant_ = value;
    return result = Table::kept(std::move(origin));
}

OriginPointer Origin::of(Kind operation, OriginPointer a, OriginPointer b) {
    // The same is asked for again and again.
    thread_local std::unordered_map<Operation, OriginPointer, OperationHash> known;
    OriginPointer& result = known[{operation, a, b}];
    if (!result) result = Table::result_of(operation, a, b);
    return result;
}

OriginPointer Origin::Table::result_of(Kind operation, OriginPointer a, OriginPointer b) {
    std::optional<Sum> sum;
    switch (operation) {
    case Kind::add: sum = added(sum_of(a), sum_of(b), 1); break;
    case Kind::subtract: sum = added(sum_of(a), sum_of(b), -1); break;
    case Kind::multiply: sum = multiplied(sum_of(a), sum_of(b)); break;
    case Kind::floor_divide: return quotient(a, b);
    case Kind::modulo: return remainder(a, b);
    default: return extreme(operation, a, b);
    }
    return sum ? made(std::move(*sum)) : Table::operation(operation, a, b);
}

std::string Origin::spelled() const { return inner(Spelling::read); }

std::string Origin::number(int64_t value, Spelling spelling) {
    const std::string text = std::to_string(value);
    return value >= 0 || spelling == Spelling::read ? text : "(" + text + ")";
}

std::string Origin::inner(Spelling spelling) const {
    if (kind_ == Kind::constant) return number(constant_, spelling);
    const bool is_call = kind_ == Kind::minimum || kind_ == Kind::maximum;
    if (kind_ == Kind::name || (is_call && spelling == Spelling::read)) return written(spelling);
    return "(" + (spelling == Spelling::shown ? text_ : written(spelling)) + ")";
}

std::string Origin::written(Spelling spelling) const {
    const auto argument = [&](OriginPointer o) { return spelling == Spelling::shown ? o->text_ : o->inner(spelling); };
    const auto joined = [&](const char* mark) { return a_->inner(spelling) + mark + b_->inner(spelling); };
    switch (kind_) {
    case Kind::name: return spelling == Spelling::shown || is_identifier(name_) ? name_ : quoted_text(name_);
    case Kind::constant: return std::to_string(constant_);
    case Kind::add: return joined(" + ");
    case Kind::subtract: return joined(" - ");
    case Kind::multiply: return joined(" * ");
    case Kind::floor_divide: return joined(" // ");
    case Kind::modulo: return joined(" % ");
    case Kind::minimum: return "min(" + argument(a_) + ", " + argument(b_) + ")";
    case Kind::maximum: return "max(" + argument(a_) + ", " + argument(b_) + ")";
    case Kind::sum: break;
    }
    // What is added first, then what is subtracted, then the constant.
    std::string text;
    int parts = 0;  // of `text`
    const auto before = [&](int count) { return count > 1 ? "(" + text + ")" : text; };
    for (const bool positive : {true, false}) {
        for (const Term& term : terms_) {
            if ((term.coefficient > 0) != positive) continue;
            const bool subtracted = parts > 0 && !positive;
            const int64_t factor = subtracted ? -term.coefficient : term.coefficient;
            std::string product = factor == 1 ? "" : number(factor, spelling);
            int factors = factor == 1 ? 0 : 1;
            for (OriginPointer atom : term.atoms) {
                if (factors > 1) product = "(" + product + ")";
                product += (factors > 0 ? " * " : "") + atom->inner(spelling);
                factors++;
            }
            if (parts > 0 && factors > 1) product = "(" + product + ")";
            text = parts == 0 ? product : before(parts) + (subtracted ? " - " : " + ") + product;
            parts = parts == 0 ? factors : 2;
        }
    }
    if (constant_ == 0) return text;
    return before(parts) + (constant_ > 0 ? " + " : " - ") + std::to_string(std::abs(constant_));
}

int64_t Origin::constant_factor() const {
    const auto magnitude = [](int64_t value) { return value == INT64_MIN ? int64_t{1} : std::abs(value); };
    switch (kind_) {
    case Kind::name: return 1;
    case Kind::constant: return magnitude(constant_);
    case Kind::sum: {
        int64_t common = magnitude(constant_);
        for (const Term& term : terms_) {
            int64_t factor = magnitude(term.coefficient);
            for (OriginPointer atom : term.atoms) {
                const auto product = checked_multiply(factor, atom->constant_factor());
                factor = product.value_or(factor);
            }
            common = std::gcd(common, factor);
        }
        return common;
    }
    case Kind::multiply: return checked_multiply(a_->constant_factor(), b_->constant_factor()).value_or(1);
    case Kind::floor_divide: {
        const int64_t divisor = b_->is_constant() ? b_->constant_ : 0, factor = a_->constant_factor();
        return divisor > 0 && factor % divisor == 0 ? factor / divisor : 1;
    }
    default: return std::gcd(a_->constant_factor(), b_->constant_factor());
    }
}

std::optional<int64_t> Origin::evaluated(const std::map<std::string, int64_t>& names) const {
    if (kind_ == Kind::constant) return constant_;
    if (kind_ == Kind::name) {
        const auto found = names.find(name_);
        return found == names.end() ? std::nullopt : std::optional(found->second);
    }
    if (kind_ == Kind::sum) {
        std::optional<int64_t> result = constant_;
        for (const Term& term : terms_) {
            std::optional<int64_t> value = term.coefficient;
            for (OriginPointer atom : term.atoms) {
                const auto factor = atom->evaluated(names);
                value = factor ? checked_multiply(*value, *factor) : std::nullopt;
                if (!value) return std::nullopt;
            }
            result = checked_add(*result, *value);
            if (!result) return std::nullopt;
        }
        return result;
    }
    const auto a = a_->evaluated(names), b = b_->evaluated(names);
    if (!a || !b) return std::nullopt;
    switch (kind_) {
    case Kind::add: return checked_add(*a, *b);
    case Kind::subtract: return checked_subtract(*a, *b);
    case Kind::multiply: return checked_multiply(*a, *b);
    case Kind::floor_divide:
        if (*b == 0) return std::nullopt;
        return *b == -1 ? checked_subtract(0, *a) : floor_divide(*a, *b);
    case Kind::modulo: return *b == 0 ? std::nullopt : std::optional(*b == -1 ? 0 : floor_modulo(*a, *b));
    case Kind::minimum: return std::min(*a, *b);
    default: return std::max(*a, *b);
    }
}

}  // namespace heddle
