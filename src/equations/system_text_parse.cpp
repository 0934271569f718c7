#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "equations/system.h"
#include "equations/system_rules.h"
#include "equations/system_text.h"
#include "equations/system_text_lexer.h"
#include "zspace/checked.h"

namespace heddle::equations {
namespace {

constexpr int nesting_limit = 400;
constexpr int64_t element_limit = int64_t(1) << 40;

// Recursive descent; the first error stops it. A null expression stands for an error that has been noted.
class Parser {
public:
    Parser(std::shared_ptr<const SourceText> source, std::vector<Token> tokens)
        : source_(std::move(source)), tokens_(std::move(tokens)), arena_(*system_.arena) {}

    Result<System> run() {
        if (expect("system")) any_name();
        while (ok() && is_declaration()) declaration();
        while (ok() && peek().kind != Token::Kind::end && !peek().is("outputs")) equation();
        if (ok() && take("outputs")) outputs();
        if (ok() && peek().kind != Token::Kind::end) syntax("the end of the text");
        if (!ok()) return fail(std::move(errors_));
        return std::move(system_);
    }

private:
    bool ok() const { return errors_.empty(); }
    const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
    Token next() {
        Token token = peek();
        if (at_ + 1 < tokens_.size()) at_++;
        return token;
    }
    bool take(std::string_view symbol) {
        if (!peek().is(symbol)) return false;
        next();
        return true;
    }
    bool expect(std::string_view symbol) {
        if (take(symbol)) return true;
        syntax("'" + std::string(symbol) + "'");
        return false;
    }
    Place place(const Token& token) const { return {source_, token.offset, std::max<size_t>(token.length, 1)}; }
    std::nullptr_t error(const Token& token, std::string code, std::string summary, std::string expected = "",
                         std::string found = "") {
        if (!ok()) return nullptr;
        errors_.push_back({.code = std::move(code),
                           .summary = std::move(summary),
                           .place = place(token),
                           .expected = std::move(expected),
                           .found = std::move(found)});
        return nullptr;
    }
    std::nullptr_t syntax(std::string expected) {
        const Token& token = peek();
        return error(token, "equations.syntax", "the text does not follow the grammar", std::move(expected),
                     token.kind == Token::Kind::end ? "the end of the text" : "'" + token.text + "'");
    }

    std::string any_name() {
        if (peek().kind != Token::Kind::name && peek().kind != Token::Kind::quoted_name) syntax("a name");
        return next().text;
    }
    int64_t natural() {
        int64_t value = 0;
        const Token token = peek();
        const char* end = token.text.data() + token.text.size();
        if (token.kind != Token::Kind::number || std::from_chars(token.text.data(), end, value).ptr != end ||
            std::from_chars(token.text.data(), end, value).ec != std::errc()) {
            syntax("an integer");
        }
        next();
        return value;
    }

    bool is_declaration() const {
        const bool word =
            peek().is("in") || peek().is("out") || peek().is("local") || peek().is("const") || peek().is("opaque");
        return peek().kind == Token::Kind::name && word;
    }

    void declaration() {
        SystemTensor tensor;
        const std::string word = next().text;
        tensor.is_output = word == "out";
        if (word == "in") tensor.kind = SystemTensor::Kind::input;
        if (word == "const") tensor.kind = SystemTensor::Kind::constant;
        if (word == "opaque") tensor.kind = SystemTensor::Kind::opaque;
        const Token name = peek();
        tensor.name = any_name();
        expect(":");
        const Token dtype = next();
        if (auto known = dtype_named(dtype.text); known && !is_complex(*known))
            tensor.dtype = *known;
        else
            error(dtype, "equations.syntax", "no such element type", "an element type", "'" + dtype.text + "'");
        shape(tensor);
        while (ok() && (peek().is("prepared") || peek().is("kept"))) {
            if (next().text == "prepared")
                tensor.prepared = true;
            else
                tensor.keep_name = true;
        }
        if (ok() && peek().is("=")) constant(tensor);
        if (ok() && take("from")) opaque_inputs(tensor);
        if (!ok()) return;
        if (names_.contains(tensor.name)) {
            error(name, "equations.duplicate_name", "two tensors have one name", "", "'" + tensor.name + "'");
            return;
        }
        const auto index = static_cast<TensorIndex>(system_.tensors.size());
        names_[tensor.name] = index;
        if (tensor.kind == SystemTensor::Kind::input) system_.inputs.push_back(index);
        system_.add_tensor(std::move(tensor));
    }

