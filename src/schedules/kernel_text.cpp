#include <bit>
#include <map>

#include "schedules/kernel.h"
#include "support/spelling.h"
#include "support/text_reader.h"

namespace heddle::schedules {
namespace {

class Printer {
public:
    Printer(const Kernel& kernel, const std::string& name) : kernel_(kernel), text_("kernel " + name + "\n") {}

    std::string print() {
        for (const KernelAxis& axis : kernel_.axes) print_axis(axis);
        for (const KernelTensor& tensor : kernel_.tensors) print_tensor(tensor);
        text_ += "  common";
        for (AxisIndex axis : kernel_.common) text_ += " " + kernel_.axis(axis).name;
        text_ += "\n";
        print_shared();
        for (const KernelEquation& equation : kernel_.equations) print_equation(equation);
        return text_;
    }

private:
    // Nodes with several users get a line of their own: written out everywhere they could be too many.
    void print_shared() {
        std::vector<int> uses(kernel_.values.size());
        for (const Value& v : kernel_.values) {
            for (ValueIndex operand : v.operands) uses[static_cast<size_t>(operand)]++;
            for (const Coordinate& c : v.coordinates) {
                for (const auto& [part, factor] : c.values) uses[static_cast<size_t>(part)]++;
            }
        }
        for (const KernelEquation& e : kernel_.equations) {
            uses[static_cast<size_t>(e.right)]++;
            for (const Coordinate& c : e.left) {
                for (const auto& [part, factor] : c.values) uses[static_cast<size_t>(part)]++;
            }
        }
        names_.resize(uses.size());
        int count = 0;
        for (size_t i = 0; i < uses.size(); i++) {
            const Value& v = kernel_.values[i];
            bool leaf = v.operands.empty() && (v.coordinates.empty() || v.coordinates[0].values.empty());
            if (uses[i] < 2 || leaf) continue;
            std::string text = value(static_cast<ValueIndex>(i));
            names_[i] = "v" + std::to_string(count++);
            text_ += "  value " + names_[i] + " = " + text + "\n";
        }
    }

    void print_axis(const KernelAxis& axis) {
        text_ += "  axis " + axis.name + " = " + std::to_string(axis.extent) + " hint " + std::to_string(axis.hint) +
                 (axis.named ? " named" : "") + "\n";
    }

    void print_tensor(const KernelTensor& t) {
        static constexpr const char* roles[] = {"input", "output", "in_out", "local"};
        text_ += std::string("  ") + roles[static_cast<size_t>(t.role)] + " " + t.name + ": " +
                 std::string(heddle::name(t.dtype)) + " [";
        for (size_t d = 0; d < t.dimensions.size(); d++) {
            const BufferDimension& dimension = t.dimensions[d];
            text_ += (d ? ", " : "") + std::to_string(dimension.extent) + " stride " + std::to_string(dimension.stride);
            if (dimension.margin_before || dimension.margin_after) {
                text_ +=
                    " margin " + std::to_string(dimension.margin_before) + " " + std::to_string(dimension.margin_after);
            }
        }
        text_ += "]";
        if (t.filling != 0) text_ += " filling " + real_text(t.filling, DType::float64);
        if (t.constant) text_ += " constant";
        if (!t.aligned) text_ += " unaligned";
        if (!t.slack) text_ += " tight";
        if (t.may_alias) text_ += " aliased";
        text_ += "\n";
    }

    void print_equation(const KernelEquation& e) {
        text_ += std::string("  ") + (e.light ? "light " : "") + (e.update ? "update " : "");
        text_ += kernel_.tensor(e.tensor).name + coordinates(e.left) + " over [" + axes(e.axes) + "] ";
        if (e.ordered >= 0) text_ += "step " + kernel_.axis(e.ordered).name + " ";
        if (e.update) text_ += "for [" + axes(e.reduced) + "] ";
        text_ += "= ";
        if (e.reducer) text_ += std::string(heddle::name(*e.reducer)) + " over [" + axes(e.reduced) + "] ";
        text_ += value(e.right) + "\n";
    }

    std::string axes(const std::vector<AxisIndex>& list) const {
        std::string text;
        for (AxisIndex axis : list) text += (text.empty() ? "" : ", ") + kernel_.axis(axis).name;
        return text;
    }

