#include <algorithm>
#include <set>

#include "schedules/tree.h"

namespace heddle::schedules {
namespace {

constexpr int most_copies = 64;  // rows, vectors, lanes, iterations: code grows with each

class Verifier {
public:
    explicit Verifier(const Tree& tree) : tree_(tree) {}

    Result<void> verify() {
        check_tables();
        if (errors_.empty()) {
            varies_ = varies(tree_);
            for (const TaskAxis& axis : tree_.tasks) scope_.insert({axis.begin, axis.end});
            for (const Memory& memory : tree_.memories) {
                for (const Term& term : memory.origin) check_scope(term.variable, memory.name);
            }
            check_block(tree_.body);
        }
        if (errors_.empty()) return {};
        return fail(std::move(errors_));
    }

private:
    void error(const char* code, const std::string& summary, const std::string& found) {
        if (errors_.size() >= 20) return;
        Diagnostic diagnostic;
        diagnostic.code = code;
        diagnostic.summary = summary;
        diagnostic.found = found;
        errors_.push_back(std::move(diagnostic));
    }

    template <typename List>
    bool in(const List& list, int64_t index, const char* what) {
        bool inside = index >= 0 && index < static_cast<int64_t>(list.size());
        if (!inside) error("schedules.tree_index", "the tree names something that it does not have", what);
        return inside;
    }

    void check_number(const Number& n) {
        if (n.launch) in(tree_.numbers, n.value, "a launch number");
    }

    void check_affine(const Affine& a, int64_t before) {
        check_number(a.constant);
        for (const Term& term : a.terms) {
            in(tree_.variables, term.variable, "a variable");
            check_number(term.number);
        }
        for (const auto& [value, factor] : a.values) {
            if (value >= before || !in(tree_.expressions, value, "an expression in an address")) {
                error("schedules.tree_index", "an expression stands behind its user", std::to_string(value));
            }
            check_number(factor);
        }
    }

    bool knows_step_before(const Expression& e) const {
        const Accumulator& a = tree_.accumulator(e.accumulator_id());
        return a.running || (a.state && e.kind == Expression::Kind::before);
    }

    // Every index in the tables names something; operands stand before users.
    void check_tables() {
        for (size_t i = 0; i < tree_.expressions.size(); i++) {
            const Expression& e = tree_.expressions[i];
            auto before = static_cast<int64_t>(i);
            for (ExpressionId operand : e.operands) {
                if (operand < 0 || operand >= before)
                    error("schedules.tree_index", "an operand stands behind its user", std::to_string(i));
            }
            check_number(e.number);
            check_affine(e.affine, before);
            check_affine(e.address.element, before);
            if (e.kind == Expression::Kind::load) in(tree_.memories, e.address.memory, "a memory");
            if (e.is_of_accumulator() && in(tree_.accumulators, e.target, "an accumulator") &&
                e.kind != Expression::Kind::accumulator && !knows_step_before(e))
                error("schedules.tree_type", "an accumulator does not run along its lanes",
                      tree_.accumulator(e.accumulator_id()).name);
            if (e.kind == Expression::Kind::let && in(tree_.lets, e.target, "a let") &&
                tree_.let(e.let_id()).value >= before) {
                error("schedules.tree_index", "a let is used before its value", tree_.let(e.let_id()).name);
            }
            if (errors_.empty()) check_operands(ExpressionId(i), e);
        }
        for (const Accumulator& a : tree_.accumulators) {
            if (!a.state && !accepts(a.reducer, a.dtype))
                error("schedules.tree_type", "a reduction does not take terms of its type", a.name);
            if (a.running && (is_argument(a.reducer) || a.reduced_lanes || a.vectors != 1 || a.width < 2))
                error("schedules.tree_type", "a running accumulator is more than one vector, or less", a.name);
            if (a.state && (is_argument(a.reducer) || a.reduced_lanes || a.running))
                error("schedules.tree_type", "a state is something else too", a.name);
        }
        for (const Let& let : tree_.lets) in(tree_.expressions, let.value, "the value of a let");
        bool arrays = false;
        for (const Memory& memory : tree_.memories) {
            bool array = memory.kind == Memory::Kind::array;
            if (arrays && !array) error("schedules.tree_order", "a buffer stands behind an array", memory.name);
            arrays = arrays || array;
            check_number(memory.offset);
            for (const Term& term : memory.origin) in(tree_.variables, term.variable, "a variable");
        }
        for (const TaskAxis& axis : tree_.tasks) {
            in(tree_.variables, axis.begin, "the begin of a task axis");
            in(tree_.variables, axis.end, "the end of a task axis");
            for (const Number& n : {axis.extent, axis.step, axis.count, axis.divisor}) check_number(n);
            if (axis.rounds && &axis != tree_.tasks.data())
                error("schedules.tree_order", "rounds are not the outermost task axis", axis.name);
        }
        std::set<std::string> names;
        for (const Variable& variable : tree_.variables) {
            if (!names.insert(variable.name).second)
                error("schedules.tree_index", "two variables have one name", variable.name);
        }
    }