    void shape(SystemTensor& tensor) {
        const Token open = peek();
        int64_t elements = 1;
        expect("[");
        while (ok() && !peek().is("]")) {
            tensor.shape.push_back(natural());
            tensor.sizes.emplace_back(tensor.shape.back());
            if (tensor.shape.back() > element_limit)
                elements = element_limit + 1;
            else if (elements <= element_limit)
                elements =
                    checked_multiply(elements, std::max<int64_t>(tensor.shape.back(), 1)).value_or(element_limit + 1);
            if (!take(",")) break;
        }
        expect("]");
        if (elements > element_limit) error(open, "equations.size", "a tensor of more than 2^40 elements");
    }

    void constant(SystemTensor& tensor) {
        const Token sign = next();
        if (tensor.kind != SystemTensor::Kind::constant) {
            error(sign, "equations.syntax", "only a constant has values");
            return;
        }
        std::vector<Expr> values;
        expect("[");
        while (ok() && !peek().is("]")) {
            if (Expr value = typed_literal(tensor.dtype)) values.push_back(value);
            if (!take(",")) break;
        }
        expect("]");
        int64_t count = 1;
        for (int64_t extent : tensor.shape) count *= extent;
        if (ok() && count != static_cast<int64_t>(values.size())) {
            error(sign, "equations.size", "a constant has as many values as elements", std::to_string(count),
                  std::to_string(values.size()));
        }
        if (!ok()) return;
        TensorData data(tensor.dtype, tensor.shape);
        for (size_t i = 0; i < values.size(); i++) {
            if (values[i]->kind == Kind::real)
                data.set_real(static_cast<int64_t>(i), values[i]->real);
            else
                data.set_integer(static_cast<int64_t>(i), values[i]->integer);
        }
        tensor.constant = std::move(data);
    }

    void opaque_inputs(SystemTensor& tensor) {
        expect("(");
        while (ok() && !peek().is(")")) {
            tensor.opaque_inputs.push_back(tensor_named());
            if (!take(",")) break;
        }
        expect(")");
    }

    TensorIndex tensor_named() {
        const Token token = peek();
        const std::string name = any_name();
        auto found = names_.find(name);
        if (found != names_.end()) return found->second;
        error(token, "equations.unknown_name", "no tensor has this name", "", "'" + name + "'");
        return -1;
    }

    void outputs() {
        do {
            const TensorIndex tensor = tensor_named();
            if (tensor < 0) return;
            system_.tensor(tensor).is_output = true;
            system_.outputs.push_back(tensor);
        } while (ok() && take(","));
    }

    void equation() {
        axes_.clear();
        lets_.clear();
        ordered_.reset();
        Equation equation;
        if (take("for")) {
            equation.axes = axes();
            expect(":");
        }
        while (ok() && take("let")) {
            const Token name = next();
            if (name.kind != Token::Kind::local || lets_.contains(name.text)) {
                error(name, "equations.syntax", "a let needs a new name", "$0", "'" + name.text + "'");
            }
            expect("=");
            lets_[name.text] = expression();
        }
        if (!ok()) return;
        const Token start = peek();
        equation.tensor = tensor_named();
        if (ok()) equation.left = coordinates(equation.tensor, start);
        expect("=");
        if (ok()) right(equation, start);
        if (!ok()) return;
        SystemTensor& tensor = system_.tensor(equation.tensor);
        if (tensor.kind != SystemTensor::Kind::computed) {
            error(start, "equations.syntax", "only a local or an output has equations");
            return;
        }
        equation.piece = static_cast<int32_t>(tensor.equations.size());
        if (ordered_) std::tie(equation.scan, equation.ordered) = *ordered_;
        system_.add_equation(std::move(equation));
    }

