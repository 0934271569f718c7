// Declared projections of random affine bodies: accepted where every read of every point lies in the declared box, as
// enumeration has it; else refused with a point, a coordinate that it reads there, and the box.
#include <algorithm>
#include <random>
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "helpers/library.h"
#include "symbolic/session.h"

namespace heddle {
namespace {

constexpr int64_t extent = 64, terms = 2;  // of the tensor's dimensions, and of the sum

struct Declared {
    std::vector<int64_t> index;  // extents
    std::vector<std::vector<std::vector<int64_t>>>
        reads;                                     // by read and dimension: index coefficients, that of k, offset
    std::vector<std::vector<int64_t>> projection;  // by dimension
    std::vector<int64_t> offset, shape;

    explicit Declared(uint32_t seed) : random_(seed) {
        const size_t rank = 1 + below(2), axes = 1 + below(2);
        for (size_t axis = 0; axis < axes; axis++) index.push_back(static_cast<int64_t>(1 + below(4)));
        std::vector<std::vector<int64_t>> shared(rank);
        for (auto& row : shared)
            for (size_t axis = 0; axis < axes; axis++) row.push_back(static_cast<int64_t>(below(4)));
        reads.resize(1 + below(2));
        for (auto& read : reads) {
            for (auto row : shared) {
                row.push_back(static_cast<int64_t>(below(3)));      // of k
                row.push_back(static_cast<int64_t>(4 + below(4)));  // the offset
                read.push_back(row);
            }
        }
        for (const auto& row : shared) {
            projection.push_back(row);
            if (below(8) == 0) projection.back()[0] += 1;
            offset.push_back(static_cast<int64_t>(2 + below(4)));
            shape.push_back(static_cast<int64_t>(4 + below(6)));
        }
    }

    std::string text() const {
        std::string maps, body;
        for (const auto& row : projection)
            maps += fmt::format("{}[{}]", maps.empty() ? "" : ", ", fmt::join(row, ", "));
        for (const auto& read : reads) {
            std::vector<std::string> coordinates;
            for (const auto& row : read) {
                std::string coordinate = fmt::format("{} + {} * k", row.back(), row[index.size()]);
                for (size_t axis = 0; axis < index.size(); axis++)
                    coordinate += fmt::format(" + {} * @i{}", row[axis], axis);
                coordinates.push_back(std::move(coordinate));
            }
            body += fmt::format("{}x[{}]", body.empty() ? "" : " + ", fmt::join(coordinates, ", "));
        }
        std::vector<std::string> axes, dimensions(projection.size(), fmt::format("{}", extent));
        for (size_t axis = 0; axis < index.size(); axis++) axes.push_back(fmt::format("i{} = {}", axis, index[axis]));
        return fmt::format(
            "t:\n  inputs: {{x: {{shape: \"[{}]\", dtype: \"$T\", ipf: {{affineMap: {{projection: [{}], "
            "offset: [{}]}}, shape: [{}]}}}}}}\n  index: \"[{}]\"\n  outputs: {{y: \"$T\"}}\n"
            "  body: \"y = sum(k < {} : {})\"\n",
            fmt::join(dimensions, ", "), maps, fmt::join(offset, ", "), fmt::join(shape, ", "), fmt::join(axes, ", "),
            terms, body);
    }

    int64_t start(size_t dimension, const std::vector<int64_t>& point) const {
        int64_t sum = offset[dimension];
        for (size_t axis = 0; axis < point.size(); axis++) sum += projection[dimension][axis] * point[axis];
        return sum;
    }
    std::vector<int64_t> read_at(size_t dimension, const std::vector<int64_t>& point) const {
        std::vector<int64_t> values;
        for (const auto& read : reads) {
            for (int64_t k = 0; k < terms; k++) {
                const auto& row = read[dimension];
                int64_t sum = row.back() + row[index.size()] * k;
                for (size_t axis = 0; axis < point.size(); axis++) sum += row[axis] * point[axis];
                values.push_back(sum);
            }
        }
        return values;
    }
    bool inside(size_t dimension, const std::vector<int64_t>& point) const {
        const int64_t first = start(dimension, point);
        return std::ranges::all_of(read_at(dimension, point),
                                   [&](int64_t at) { return at >= first && at < first + shape[dimension]; });
    }
    bool right() const {
        std::vector<int64_t> point(index.size(), 0);
        for (;;) {
            for (size_t dimension = 0; dimension < shape.size(); dimension++)
                if (!inside(dimension, point)) return false;
            size_t axis = 0;
            while (axis < point.size() && ++point[axis] == index[axis]) point[axis++] = 0;
            if (axis == point.size()) return true;
        }
    }

private:
    size_t below(size_t count) { return random_() % count; }
    std::mt19937 random_;
};

std::vector<int64_t> numbers_of(const std::string& text) {
    static const std::regex number("-?[0-9]+");
    std::vector<int64_t> numbers;
    for (auto at = std::sregex_iterator(text.begin(), text.end(), number); at != std::sregex_iterator(); ++at)
        numbers.push_back(std::stoll(at->str()));
    return numbers;
}

TEST(Metakernels12, DeclaredBoxesOfRandomBodiesAreJudgedAsByEnumeration) {
    int accepted = 0, refused = 0;
    for (uint32_t seed = 0; seed < 10'000; seed++) {
        const Declared declared(seed);
        SCOPED_TRACE(declared.text());
        Library library = library_of(declared.text());
        Session session(library);
        TensorId x = session.add_input("x", {DType::float32, std::vector<Size>(declared.shape.size(), extent)});
        auto made = session.apply(**library.find("t"), {x});
        ASSERT_EQ(bool(made), declared.right()) << (made ? "" : render(made.error()));
        if (made) {
            accepted++;
            continue;
        }
        refused++;
        const Diagnostic& problem = made.error()[0];
        ASSERT_EQ(problem.code, "symbolic.ipf");
        // "...: at [1, 0], coordinate 1 is 9", "inside 3 .. 8"
        const size_t begin = problem.summary.find("at [");
        ASSERT_NE(begin, std::string::npos) << problem.summary;
        std::vector<int64_t> found = numbers_of(problem.summary.substr(begin)), box = numbers_of(problem.expected);
        ASSERT_EQ(found.size(), declared.index.size() + 2) << problem.summary;
        ASSERT_EQ(box.size(), 2u) << problem.expected;
        const std::vector<int64_t> point(found.begin(), found.end() - 2);
        const auto dimension = static_cast<size_t>(found[found.size() - 2]);
        const std::vector<int64_t> read = declared.read_at(dimension, point);
        EXPECT_NE(std::ranges::find(read, found.back()), read.end()) << problem.summary;
        EXPECT_EQ(box, (std::vector<int64_t>{declared.start(dimension, point),
                                             declared.start(dimension, point) + declared.shape[dimension] - 1}));
        EXPECT_TRUE(found.back() < box[0] || found.back() > box[1]) << problem.summary;
    }
    EXPECT_GT(accepted, 100);
    EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace heddle
