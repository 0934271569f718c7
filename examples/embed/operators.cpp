// Operators of your own, compiled and run: C++17 and libheddle.
//   c++ -std=c++17 operators.cpp -lheddle && ./a.out
#include <heddle/heddle.h>

#include <cstdio>

int main() {
    const char* const swish =
        "swish:\n"
        "  params: {beta: \"float = 1.0\"}\n"
        "  inputs: {x: \"$dtype[$shape...]\"}\n"
        "  index: \"[$shape...]\"\n"
        "  outputs: {y: \"$dtype\"}\n"
        "  body: \"y = x * sigmoid($beta * x)\"\n";

    heddle::RuntimeOptions options;
    options.threads = 2;
    auto runtime = heddle::Runtime::create(options).value();
    runtime.add_operators_text("mine", swish).value();
    auto model = runtime.calls("y = swish(x, beta: 2); z = add2(y, x)", {"x"}).value();

    const float x[2][3] = {{-1, 0, 1}, {2, 3, 4}};
    float z[2][3];
    const auto input = heddle::Tensor::of(&x[0][0], {2, 3});
    auto executable = model.compile({input}).value();
    executable.run({input}, {heddle::Tensor::of(&z[0][0], {2, 3})}).value();
    std::printf("z:");
    for (const auto& row : z)
        for (float value : row) std::printf(" %.4f", value);
    std::printf("\n");

    // Errors are values.
    auto wrong = executable.run({heddle::Tensor::of(&x[0][0], {3, 2})});
    if (!wrong) std::printf("%s", wrong.error().text().c_str());
    return 0;
}