    std::string coordinate(const Coordinate& c) const {
        std::string text;
        for (const auto& [axis, factor] : c.axes) {
            text += (text.empty() ? "" : " + ") + kernel_.axis(axis).name +
                    (factor == 1 ? "" : "*" + std::to_string(factor));
        }
        for (const auto& [part, factor] : c.values) {
            text += (text.empty() ? "" : " + ") + ("{" + value(part) + "}") +
                    (factor == 1 ? "" : "*" + std::to_string(factor));
        }
        if (c.constant != 0 || text.empty()) text += (text.empty() ? "" : " + ") + std::to_string(c.constant);
        return text;
    }

    std::string coordinates(const std::vector<Coordinate>& list) const {
        std::string text = "[";
        for (size_t d = 0; d < list.size(); d++) text += (d ? ", " : "") + coordinate(list[d]);
        return text + "]";
    }

    static std::string literal(const Value& v) {
        const std::string text = literal_text({.dtype = v.dtype, .integer = v.integer, .real = v.real});
        return v.from_template ? text : "data(" + text + ")";
    }

    // A literal has its type in brackets here: uint8(3) is a literal, uint8(int64(3)) a cast.
    std::string cast_operand(ValueIndex index) const {
        const Value& v = kernel_.value(index);
        const bool plain = v.kind == Value::Kind::integer || v.kind == Value::Kind::real;
        if (!plain || !v.from_template || value(index).ends_with(')')) return value(index);
        return std::string(heddle::name(v.dtype)) + "(" + value(index) + ")";
    }

    std::string value(ValueIndex index) const {
        const Value& v = kernel_.value(index);
        if (!names_[static_cast<size_t>(index)].empty()) return names_[static_cast<size_t>(index)];
        std::string operands;
        for (ValueIndex operand : v.operands) operands += (operands.empty() ? "" : ", ") + value(operand);
        switch (v.kind) {
        case Value::Kind::integer:
        case Value::Kind::real: return literal(v);
        case Value::Kind::coordinate:
            return "index(" + coordinate(v.coordinates[0]) + "):" + std::string(heddle::name(v.dtype));
        case Value::Kind::scalar: return std::string(info(v.op).name) + "(" + operands + ")";
        case Value::Kind::cast: return std::string(heddle::name(v.dtype)) + "(" + cast_operand(v.operands[0]) + ")";
        case Value::Kind::select: return "select(" + operands + ")";
        case Value::Kind::inside:
            return "inside(" + coordinate(v.coordinates[0]) + ", " + std::to_string(v.integer) + ")";
        case Value::Kind::read: return kernel_.tensor(v.tensor).name + coordinates(v.coordinates);
        case Value::Kind::guarded_read:
            return kernel_.tensor(v.tensor).name + coordinates(v.coordinates) + " ?? " + operands;
        }
        return {};
    }

    const Kernel& kernel_;
    std::string text_;
    std::vector<std::string> names_;  // of shared values
};

class Parser {
public:
    explicit Parser(std::shared_ptr<const SourceText> source) : reader_(std::move(source), "schedules.syntax") {}

    Result<Kernel> parse() {
        reader_.next_line();
        reader_.expect("kernel");
        reader_.word("a name");
        while (reader_.next_line()) parse_line();
        if (reader_.failed()) return reader_.failure();
        return std::move(kernel_);
    }

private:
    void parse_line() {
        static const std::map<std::string, KernelTensor::Role> roles = {{"input", KernelTensor::Role::input},
                                                                        {"output", KernelTensor::Role::output},
                                                                        {"in_out", KernelTensor::Role::in_out},
                                                                        {"local", KernelTensor::Role::local}};
        bool declares = reader_.peek(1).kind == Token::Kind::name;
        if (declares && reader_.take("axis")) return parse_axis();
        if (auto role = roles.find(reader_.peek().text); declares && role != roles.end()) {
            reader_.next();
            return parse_tensor(role->second);
        }
        if ((declares || reader_.peek(1).kind != Token::Kind::symbol) && reader_.take("common")) {
            while (!reader_.at_line() && !reader_.at_end()) kernel_.common.push_back(axis());
            return;
        }
        if (declares && reader_.take("value")) {
            std::string name = reader_.word("a name");
            reader_.expect("=");
            named_[name] = value();
            return;
        }
        parse_equation();
    }