    DType type(ExpressionId id) const { return tree_.expression(id).dtype; }

    void check_operands(ExpressionId id, const Expression& e) {
        size_t least = 0, most = 0;
        using enum Expression::Kind;
        if (e.kind == scalar) least = most = e.operands.size();  // scalar_fits
        if (e.kind == cast || e.kind == inside) least = most = 1;
        if (e.kind == select) least = most = 3;
        if (e.kind == check) least = 1, most = 2;
        if (e.kind == load) most = 1;
        bool fits = e.operands.size() >= least && e.operands.size() <= most;
        if (fits && e.kind == real) fits = is_float(e.dtype) && !is_narrow(e.dtype);
        if (fits && e.kind == scalar) fits = scalar_fits(e);
        if (fits && e.kind == select)
            fits = is_bool(type(e.operands[0])) && type(e.operands[1]) == e.dtype && type(e.operands[2]) == e.dtype;
        if (fits && e.kind == inside) fits = is_integer(type(e.operands[0])) && is_bool(e.dtype);
        if (fits && e.kind == check) fits = is_integer(type(e.operands[0])) && type(e.operands[0]) == e.dtype;
        if (fits && e.kind == check && e.operands.size() == 2) fits = is_bool(type(e.operands[1]));
        if (fits && e.kind == load) fits = e.dtype == tree_.memory(e.address.memory).dtype;
        if (fits && e.kind == load && !e.operands.empty()) fits = is_bool(type(e.operands[0]));
        if (fits && e.kind == let) fits = e.dtype == type(tree_.let(e.let_id()).value);
        if (!fits)
            error("schedules.tree_type", "the operands of an expression do not fit it",
                  "expression " + std::to_string(id));
    }

    bool scalar_fits(const Expression& e) const {
        std::vector<DType> types;
        for (ExpressionId operand : e.operands) types.push_back(type(operand));
        return is_typed_real(e.op, e.dtype, types);
    }

    void check_scope(VariableId variable, const std::string& where) {
        if (!scope_.contains(variable)) {
            error("schedules.tree_scope", "a variable is used where no statement binds it",
                  tree_.variable(variable).name + " in " + where);
        }
    }

    // Everything that the expression needs is bound, defined or finished here, and its addresses are what they say.
    void check_use(ExpressionId root) {
        std::set<ExpressionId> seen;
        std::vector<ExpressionId> open{root};
        while (!open.empty()) {
            ExpressionId at = open.back();
            open.pop_back();
            if (!seen.insert(at).second) continue;
            const Expression& e = tree_.expression(at);
            open.insert(open.end(), e.operands.begin(), e.operands.end());
            check_affine_use(e.affine, open);
            if (e.kind == Expression::Kind::load) {
                check_affine_use(e.address.element, open);
                check_access(e.address, e.operands.empty() ? no_id : e.operands[0], false);
            }
            if (e.kind == Expression::Kind::let && !defined_.contains(e.let_id())) {
                error("schedules.tree_scope", "a let is used before it is defined", tree_.let(e.let_id()).name);
            }
            if (e.kind == Expression::Kind::carried && (in_lanes_ || !started_.contains(e.accumulator_id())))
                error("schedules.tree_scope", "what is carried is used elsewhere than behind the lanes",
                      tree_.accumulator(e.accumulator_id()).name);
            const bool in_step = e.kind == Expression::Kind::before && tree_.accumulator(e.accumulator_id()).state;
            const bool finished = e.kind == Expression::Kind::accumulator || e.kind == Expression::Kind::before;
            const auto& known = in_step ? started_ : finished_;
            if (finished && !known.contains(e.accumulator_id())) {
                error("schedules.tree_scope", "an accumulator is used before it is finished",
                      tree_.accumulator(e.accumulator_id()).name);
            }
        }
    }

