#include <algorithm>
#include <map>

#include "schedules/tree.h"
#include "schedules/tree_names.h"
#include "support/text_reader.h"

namespace heddle::schedules {
namespace {

class Parser {
public:
    explicit Parser(std::shared_ptr<const SourceText> source)
        : reader_(std::move(source), "schedules.syntax"), tree_(std::make_shared<Tree>()) {}

    Result<std::shared_ptr<Tree>> parse() {
        reader_.next_line();
        reader_.expect("scheduled");
        tree_->name = reader_.word("a name");
        while (reader_.next_line() && parse_declaration()) {
        }
        while (!reader_.failed() && !reader_.at_end()) statement(tree_->body, reader_.indentation());
        if (reader_.failed()) return reader_.failure();
        if (auto correct = verify(*tree_); !correct) return fail(correct.error());
        return tree_;
    }

private:
    int count() { return static_cast<int>(std::clamp<int64_t>(reader_.integer("a number"), -1, 1 << 20)); }

    bool at_launch_number() const { return reader_.peek().is_numbered(); }
    Number number() {
        if (!at_launch_number()) return {false, reader_.integer("a number")};
        return {true, reader_.next().integer};
    }

    VariableId bind(Variable::Kind kind) {
        std::string name = reader_.word("the name of a variable");
        auto id = next_id<VariableId>(tree_->variables);
        if (!variables_.emplace(name, id).second) reader_.error("another name for the variable");
        tree_->variables.push_back({name, kind});
        return id;
    }

    MemoryId memory() { return reader_.named(memories_, "a buffer or an array"); }

    // False where the statements begin.
    bool parse_declaration() {
        if (reader_.take("fact")) {
            tree_->facts.push_back(reader_.text("a text"));
        } else if (reader_.take("number")) {
            if (number() != Number{true, static_cast<int64_t>(tree_->numbers.size())})
                reader_.error("launch numbers in order");
            reader_.expect(":");
            LaunchNumberInfo info;
            info.dtype = reader_.dtype();
            info.what = reader_.text("a text");
            tree_->numbers.push_back(info);
        } else if (reader_.take("tasks")) {
            parse_tasks();
        } else if (reader_.take("accumulator")) {
            parse_accumulator();
        } else {
            for (auto kind : {Memory::Kind::input, Memory::Kind::output, Memory::Kind::in_out, Memory::Kind::array}) {
                if (reader_.take(tree_names::memory_kind(kind))) {
                    parse_memory(kind);
                    return true;
                }
            }
            return false;
        }
        return true;
    }

    void parse_tasks() {
        TaskAxis axis;
        axis.name = reader_.word("the name of a task axis");
        axis.begin = bind(Variable::Kind::task_begin);
        reader_.expect("..");
        axis.end = bind(Variable::Kind::task_end);
        reader_.expect("in");
        axis.extent = number();
        reader_.expect("step");
        axis.step = number();
        reader_.expect("count");
        axis.count = number();
        reader_.expect("divisor");
        axis.divisor = number();
        axis.rounds = reader_.take("rounds");
        tree_->tasks.push_back(axis);
    }

    void parse_accumulator() {
        Accumulator a;
        a.name = reader_.word("a name");
        reader_.expect(":");
        auto reducer = reducer_named(reader_.peek().text);
        if (!reducer) reader_.error("a reducer");
        a.reducer = reducer.value_or(Reducer::sum);
        reader_.next();
        a.dtype = reader_.dtype();
        reader_.expect("index");
        a.index_dtype = reader_.dtype();
        reader_.expect("vectors");
        a.vectors = count();
        reader_.expect("x");
        a.width = count();
        a.reduced_lanes = reader_.take("reduced");
        a.running = reader_.take("running");
        a.state = reader_.take("state");
        tree_->accumulators.push_back(a);
    }