    void parse_axis() {
        KernelAxis axis;
        axis.name = reader_.word("the name of an axis");
        reader_.expect("=");
        axis.extent = axis.hint = reader_.integer("an extent");
        if (reader_.take("hint")) axis.hint = reader_.integer("a hint");
        axis.named = reader_.take("named");
        if (!axes_.emplace(axis.name, static_cast<AxisIndex>(kernel_.axes.size())).second)
            reader_.error("another name for the axis");
        kernel_.axes.push_back(axis);
    }

    // Dimensions without a stride are dense, the last one first.
    void parse_tensor(KernelTensor::Role role) {
        KernelTensor t;
        t.role = role;
        t.name = reader_.word("the name of a tensor");
        reader_.expect(":");
        t.dtype = reader_.dtype();
        std::vector<bool> strided;
        t.dimensions = reader_.list("[", "]", [&] {
            BufferDimension dimension;
            dimension.extent = reader_.integer("an extent");
            strided.push_back(reader_.take("stride"));
            if (strided.back()) dimension.stride = reader_.integer("a stride");
            if (reader_.take("margin")) {
                dimension.margin_before = reader_.integer("a margin");
                dimension.margin_after = reader_.integer("a margin");
            }
            return dimension;
        });
        int64_t dense = 1;
        for (size_t d = t.dimensions.size(); d-- > 0;) {
            BufferDimension& dimension = t.dimensions[d];
            if (!strided[d]) dimension.stride = dense;
            if (__builtin_mul_overflow(dimension.stride,
                                       dimension.extent + dimension.margin_before + dimension.margin_after, &dense)) {
                reader_.error("a smaller buffer");
            }
        }
        if (reader_.take("filling")) t.filling = reader_.real("a number");
        t.constant = reader_.take("constant");
        t.aligned = !reader_.take("unaligned");
        t.slack = !reader_.take("tight");
        t.may_alias = reader_.take("aliased");
        if (!tensors_.emplace(t.name, static_cast<TensorIndex>(kernel_.tensors.size())).second)
            reader_.error("another name for the tensor");
        kernel_.tensors.push_back(std::move(t));
    }

    AxisIndex axis() { return reader_.named(axes_, "an axis"); }

    TensorIndex tensor() { return reader_.named(tensors_, "a tensor"); }

    std::vector<AxisIndex> axis_list() {
        return reader_.list("[", "]", [&] { return axis(); });
    }

    int64_t factor() { return reader_.take("*") ? reader_.integer("a factor") : 1; }

    Coordinate coordinate() {
        Coordinate c;
        int64_t sign = reader_.take("-") ? -1 : 1;
        do {
            if (reader_.peek().kind == Token::Kind::integer || reader_.is("-")) {
                c.constant += sign * reader_.integer("a constant");
            } else if (reader_.take("{")) {
                ValueIndex part = value();
                reader_.expect("}");
                c.values.emplace_back(part, sign * factor());
            } else {
                AxisIndex a = axis();
                c.axes.emplace_back(a, sign * factor());
            }
            if (reader_.take("+"))
                sign = 1;
            else if (reader_.take("-"))
                sign = -1;
            else
                break;
        } while (!reader_.failed());
        return c;
    }

    std::vector<Coordinate> coordinates() {
        return reader_.list("[", "]", [&] { return coordinate(); });
    }

    ValueIndex add(Value value) {
        if (kernel_.values.size() > 20000) reader_.error("fewer values");
        kernel_.values.push_back(std::move(value));
        return static_cast<ValueIndex>(kernel_.values.size() - 1);
    }

    void operands(Value& v) {
        v.operands = reader_.list("(", ")", [&] { return value(); });
    }

    ValueIndex value() {
        return reader_.nested([&] { return parse_value(); });
    }

    ValueIndex literal(bool from_template) {
        const Literal literal = reader_.literal();
        Value v;
        v.kind = is_float(literal.dtype) ? Value::Kind::real : Value::Kind::integer;
        v.dtype = literal.dtype;
        v.integer = literal.integer;
        v.real = literal.real;
        v.from_template = from_template;
        return shared(std::move(v));
    }