    void check_affine_use(const Affine& a, std::vector<ExpressionId>& open) {
        for (const Term& term : a.terms) check_scope(term.variable, "an address or index");
        for (const auto& [value, factor] : a.values) open.push_back(value);
    }

    void check_access(const Address& a, ExpressionId guard, bool is_store) {
        int lanes = 0, rows = 0;
        bool unit = false, interleaving = false, row_unit = false, indexed = false, rows_indexed = false;
        for (const Term& term : a.element.terms) {
            Variable::Kind kind = tree_.variable(term.variable).kind;
            bool one = term.scale == 1 && term.number.is(1);
            if (kind == Variable::Kind::lane)
                lanes++, unit = one, interleaving = is_interleaving(term.scale) && term.number.is(1);
            if (kind == Variable::Kind::row) rows++, row_unit = std::abs(term.scale) == 1 && term.number.is(1);
            if (kind == Variable::Kind::fused_row) rows += 2;
        }
        for (const auto& [value, factor] : a.element.values) {
            indexed = indexed || varies_[static_cast<size_t>(value)].lanes;
            rows_indexed = rows_indexed || varies_[static_cast<size_t>(value)].rows;
        }
        bool fits = true;
        if (is_shifted_ && a.access != Access::uniform && a.access != Access::contiguous && a.access != Access::packed)
            error("schedules.tree_lanes", "lanes that are done twice have another access than a plain one", "");
        switch (a.access) {
        case Access::uniform: fits = lanes == 0 && !indexed; break;
        case Access::contiguous: fits = lanes == 1 && unit && !indexed; break;
        case Access::packed: fits = lanes == 1 && !indexed; break;
        case Access::interleaved: fits = lanes == 1 && interleaving && !indexed; break;
        case Access::strided: fits = lanes >= 1 && !indexed; break;
        case Access::indexed: fits = indexed; break;
        case Access::consecutive: fits = indexed && lanes == 0 && !is_store; break;
        case Access::compressed: fits = indexed && is_store; break;
        case Access::transposed:
            fits = lanes >= 1 && rows == 1 && row_unit && !indexed && !rows_indexed && transposes_ &&
                   (guard < 0 || !varies_[static_cast<size_t>(guard)].rows);
            break;
        }
        if (!fits)
            error("schedules.tree_access", "an address is not what its access says", tree_.memory(a.memory).name);
    }

    void check_range(const Range& range) {
        if (range.lower.empty() || range.upper.empty()) error("schedules.tree_range", "a range has no bound", "");
        for (const auto* list : {&range.lower, &range.upper}) {
            for (const Bound& bound : *list) {
                check_affine(bound.affine, static_cast<int64_t>(tree_.expressions.size()));
                check_number(bound.divisor);
                if (!bound.divisor.launch && bound.divisor.value < 1)
                    error("schedules.tree_range", "a divisor is not positive", "");
                for (const Term& term : bound.affine.terms) check_scope(term.variable, "a range");
                for (const auto& [value, factor] : bound.affine.values) check_use(value);
            }
        }
    }

    void check_block(const Block& block) {
        for (const Statement& statement : block) {
            std::visit([&](const auto& node) { check(node); }, statement.node);
            if (!errors_.empty()) return;
        }
    }

    void bind(VariableId variable, Variable::Kind kind) {
        if (!in(tree_.variables, variable, "a variable")) return;
        if (tree_.variable(variable).kind != kind)
            error("schedules.tree_scope", "a statement binds a variable of another kind",
                  tree_.variable(variable).name);
        if (!scope_.insert(variable).second)
            error("schedules.tree_scope", "a variable is bound twice", tree_.variable(variable).name);
    }

    void check(const Phase& phase) { check_block(phase.body); }

    void check(const For& loop) {
        check_range(loop.range);
        if (loop.unrolled < 0 || loop.unrolled > most_copies)
            error("schedules.tree_range", "a loop is written out too often", std::to_string(loop.unrolled));
        bind(loop.variable, Variable::Kind::loop);
        check_until(loop.until, in_lanes_);
        if (!loop.until.empty() && loop.unrolled > 0)
            error("schedules.tree_range", "a loop that is written out ends early", tree_.variable(loop.variable).name);
        check_block(loop.body);
        scope_.erase(loop.variable);
    }