    void right(Equation& equation, const Token& start) {
        const DType wanted = system_.tensor(equation.tensor).dtype;
        const Token token = peek();
        auto reducer = token.kind == Token::Kind::name ? reducer_named(token.text) : std::nullopt;
        const bool list =
            peek(2).is(":") || (peek(2).kind == Token::Kind::name && peek(3).is("<") && !axes_.contains(peek(2).text));
        if (reducer && peek(1).is("(") && list) {
            next();
            next();
            equation.reducer = reducer;
            if (!peek().is(":")) equation.reduced = axes();
            expect(":");
            equation.right = expression();
            expect(")");
        } else {
            equation.right = expression();
        }
        if (!ok()) return;
        if (equation.reducer && !accepts(*equation.reducer, equation.right->dtype)) {
            error(token, "equations.type", "the reduction does not take terms of this type", "",
                  std::string(name(equation.right->dtype)));
            return;
        }
        const DType found = equation.reducer && is_argument(*equation.reducer) ? DType::int64 : equation.right->dtype;
        if (found != wanted) {
            error(start, "equations.type", "the right side's type is not the tensor's", std::string(name(wanted)),
                  std::string(name(found)));
        }
    }

    std::vector<AxisId> axes() {
        std::vector<AxisId> result;
        do {
            const Token name = peek();
            Axis axis;
            axis.name = any_name();
            if (name.kind != Token::Kind::name || is_reserved_word(axis.name) || axes_.contains(axis.name)) {
                error(name, "equations.duplicate_name", "an axis needs a new name", "", "'" + axis.name + "'");
            }
            expect("<");
            axis.extent = natural();
            if (ok() && axis.extent > element_limit) error(name, "equations.size", "an axis of more than 2^40 points");
            if (take("named")) {
                axis.named = true;
                if (peek().kind == Token::Kind::number) axis.factor = natural();
            }
            const bool ordered = take("ordered");
            const int64_t scan = ordered ? natural() : 0;
            if (ok() && ordered && (ordered_ || scan > element_limit))
                error(name, "equations.scan", "an equation has one ordered axis, of a scan with a small number");
            if (!ok()) return result;
            const std::string key = axis.name;
            result.push_back(arena_.add_axis(std::move(axis)));
            axes_[key] = result.back();
            if (ordered) ordered_ = {static_cast<int32_t>(scan), result.back()};
        } while (take(","));
        return result;
    }

    // "[" coordinates "]" of a tensor: int64, as many as it has dimensions.
    std::vector<Expr> coordinates(TensorIndex tensor, const Token& start) {
        std::vector<Expr> result;
        expect("[");
        while (ok() && !peek().is("]")) {
            const Token token = peek();
            Expr coordinate = expression();
            if (ok() && coordinate->dtype != DType::int64) {
                error(token, "equations.type", "a coordinate is an integer", "int64",
                      std::string(name(coordinate->dtype)));
            }
            result.push_back(coordinate);
            if (!take(",")) break;
        }
        expect("]");
        const size_t rank = system_.tensor(tensor).shape.size();
        if (ok() && result.size() != rank) {
            error(start, "equations.type", "a tensor has one coordinate a dimension", std::to_string(rank),
                  std::to_string(result.size()));
        }
        return result;
    }

    Expr expression() {
        if (++depth_ > nesting_limit) return error(peek(), "equations.syntax", "expressions nest too deeply");
        Expr value = binary(0);
        if (ok() && peek().is("?")) value = selection(value);
        depth_--;
        return ok() ? value : nullptr;
    }

    Expr selection(Expr condition) {
        const Token token = next();
        Expr then = expression();
        expect(":");
        Expr otherwise = ok() ? expression() : nullptr;
        if (!ok()) return nullptr;
        if (!is_bool(condition->dtype) || then->dtype != otherwise->dtype) {
            return error(token, "equations.type", "a selection has a condition and two values of one type");
        }
        return arena_.select(condition, then, otherwise);
    }

    static int precedence(const Token& token) {
        if (token.kind != Token::Kind::symbol) return -1;
        if (token.text == "||") return 0;
        if (token.text == "&&") return 1;
        if (token.text == "==" || token.text == "!=" || token.text == "<" || token.text == "<=" || token.text == ">" ||
            token.text == ">=")
            return 2;
        if (token.text == "+" || token.text == "-") return 3;
        if (token.text == "*" || token.text == "/" || token.text == "//" || token.text == "%") return 4;
        return -1;
    }

    Expr binary(int level) {
        Expr left = level > 4 ? unary() : binary(level + 1);
        while (ok() && level <= 4 && precedence(peek()) == level) {
            const Token token = next();
            Expr right = binary(level + 1);
            if (ok()) left = combine(token, left, right);
        }
        return ok() ? left : nullptr;
    }

