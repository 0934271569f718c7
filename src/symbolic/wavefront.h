// Scans of several axes: `scan i < m, j < n:` computes cells row by row, each from cells before it. The typed body has
// one ordered axis a scan, so the cells are taken in waves: cell (i, j) is of wave c * i + j, where the slope c is the
// least one by which every read is of an earlier wave (Lamport's hyperplanes). Cells of one wave do not need each
// other. A state is an array of waves and of all axes but the last one; `from` fills a border around its cells.
#pragma once

#include <span>
#include <vector>

#include "symbolic/body_elements.h"

namespace heddle {

using CellOffset = InlineVector<int64_t, 4>;  // how far a cell lies before another one, along each axis

// What reads of states ask for, along each axis.
struct WaveReach {
    CellOffset below, above;  // cells of the border before the first one and behind the last one
    CellOffset slopes;        // the last one is 1

    bool operator==(const WaveReach&) const = default;
    void add_border(const CellOffset& offset);
    bool covers(const CellOffset& offset) const;
    int64_t waves_back(const CellOffset& offset) const;
};

// Of offsets that each lead to a cell before: the first one that is not zero is positive. The border has at least the
// cells at -1, as a scan of one axis has step -1.
WaveReach reach_of(size_t axes, std::span<const CellOffset> offsets);
bool leads_before(const CellOffset& offset);

// One scan of several axes. Positions count the cells of the border, cells do not: cell = position - below.
struct Wavefront {
    WaveReach reach;
    std::vector<std::string> names;  // of the axes
    std::vector<Value> extents;      // with the border
    VariableId wave = no_id;
    VariableList positions;                // of all axes but the last one, whose position follows from the wave
    std::vector<Value> cell;               // the present cell, as the template counts
    Value inside;                          // whether it is none of the border
    Value bordered;                        // whether it is of the border or inside
    std::vector<CellOffset> offsets;       // of the reads that have been met
    VariableList written;                  // the axes of what the scan's block writes, once its states are known
    std::vector<CellOffset> written_from;  // offsets of the reads there
};

}  // namespace heddle
