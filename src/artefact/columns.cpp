#include "artefact/columns.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace heddle::artefact {
namespace {

int64_t wrapped(uint64_t value) { return static_cast<int64_t>(value); }
uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }

// values[i] == factor * rows[i] + offset, with rows as small as they get.
struct Normal {
    int64_t factor = 1, offset = 0;
    std::vector<int64_t> rows;
};

Normal normal_of(const std::vector<int64_t>& values) {
    Normal normal;
    normal.offset = *std::ranges::min_element(values);
    uint64_t divisor = 0;
    for (int64_t value : values) divisor = std::gcd(divisor, bits(value) - bits(normal.offset));
    normal.factor = wrapped(std::max<uint64_t>(divisor, 1));
    for (int64_t value : values)
        normal.rows.push_back(wrapped((bits(value) - bits(normal.offset)) / bits(normal.factor)));
    return normal;
}

}  // namespace

ColumnBuilder::ColumnBuilder(const SizeGrid& grid, const std::vector<int64_t>& sizes, std::vector<int64_t>& table)
    : grid_(grid), table_(table) {
    for (int64_t size : sizes) {
        numbers_.push_back(grid.numbers(size));
        if (first_.empty()) first_ = last_ = numbers_.back();
        for (size_t d = 0; d < first_.size(); d++) {
            first_[d] = std::min(first_[d], numbers_.back()[d]);
            last_[d] = std::max(last_[d], numbers_.back()[d]);
        }
    }
}

int32_t ColumnBuilder::keep(const Column& column, const Values& values) {
    const auto id = static_cast<int32_t>(columns_.size());
    columns_.push_back(column);
    values_.push_back(values);
    known_.emplace(values, id);
    return id;
}

int32_t ColumnBuilder::add(const Values& values) {
    if (const auto found = known_.find(values); found != known_.end()) return found->second;
    Column column;
    if (std::ranges::all_of(values, [&](int64_t value) { return value == values[0]; }))
        column.offset = values[0];
    else if (!as_size(values, column) && !as_product(values, column))
        column = as_table(values);
    return keep(column, values);
}

bool ColumnBuilder::depends_only_on(const Values& values, size_t d) const {
    std::map<int64_t, int64_t> seen;
    for (size_t i = 0; i < values.size(); i++) {
        const auto [found, added] = seen.try_emplace(numbers_[i][d], values[i]);
        if (!added && found->second != values[i]) return false;
    }
    return true;
}

// An affine function of one dimension's size, as far as arithmetic does not wrap.
bool ColumnBuilder::as_size(const Values& values, Column& column) const {
    constexpr int64_t most = int64_t{1} << 40;
    if (std::ranges::any_of(values, [](int64_t value) { return value > most || value < -most; })) return false;
    for (size_t d = 0; d < first_.size(); d++) {
        const Dimension& dimension = grid_.dimensions()[d];
        const auto size = [&](size_t i) { return dimension.size(numbers_[i][d]); };
        size_t other = 1;
        while (other < values.size() && size(other) == size(0)) other++;
        if (other == values.size()) continue;
        const int64_t run = size(other) - size(0), rise = values[other] - values[0];
        if (rise % run != 0) continue;
        const int64_t factor = rise / run, offset = values[0] - factor * size(0);
        bool fits = true;
        for (size_t i = 0; i < values.size() && fits; i++) fits = values[i] == factor * size(i) + offset;
        if (!fits) continue;
        column = {Column::Form::size, static_cast<int32_t>(d), 0, factor, offset};
        return true;
    }
    return false;
}

// Of a column of one dimension and one of the rest, so that no table over all sizes is needed.
bool ColumnBuilder::as_product(const Values& values, Column& column) {
    for (size_t d = 0; d < first_.size(); d++) {
        if (depends_only_on(values, d)) return false;
    }
    constexpr size_t most_tries = 64;
    for (size_t a = 0, tries = 0; a < columns_.size() && tries < most_tries; a++) {
        const auto form = columns_[a].form;
        if (form != Column::Form::size && form != Column::Form::one) continue;
        tries++;
        Values quotients;
        for (size_t i = 0; i < values.size(); i++) {
            const int64_t divisor = values_[a][i];
            if (divisor <= 0 || values[i] % divisor != 0) break;
            quotients.push_back(values[i] / divisor);
        }
        if (quotients.size() != values.size()) continue;
        bool simpler = false;
        for (size_t d = 0; d < first_.size(); d++) simpler = simpler || depends_only_on(quotients, d);
        if (!simpler) continue;
        const int32_t b = add(quotients);
        column = {Column::Form::product, static_cast<int32_t>(a), b, 1, 0};
        return true;
    }
    return false;
}

int32_t ColumnBuilder::table_of(Values rows) {
    const auto [found, added] = tables_.try_emplace(std::move(rows), static_cast<int32_t>(table_.size()));
    if (added) table_.insert(table_.end(), found->first.begin(), found->first.end());
    return found->second;
}

Column ColumnBuilder::as_table(const Values& values) {
    Normal normal = normal_of(values);
    for (size_t d = 0; d < first_.size(); d++) {
        if (!depends_only_on(values, d)) continue;
        Values rows(static_cast<size_t>(last_[d] - first_[d] + 1));
        for (size_t i = 0; i < values.size(); i++)
            rows[static_cast<size_t>(numbers_[i][d] - first_[d])] = normal.rows[i];
        return {Column::Form::one, static_cast<int32_t>(d), table_of(std::move(rows)), normal.factor, normal.offset};
    }
    return {Column::Form::all, 0, table_of(std::move(normal.rows)), normal.factor, normal.offset};
}

std::string ColumnBuilder::text(int32_t id) const {
    const Column& column = columns_[static_cast<size_t>(id)];
    std::string x;
    switch (column.form) {
    case Column::Form::constant: return std::to_string(column.offset);
    case Column::Form::size: x = grid_.dimensions()[static_cast<size_t>(column.a)].name; break;
    case Column::Form::one:
        x = fmt::format("table{} over {}", column.b, grid_.dimensions()[static_cast<size_t>(column.a)].name);
        x = fmt::format("({})", x);
        break;
    case Column::Form::all: x = fmt::format("(table{} over all sizes)", column.b); break;
    case Column::Form::product: x = fmt::format("({}) * ({})", text(column.a), text(column.b)); break;
    }
    if (column.factor != 1) x = fmt::format("{} * {}", column.factor, x);
    if (column.offset != 0) x += fmt::format(" {} {}", column.offset < 0 ? '-' : '+', std::abs(column.offset));
    return x;
}

}  // namespace heddle::artefact