    // What ends a loop has begun around it, and is of a kind that settles.
    void check_until(const std::vector<AccumulatorId>& until, bool states) {
        for (AccumulatorId id : until) {
            if (!in(tree_.accumulators, id, "an accumulator")) return;
            const Accumulator& a = tree_.accumulator(id);
            const bool reduces = a.reduced_lanes && (a.reducer == Reducer::any || a.reducer == Reducer::all ||
                                                     (a.reducer == Reducer::minimum && is_integer(a.dtype)));
            if (!started_.contains(id) || finished_.contains(id) ||
                !(reduces || (states && a.state && is_bool(a.dtype))))
                error("schedules.tree_range", "a loop ends by an accumulator that does not settle in it", a.name);
        }
    }

    void check(const Rows& rows) {
        check_range(rows.range);
        bool falls = !rows.sizes.empty();
        for (size_t i = 1; i < rows.sizes.size(); i++) falls = falls && rows.sizes[i] < rows.sizes[i - 1];
        bool balanced = rows.mode == Rows::Mode::balanced;
        if (!falls || rows.sizes.back() < 1 || rows.sizes.front() > most_copies ||
            (balanced && rows.sizes.back() != 1)) {
            error("schedules.tree_rows", "row sizes do not fall strictly to one", "");
        }
        if (!balanced && (rows.sizes.size() != 1 || !rows.fused.empty()))
            error("schedules.tree_rows", "a transposed tile has one size", "");
        if (in_rows_) error("schedules.tree_rows", "rows stand inside of rows", "");
        bind(rows.variable, Variable::Kind::row);
        for (const Rows::Digit& digit : rows.fused) {
            check_number(digit.extent);
            bind(digit.variable, Variable::Kind::fused_row);
        }
        bool outer = transposes_;
        in_rows_ = true;
        transposes_ = !balanced;
        each_row_ = balanced ? each_row(rows) : nullptr;
        check_block(rows.body);
        each_row_ = nullptr;
        transposes_ = outer;
        in_rows_ = false;
        forget_rows();
        scope_.erase(rows.variable);
        for (const Rows::Digit& digit : rows.fused) scope_.erase(digit.variable);
    }

    void check(const EachRow& each) {
        if (each_row_ != &each)
            return error("schedules.tree_rows", "each row stands elsewhere than at the end of balanced rows", "");
        for (const Statement& statement : each.body) {
            if (!std::holds_alternative<Define>(statement.node) && !std::holds_alternative<Store>(statement.node))
                error("schedules.tree_rows", "each row holds more than definitions and stores", "");
        }
        forget_rows();
        check_block(each.body);
    }

    // Lets of single rows are none behind them.
    void forget_rows() {
        std::erase_if(defined_, [&](LetId let) { return varies_[static_cast<size_t>(tree_.let(let).value)].rows; });
    }

    void check(const Lanes& lanes) {
        check_range(lanes.range);
        bool power = lanes.width >= 1 && (lanes.width & (lanes.width - 1)) == 0;
        if (!power || lanes.vectors < 1 || lanes.vectors > most_copies || lanes.width > most_copies)
            error("schedules.tree_lanes", "lanes are no power of two, or vectors are none or too many", tree_.name);
        if (in_lanes_) error("schedules.tree_lanes", "lanes stand inside of lanes", "");
        bind(lanes.variable, Variable::Kind::lane);
        if (lanes.reduced && lanes.mask == Lanes::Mask::edge)
            error("schedules.tree_lanes", "reduced lanes have no block under masks at their end", "");
        if (lanes.reduced && lanes.mask == Lanes::Mask::shifted)
            error("schedules.tree_lanes", "reduced lanes are done twice", "");
        check_until(lanes.until, false);
        in_lanes_ = true;
        is_shifted_ = lanes.mask == Lanes::Mask::shifted;
        has_tail_ = lanes.mask == Lanes::Mask::tail || lanes.mask == Lanes::Mask::last;
        lanes_width_ = lanes.vectors == 1 && !lanes.reduced ? lanes.width : 0;
        check_block(lanes.body);
        in_lanes_ = has_tail_ = is_shifted_ = false;
        std::erase_if(finished_, [&](AccumulatorId id) { return tree_.accumulator(id).running; });
        scope_.erase(lanes.variable);
    }

