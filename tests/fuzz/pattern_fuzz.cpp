// Shape patterns matched against shapes. A line for each input: its dimensions, a colon, its pattern; a line that
// begins with a dollar sign is a let:
//
//     2 3 4: $T[$batch..., $n, $c]
//     4: $T[$c]?
//     $m = $n // 2
#include <sstream>

#include "fuzz.h"
#include "language/library.h"
#include "symbolic/application.h"
#include "symbolic/bindings.h"
#include "symbolic/environment_state.h"

namespace {

using namespace heddle;

std::string quoted(const std::string& text) {
    std::string result = "'";
    for (char c : text) result += c == '\'' ? "''" : std::string(1, c);
    return result + "'";
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::istringstream lines(fuzz::text_of(data, size));
    std::string inputs, lets;
    std::vector<std::vector<Size>> shapes;
    for (std::string line; std::getline(lines, line);) {
        size_t colon = line.find(':');
        if (line.starts_with('$')) {
            lets += "    " + line + "\n";
        } else if (colon != std::string::npos) {
            std::istringstream dimensions(line.substr(0, colon));
            shapes.emplace_back();
            for (int64_t dimension = 0; dimensions >> dimension;) shapes.back().emplace_back(dimension);
            inputs += "    x" + std::to_string(shapes.size()) + ": " + quoted(line.substr(colon + 1)) + "\n";
        }
    }
    if (shapes.empty()) return 0;
    Library library;
    auto added = library.add_source(fuzz::source_of("t:\n  params: {axis: \"int = 1\"}\n  inputs:\n" + inputs +
                                                    (lets.empty() ? "" : "  let: |\n" + lets) +
                                                    "  index: \"[]\"\n  outputs: {y: float32}\n  body: \"y = 0\"\n"));
    if (!fuzz::fine(added)) return 0;
    auto found = library.find("t");
    if (!fuzz::fine(found)) return 0;
    Environment environment(**found);
    for (size_t i = 0; i < shapes.size(); i++) {
        BoundInput& input = environment.state().inputs[i];
        input.given = true;
        input.tensors.push_back({input.spec->name, {DType::float32, shapes[i]}, {}, std::nullopt});
    }
    if (fuzz::fine(bind_application(environment))) print_bindings(environment);
    return 0;
}