    Expr combine(const Token& token, Expr a, Expr b) {
        if (a->dtype != b->dtype) {
            return error(token, "equations.type", "two operands of different types", std::string(name(a->dtype)),
                         std::string(name(b->dtype)));
        }
        if (a->dtype == DType::int64) return coordinate(token, a, b);
        if (token.text == "&&" && is_bool(a->dtype)) return arena_.conjunction(a, b);
        for (int op = 0; op <= static_cast<int>(ScalarOp::is_infinite); op++) {
            const ScalarOpInfo& row = info(static_cast<ScalarOp>(op));
            if (row.infix == token.text) return scalar(token, row.op, {a, b});
        }
        return error(token, "equations.syntax", "no such operator");
    }

    Expr coordinate(const Token& token, Expr a, Expr b) {
        const std::string& op = token.text;
        if (op == "+") return arena_.add(a, b);
        if (op == "-") return arena_.add(a, b, -1);
        if (op == "*" && b->kind == Kind::integer) return arena_.scale(a, b->integer);
        if (op == "*" && a->kind == Kind::integer) return arena_.scale(b, a->integer);
        if (op == "//" && b->kind == Kind::integer && b->integer > 0) return arena_.floor_divide(a, b->integer);
        if (op == "%" && b->kind == Kind::integer && b->integer > 0) return arena_.modulo(a, b->integer);
        if (op == "<") return arena_.less(a, b);
        if (op == ">") return arena_.less(b, a);
        if (op == "<=") return arena_.less(a, arena_.add(b, arena_.integer(1)));
        if (op == ">=") return arena_.less(b, arena_.add(a, arena_.integer(1)));
        return error(token, "equations.type", "a coordinate is linear: a factor or positive divisor is a literal");
    }

    Expr scalar(const Token& token, ScalarOp op, std::vector<Expr> operands) {
        const DType dtype = operands.empty() ? DType::boolean : operands[0]->dtype;
        bool fits = operands.size() == static_cast<size_t>(info(op).operands) && accepts(op, dtype);
        for (Expr operand : operands) fits = fits && operand->dtype == dtype;
        if (!fits)
            return error(token, "equations.type", "the operation does not take these operands", "",
                         std::string(name(dtype)));
        return arena_.scalar(op, result_type(op, dtype), std::move(operands));
    }

    Expr unary() {
        if (!peek().is("-")) return primary();
        const Token& after = peek(1);
        if (after.kind == Token::Kind::number || after.is("inf")) return literal(DType::float32, true);
        const Token token = next();
        if (++depth_ > nesting_limit) return error(token, "equations.syntax", "expressions nest too deeply");
        Expr value = unary();
        depth_--;
        if (!ok()) return nullptr;
        return value->dtype == DType::int64 ? arena_.scale(value, -1) : scalar(token, ScalarOp::negate, {value});
    }

    bool at_literal(size_t ahead = 0) const {
        if (peek(ahead).is("-")) ahead++;
        const Token& token = peek(ahead);
        return token.kind == Token::Kind::number ||
               (token.kind == Token::Kind::name &&
                (token.text == "inf" || token.text == "nan" || token.text == "true" || token.text == "false"));
    }

    // A number or word. `plain`: an integer is an int64, a real a float32; else it is read as `dtype`.
    Expr literal(DType dtype, bool plain) {
        const bool minus = take("-");
        const Token token = next();
        const std::string text = (minus ? "-" : "") + token.text;
        if (token.text == "true" || token.text == "false") return arena_.truth(token.text == "true");
        const bool integer = token.kind == Token::Kind::number && token.text.find_first_of(".e") == std::string::npos;
        if (!integer) {
            const double value = token.text == "inf"   ? (minus ? -INFINITY : INFINITY)
                                 : token.text == "nan" ? NAN
                                                       : std::strtod(text.c_str(), nullptr);
            if (plain || !is_float(dtype)) return arena_.real(DType::float32, static_cast<float>(value));
            return arena_.cast(dtype, arena_.real(DType::float64, value));
        }
        int64_t value = 0;
        const char* end = text.data() + text.size();
        if (dtype == DType::uint64 && !plain) {
            uint64_t large = 0;
            if (std::from_chars(text.data(), end, large).ec != std::errc())
                return error(token, "equations.syntax", "a number out of range");
            return arena_.literal(dtype, static_cast<int64_t>(large));
        }
        if (std::from_chars(text.data(), end, value).ec != std::errc())
            return error(token, "equations.syntax", "a number out of range");
        return arena_.integer(value);
    }