    void check(const Start& s) {
        if (!in(tree_.accumulators, s.accumulator, "an accumulator")) return;
        if (is_shifted_ || (has_tail_ && tree_.accumulator(s.accumulator).vectors > 1))
            error("schedules.tree_lanes", "lanes with a tail hold an accumulator",
                  tree_.accumulator(s.accumulator).name);
        check_start(s, tree_.accumulator(s.accumulator));
        started_.insert(s.accumulator);
        finished_.erase(s.accumulator);
    }

    void check_start(const Start& s, const Accumulator& a) {
        if ((a.running || a.state) != (s.value >= 0) || (a.running && (in_lanes_ || in_rows_)))
            return error("schedules.tree_scope",
                         "a running accumulator starts elsewhere than around its lanes, or at nothing", a.name);
        if (s.value < 0 || !in(tree_.expressions, s.value, "what an accumulator starts at")) return;
        check_use(s.value);
        if (type(s.value) != a.dtype || (a.running && varies_[static_cast<size_t>(s.value)].lanes))
            error("schedules.tree_type", "what an accumulator starts at does not fit it", a.name);
    }

    void check(const Update& u) {
        if (!in(tree_.accumulators, u.accumulator, "an accumulator") ||
            !in(tree_.expressions, u.value, "an update's value"))
            return;
        const Accumulator& a = tree_.accumulator(u.accumulator);
        if (!started_.contains(u.accumulator))
            error("schedules.tree_scope", "an accumulator is updated before its start", a.name);
        check_use(u.value);
        const Expression& value = tree_.expression(u.value);
        bool product = value.kind == Expression::Kind::scalar && value.op == ScalarOp::multiply && is_float(a.dtype);
        if (value.dtype != a.dtype || (u.fused && (a.reducer != Reducer::sum || !product))) {
            error("schedules.tree_type", "an update does not fit its accumulator", a.name);
        }
        if (a.running && (u.fused || in_rows_ || !in_lanes_ || lanes_width_ != a.width))
            error("schedules.tree_lanes", "a running accumulator does not fit its lanes", a.name);
        if (a.state && u.fused) error("schedules.tree_type", "an update does not fit its accumulator", a.name);
        if (a.running) finished_.insert(u.accumulator);
        if (u.factor >= 0 && in(tree_.expressions, u.factor, "an update's factor")) {
            check_use(u.factor);
            const DType of_factor = type(u.factor);
            if (!a.running || (!is_bool(of_factor) && (of_factor != a.dtype || a.reducer != Reducer::sum)))
                error("schedules.tree_type", "a factor does not fit its accumulator", a.name);
        }
        if (is_argument(a.reducer) != (u.index >= 0))
            return error("schedules.tree_type", "an update lacks its index, or has one", a.name);
        if (u.index < 0 || !in(tree_.expressions, u.index, "an update's index")) return;
        check_use(u.index);
        if (type(u.index) != a.index_dtype)
            error("schedules.tree_type", "an index does not fit its accumulator", a.name);
    }

    void check(const Finish& f) {
        if (!started_.contains(f.accumulator) || tree_.accumulator(f.accumulator).running)
            return error("schedules.tree_scope", "an accumulator is finished before its start, or runs along its lanes",
                         "");
        started_.erase(f.accumulator);
        finished_.insert(f.accumulator);
    }

    void check(const Define& d) {
        if (!in(tree_.lets, d.let, "a let")) return;
        check_use(tree_.let(d.let).value);
        defined_.insert(d.let);
    }

    void check(const Store& s) {
        if (!in(tree_.memories, s.address.memory, "a memory") || !in(tree_.expressions, s.value, "a stored value"))
            return;
        const Memory& memory = tree_.memory(s.address.memory);
        check_affine(s.address.element, static_cast<int64_t>(tree_.expressions.size()));
        for (const Term& term : s.address.element.terms) check_scope(term.variable, "a store");
        for (const auto& [value, factor] : s.address.element.values) check_use(value);
        check_use(s.value);
        check_access(s.address, no_id, true);
        if (s.guard >= 0) check_guard(s, memory);
        if (memory.kind == Memory::Kind::input) error("schedules.tree_access", "an input is stored to", memory.name);
        if (type(s.value) != memory.dtype)
            error("schedules.tree_type", "a stored value is not of its memory's dtype", memory.name);
        check_beside(s, memory);
        check_filling(s, memory);
        bool vector = varies_[static_cast<size_t>(s.value)].lanes;
        bool loads_only = s.address.access == Access::transposed || s.address.access == Access::packed;
        if ((vector && s.address.access == Access::uniform) || loads_only) {
            error("schedules.tree_access", "a store has an access that stores cannot have", memory.name);
        }
    }