    void parse_memory(Memory::Kind kind) {
        Memory m;
        m.kind = kind;
        m.name = reader_.word("the name of a buffer or array");
        reader_.expect(":");
        m.dtype = reader_.dtype();
        if (kind == Memory::Kind::array) {
            m.aligned = m.slack = true;
            reader_.expect("at");
            m.offset = number();
            while (reader_.take("-")) m.origin.push_back(term());
        } else {
            m.aligned = reader_.take("aligned");
            m.slack = reader_.take("slack");
            m.may_alias = reader_.take("aliased");
        }
        if (!memories_.emplace(m.name, next_id<MemoryId>(tree_->memories)).second)
            reader_.error("another name for the memory");
        tree_->memories.push_back(std::move(m));
    }

    Term term() {
        Term t;
        t.variable = reader_.named(variables_, "a variable");
        if (!reader_.take("*")) return t;
        if (!at_launch_number()) {
            t.scale = reader_.integer("a factor");
            if (!reader_.take("*")) return t;
        }
        t.number = number();
        return t;
    }

    Affine affine() {
        Affine a;
        do {
            if (reader_.take("{")) {
                ExpressionId part = expression();
                reader_.expect("}");
                a.values.emplace_back(part, reader_.take("*") ? number() : Number{false, 1});
            } else if (reader_.peek().kind == Token::Kind::name) {
                a.terms.push_back(term());
            } else {
                a.constant = number();
            }
        } while (reader_.take("+"));
        return a;
    }

    std::vector<Bound> bounds() {
        std::vector<Bound> list;
        do {
            Bound b;
            b.affine = affine();
            if (reader_.take("/")) b.divisor = number();
            list.push_back(std::move(b));
        } while (reader_.take(","));
        return list;
    }

    Range range() {
        Range r;
        r.lower = bounds();
        reader_.expect("..");
        r.upper = bounds();
        return r;
    }

    Address address() {
        Address a;
        a.memory = memory();
        reader_.expect("[");
        a.element = affine();
        reader_.expect("]");
        for (auto access : {Access::uniform, Access::contiguous, Access::packed, Access::interleaved, Access::strided,
                            Access::indexed, Access::consecutive, Access::compressed, Access::transposed}) {
            if (!reader_.take(tree_names::access(access))) continue;
            a.access = access;
            return a;
        }
        reader_.error("an access");
        return a;
    }

    ExpressionId add(Expression e) {
        if (tree_->expressions.size() > 100000) reader_.error("fewer expressions");
        tree_->expressions.push_back(std::move(e));
        return last_id<ExpressionId>(tree_->expressions);
    }

    ExpressionId expression() {
        return reader_.nested([&] { return parse_expression(); });
    }

    std::vector<ExpressionId> operands() {
        return reader_.list("(", ")", [&] { return expression(); });
    }

    DType suffix() {
        reader_.expect(":");
        return reader_.dtype();
    }

    ExpressionId literal() {
        const Literal literal = reader_.literal();
        Expression e;
        e.kind = is_float(literal.dtype) ? Expression::Kind::real : Expression::Kind::integer;
        e.dtype = literal.dtype;
        e.integer = literal.integer;
        e.real = literal.real;
        return add(std::move(e));
    }

    ExpressionId parse_load() {
        Expression e;
        e.kind = Expression::Kind::load;
        e.address = address();
        if (!reader_.failed()) e.dtype = tree_->memory(e.address.memory).dtype;
        if (reader_.take("if")) e.operands = operands();
        return add(std::move(e));
    }

