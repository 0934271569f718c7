#include "evaluate/evaluate.h"

#include <chrono>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "body_builder.h"

namespace heddle {
namespace {

TensorData random_tensor(std::vector<int64_t> shape, unsigned seed) {
    TensorData data(DType::float32, std::move(shape));
    std::mt19937 random(seed);
    for (int64_t i = 0; i < data.size(); i++)
        data.mutable_as<float>()[i] = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
    return data;
}

struct Outcome {
    std::vector<TensorData> outputs;
    double seconds = 0;
};

Outcome evaluate(const Body& body, const std::vector<TensorData>& inputs, std::vector<TensorData> outputs,
                 Precision precision = Precision::body) {
    auto begin = std::chrono::steady_clock::now();
    auto done = evaluate_body(body, inputs, outputs, precision);
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (!done) ADD_FAILURE() << render(done.error());
    return {outputs, seconds};
}

Body matmul(int64_t m, int64_t n, int64_t k) {
    BodyBuilder b;
    auto i = b.variable("i", m), j = b.variable("j", n), r = b.reduced("k", k);
    auto vi = b.at(i), vj = b.at(j), vk = b.at(r);
    auto product = b.times(b.read(0, DType::float32, {vi, vk}), b.read(1, DType::float32, {vk, vj}));
    b.equation(0, {i, j}, {vi, vj}, b.reduce(Reducer::sum, {r}, product));
    return b.body;
}

void check_matmul(int64_t m, int64_t n, int64_t k) {
    TensorData x = random_tensor({m, k}, 1), w = random_tensor({k, n}, 2);
    Outcome result = evaluate(matmul(m, n, k), {x, w}, {TensorData(DType::float32, {m, n})});
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t r = 0; r < k; r++) sum += x.real_at(i * k + r) * w.real_at(r * n + j);
            ASSERT_NEAR(result.outputs[0].real_at(i * n + j), sum, 1e-4) << i << " " << j;
        }
    }
}

TEST(Evaluate, MatrixProduct) {
    check_matmul(7, 5, 3);
    check_matmul(1, 3, 1000);
    check_matmul(33, 70, 129);
    check_matmul(2, 300, 2);
}

TEST(Evaluate, Softmax) {
    const int64_t rows = 9, columns = 37;
    BodyBuilder b;
    auto r = b.variable("r", rows), j = b.variable("j", columns, Variable::Kind::parallel);
    auto k = b.reduced("k", columns), q = b.reduced("q", columns);
    auto vr = b.at(r), vj = b.at(j), vk = b.at(k), vq = b.at(q);
    auto m = b.reduce(Reducer::maximum, {k}, b.read(0, DType::float32, {vr, vk}));
    auto s = b.reduce(Reducer::sum, {q}, b.scalar(ScalarOp::exp, {b.minus(b.read(0, DType::float32, {vr, vq}), m)}));
    auto e = b.scalar(ScalarOp::exp, {b.minus(b.read(0, DType::float32, {vr, vj}), m)});
    b.equation(0, {r, j}, {vr, vj}, b.scalar(ScalarOp::divide, {e, s}));
    TensorData x = random_tensor({rows, columns}, 3);
    Outcome result = evaluate(b.body, {x}, {TensorData(DType::float32, {rows, columns})});
    for (int64_t row = 0; row < rows; row++) {
        double sum = 0;
        for (int64_t c = 0; c < columns; c++) sum += std::exp(x.real_at(row * columns + c));
        for (int64_t c = 0; c < columns; c++) {
            ASSERT_NEAR(result.outputs[0].real_at(row * columns + c), std::exp(x.real_at(row * columns + c)) / sum,
                        1e-6);
        }
    }
}

}  // namespace
}  // namespace heddle
