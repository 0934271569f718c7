// Numbers as functions of sizes: whatever values are put in, exactly these come out.
#include "artefact/columns.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace heddle::artefact {
namespace {

SizeGrid grid_of(std::vector<Dimension> dimensions) {
    auto grid = SizeGrid::make(std::move(dimensions));
    EXPECT_TRUE(grid) << (grid ? "" : render(grid.error()));
    return grid ? *grid : SizeGrid();
}

// As exported/heddle_program.c does it, written anew.
int64_t value_of(const ColumnBuilder& builder, const SizeGrid& grid, const std::vector<int64_t>& table, int32_t id,
                 int64_t all, size_t rank) {
    const Column& column = builder.columns()[static_cast<size_t>(id)];
    const auto numbers = grid.numbers(all);
    const auto a = static_cast<size_t>(column.a);
    uint64_t x = 0;
    switch (column.form) {
    case Column::Form::constant: break;
    case Column::Form::size: x = static_cast<uint64_t>(grid.dimensions()[a].size(numbers[a])); break;
    case Column::Form::one:
        x = static_cast<uint64_t>(table[static_cast<size_t>(column.b + numbers[a] - builder.first_sizes()[a])]);
        break;
    case Column::Form::all: x = static_cast<uint64_t>(table[static_cast<size_t>(column.b) + rank]); break;
    case Column::Form::product:
        EXPECT_LT(column.a, id);
        EXPECT_LT(column.b, id);
        x = static_cast<uint64_t>(value_of(builder, grid, table, column.a, all, rank)) *
            static_cast<uint64_t>(value_of(builder, grid, table, column.b, all, rank));
        break;
    }
    return static_cast<int64_t>(static_cast<uint64_t>(column.factor) * x + static_cast<uint64_t>(column.offset));
}

using Function = std::function<int64_t(int64_t, int64_t)>;

struct Case {
    Function of;
    Column::Form form;
};

TEST(Columns, KnownFunctionsHaveTheSmallestForm) {
    const SizeGrid grid = grid_of({{"h", 8, 40, 4}, {"w", 1, 9, 1}});
    std::vector<int64_t> sizes(static_cast<size_t>(grid.count()));
    std::iota(sizes.begin(), sizes.end(), int64_t{0});
    const std::vector<Case> cases = {
        {[](int64_t, int64_t) { return int64_t{-7}; }, Column::Form::constant},
        {[](int64_t h, int64_t) { return 3 * h - 5; }, Column::Form::size},
        {[](int64_t, int64_t w) { return w; }, Column::Form::size},
        {[](int64_t, int64_t w) { return (w + 3) / 4; }, Column::Form::one},
        {[](int64_t h, int64_t) { return h * h; }, Column::Form::one},
        {[](int64_t h, int64_t w) { return h * w; }, Column::Form::product},
        {[](int64_t h, int64_t w) { return 64 * h * ((w + 3) / 4); }, Column::Form::product},
        {[](int64_t h, int64_t w) { return h * w + h; }, Column::Form::product},
        {[](int64_t h, int64_t w) { return (h * w + 15) / 16; }, Column::Form::all},
    };
    std::vector<int64_t> table;
    ColumnBuilder builder(grid, sizes, table);
    for (size_t c = 0; c < cases.size(); c++) {
        SCOPED_TRACE(c);
        std::vector<int64_t> values;
        for (int64_t all : sizes) {
            auto bindings = grid.bindings(all);
            values.push_back(cases[c].of(bindings["h"], bindings["w"]));
        }
        const int32_t id = builder.add(values);
        EXPECT_EQ(builder.columns()[static_cast<size_t>(id)].form, cases[c].form) << builder.text(id);
        EXPECT_EQ(builder.add(values), id) << "equal values are one column";
        for (size_t s = 0; s < sizes.size(); s++)
            ASSERT_EQ(value_of(builder, grid, table, id, sizes[s], s), values[s]) << s;
    }
}

TEST(Columns, RandomValuesOfRandomGroupsComeBack) {
    std::mt19937_64 random(3);
    for (int trial = 0; trial < 300; trial++) {
        std::vector<Dimension> dimensions;
        for (size_t d = 0; d < 1 + random() % 3; d++) {
            const auto from = static_cast<int64_t>(random() % 5), step = static_cast<int64_t>(1 + random() % 3);
            dimensions.push_back(
                {"d" + std::to_string(d), from, from + step * static_cast<int64_t>(random() % 5), step});
        }
        const SizeGrid grid = grid_of(dimensions);
        std::vector<int64_t> sizes, table;
        for (int64_t all = 0; all < grid.count(); all++) {
            if (random() % 4 != 0) sizes.push_back(all);
        }
        if (sizes.empty()) sizes.push_back(0);
        ColumnBuilder builder(grid, sizes, table);
        std::vector<std::vector<int64_t>> added;
        std::vector<int32_t> ids;
        for (int c = 0; c < 12; c++) {
            std::vector<int64_t> values;
            const uint64_t kind = random() % 4;
            const auto factor = static_cast<int64_t>(random() % 9) - 4, offset = static_cast<int64_t>(random() % 100);
            for (int64_t all : sizes) {
                int64_t product = 1, sum = 0;
                for (const auto& [name, size] : grid.bindings(all)) product *= size, sum += size;
                values.push_back(kind == 0   ? static_cast<int64_t>(random())
                                 : kind == 1 ? factor * product + offset
                                 : kind == 2 ? factor * (sum / 3)
                                             : product / 7 * factor);
            }
            ids.push_back(builder.add(values));
            added.push_back(std::move(values));
        }
        for (size_t c = 0; c < ids.size(); c++) {
            for (size_t s = 0; s < sizes.size(); s++)
                ASSERT_EQ(value_of(builder, grid, table, ids[c], sizes[s], s), added[c][s])
                    << "trial " << trial << ": " << builder.text(ids[c]);
        }
    }
}

}  // namespace
}  // namespace heddle::artefact