    // A literal of the named type, as in uint8(3).
    Expr typed_literal(DType dtype) {
        if (!at_literal()) return syntax("a literal");
        Expr value = literal(dtype, false);
        if (!ok() || value->dtype == dtype) return value;
        return arena_.cast(dtype, value);
    }

    Expr marked_as_data() {
        next();
        const Token token = next();
        Expr value = expression();
        expect(")");
        if (!ok()) return nullptr;
        if (value->kind == Kind::real) return arena_.real(value->dtype, value->real, false);
        if (value->kind == Kind::integer) return arena_.literal(value->dtype, value->integer, false);
        return error(token, "equations.syntax", "data(..) marks a literal");
    }

    Expr primary() {
        const Token token = peek();
        if (at_literal()) return literal(DType::float32, true);
        if (take("(")) {
            Expr value = expression();
            expect(")");
            return ok() ? value : nullptr;
        }
        if (token.kind == Token::Kind::local) {
            next();
            auto found = lets_.find(token.text);
            return found != lets_.end()
                       ? found->second
                       : error(token, "equations.unknown_name", "no let has this name", "", "'" + token.text + "'");
        }
        if (token.kind == Token::Kind::quoted_name) return read();
        if (token.kind != Token::Kind::name) return syntax("an expression");
        if (peek(1).is("[")) return read();
        if (token.text == "data" && peek(1).is("(")) return marked_as_data();
        if (token.text == "value" && peek(1).is(".")) {
            next();
            next();
            return call(true);
        }
        if (peek(1).is("(")) return call(false);
        auto axis = axes_.find(token.text);
        if (axis == axes_.end())
            return error(token, "equations.unknown_name", "no axis has this name", "", "'" + token.text + "'");
        next();
        return arena_.axis_value(axis->second);
    }

    Expr call(bool as_value) {
        const Token token = next();
        if (auto dtype = dtype_named(token.text); dtype && !is_complex(*dtype) && !as_value) {
            expect("(");
            Expr value = at_literal() ? typed_literal(*dtype) : expression();
            expect(")");
            return ok() ? arena_.cast(*dtype, value) : nullptr;
        }
        auto op = scalar_op_named(token.text);
        if (!op) return error(token, "equations.unknown_name", "no function has this name", "", "'" + token.text + "'");
        std::vector<Expr> operands;
        expect("(");
        while (ok() && !peek().is(")")) {
            operands.push_back(expression());
            if (!take(",")) break;
        }
        expect(")");
        if (!ok()) return nullptr;
        const bool coordinates = !as_value && operands.size() == 2 && operands[0]->dtype == DType::int64 &&
                                 operands[1]->dtype == DType::int64;
        if (coordinates && op == ScalarOp::minimum) return arena_.minimum(operands[0], operands[1]);
        if (coordinates && op == ScalarOp::maximum) return arena_.maximum(operands[0], operands[1]);
        return scalar(token, *op, std::move(operands));
    }

    Expr read() {
        const Token start = peek();
        const TensorIndex tensor = tensor_named();
        if (!ok()) return nullptr;
        std::vector<Expr> at = coordinates(tensor, start);
        if (!ok()) return nullptr;
        const SystemTensor& target = system_.tensor(tensor);
        if (!take("??")) return arena_.read(tensor, target.dtype, std::move(at));
        Expr otherwise = unary();
        if (!ok()) return nullptr;
        if (otherwise->dtype != target.dtype) {
            return error(start, "equations.type", "the value outside has the tensor's type",
                         std::string(name(target.dtype)), std::string(name(otherwise->dtype)));
        }
        return arena_.guarded_read(tensor, target.dtype, std::move(at), otherwise, target.shape);
    }

    std::shared_ptr<const SourceText> source_;
    std::vector<Token> tokens_;
    size_t at_ = 0;
    int depth_ = 0;
    System system_;
    Arena& arena_;
    Diagnostics errors_;
    std::unordered_map<std::string, TensorIndex> names_;
    std::unordered_map<std::string, AxisId> axes_;
    std::optional<std::pair<int32_t, AxisId>> ordered_;  // of the equation that is read: scan and axis
    std::unordered_map<std::string, Expr> lets_;
};

}  // namespace

Result<System> parse_system(std::shared_ptr<const SourceText> text) {
    auto tokens = tokenise(text);
    if (!tokens) return fail(std::move(tokens.error()));
    return Parser(std::move(text), std::move(*tokens)).run();
}

}  // namespace heddle::equations