    ExpressionId parse_expression() {
        if (reader_.at_literal()) return literal();
        Expression e;
        if (at_launch_number()) {
            e.kind = Expression::Kind::number;
            e.number = number();
            e.dtype = suffix();
            return add(std::move(e));
        }
        const Token token = reader_.peek();
        if (auto named = named_.find(token.text); named != named_.end() && !reader_.is("[", 1) && !reader_.is("(", 1)) {
            reader_.next();
            return named->second;
        }
        if (reader_.is("[", 1)) return parse_load();
        reader_.next();
        if (token.text == "index") {
            e.kind = Expression::Kind::index;
            reader_.expect("(");
            e.affine = affine();
            reader_.expect(")");
        } else if (token.text == "cast" || token.text == "select") {
            e.kind = token.text == "cast" ? Expression::Kind::cast : Expression::Kind::select;
            e.operands = operands();
        } else if (token.text == "inside") {
            e.kind = Expression::Kind::inside;
            e.dtype = DType::boolean;
            reader_.expect("(");
            e.operands.push_back(expression());
            reader_.expect(",");
            e.number = number();
            reader_.expect(")");
            return add(std::move(e));
        } else if (token.text == "check") {
            e.kind = Expression::Kind::check;
            e.integer = reader_.integer("a tag");
            e.number = number();
            e.operands = operands();
        } else if (token.text == "acc" || token.text == "before" || token.text == "carried" || token.text == "let") {
            e.kind = token.text == "acc"      ? Expression::Kind::accumulator
                     : token.text == "before" ? Expression::Kind::before
                     : token.text == "let"    ? Expression::Kind::let
                                              : Expression::Kind::carried;
            reader_.expect("(");
            e.target = count();
            reader_.expect(")");
        } else if (auto op = scalar_op_named(token.text); op && !is_complex(*op)) {
            e.kind = Expression::Kind::scalar;
            e.op = *op;
            e.operands = operands();
        } else {
            reader_.error("an expression");
        }
        e.dtype = suffix();
        return add(std::move(e));
    }

    // Statements of one block stand at one indentation; those of its body further right.
    Block block(int outside) {
        return reader_.nested([&] { return statements(outside); });
    }
    Block statements(int outside) {
        Block result;
        while (reader_.at_line() && reader_.next_indentation() > outside) {
            reader_.next_line();
            statement(result, reader_.indentation());
        }
        return result;
    }

    // One statement whose line token was taken; at the top, also the line token behind it.
    void statement(Block& into, int indentation) {
        bool top = &into == &tree_->body;
        if (reader_.take("value")) {
            std::string name = reader_.word("a name");
            reader_.expect("=");
            named_[name] = expression();
        } else {
            parse_statement(into, indentation);
        }
        if (top && !reader_.at_end()) reader_.next_line();
    }

    void parse_statement(Block& into, int indentation) {
        if (reader_.take("phase")) {
            Phase phase;
            phase.name = reader_.word("a name");
            while (reader_.take("+")) phase.name += "+" + reader_.word("a name");
            phase.body = block(indentation);
            into.push_back({std::move(phase)});
        } else if (reader_.take("for")) {
            into.push_back({loop(indentation)});
        } else if (reader_.take("rows")) {
            into.push_back({rows(indentation)});
        } else if (reader_.take("lanes")) {
            into.push_back({lanes(indentation)});
        } else if (reader_.take("each")) {
            reader_.expect("row");
            into.push_back({EachRow{block(indentation)}});
        } else if (reader_.take("start")) {
            Start start{AccumulatorId(count())};
            if (reader_.take("at")) start.value = expression();
            into.push_back({start});
        } else if (reader_.take("finish")) {
            into.push_back({Finish{AccumulatorId(count())}});
        } else if (reader_.take("update")) {
            Update update;
            update.accumulator = AccumulatorId(count());
            update.fused = reader_.take("fused");
            reader_.expect("with");
            update.value = expression();
            if (reader_.take("at")) update.index = expression();
            if (reader_.take("factor")) update.factor = expression();
            into.push_back({update});
        } else if (reader_.take("define")) {
            Let let;
            if (count() != static_cast<int>(tree_->lets.size())) reader_.error("lets in order");
            let.name = reader_.word("a name");
            reader_.expect("=");
            let.value = expression();
            tree_->lets.push_back(std::move(let));
            into.push_back({Define{last_id<LetId>(tree_->lets)}});
        } else if (reader_.take("store")) {
            Store store;
            store.address = address();
            reader_.expect("=");
            store.value = expression();
            if (reader_.take("beside")) {
                do store.beside.push_back(expression());
                while (reader_.take(","));
            }
            if (reader_.take("filling")) {
                store.filling = expression();
                reader_.expect("if");
                reader_.expect("(");
                store.fits = expression();
                reader_.expect(")");
            }
            if (reader_.take("where")) {
                reader_.expect("(");
                store.guard = expression();
                reader_.expect(")");
            }
            store.non_temporal = reader_.take("nontemporal");
            into.push_back({std::move(store)});
        } else {
            parse_prefetch(into);
        }
    }

