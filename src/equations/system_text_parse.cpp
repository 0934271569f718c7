#include <optional>
#include <tuple>
#include <unordered_map>

#include "equations/system.h"
#include "equations/system_rules.h"
#include "equations/system_text.h"
#include "support/text_reader.h"
#include "zspace/checked.h"

namespace heddle::equations {
namespace {

constexpr int64_t element_limit = int64_t(1) << 40;

// Recursive descent; the first error stops it. A null expression stands for an error that has been noted.
class Parser {
public:
    explicit Parser(std::shared_ptr<const SourceText> source)
        : reader_(std::move(source), "equations.syntax", TextReader::Lines::are_space), arena_(*system_.arena) {}

    Result<System> run() {
        reader_.expect("system");
        any_name();
        while (ok() && is_declaration()) declaration();
        while (ok() && !reader_.at_end() && !reader_.is("outputs")) equation();
        if (ok() && reader_.take("outputs")) outputs();
        if (ok() && !reader_.at_end()) reader_.error("the end of the text");
        if (!ok()) return reader_.failure();
        return std::move(system_);
    }

private:
    bool ok() const { return !reader_.failed(); }
    std::nullptr_t error(const Token& token, std::string code, std::string summary, std::string expected = "",
                         std::string found = "") {
        reader_.error({.code = std::move(code),
                       .summary = std::move(summary),
                       .place = reader_.place(token),
                       .expected = std::move(expected),
                       .found = std::move(found)});
        return nullptr;
    }
    std::string any_name() { return reader_.name("a name"); }
    int64_t natural() { return reader_.natural("an integer"); }

    bool is_declaration() const {
        return reader_.is("in") || reader_.is("out") || reader_.is("local") || reader_.is("const") ||
               reader_.is("opaque");
    }

    void declaration() {
        SystemTensor tensor;
        const std::string word = reader_.next().text;
        tensor.is_output = word == "out";
        if (word == "in") tensor.kind = SystemTensor::Kind::input;
        if (word == "const") tensor.kind = SystemTensor::Kind::constant;
        if (word == "opaque") tensor.kind = SystemTensor::Kind::opaque;
        const Token name = reader_.peek();
        tensor.name = any_name();
        reader_.expect(":");
        tensor.dtype = reader_.dtype();
        shape(tensor);
        while (ok() && (reader_.is("prepared") || reader_.is("kept"))) {
            if (reader_.next().text == "prepared")
                tensor.prepared = true;
            else
                tensor.keep_name = true;
        }
        if (ok() && reader_.is("=")) constant(tensor);
        if (ok() && reader_.take("from")) opaque_inputs(tensor);
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
        const Token open = reader_.peek();
        int64_t elements = 1;
        tensor.shape = reader_.list("[", "]", [&] { return natural(); });
        for (int64_t extent : tensor.shape) {
            tensor.sizes.emplace_back(extent);
            if (extent > element_limit)
                elements = element_limit + 1;
            else if (elements <= element_limit)
                elements = checked_multiply(elements, std::max<int64_t>(extent, 1)).value_or(element_limit + 1);
        }
        if (elements > element_limit) error(open, "equations.size", "a tensor of more than 2^40 elements");
    }

    void constant(SystemTensor& tensor) {
        const Token sign = reader_.next();
        if (tensor.kind != SystemTensor::Kind::constant) {
            error(sign, "equations.syntax", "only a constant has values");
            return;
        }
        const std::vector<Literal> values = reader_.list("[", "]", [&] { return reader_.literal_of(tensor.dtype); });
        int64_t count = 1;
        for (int64_t extent : tensor.shape) count *= extent;
        if (ok() && count != static_cast<int64_t>(values.size())) {
            error(sign, "equations.size", "a constant has as many values as elements", std::to_string(count),
                  std::to_string(values.size()));
        }
        if (!ok()) return;
        TensorData data(tensor.dtype, tensor.shape);
        for (size_t i = 0; i < values.size(); i++) {
            if (is_float(tensor.dtype))
                data.set_real(static_cast<int64_t>(i), values[i].real);
            else
                data.set_integer(static_cast<int64_t>(i), values[i].integer);
        }
        tensor.constant = std::move(data);
    }

    void opaque_inputs(SystemTensor& tensor) {
        tensor.opaque_inputs = reader_.list("(", ")", [&] { return tensor_named(); });
    }

