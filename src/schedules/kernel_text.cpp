#include <map>

#include "expr/expression_parse.h"
#include "expr/expression_text.h"
#include "schedules/kernel.h"
#include "support/spelling.h"
#include "support/text_reader.h"

namespace heddle::schedules {
namespace {

constexpr size_t most_expressions = 20000;

class Printer {
public:
    Printer(const Kernel& kernel, const std::string& name) : kernel_(kernel), text_("kernel " + name + "\n") {}

    std::string print() {
        for (size_t i = 0; i < kernel_.arena->axis_count(); i++) print_axis(AxisId(i));
        for (const KernelTensor& tensor : kernel_.tensors) print_tensor(tensor);
        text_ += "  common";
        for (AxisId axis : kernel_.common) text_ += " " + kernel_.axis(axis).name;
        text_ += "\n";
        for (const KernelEquation& equation : kernel_.equations) print_equation(equation);
        return text_;
    }

private:
    void print_axis(AxisId id) {
        const Axis& axis = kernel_.axis(id);
        axis_names_.emplace_back(id, axis.name);
        text_ += "  axis " + axis.name + " = " + std::to_string(axis.extent) + " hint " +
                 std::to_string(kernel_.hint(id)) + (axis.named ? " named" : "") + "\n";
    }

    void print_tensor(const KernelTensor& t) {
        static constexpr const char* roles[] = {"input", "output", "in_out", "local"};
        text_ += std::string("  ") + roles[static_cast<size_t>(t.role)] + " " + t.name + ": " +
                 std::string(heddle::name(t.dtype)) + " [";
        for (size_t d = 0; d < t.dimensions.size(); d++) {
            const BufferDimension& dimension = t.dimensions[d];
            text_ += (d ? ", " : "") + std::to_string(dimension.extent) + " stride " + std::to_string(dimension.stride);
            if (dimension.has_margins()) {
                text_ +=
                    " margin " + std::to_string(dimension.margin_before) + " " + std::to_string(dimension.margin_after);
            }
        }
        text_ += "]";
        if (t.filling != 0) text_ += " filling " + real_text(t.filling, DType::float64);
        if (t.constant) text_ += " constant";
        if (!t.aligned) text_ += " unaligned";
        if (!t.slack) text_ += " tight";
        if (t.may_alias()) text_ += " aliased " + std::to_string(t.shares.number());
        text_ += "\n";
    }

    void print_equation(const KernelEquation& e) {
        std::vector<Expr> roots = e.left;
        roots.push_back(e.right);
        const expr::ExpressionPrinter printer(roots, axis_names_,
                                              [&](TensorIndex t) { return kernel_.tensor(t).name; });
        for (const std::string& let : printer.lets()) text_ += "    " + let + "\n";
        text_ += std::string("  ") + (e.light ? "light " : "") + (e.update ? "update " : "");
        text_ += kernel_.tensor(e.tensor).name + "[" + printer.list(e.left) + "] over [" + axes(e.axes) + "] ";
        if (e.ordered >= 0) text_ += "step " + kernel_.axis(e.ordered).name + " ";
        if (e.update) text_ += "for [" + axes(e.reduced) + "] ";
        text_ += "= ";
        if (e.reducer) text_ += std::string(heddle::name(*e.reducer)) + " over [" + axes(e.reduced) + "] ";
        text_ += printer.text(e.right) + "\n";
    }

    std::string axes(const std::vector<AxisId>& list) const {
        std::string text;
        for (AxisId axis : list) text += (text.empty() ? "" : ", ") + kernel_.axis(axis).name;
        return text;
    }

    const Kernel& kernel_;
    std::string text_;
    expr::ExpressionPrinter::AxisNames axis_names_;
};

class Parser {
public:
    explicit Parser(std::shared_ptr<const SourceText> source)
        : reader_(std::move(source), "schedules.syntax"),
          expressions_(
              reader_, *kernel_.arena, [this](const std::string& name) { return found_in(axes_, name); },
              [this](const std::string& name) {
                  const auto tensor = found_in(tensors_, name);
                  return tensor ? std::optional(kernel_.readable(*tensor)) : std::nullopt;
              }) {}

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
        if (reader_.peek(1).kind == Token::Kind::static_name && reader_.take("let")) return expressions_.let();
        parse_equation();
        expressions_.forget_lets();
        if (kernel_.arena->size() > most_expressions) reader_.error("fewer expressions");
    }

    template <typename T>
    static std::optional<T> found_in(const std::map<std::string, T>& table, const std::string& name) {
        auto found = table.find(name);
        return found == table.end() ? std::nullopt : std::optional(found->second);
    }

    void parse_axis() {
        Axis axis;
        axis.name = reader_.word("the name of an axis");
        reader_.expect("=");
        axis.extent = axis.hint = reader_.natural("an extent");
        if (reader_.take("hint")) axis.hint = reader_.natural("a hint");
        axis.named = reader_.take("named");
        const std::string name = axis.name;
        if (!axes_.emplace(name, kernel_.add_axis(std::move(axis))).second) reader_.error("another name for the axis");
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
            dimension.extent = reader_.natural("an extent");
            strided.push_back(reader_.take("stride"));
            if (strided.back()) dimension.stride = reader_.integer("a stride");
            if (reader_.take("margin")) {
                dimension.margin_before = reader_.natural("a margin");
                dimension.margin_after = reader_.natural("a margin");
            }
            return dimension;
        });
        int64_t dense = 1;
        for (size_t d = t.dimensions.size(); d-- > 0;) {
            BufferDimension& dimension = t.dimensions[d];
            if (!strided[d]) dimension.stride = dense;
            const auto elements =
                checked_multiply(dimension.stride, dimension.extent + dimension.margin_before + dimension.margin_after);
            if (!elements) reader_.error("a smaller buffer");
            dense = elements.value_or(0);
        }
        if (reader_.take("filling")) t.filling = reader_.real("a number");
        t.constant = reader_.take("constant");
        t.aligned = !reader_.take("unaligned");
        t.slack = !reader_.take("tight");
        if (reader_.take("aliased"))
            t.shares = TensorIndex(reader_.natural("the number of a tensor", most_expressions));
        if (!tensors_.emplace(t.name, next_id<TensorIndex>(kernel_.tensors)).second)
            reader_.error("another name for the tensor");
        kernel_.tensors.push_back(std::move(t));
    }

    AxisId axis() { return reader_.named(axes_, "an axis"); }

    std::vector<AxisId> axis_list() {
        return reader_.list("[", "]", [&] { return axis(); });
    }

    void parse_equation() {
        KernelEquation e;
        e.light = reader_.peek(1).kind == Token::Kind::name && reader_.take("light");
        e.update = reader_.peek(1).kind == Token::Kind::name && reader_.take("update");
        const expr::ReadableTensor target = expressions_.tensor();
        e.tensor = target.index;
        if (!reader_.failed()) e.left = expressions_.coordinates(target);
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
        e.right = expressions_.expression();
        kernel_.equations.push_back(std::move(e));
    }

    TextReader reader_;
    Kernel kernel_;
    std::map<std::string, AxisId> axes_;
    std::map<std::string, TensorIndex> tensors_;
    expr::ExpressionParser expressions_;
};

}  // namespace

std::string print(const Kernel& kernel, const std::string& name) { return Printer(kernel, name).print(); }

Result<Kernel> parse_kernel(std::shared_ptr<const SourceText> text) { return Parser(std::move(text)).parse(); }

}  // namespace heddle::schedules
