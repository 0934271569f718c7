// A static expression, evaluated over x: float32[batch, 4, 5]; the same text as the other pieces of the language.
#include "fuzz.h"
#include "language/library.h"
#include "symbolic/application.h"
#include "symbolic/environment_state.h"

namespace {

using namespace heddle;

const Template& surroundings() {
    static const Library library = [] {
        Library opened;
        auto added =
            opened.add_source(fuzz::source_of("let: |\n"
                                              "  wrap(i, n) = i < 0 ? i + n : i\n"
                                              "t:\n"
                                              "  params: {axis: \"axis($x) = -1\", word: \"string = 'ab, c'\", "
                                              "numbers: \"int[] = [3, 1, 2]\", absent: \"int = none\"}\n"
                                              "  inputs: {x: \"$dtype[$shape...]\"}\n"
                                              "  index: \"[$shape...]\"\n"
                                              "  outputs: {y: \"$dtype\"}\n"
                                              "  body: \"y = x\"\n"));
        fuzz::require(added.has_value(), "the surroundings load");
        return opened;
    }();
    return **library.find("t");
}

std::string print_all(const std::vector<SyntaxPointer>& statements) {
    std::string text;
    for (const SyntaxPointer& statement : statements) text += print_statement(*statement);
    return text;
}

void evaluate(const Syntax& expression) {
    Environment environment(surroundings());
    environment.budget().steps = 5'000;  // enough for every limit but those of the longest lists, and fast
    BoundInput& input = environment.state().inputs[0];
    input.given = true;
    input.tensors.push_back({"x", {DType::float32, {named_size("batch", 3), 4, 5}}, {}, std::nullopt});
    fuzz::require(bind_application(environment).has_value(), "the surroundings bind");
    auto value = environment.evaluate(expression);
    if (fuzz::fine(value)) fuzz::require(!value->print().empty(), "a value prints");
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string text = fuzz::text_of(data, size);
    std::set<std::string> shown;  // the same text is wrong in the same ways
    auto print_one = [](const SyntaxPointer& syntax) { return print(*syntax); };
    if (auto expression = parse_expression(fuzz::source_of(text)); fuzz::fine(expression, shown)) {
        fuzz::require_round_trip(*expression, parse_expression, print_one);
        evaluate(**expression);
    }
    if (auto pattern = parse_pattern(fuzz::source_of(text)); fuzz::fine(pattern, shown))
        fuzz::require_round_trip(*pattern, parse_pattern, print_one);
    if (auto ipf = parse_ipf(fuzz::source_of(text)); fuzz::fine(ipf, shown))
        fuzz::require_round_trip(*ipf, parse_ipf, print_one);
    if (auto body = parse_body(fuzz::source_of(text)); fuzz::fine(body, shown))
        fuzz::require_round_trip(*body, parse_body, print_all);
    return 0;
}
