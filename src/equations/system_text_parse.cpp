#include <optional>
#include <tuple>
#include <unordered_map>

#include "equations/system.h"
#include "equations/system_text.h"
#include "expr/expression_parse.h"
#include "support/text_reader.h"
#include "zspace/checked.h"

namespace heddle::equations {
namespace {

constexpr int64_t element_limit = int64_t(1) << 40;

// Recursive descent; the first error stops it.
class Parser {
public:
    explicit Parser(std::shared_ptr<const SourceText> source)
        : reader_(std::move(source), "equations.syntax", TextReader::Lines::are_space),
          arena_(*system_.arena),
          expressions_(
              reader_, arena_, [this](const std::string& name) { return axis_named(name); },
              [this](const std::string& name) { return tensor_named(name); }) {}

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
    void error(const Token& token, std::string code, std::string summary, std::string expected = "",
               std::string found = "") {
        reader_.error({.code = std::move(code),
                       .summary = std::move(summary),
                       .place = reader_.place(token),
                       .expected = std::move(expected),
                       .found = std::move(found)});
    }
    std::string any_name() { return reader_.name("a name"); }
    int64_t natural() { return reader_.natural("an integer"); }

    bool is_declaration() const {
        return reader_.is("in") || reader_.is("out") || reader_.is("local") || reader_.is("const") ||
               reader_.is("opaque");
    }

    bool mark(SystemTensor& tensor) const {
        if (reader_.is("prepared")) return tensor.prepared = true;
        if (reader_.is("kept")) return tensor.keep_name = true;
        if (reader_.is("parts")) return tensor.in_parts = true;
        if (!reader_.is("stored") && !reader_.is("inlined")) return false;
        tensor.storing = reader_.is("stored") ? Storing::stored : Storing::inlined;
        return true;
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
        while (ok() && mark(tensor)) reader_.next();
        if (ok() && reader_.is("=")) constant(tensor);
        if (ok() && reader_.take("from")) opaque_inputs(tensor);
        if (!ok()) return;
        if (names_.contains(tensor.name)) {
            error(name, "equations.duplicate_name", "two tensors have one name", "", "'" + tensor.name + "'");
            return;
        }
        const auto index = next_id<TensorIndex>(system_.tensors);
        names_[tensor.name] = index;
        if (tensor.kind == SystemTensor::Kind::input) system_.inputs.push_back(index);
        system_.add_tensor(std::move(tensor));
    }

    void shape(SystemTensor& tensor) {
        const Token open = reader_.peek();
        int64_t elements = 1;
        for (int64_t extent : reader_.list("[", "]", [&] { return natural(); })) {
            tensor.shape.emplace_back(extent);
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
        TensorData data(tensor.dtype, numbers_of(tensor.shape));
        for (size_t i = 0; i < values.size(); i++) {
            if (is_float(tensor.dtype))
                data.set_real(static_cast<int64_t>(i), values[i].real);
            else
                data.set_integer(static_cast<int64_t>(i), values[i].integer);
        }
        tensor.constant = std::move(data);
    }

    void opaque_inputs(SystemTensor& tensor) {
        tensor.opaque_inputs = reader_.list("(", ")", [&] { return expressions_.tensor().index; });
    }

    std::optional<AxisId> axis_named(const std::string& name) const {
        auto found = axes_.find(name);
        return found == axes_.end() ? std::nullopt : std::optional(found->second);
    }

    std::optional<ReadableTensor> tensor_named(const std::string& name) const {
        auto found = names_.find(name);
        if (found == names_.end()) return std::nullopt;
        const SystemTensor& tensor = system_.tensor(found->second);
        return ReadableTensor{found->second, tensor.dtype, tensor.shape};
    }

    void outputs() {
        do {
            const TensorIndex tensor = expressions_.tensor().index;
            if (!ok()) return;
            system_.tensor(tensor).is_output = true;
            system_.outputs.push_back(tensor);
        } while (ok() && reader_.take(","));
    }

    void equation() {
        axes_.clear();
        expressions_.forget_lets();
        ordered_.reset();
        Equation equation;
        if (reader_.take("for")) {
            equation.axes = axes();
            reader_.expect(":");
        }
        while (ok() && reader_.take("let")) expressions_.let();
        if (!ok()) return;
        const Token start = reader_.peek();
        const ReadableTensor target = expressions_.tensor();
        equation.tensor = target.index;
        if (ok()) equation.left = expressions_.coordinates(target);
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
            equation.right = expressions_.expression();
            reader_.expect(")");
        } else {
            equation.right = expressions_.expression();
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

    TextReader reader_;
    System system_;
    Arena& arena_;
    std::unordered_map<std::string, TensorIndex> names_;
    std::unordered_map<std::string, AxisId> axes_;
    std::optional<std::pair<int32_t, AxisId>> ordered_;  // of the equation that is read: scan and axis
    ExpressionParser expressions_;
};

}  // namespace

Result<System> parse_system(std::shared_ptr<const SourceText> text) { return Parser(std::move(text)).run(); }

}  // namespace heddle::equations
