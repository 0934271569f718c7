// Expressions read from the text that expression_text.h makes (docs/equations.md, "Text form").
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "expr/arena.h"
#include "support/precedence.h"
#include "support/text_reader.h"

namespace heddle::expr {

// Recursive descent; the first error stops it. A null expression stands for an error that has been noted in the reader.
// Codes: the reader's for the grammar, expr.type, expr.unknown_name.
class ExpressionParser {
public:
    using AxisNamed = std::function<std::optional<AxisId>(const std::string&)>;
    using TensorNamed = std::function<std::optional<ReadableTensor>(const std::string&)>;
    ExpressionParser(TextReader& reader, Arena& arena, AxisNamed axis_named, TensorNamed tensor_named)
        : reader_(reader), arena_(arena), axis_named_(std::move(axis_named)), tensor_named_(std::move(tensor_named)) {}

    Expr expression();
    ReadableTensor tensor();  // by its name
    // "[" coordinates "]" of a tensor: int64, as many as it has dimensions.
    std::vector<Expr> coordinates(const ReadableTensor& tensor);
    void let();  // behind the word: "$0 = ..."
    void forget_lets() { lets_.clear(); }

private:
    bool ok() const { return !reader_.failed(); }
    std::nullptr_t error(const Token& token, const char* code, std::string summary, std::string expected = "",
                         std::string found = "");
    std::nullptr_t unknown(const Token& token, std::string summary);
    Expr selection(Expr condition);
    Expr binary(Precedence loosest);
    Expr combine(const Token& token, Expr a, Expr b);
    Expr scalar(const Token& token, ScalarOp op, std::vector<Expr> operands);
    Expr unary();
    Expr literal(bool from_template);
    Expr marked_as_data();
    Expr primary();
    Expr bracketed();
    Expr inside();
    Expr call(bool as_value);
    Expr read();

    TextReader& reader_;
    Arena& arena_;
    AxisNamed axis_named_;
    TensorNamed tensor_named_;
    std::unordered_map<std::string, Expr> lets_;
};

}  // namespace heddle::expr