    void parse_prefetch(Block& into) {
        if (reader_.take("prefetch_start")) {
            PrefetchStart start;
            start.memory = memory();
            reader_.expect("[");
            start.element = affine();
            reader_.expect("]");
            into.push_back({std::move(start)});
        } else if (reader_.take("prefetch_next")) {
            Prefetch next;
            next.running = true;
            reader_.expect("step");
            next.step = number();
            into.push_back({std::move(next)});
        } else if (reader_.take("prefetch_ahead")) {
            Prefetch ahead;
            ahead.ahead = reader_.integer("a distance");
            ahead.address = address();
            into.push_back({std::move(ahead)});
        } else if (reader_.take("prefetch_row")) {
            Prefetch next;
            next.row = reader_.named(variables_, "a variable");
            next.address = address();
            into.push_back({std::move(next)});
        } else {
            reader_.error("a statement");
        }
    }

    std::vector<AccumulatorId> until() {
        std::vector<AccumulatorId> settled;
        if (!reader_.take("until")) return settled;
        while (reader_.peek().kind == Token::Kind::integer)
            settled.push_back(AccumulatorId(reader_.integer("an accumulator")));
        return settled;
    }

    For loop(int indentation) {
        For loop;
        loop.variable = bind(Variable::Kind::loop);
        reader_.expect("in");
        loop.range = range();
        if (reader_.take("unrolled")) loop.unrolled = reader_.integer("a count");
        loop.until = until();
        loop.body = block(indentation);
        return loop;
    }

    Rows rows(int indentation) {
        Rows rows;
        rows.variable = bind(Variable::Kind::row);
        reader_.expect("in");
        rows.range = range();
        if (reader_.take("transpose"))
            rows.mode = Rows::Mode::transpose;
        else
            reader_.expect("balanced");
        while (reader_.peek().kind == Token::Kind::integer) rows.sizes.push_back(count());
        while (reader_.take("digit")) {
            Rows::Digit digit;
            digit.variable = bind(Variable::Kind::fused_row);
            reader_.expect("<");
            digit.extent = number();
            rows.fused.push_back(digit);
        }
        rows.body = block(indentation);
        return rows;
    }

    Lanes lanes(int indentation) {
        Lanes lanes;
        lanes.variable = bind(Variable::Kind::lane);
        reader_.expect("in");
        lanes.range = range();
        reader_.expect("by");
        lanes.vectors = count();
        reader_.expect("x");
        lanes.width = count();
        reader_.expect("mask");
        if (reader_.take("always"))
            lanes.mask = Lanes::Mask::always;
        else if (reader_.take("tail"))
            lanes.mask = Lanes::Mask::tail;
        else if (reader_.take("last"))
            lanes.mask = Lanes::Mask::last;
        else if (reader_.take("shifted"))
            lanes.mask = Lanes::Mask::shifted;
        else
            reader_.expect("edge");
        lanes.reduced = reader_.take("reduced");
        lanes.until = until();
        lanes.body = block(indentation);
        return lanes;
    }

    TextReader reader_;
    std::shared_ptr<Tree> tree_;
    std::map<std::string, VariableId> variables_;
    std::map<std::string, MemoryId> memories_;
    std::map<std::string, ExpressionId> named_;
};

}  // namespace

Result<std::shared_ptr<Tree>> parse_tree(std::shared_ptr<const SourceText> text) {
    return Parser(std::move(text)).parse();
}

}  // namespace heddle::schedules
