// ONNX models for these tests, as bytes; heddle.h is not included here, whose names are other ones than those within.
#pragma once

#include <string>
#include <vector>

namespace heddle::tests {

// y[batch, 40] = softmax(relu(x[batch, 130] w1 + b1) w2). Elements of both weights and of the bias, row by row.
struct Perceptron {
    static constexpr int inputs = 130, hidden = 150, outputs = 40;
    std::vector<float> w1, b1, w2;
    std::string bytes;

    // In double, for rows of x.
    std::vector<double> expected(const std::vector<float>& x) const;
};
Perceptron perceptron();

// Convolutions, pooling and a large matrix of more than 4 MB over image[n, 3, 20, 20].
std::string image_model();
// y = Reshape(x[a, b], shape), whose shape is an input, too; and `unread`, which nothing reads.
std::string reshape_model();
// y = Gather(table[5, 300], indices[n]).
std::string table_model();
// y = x[3] + w[3], where w is an input that has the value 1, 2, 3.
std::string weighted_model();
// y[n 2^trips] = x[n] with itself behind it, `trips` times; or the list of all on the way.
std::string doubling_model(bool gives_list = false);
// longer[2, n + t, 3] = cache[2, n, 3] with x[2, t, 3] + 1 behind.
std::string cache_model();
std::string one_node_of(const std::string& operator_type);

}  // namespace heddle::tests