    TensorIndex tensor_named() {
        const Token token = reader_.peek();
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
        } while (ok() && reader_.take(","));
    }

    void equation() {
        axes_.clear();
        lets_.clear();
        ordered_.reset();
        Equation equation;
        if (reader_.take("for")) {
            equation.axes = axes();
            reader_.expect(":");
        }
        while (ok() && reader_.take("let")) {
            const Token name = reader_.next();
            if (name.kind != Token::Kind::static_name || lets_.contains(name.text)) {
                error(name, "equations.syntax", "a let needs a new name", "$0", "'" + name.text + "'");
            }
            reader_.expect("=");
            lets_[name.text] = expression();
        }
        if (!ok()) return;
        const Token start = reader_.peek();
        equation.tensor = tensor_named();
        if (ok()) equation.left = coordinates(equation.tensor, start);
        reader_.expect("=");
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
        const Token token = reader_.peek();
        auto reducer = token.kind == Token::Kind::name ? reducer_named(token.text) : std::nullopt;
        const bool list = reader_.is(":", 2) || (reader_.peek(2).kind == Token::Kind::name && reader_.is("<", 3) &&
                                                 !axes_.contains(reader_.peek(2).text));
        if (reducer && reader_.is("(", 1) && list) {
            reader_.next();
            reader_.next();
            equation.reducer = reducer;
            if (!reader_.is(":")) equation.reduced = axes();
            reader_.expect(":");
            equation.right = expression();
            reader_.expect(")");
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
            const Token name = reader_.peek();
            Axis axis;
            axis.name = any_name();
            if (name.kind != Token::Kind::name || is_reserved_word(axis.name) || axes_.contains(axis.name)) {
                error(name, "equations.duplicate_name", "an axis needs a new name", "", "'" + axis.name + "'");
            }
            reader_.expect("<");
            axis.extent = natural();
            if (ok() && axis.extent > element_limit) error(name, "equations.size", "an axis of more than 2^40 points");
            if (reader_.take("named")) {
                axis.named = true;
                if (reader_.peek().kind == Token::Kind::integer) axis.factor = natural();
            }
            const bool ordered = reader_.take("ordered");
            const int64_t scan = ordered ? natural() : 0;
            if (ok() && ordered && (ordered_ || scan > element_limit))
                error(name, "equations.scan", "an equation has one ordered axis, of a scan with a small number");
            if (!ok()) return result;
            const std::string key = axis.name;
            result.push_back(arena_.add_axis(std::move(axis)));
            axes_[key] = result.back();
            if (ordered) ordered_ = {static_cast<int32_t>(scan), result.back()};
        } while (reader_.take(","));
        return result;
    }

    // "[" coordinates "]" of a tensor: int64, as many as it has dimensions.
    std::vector<Expr> coordinates(TensorIndex tensor, const Token& start) {
        std::vector<Expr> result = reader_.list("[", "]", [&] {
            const Token token = reader_.peek();
            Expr coordinate = expression();
            if (ok() && coordinate->dtype != DType::int64) {
                error(token, "equations.type", "a coordinate is an integer", "int64",
                      std::string(name(coordinate->dtype)));
            }
            return coordinate;
        });
        const size_t rank = system_.tensor(tensor).shape.size();
        if (ok() && result.size() != rank) {
            error(start, "equations.type", "a tensor has one coordinate a dimension", std::to_string(rank),
                  std::to_string(result.size()));
        }
        return result;
    }

    Expr expression() {
        return reader_.nested([&]() -> Expr {
            Expr value = binary(0);
            if (ok() && reader_.is("?")) value = selection(value);
            return ok() ? value : nullptr;
        });
    }

