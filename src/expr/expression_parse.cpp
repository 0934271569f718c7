#include "expr/expression_parse.h"

#include <algorithm>

#include "expr/coordinate.h"

namespace heddle::expr {

std::nullptr_t ExpressionParser::error(const Token& token, const char* code, std::string summary, std::string expected,
                                       std::string found) {
    reader_.error({.code = code,
                   .summary = std::move(summary),
                   .place = reader_.place(token),
                   .expected = std::move(expected),
                   .found = std::move(found)});
    return nullptr;
}

std::nullptr_t ExpressionParser::unknown(const Token& token, std::string summary) {
    return error(token, "expr.unknown_name", std::move(summary), "", "'" + token.text + "'");
}

void ExpressionParser::let() {
    const Token name = reader_.next();
    if (name.kind != Token::Kind::static_name || lets_.contains(name.text)) reader_.error("a new name like $0");
    reader_.expect("=");
    lets_[name.text] = expression();
}

ReadableTensor ExpressionParser::tensor() {
    const Token token = reader_.peek();
    const auto found = tensor_named_(reader_.name("a tensor"));
    if (!found) unknown(token, "no tensor has this name");
    return found.value_or(ReadableTensor());
}

std::vector<Expr> ExpressionParser::coordinates(const ReadableTensor& tensor) {
    const Token open = reader_.peek();
    std::vector<Expr> result = reader_.list("[", "]", [&] {
        const Token token = reader_.peek();
        Expr coordinate = expression();
        if (ok() && coordinate->dtype != DType::int64)
            error(token, "expr.type", "a coordinate is an integer", "int64", std::string(name(coordinate->dtype)));
        return coordinate;
    });
    if (ok() && result.size() != tensor.shape.size())
        error(open, "expr.type", "a tensor has one coordinate a dimension", std::to_string(tensor.shape.size()),
              std::to_string(result.size()));
    return result;
}

Expr ExpressionParser::expression() {
    return reader_.nested([&]() -> Expr {
        Expr value = binary(Precedence::disjunction);
        if (ok() && reader_.is("?")) value = selection(value);
        return ok() ? value : nullptr;
    });
}

Expr ExpressionParser::selection(Expr condition) {
    const Token token = reader_.next();
    Expr then = expression();
    reader_.expect(":");
    Expr otherwise = ok() ? expression() : nullptr;
    if (!ok()) return nullptr;
    if (!is_bool(condition->dtype) || then->dtype != otherwise->dtype)
        return error(token, "expr.type", "a selection has a condition and two values of one type");
    return arena_.select(condition, then, otherwise);
}

Expr ExpressionParser::binary(Precedence loosest) {
    if (loosest > Precedence::product) return unary();
    Expr left = binary(tighter(loosest));
    while (ok() && is_operator(reader_.peek(), loosest)) {
        const Token token = reader_.next();
        Expr right = binary(tighter(loosest));
        if (ok()) left = combine(token, left, right);
    }
    return ok() ? left : nullptr;
}

Expr ExpressionParser::combine(const Token& token, Expr a, Expr b) {
    if (a->dtype != b->dtype)
        return error(token, "expr.type", "two operands of different types", std::string(name(a->dtype)),
                     std::string(name(b->dtype)));
    if (token.text == "&&" && is_bool(a->dtype)) return arena_.conjunction(a, b);
    const auto row = std::ranges::find(all_scalar_ops(), token.text, &ScalarOpInfo::infix);
    if (a->dtype != DType::int64) return scalar(token, row->op, {a, b});
    if (Expr made = coordinate_of(arena_, row->op, a, b)) return made;
    return error(token, "expr.type", "a coordinate is linear: a factor or positive divisor is a literal");
}

Expr ExpressionParser::scalar(const Token& token, ScalarOp op, std::vector<Expr> operands) {
    const DType dtype = operands.empty() ? DType::boolean : operands[0]->dtype;
    const DType result = result_type(op, dtype);
    std::vector<DType> types;
    for (Expr operand : operands) types.push_back(operand->dtype);
    if (!is_typed_real(op, result, types))
        return error(token, "expr.type", "the operation does not take these operands", "", std::string(name(dtype)));
    return arena_.scalar(op, result, std::move(operands));
}

Expr ExpressionParser::unary() {
    if (!reader_.is("-") || reader_.at_literal()) return primary();
    const Token token = reader_.next();
    Expr value = reader_.nested([&] { return unary(); });
    if (!ok()) return nullptr;
    return value->dtype == DType::int64 ? arena_.scale(value, -1) : scalar(token, ScalarOp::negate, {value});
}

Expr ExpressionParser::literal(bool from_template) {
    const Literal value = reader_.literal();
    if (is_float(value.dtype)) return arena_.real(value.dtype, value.real, from_template);
    return arena_.literal(value.dtype, value.integer, from_template);
}

Expr ExpressionParser::marked_as_data() {
    reader_.next();
    reader_.expect("(");
    Expr value = literal(false);
    reader_.expect(")");
    return value;
}

// The rest of "(" expression ")".
Expr ExpressionParser::bracketed() {
    Expr value = expression();
    reader_.expect(")");
    return ok() ? value : nullptr;
}

Expr ExpressionParser::primary() {
    const Token token = reader_.peek();
    if (reader_.at_literal()) return literal(true);
    if (reader_.take("(")) return bracketed();
    if (token.kind == Token::Kind::static_name) {
        reader_.next();
        auto found = lets_.find(token.text);
        return found != lets_.end() ? found->second : unknown(token, "no let has this name");
    }
    if (reader_.at_text() || (token.kind == Token::Kind::name && reader_.is("[", 1))) return read();
    if (token.kind != Token::Kind::name) {
        reader_.error("an expression");
        return nullptr;
    }
    if (token.text == "data" && reader_.is("(", 1)) return marked_as_data();
    if (token.text == "value" && reader_.is(".", 1)) {
        reader_.next();
        reader_.next();
        return call(true);
    }
    if (reader_.is("(", 1)) return token.text == "inside" ? inside() : call(false);
    const auto axis = axis_named_(token.text);
    if (!axis) return unknown(token, "no axis has this name");
    reader_.next();
    return arena_.axis_value(*axis);
}

Expr ExpressionParser::inside() {
    const Token token = reader_.next();
    reader_.expect("(");
    Expr coordinate = expression();
    reader_.expect(",");
    const int64_t extent = reader_.integer("an extent");
    reader_.expect(")");
    if (ok() && coordinate->dtype != DType::int64)
        error(token, "expr.type", "a coordinate is an integer", "int64", std::string(name(coordinate->dtype)));
    return ok() ? arena_.inside(coordinate, extent) : nullptr;
}

Expr ExpressionParser::call(bool as_value) {
    const Token token = reader_.next();
    if (auto dtype = dtype_named(token.text); dtype && !is_complex(*dtype) && !as_value) {
        reader_.expect("(");
        Expr value = bracketed();
        return ok() ? arena_.cast(*dtype, value) : nullptr;
    }
    auto op = scalar_op_named(token.text);
    if (!op) return unknown(token, "no function has this name");
    std::vector<Expr> operands = reader_.list("(", ")", [&] { return expression(); });
    if (!ok()) return nullptr;
    const bool extreme = op == ScalarOp::minimum || op == ScalarOp::maximum;
    const bool coordinates =
        !as_value && std::ranges::all_of(operands, [](Expr e) { return e->dtype == DType::int64; });
    if (extreme && coordinates && operands.size() == 2) return coordinate_of(arena_, *op, operands[0], operands[1]);
    return scalar(token, *op, std::move(operands));
}

Expr ExpressionParser::read() {
    const Token start = reader_.peek();
    const ReadableTensor target = tensor();
    if (!ok()) return nullptr;
    std::vector<Expr> at = coordinates(target);
    if (!ok()) return nullptr;
    if (!reader_.take("??")) return arena_.read(target.index, target.dtype, std::move(at));
    Expr otherwise = unary();
    if (!ok()) return nullptr;
    if (otherwise->dtype != target.dtype)
        return error(start, "expr.type", "the value outside has the tensor's type", std::string(name(target.dtype)),
                     std::string(name(otherwise->dtype)));
    return arena_.guarded_read(target.index, target.dtype, std::move(at), otherwise, target.shape);
}

}  // namespace heddle::expr