    // Values fill all that lies between a lane's element and the next one's.
    void check_beside(const Store& s, const Memory& memory) {
        if (s.beside.empty()) return;
        const auto fills = [&](const Term& term) {
            return term.number.is(1) && term.scale == static_cast<int64_t>(s.beside.size()) + 1;
        };
        if (s.address.access != Access::interleaved || std::ranges::none_of(s.address.element.terms, fills))
            error("schedules.tree_access", "values are stored beside another that do not fill a vector", memory.name);
        for (ExpressionId value : s.beside) {
            if (!in(tree_.expressions, value, "a stored value")) return;
            check_use(value);
            if (type(value) != memory.dtype)
                error("schedules.tree_type", "a stored value is not of its memory's dtype", memory.name);
        }
    }

    // Of a compressed store and of no other: a number for all lanes, and a condition.
    void check_filling(const Store& s, const Memory& memory) {
        const bool compressed = s.address.access == Access::compressed;
        if (compressed != (s.filling >= 0) || compressed != (s.fits >= 0))
            return error("schedules.tree_access", "what a store leaves behind is not said, or of no use", memory.name);
        if (!compressed || !in(tree_.expressions, s.filling, "what a store leaves behind") ||
            !in(tree_.expressions, s.fits, "whether a vector fits"))
            return;
        check_use(s.filling);
        check_use(s.fits);
        const auto kind = tree_.expression(s.filling).kind;
        const bool literal = kind == Expression::Kind::integer || kind == Expression::Kind::real;
        if (!literal || type(s.filling) != memory.dtype || !is_bool(type(s.fits)))
            error("schedules.tree_type", "what a store leaves behind is no number of its memory's dtype", memory.name);
    }

    void check_guard(const Store& s, const Memory& memory) {
        if (!in(tree_.expressions, s.guard, "a store's guard")) return;
        check_use(s.guard);
        if (!is_bool(type(s.guard))) error("schedules.tree_type", "a store's guard is not a condition", memory.name);
        const bool vector = varies_[static_cast<size_t>(s.guard)].lanes;
        if ((vector && s.address.access == Access::uniform) || s.non_temporal)
            error("schedules.tree_access", "a store has a guard that it cannot have", memory.name);
    }

    void check(const PrefetchStart& p) {
        if (!in(tree_.memories, p.memory, "a memory")) return;
        check_affine(p.element, static_cast<int64_t>(tree_.expressions.size()));
        for (const Term& term : p.element.terms) check_scope(term.variable, "a prefetch");
        prefetching_ = true;
    }

    void check(const Prefetch& p) {
        check_number(p.step);
        if (p.running) {
            if (!prefetching_) error("schedules.tree_scope", "a prefetch runs before its start", "");
            return;
        }
        if (!in(tree_.memories, p.address.memory, "a memory")) return;
        check_affine(p.address.element, static_cast<int64_t>(tree_.expressions.size()));
        for (const Term& term : p.address.element.terms) check_scope(term.variable, "a prefetch");
        if (p.row != no_id && in(tree_.variables, p.row, "a variable")) check_scope(p.row, "a prefetch");
    }

    const Tree& tree_;
    Diagnostics errors_;
    std::vector<Varies> varies_;
    const EachRow* each_row_ = nullptr;  // where one may stand
    std::set<VariableId> scope_;
    std::set<LetId> defined_;
    std::set<AccumulatorId> started_, finished_;
    int lanes_width_ = 0;  // of lanes of one vector, that are not reduced
    bool in_rows_ = false, in_lanes_ = false, has_tail_ = false, is_shifted_ = false;
    bool transposes_ = false, prefetching_ = false;
};

}  // namespace

Result<void> verify(const Tree& tree) { return Verifier(tree).verify(); }

}  // namespace heddle::schedules