    Expr selection(Expr condition) {
        const Token token = reader_.next();
        Expr then = expression();
        reader_.expect(":");
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
        while (ok() && level <= 4 && precedence(reader_.peek()) == level) {
            const Token token = reader_.next();
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
        for (const ScalarOpInfo& row : all_scalar_ops()) {
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
        const DType result = result_type(op, dtype);
        std::vector<DType> types;
        for (Expr operand : operands) types.push_back(operand->dtype);
        if (!is_typed_real(op, result, types))
            return error(token, "equations.type", "the operation does not take these operands", "",
                         std::string(name(dtype)));
        return arena_.scalar(op, result, std::move(operands));
    }

    Expr unary() {
        if (!reader_.is("-") || reader_.at_literal()) return primary();
        const Token token = reader_.next();
        Expr value = reader_.nested([&] { return unary(); });
        if (!ok()) return nullptr;
        return value->dtype == DType::int64 ? arena_.scale(value, -1) : scalar(token, ScalarOp::negate, {value});
    }

    Expr literal(bool from_template) {
        const Literal value = reader_.literal();
        if (is_float(value.dtype)) return arena_.real(value.dtype, value.real, from_template);
        return arena_.literal(value.dtype, value.integer, from_template);
    }

    Expr marked_as_data() {
        reader_.next();
        reader_.expect("(");
        Expr value = literal(false);
        reader_.expect(")");
        return value;
    }

    Expr primary() {
        const Token token = reader_.peek();
        if (reader_.at_literal()) return literal(true);
        if (reader_.take("(")) {
            Expr value = expression();
            reader_.expect(")");
            return ok() ? value : nullptr;
        }
        if (token.kind == Token::Kind::static_name) {
            reader_.next();
            auto found = lets_.find(token.text);
            return found != lets_.end()
                       ? found->second
                       : error(token, "equations.unknown_name", "no let has this name", "", "'" + token.text + "'");
        }
        if (reader_.at_text()) return read();
        if (token.kind != Token::Kind::name) {
            reader_.error("an expression");
            return nullptr;
        }
        if (reader_.is("[", 1)) return read();
        if (token.text == "data" && reader_.is("(", 1)) return marked_as_data();
        if (token.text == "value" && reader_.is(".", 1)) {
            reader_.next();
            reader_.next();
            return call(true);
        }
        if (reader_.is("(", 1)) return call(false);
        auto axis = axes_.find(token.text);
        if (axis == axes_.end())
            return error(token, "equations.unknown_name", "no axis has this name", "", "'" + token.text + "'");
        reader_.next();
        return arena_.axis_value(axis->second);
    }

    Expr call(bool as_value) {
        const Token token = reader_.next();
        if (auto dtype = dtype_named(token.text); dtype && !is_complex(*dtype) && !as_value) {
            reader_.expect("(");
            Expr value = expression();
            reader_.expect(")");
            return ok() ? arena_.cast(*dtype, value) : nullptr;
        }
        auto op = scalar_op_named(token.text);
        if (!op) return error(token, "equations.unknown_name", "no function has this name", "", "'" + token.text + "'");
        std::vector<Expr> operands = reader_.list("(", ")", [&] { return expression(); });
        if (!ok()) return nullptr;
        const bool coordinates = !as_value && operands.size() == 2 && operands[0]->dtype == DType::int64 &&
                                 operands[1]->dtype == DType::int64;
        if (coordinates && op == ScalarOp::minimum) return arena_.minimum(operands[0], operands[1]);
        if (coordinates && op == ScalarOp::maximum) return arena_.maximum(operands[0], operands[1]);
        return scalar(token, *op, std::move(operands));
    }

    Expr read() {
        const Token start = reader_.peek();
        const TensorIndex tensor = tensor_named();
        if (!ok()) return nullptr;
        std::vector<Expr> at = coordinates(tensor, start);
        if (!ok()) return nullptr;
        const SystemTensor& target = system_.tensor(tensor);
        if (!reader_.take("??")) return arena_.read(tensor, target.dtype, std::move(at));
        Expr otherwise = unary();
        if (!ok()) return nullptr;
        if (otherwise->dtype != target.dtype) {
            return error(start, "equations.type", "the value outside has the tensor's type",
                         std::string(name(target.dtype)), std::string(name(otherwise->dtype)));
        }
        return arena_.guarded_read(tensor, target.dtype, std::move(at), otherwise, target.shape);
    }

    TextReader reader_;
    System system_;
    Arena& arena_;
    std::unordered_map<std::string, TensorIndex> names_;
    std::unordered_map<std::string, AxisId> axes_;
    std::optional<std::pair<int32_t, AxisId>> ordered_;  // of the equation that is read: scan and axis
    std::unordered_map<std::string, Expr> lets_;
};

}  // namespace

Result<System> parse_system(std::shared_ptr<const SourceText> text) { return Parser(std::move(text)).run(); }

}  // namespace heddle::equations
