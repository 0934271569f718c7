#include "explain/arguments.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "language/functions.h"
#include "symbolic/environment.h"
#include "symbolic/static_tensor.h"
#include "zspace/checked.h"

namespace heddle::explain {
namespace {

using TextPointer = std::shared_ptr<const SourceText>;

bool is_space(char c) { return c == ' ' || c == '\t'; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// A type: a dtype's name, then in brackets numbers, or names with their numbers. Positions are in the whole argument.
class TypeReader {
public:
    TypeReader(TextPointer source, size_t begin, std::map<std::string, int64_t>& dimensions)
        : source_(std::move(source)), text_(source_->text()), at_(begin), dimensions_(dimensions) {}

    // `start` is where the range begins, if it does not begin at zero.
    Result<TensorType> read(std::vector<int64_t>& start) {
        skip();
        size_t begin = at_;
        std::string word = take_word();
        auto dtype = dtype_named(word);
        if (!dtype)
            return wrong(begin, at_ - begin,
                         is_dtype_name(word) ? fmt::format("Heddle has no tensors of {}", word)
                                             : fmt::format("'{}' is no dtype", word),
                         dtypes());
        TensorType type{*dtype, {}};
        skip();
        if (at_ == text_.size()) return type;
        if (!accept('[')) return wrong(at_, 1, "a dtype is followed by its shape in brackets", "float32[2, 3]");
        while (!accept(']')) {
            if (!type.shape.empty() && !accept(','))
                return wrong(at_, 1, "dimensions are separated by commas", "',' or ']'");
            start.push_back(0);
            auto size = dimension(start.back());
            if (!size) return fail(std::move(size.error()));
            type.shape.push_back(std::move(*size));
        }
        if (std::ranges::all_of(start, [](int64_t begin) { return begin == 0; })) start.clear();
        skip();
        if (at_ != text_.size()) return wrong(at_, text_.size() - at_, "something follows the type", "nothing more");
        return type;
    }

private:
    static std::string dtypes() {
        std::vector<std::string> names;
        for (const auto& row : all_dtypes()) names.emplace_back(row.name);
        return fmt::format("{}", fmt::join(names, ", "));
    }

    std::optional<int64_t> number() {
        skip();
        size_t begin = at_;
        if (at_ < text_.size() && text_[at_] == '-') at_++;
        std::string word(text_.substr(begin, at_ - begin));
        word += take_word();
        int64_t value = 0;
        auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (problem != std::errc() || end != word.data() + word.size()) return std::nullopt;
        return value;
    }

    // START:END, or nothing where there is no colon, and then nothing is read.
    Result<std::optional<Size>> range(int64_t& start) {
        skip();
        size_t begin = at_, bracket = std::min(text_.find_first_of(",]", at_), text_.size());
        if (text_.substr(begin, bracket - begin).find(':') == std::string_view::npos) return std::nullopt;
        auto first = number();
        auto end = first && accept(':') ? number() : std::nullopt;
        auto extent = end ? checked_subtract(*end, *first) : std::nullopt;
        if (!extent || *extent < 0)
            return wrong(begin, bracket - begin, "a range is its start and its end, which is not before", "200:210");
        start = *first;
        return Size(*extent);
    }

    Result<Size> dimension(int64_t& start) {
        auto ranged = range(start);
        if (!ranged) return fail(std::move(ranged.error()));
        if (*ranged) return std::move(**ranged);
        skip();
        size_t begin = at_;
        std::string word = take_word();
        std::string name;
        if (!word.empty() && !std::isdigit(static_cast<unsigned char>(word[0]))) {
            name = word;
            if (!accept('=')) {
                if (const auto known = dimensions_.find(name); known != dimensions_.end())
                    return named_size(name, known->second);
                return wrong(begin, word.size(), fmt::format("the dimension '{}' needs a number", name),
                             name + "=NUMBER");
            }
            skip();
            begin = at_;
            word = take_word();
        }
        int64_t value = 0;
        auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (word.empty() || problem != std::errc() || end != word.data() + word.size()) {
            return wrong(begin, std::max<size_t>(word.size(), 1), "a dimension is a number, or a name with its number",
                         "4 or batch=4");
        }
        if (name.empty()) return Size(value);
        auto [known, added] = dimensions_.try_emplace(name, value);
        if (!added && known->second != value) {
            return fail({.code = "cli.dimension_conflict",
                         .summary = fmt::format("the dimension '{}' has two numbers", name),
                         .place = {source_, begin, word.size()},
                         .expected = std::to_string(known->second),
                         .found = word});
        }
        return named_size(name, value);
    }

    std::unexpected<Diagnostics> wrong(size_t offset, size_t length, std::string summary, std::string expected) const {
        return fail({.code = "cli.type",
                     .summary = std::move(summary),
                     .place = {source_, offset, length},
                     .expected = std::move(expected),
                     .found = offset < text_.size() ? std::string(text_.substr(offset, length)) : "the end"});
    }

    void skip() {
        while (at_ < text_.size() && is_space(text_[at_])) at_++;
    }
    bool accept(char c) {
        skip();
        if (at_ == text_.size() || text_[at_] != c) return false;
        at_++;
        return true;
    }
    std::string take_word() {
        size_t begin = at_;
        while (at_ < text_.size() && is_word(text_[at_])) at_++;
        return std::string(text_.substr(begin, at_ - begin));
    }

    TextPointer source_;
    std::string_view text_;
    size_t at_;
    std::map<std::string, int64_t>& dimensions_;
};

// A static expression of the language, without names but those of dtypes. A bare word is itself where a text is wanted.
Result<StaticValue> static_value(const TextPointer& source, size_t begin, bool word_is_text) {
    // The parser takes a whole text; blanks keep the places.
    auto padded = std::make_shared<SourceText>(source->name(),
                                               std::string(begin, ' ') + std::string(source->text().substr(begin)));
    auto expression = parse_expression(padded);
    if (!expression) return fail(std::move(expression.error()));
    if (word_is_text && (*expression)->kind == Syntax::Kind::name) return StaticValue::of((*expression)->text);
    Template nothing;
    nothing.name = "explain";
    nothing.functions = std::make_shared<FunctionTable>();
    Environment environment(nothing);
    auto value = environment.evaluate(**expression);
    if (!value) return fail(std::move(value.error()));
    return value;
}

Result<InputArgument> input_argument(const TextPointer& source, size_t begin, OperatorArguments& arguments) {
    std::string_view text = source->text();
    size_t word = begin;
    while (word < text.size() && is_space(text[word])) word++;
    bool is_type = word < text.size() && std::isalpha(static_cast<unsigned char>(text[word])) &&
                   !text.substr(word).starts_with("true") && !text.substr(word).starts_with("false") &&
                   text.find('(', word) == std::string_view::npos;
    if (is_type) {
        std::vector<int64_t> start;
        auto type = TypeReader(source, begin, arguments.dimensions).read(start);
        if (!type) return fail(std::move(type.error()));
        return InputArgument{.name = {}, .type = std::move(*type), .value = std::nullopt, .start = std::move(start)};
    }
    auto value = static_value(source, begin, false);
    if (!value) return fail(std::move(value.error()));
    auto data = tensor_of(*value);
    if (!data) {
        return fail({.code = "cli.value",
                     .summary = "this value is no tensor",
                     .place = {source, begin, text.size() - begin},
                     .expected = "a type such as float32[2, 3], or numbers, or lists of equal lengths",
                     .found = value->describe()});
    }
    return InputArgument{
        .name = {}, .type = {data->dtype(), {data->shape().begin(), data->shape().end()}}, .value = std::move(*data)};
}

class ArgumentReader {
public:
    explicit ArgumentReader(const Template& metakernel) : metakernel_(metakernel) {
        arguments_.inputs.resize(metakernel.inputs.size());
    }

    Result<OperatorArguments> read(const std::vector<std::string>& texts) {
        for (const std::string& text : texts) {
            if (auto done = add(text); !done)
                problems_.insert(problems_.end(), done.error().begin(), done.error().end());
        }
        if (!problems_.empty()) return fail(std::move(problems_));
        return std::move(arguments_);
    }

private:
    Result<void> add(const std::string& text) {
        auto source = std::make_shared<const SourceText>("argument", text);
        size_t equals = text.find('=');
        std::string name = text.substr(0, std::min(equals, text.size()));
        while (!name.empty() && is_space(name.back())) name.pop_back();
        Place place{source, 0, name.size()};
        if (equals == std::string::npos || name.empty()) {
            return fail({.code = "cli.argument",
                         .summary = fmt::format("'{}' is no argument", text),
                         .place = {source, 0, text.size()},
                         .expected = "NAME=TYPE for an input, NAME=VALUE for a parameter",
                         .remedy = signature()});
        }
        for (size_t i = 0; i < metakernel_.inputs.size(); i++) {
            if (metakernel_.inputs[i].name == name) return add_input(i, source, equals + 1, place);
        }
        if (const Parameter* parameter = metakernel_.parameter(name))
            return add_parameter(*parameter, source, equals + 1, place);
        return unknown(name, place);
    }

    Result<void> add_input(size_t position, const TextPointer& source, size_t begin, const Place& place) {
        const TensorSpec& specification = metakernel_.inputs[position];
        auto& tensors = arguments_.inputs[position];
        if (!tensors.empty() && !specification.variadic) return twice(specification.name, place);
        auto argument = input_argument(source, begin, arguments_);
        if (!argument) return fail(std::move(argument.error()));
        argument->name =
            specification.variadic ? fmt::format("{}{}", specification.name, tensors.size()) : specification.name;
        tensors.push_back(std::move(*argument));
        return {};
    }

    Result<void> add_parameter(const Parameter& parameter, const TextPointer& source, size_t begin,
                               const Place& place) {
        using Kind = ParameterType::Kind;
        bool word_is_text = parameter.type.kind == Kind::choice || parameter.type.kind == Kind::string;
        auto value = static_value(source, begin, word_is_text);
        if (!value) return fail(std::move(value.error()));
        if (!arguments_.parameters.try_emplace(parameter.name, std::move(*value)).second)
            return twice(parameter.name, place);
        return {};
    }

    static Result<void> twice(const std::string& name, const Place& place) {
        return fail({.code = "cli.argument", .summary = fmt::format("{} is given twice", name), .place = place});
    }

    Result<void> unknown(const std::string& name, const Place& place) const {
        std::vector<std::string> known;
        for (const auto& input : metakernel_.inputs) known.push_back(input.name);
        for (const auto& parameter : metakernel_.params) known.push_back(parameter.name);
        auto same_letters = [&](const std::string& other) {
            return std::equal(name.begin(), name.end(), other.begin(), other.end(),
                              [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
        };
        auto other_case = std::find_if(known.begin(), known.end(), same_letters);
        std::string near = other_case != known.end() ? *other_case : nearest_name(name, known);
        return fail({.code = "cli.unknown_argument",
                     .summary = fmt::format("{} has no input or parameter '{}'", metakernel_.name, name),
                     .place = place,
                     .expected = signature(),
                     .remedy = near.empty() ? "" : fmt::format("did you mean {}?", near),
                     .params = {{"operator", metakernel_.name}}});
    }

    std::string signature() const {
        std::vector<std::string> inputs, parameters;
        for (const auto& input : metakernel_.inputs) inputs.push_back(input.name);
        for (const auto& parameter : metakernel_.params) parameters.push_back(parameter.name);
        return fmt::format("inputs {}{}", inputs.empty() ? "none" : fmt::format("{}", fmt::join(inputs, ", ")),
                           parameters.empty() ? "" : fmt::format("; parameters {}", fmt::join(parameters, ", ")));
    }

    const Template& metakernel_;
    OperatorArguments arguments_;
    Diagnostics problems_;
};

}  // namespace

Result<OperatorArguments> parse_operator_arguments(const Template& metakernel, const std::vector<std::string>& texts) {
    return ArgumentReader(metakernel).read(texts);
}

Result<InputArgument> parse_input_type(const std::string& text, std::map<std::string, int64_t>& dimensions) {
    auto source = std::make_shared<const SourceText>("--input-type", text);
    size_t equals = text.find('=');
    std::string name = text.substr(0, std::min(equals, text.size()));
    while (!name.empty() && is_space(name.back())) name.pop_back();
    if (equals == std::string::npos || name.empty()) {
        return fail({.code = "cli.argument",
                     .summary = fmt::format("'{}' is no input", text),
                     .place = {source, 0, text.size()},
                     .expected = "NAME=TYPE, such as x=float32[2, 3] or x=int32[200:210, 50:55]"});
    }
    InputArgument input{.name = std::move(name), .type = {}, .value = std::nullopt};
    auto type = TypeReader(source, equals + 1, dimensions).read(input.start);
    if (!type) return fail(std::move(type.error()));
    input.type = std::move(*type);
    return input;
}

Result<std::map<std::string, int64_t>> parse_bindings(const std::vector<std::string>& texts) {
    std::map<std::string, int64_t> bindings;
    for (const std::string& text : texts) {
        for (size_t begin = 0; begin <= text.size();) {
            size_t end = std::min(text.find(',', begin), text.size());
            std::string part = text.substr(begin, end - begin);
            size_t equals = part.rfind('=');
            int64_t value = 0;
            bool number = equals != std::string::npos && equals > 0;
            if (number) {
                const char* last = part.data() + part.size();
                auto [stop, problem] = std::from_chars(part.data() + equals + 1, last, value);
                number = problem == std::errc() && stop == last && value >= 0;
            }
            if (!number) {
                return fail({.code = "cli.binding",
                             .summary = fmt::format("--bind does not understand '{}'", part),
                             .expected = "NAME=NUMBER, separated by commas"});
            }
            bindings[part.substr(0, equals)] = value;
            begin = end + 1;
        }
    }
    return bindings;
}

}  // namespace heddle::explain