    // Equal nodes are one.
    ValueIndex shared(Value v) {
        for (size_t i = 0; i < kernel_.values.size(); i++) {
            const Value& o = kernel_.values[i];
            bool same = o.kind == v.kind && o.dtype == v.dtype && o.op == v.op && o.tensor == v.tensor &&
                        o.integer == v.integer && std::bit_cast<uint64_t>(o.real) == std::bit_cast<uint64_t>(v.real) &&
                        o.from_template == v.from_template && o.operands == v.operands &&
                        o.coordinates.size() == v.coordinates.size();
            for (size_t d = 0; same && d < v.coordinates.size(); d++) {
                const Coordinate &a = o.coordinates[d], &b = v.coordinates[d];
                same = a.constant == b.constant && a.axes == b.axes && a.values == b.values;
            }
            if (same) return static_cast<ValueIndex>(i);
        }
        return add(std::move(v));
    }

    ValueIndex parse_value() {
        if (reader_.at_literal()) return literal(true);
        const Token token = reader_.peek();
        if (token.is_word("data") && reader_.is("(", 1)) {
            reader_.next();
            reader_.expect("(");
            const ValueIndex marked = literal(false);
            reader_.expect(")");
            return marked;
        }
        Value v;
        const bool call = reader_.is("(", 1);
        if (auto named = named_.find(token.text); !call && !reader_.is("[", 1) && named != named_.end()) {
            reader_.next();
            return named->second;
        }
        if (!call) return parse_read();
        if (reader_.take("index")) {
            v.kind = Value::Kind::coordinate;
            reader_.expect("(");
            v.coordinates.push_back(coordinate());
            reader_.expect(")");
            v.dtype = DType::int64;
            if (reader_.take(":")) v.dtype = reader_.dtype();
        } else if (reader_.take("inside")) {
            v.kind = Value::Kind::inside;
            v.dtype = DType::boolean;
            reader_.expect("(");
            v.coordinates.push_back(coordinate());
            reader_.expect(",");
            v.integer = reader_.integer("an extent");
            reader_.expect(")");
        } else if (reader_.take("select")) {
            v.kind = Value::Kind::select;
            operands(v);
            if (v.operands.size() == 3 && !reader_.failed()) v.dtype = kernel_.value(v.operands[1]).dtype;
        } else if (auto to = dtype_named(token.text); to && !is_complex(*to)) {
            v.kind = Value::Kind::cast;
            v.dtype = *to;
            reader_.next();
            operands(v);
        } else if (auto op = scalar_op_named(token.text); op && !is_complex(*op)) {
            v.kind = Value::Kind::scalar;
            v.op = *op;
            reader_.next();
            operands(v);
            const bool whole = !v.operands.empty() && !reader_.failed();
            v.dtype = whole ? result_type(*op, kernel_.value(v.operands[0]).dtype) : DType::boolean;
        } else {
            reader_.error("a scalar function, a dtype, index, inside or select");
            return 0;
        }
        return reader_.failed() ? 0 : shared(std::move(v));
    }

    ValueIndex parse_read() {
        Value v;
        v.kind = Value::Kind::read;
        v.tensor = tensor();
        if (reader_.failed()) return 0;
        v.dtype = kernel_.tensor(v.tensor).dtype;
        v.coordinates = coordinates();
        if (reader_.take("??")) {
            v.kind = Value::Kind::guarded_read;
            v.operands.push_back(value());
        }
        return reader_.failed() ? 0 : shared(std::move(v));
    }

    void parse_equation() {
        KernelEquation e;
        e.light = reader_.peek(1).kind == Token::Kind::name && reader_.take("light");
        e.update = reader_.peek(1).kind == Token::Kind::name && reader_.take("update");
        e.tensor = tensor();
        e.left = coordinates();
        reader_.expect("over");
        e.axes = axis_list();
        if (reader_.take("step")) e.ordered = axis();
        if (e.update) {
            reader_.expect("for");
            e.reduced = axis_list();
        }
        reader_.expect("=");
        if (reader_.is("over", 1)) {
            auto reducer = reducer_named(reader_.peek().text);
            if (!reducer) reader_.error("a reducer");
            reader_.next();
            reader_.next();
            e.reducer = reducer;
            e.reduced = axis_list();
        }
        e.right = value();
        kernel_.equations.push_back(std::move(e));
    }

    TextReader reader_;
    Kernel kernel_;
    std::map<std::string, AxisIndex> axes_;
    std::map<std::string, TensorIndex> tensors_;
    std::map<std::string, ValueIndex> named_;
};

}  // namespace

std::string print(const Kernel& kernel, const std::string& name) { return Printer(kernel, name).print(); }

Result<Kernel> parse_kernel(std::shared_ptr<const SourceText> text) { return Parser(std::move(text)).parse(); }

}  // namespace heddle::schedules
