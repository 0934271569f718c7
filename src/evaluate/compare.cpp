#include "evaluate/compare.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace heddle {
namespace {

bool same_element(const TensorData& a, const TensorData& b, int64_t i) {
    if (!is_float(a.dtype()) && !is_float(b.dtype())) return a.integer_at(i) == b.integer_at(i);
    double x = a.real_at(i), y = b.real_at(i);
    return x == y || (std::isnan(x) && std::isnan(y));
}

}  // namespace

BoundedComparison compare_bounded(const TensorData& found, const BoundedTensor& expected) {
    BoundedComparison result;
    const TensorData& value = expected.value;
    bool same_class = is_float(found.dtype()) == is_float(value.dtype());
    if (found.shape() != value.shape() || !same_class) {
        result.failures = std::max<int64_t>(value.size(), 1);
        return result;
    }
    for (int64_t i = 0; i < value.size(); i++) {
        double bound = expected.bound.data() ? expected.bound.real_at(i) : 0;
        if (bound == HUGE_VAL || std::isnan(bound)) {
            result.undecided++;
            continue;
        }
        if (same_element(found, value, i)) continue;
        double difference = std::fabs(found.real_at(i) - value.real_at(i));
        bool passes = bound > 0 && difference <= 4 * bound;  // false for NaN
        if (!passes && result.failures++ == 0) result.worst = i;
        if (bound > 0 && difference / bound > result.worst_ratio) {
            result.worst_ratio = difference / bound;
            if (result.failures == 0) result.worst = i;
        }
    }
    result.equal = result.failures == 0;
    return result;
}

std::string BoundedComparison::text() const {
    return fmt::format("{}: {} elements outside of 4 e, {} undecided, worst |a - b| = {:.3g} e at element {}",
                       equal ? "equal" : "different", failures, undecided, worst_ratio, worst);
}

namespace {

// Rows whose best element differs from the reference's, where the reference's best two are further apart than `margin`.
int64_t count_argmax_differences(const TensorData& a, const TensorData& b, int64_t width, double margin) {
    int64_t differences = 0;
    for (int64_t row = 0; row < b.size(); row += width) {
        int64_t best_a = 0, best_b = 0;
        for (int64_t i = 1; i < width; i++) {
            if (a.real_at(row + i) > a.real_at(row + best_a)) best_a = i;
            if (b.real_at(row + i) > b.real_at(row + best_b)) best_b = i;
        }
        if (best_a == best_b) continue;
        double second = -HUGE_VAL;
        for (int64_t i = 0; i < width; i++) {
            if (i != best_b) second = std::max(second, b.real_at(row + i));
        }
        differences += b.real_at(row + best_b) - second > margin;
    }
    return differences;
}

}  // namespace

ModelTolerance model_tolerance(DType dtype) {
    if (!is_narrow(dtype)) return float_tolerance;
    const double u = info(dtype).format.unit_roundoff;
    return {std::max(half_tolerance.maximum, 2 * u), std::max(half_tolerance.norm, u)};
}

ModelComparison compare_model(const TensorData& a, const TensorData& b, ModelTolerance tolerance) {
    ModelComparison result;
    if (a.shape() != b.shape() || is_float(a.dtype()) != is_float(b.dtype())) return result;
    double squares = 0, difference_squares = 0;
    bool same = true, finite = true;
    for (int64_t i = 0; i < b.size(); i++) {
        bool equal = same_element(a, b, i);
        same = same && equal;
        double x = a.real_at(i), y = b.real_at(i);
        if (!std::isfinite(x) || !std::isfinite(y)) {
            finite = finite && equal;
            continue;
        }
        double difference = std::fabs(x - y);
        result.greatest = std::max(result.greatest, std::fabs(y));
        result.maximum_difference = std::max(result.maximum_difference, difference);
        squares += y * y;
        difference_squares += difference * difference;
    }
    auto ratio = [](double part, double whole) { return part == 0 ? 0 : part / whole; };
    result.relative_maximum = ratio(result.maximum_difference, result.greatest);
    result.relative_norm = ratio(std::sqrt(difference_squares), std::sqrt(squares));
    if (!is_float(b.dtype())) {
        result.equal = same;
        return result;
    }
    int64_t width = b.shape().empty() ? 1 : b.shape().back();
    if (width > 1 && b.size() > 0) {
        result.rows = b.size() / width;
        result.argmax_differences = count_argmax_differences(a, b, width, tolerance.maximum * result.greatest);
    }
    result.equal = finite && result.relative_maximum <= tolerance.maximum && result.relative_norm <= tolerance.norm &&
                   result.argmax_differences == 0;
    return result;
}

std::string ModelComparison::text() const {
    return fmt::format(
        "{}: max|b| {:.4g}, max|a-b| {:.3g} ({:.2e} of max|b|), L2 {:.2e}, argmax differs in {} of {} rows",
        equal ? "equal" : "different", greatest, maximum_difference, relative_maximum, relative_norm,
        argmax_differences, rows);
}

}  // namespace heddle
