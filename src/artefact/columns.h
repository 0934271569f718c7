// The numbers of a program (extents, strides, places, counts of tasks) as functions of its sizes. A schedule gives them
// for one size at a time; here the values for all sizes are put into the smallest of a few forms, each of which gives
// back exactly these values. So a program knows by little data what was planned for each size, and guesses nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "artefact/sizes.h"

namespace heddle::artefact {

// factor * x + offset, where x is (arithmetic wraps):
struct Column {
    enum class Form : uint8_t {
        constant,  // nothing
        size,      // the size of dimension a
        one,       // table[b + n], n the number of dimension a's size, counted from the group's least
        all,       // table[b + r], r which size of the group it is
        product,   // column a times column b, which both stand before
    };
    Form form = Form::constant;
    int32_t a = 0, b = 0;
    int64_t factor = 0, offset = 0;
    bool operator==(const Column&) const = default;
};

// Columns over the sizes of a group, in the order of `sizes` (numbers of `grid`, ascending). Tables go into `table`,
// which groups share.
class ColumnBuilder {
public:
    ColumnBuilder(const SizeGrid& grid, const std::vector<int64_t>& sizes, std::vector<int64_t>& table);

    // The column whose values are these, one a size of the group.
    int32_t add(const std::vector<int64_t>& values);

    const std::vector<Column>& columns() const { return columns_; }
    // Of each dimension, the number of its least size in the group.
    const std::vector<int64_t>& first_sizes() const { return first_; }
    // "4 * batch + 64"; "table over batch" where no form is closed.
    std::string text(int32_t column) const;

private:
    using Values = std::vector<int64_t>;
    int32_t keep(const Column& column, const Values& values);
    bool depends_only_on(const Values& values, size_t d) const;
    bool as_size(const Values& values, Column& column) const;
    bool as_product(const Values& values, Column& column);
    Column as_table(const Values& values);
    int32_t table_of(Values rows);

    const SizeGrid& grid_;
    std::vector<int64_t>& table_;
    std::vector<std::vector<int64_t>> numbers_;  // by size of the group: of each dimension
    std::vector<int64_t> first_, last_;
    std::vector<Column> columns_;
    std::vector<Values> values_;  // of each column
    std::map<Values, int32_t> known_, tables_;
};

}  // namespace heddle::artefact
