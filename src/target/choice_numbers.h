// The numbers that choices of fusion and of schedules weigh with, all in one place: for each its unit, what it means,
// and what it was taken from. What follows from a device's figures is computed from the target.
//
// "Measured" is: the prototype of the schedules on an Intel Emerald Rapids (2 cores, AVX-512, L1 48 kB, L2 2 MB), one
// thread, float32, GFLOP/s where nothing else is said. "Design": set with the rule that uses it, and no measurement of
// it alone is known. tests/plan/choices pins what follows from them.
#pragma once

#include <cstdint>

#include "target/target.h"

namespace heddle::choice_numbers {

// ---- caches

// Bytes. What is to stay in a cache beside what streams through it may take half. Design.
inline int64_t kept_in_l1(const Target& target) { return target.l1_bytes / 2; }
inline int64_t kept_in_l2(const Target& target) { return target.l2_bytes / 2; }
// Bytes a second, at the clock by which a core does its operations.
inline double l3_bandwidth_of_a_core(const Target& target) {
    return target.l3_bytes_per_cycle * target.operations / (2 * target.fma_per_cycle * target.lanes(4));
}
// A task's arrays: of a workgroup all of its memory but what lanes exchange values by.
inline constexpr int64_t exchange_bytes = 1024;
inline int64_t kept_in_arrays(const Target& target) {
    return target.has_workgroups() ? target.workgroup_bytes - exchange_bytes : kept_in_l2(target);
}
// What the steps of a scan touch in a band of rows, so that it stays in L2. Measured, 512 x 512, bands of 128 kB, 512
// kB, 1 MB and none: heat 42, 42, 43, 51 ms; waves 41, 44, 44, 81; reaction and diffusion 28, 19, 21, 30.
inline int64_t band_bytes(const Target& target) { return target.l2_bytes / 4; }
inline constexpr int64_t least_steps_of_bands = 2;  // of a block. Design
inline constexpr int64_t cache_line = 64;           // bytes: a prefetch's step
// Addresses so far apart share a set of L1: its sets are found while a page's address is translated, so a way has a
// page's bytes. Of a set's ways so many are left to what is read beside rows. Measured: 256 x 4,096 by 4,096 x 256, 12
// ways: 14 rows 95 GFLOP/s, 12 rows 109, 10 rows 145, 8 rows 144.
inline constexpr int64_t l1_way_bytes = 4096;
inline constexpr int ways_for_others = 2;

// ---- lanes: costs of moving along an axis, for one vector, in loads of neighbours. Design, all of them: what counts
// is their order, which tests/backends/llvm/code_shape_test.cpp sees in the code.

inline constexpr double equal_lanes = 1.05;              // such costs are equal: the last axis of the output is taken
inline constexpr double neighbours = 1;                  // stride one, or an operand that will be packed
inline constexpr double unmoved = 0.6;                   // one element for all lanes: a broadcast, or no load at all
inline constexpr double transposed = 3;                  // 16 loads and 64 shuffles serve 16 vectors
inline constexpr double interleaved = 4;                 // two to four loads and as many permutes
inline constexpr double scattered = 16;                  // a gather or scatter: one access a lane
inline constexpr double chosen_by_data = 20;             // the same, its places computed for each lane
inline constexpr double written_behind_reduction = 0.1;  // share of a write's cost: once for all terms, at most
inline constexpr double terms_like_a_write = 16;         // beyond ten times as many terms, this by their number
inline constexpr double fold_of_lanes = 0.3;             // a reduced axis: its lanes are joined in the end ...
inline constexpr double fold_of_one_result = 6;  // ... which is so much for a result, however few its vectors are
// Vectors that may stand for one behind a reduction, where its result becomes a wider type. Design.
inline constexpr int64_t vectors_behind_reduction = 4;
// Updates at places that data choose: elements along an axis from which vectors pay, and how many at once. Design.
inline constexpr int64_t shortest_update_vector = 8;
inline constexpr int64_t most_update_vectors = 4;
inline constexpr int64_t least_packing_vector =
    32;  // bytes: of those that put some of their lanes side by side by a permute
inline constexpr int64_t least_element =
    4;  // bytes: what moves by gathers and transposes, in lanes of 32 bits at least

// Elements of a row from which a window that slides along it by a few is read as it lies: no other axis is laid
// innermost for its lanes. Design.
inline constexpr int64_t row_of_windows = 32;

// ---- packing

// Rows that use one element of a packed operand, from which a copy of its own pays. Measured: M = 8: 66 in place, 36
// with packing; M = 32: 79 and 105; M = 1024: 82 and 196.
inline constexpr int64_t least_rows_for_packing = 16;

// Terms of a reduction from which a loop begins and ends where data say, and the points that say it are done one by
// one. Below, all terms are computed under masks.
inline constexpr int64_t least_range_of_data = 32;
// Terms of a loop, or updates, before which it is asked whether there are any: some vectors, beside a branch that is
// guessed wrong (16 cycles). Design.
inline constexpr int64_t least_loop_of_condition = 64;
// Where a condition differs between points of a tile, at most at one of so many terms, loops are cut for it. Design.
inline constexpr int64_t share_of_mixed_terms = 4;
// Points of a scan's phase that runs or not: a branch that is guessed wrong costs some 20 cycles. Design.
inline constexpr int64_t least_skipped_points = 128;
// Steps of a scan from which on places that data choose are asked for once, before it: that takes a quarter of a step at
// most. Design.
inline constexpr int64_t least_steps_behind_checks = 4;
// Steps of a scan from which on an array that they read with a stride is laid out anew before it: that takes about as
// long as two steps. Design.
inline constexpr int64_t least_steps_behind_layout = 16;

// ---- tiles: vectors by rows

struct Tile {
    int vectors, rows;
};
// Candidates for the vectors of a row in a contraction, preferred ones first; a later one must be better by its margin.
// Measured, K = 256: 6 x 4 212, 9 x 3 212, 14 x 2 211, 5 x 5 209, 14 x 1 173; so that only 5 wants a second reason.
struct TileCandidate {
    int vectors;
    double at_most;  // of the best cycles so far
};
inline constexpr TileCandidate tile_candidates[] = {{4, 0.95}, {3, 0.95}, {2, 0.95}, {1, 0.95}, {5, 0.9}};
// Two panels (this one and the next) beyond this share of L2 come from L3. Measured: 7 x 7 x 512 under
// 3 x 3, K = 4608: 6 x 4 144 to 165, 14 x 2 191.
inline constexpr double share_for_two_panels = 0.65;
// Rows, in whose place a weight's tile is chosen, so that all consumers share one packing: 7!, which every height that
// a candidate takes with 32 registers divides. Measured: ResNet-50 43.9 ms, with tiles by the true rows 46.0;
// MobileNetV2 4.19 and 4.23.
inline constexpr int64_t rows_of_any_consumer = 5040;
// Both operands move with the lanes (depthwise windows): 14 accumulators hide the latency of 4 cycles at 2 a cycle, and
// neighbouring rows share loads. Design; measured with it: 87 with windows and strides baked in, 60 to 65 without.
inline constexpr Tile depthwise_tile = {2, 7};
// Elements that lie apart are put together for rows that share them. Measured, Zen 3, boxes of 4 by 300 x 1000: single
// rows 0.36 ms, tiles of 4 x 2 0.30, 1 x 4 0.22, 1 x 8 0.17, and the last takes 1.5 times as long to compile.
inline constexpr Tile tile_that_shares = {1, 4};
inline constexpr int few_points = 4;         // of an axis: a vector of their own, terms that are written out. Design
inline constexpr Tile window_tile = {2, 4};  // windows without a second operand: pooling. Design
inline constexpr Tile matrix_vector_tile = {2,
                                            4};  // reduced lanes, rows share the vector. Measured: 33 GB/s of 31 to 35
// Reductions without rows: independent sums hide latency. Measured: sum along the middle axis 13.6 GB/s with a row
// tile, 27 with 8 vectors. What else the nest does takes registers: then 4. Design.
inline constexpr int reduction_vectors = 8;
inline constexpr int busy_reduction_vectors = 4;
inline constexpr int stream_vectors = 4;  // Design
// A phase of a scan's step with so many times fewer points than another one is one vector, under masks. Measured, in
// instructions: elimination 2,121 -> 1,414, inversion 5,873 -> 3,299, in blocks of four steps.
inline constexpr double little_beside = 32;
// Rows of several axes become one axis where that takes less than this share of the cycles. Measured: images 2, 3, 4
// pixels wide 75 -> 100, 133 -> 183, 168 -> 192; from 7 on nothing.
inline constexpr double share_for_fused_rows = 0.93;
// Few rows whose number is named: the heights compiled below a tile's own, 6 4 2 1 or 14 10 7 5 3 2 1. By the model of
// cycles, over 1 to 40 rows, 1.04 and 1.11 of what all heights take (14 13 12 6 3 1 takes 1.19). Each height is code:
// measured, 96 to 231 ms of code generation for all of 14, 15 to 36 for two.
inline constexpr int next_height(int height) { return height * 5 / 7; }

// ---- code written out. Design

inline constexpr int64_t longest_unrolled = 8;   // iterations of a window
inline constexpr int64_t unrolled_updates = 64;  // of a contraction's tile under such windows
// Where windows of neighbouring rows share loads, and without rows.
inline constexpr int64_t unrolled_window_updates = 128;
// Instructions of the terms of a tile, and of those that windows write out. A longer term has fewer vectors and rows:
// so many instructions hide their latencies, and a core takes in the next ones meanwhile.
inline constexpr int64_t tile_code = 384;
inline constexpr int64_t unrolled_code = 1200;
// Both sides of an axis's border: without mask registers (AVX2) two vectors under masks take as long as so many points.
inline constexpr int64_t points_for_masked_vectors = 8;
inline constexpr int most_masks = 4;  // of a block, that stay in registers: AVX-512 has seven
// Of one element of a tile, from which its results are kept in memory and rows are finished one by one in a loop.
inline constexpr int64_t operations_for_row_loop = 40;

// ---- borders. Design

inline constexpr int64_t shortest_cut_axis = 16;  // points that an axis with a border of its own has
// What is decided for most points of an axis may leave out so many of them: this many, or this share.
inline constexpr int64_t thin_border = 16;
inline constexpr int64_t border_share = 8;

// ---- prefetch

// Inner loop, steps ahead into L1. Measured: 7 x 7 x 512 175 -> 191; 14 x 14 x 256 205 -> 212; K 4096 198 -> 214.
inline constexpr int64_t steps_ahead = 16;
// Until memory answers. Measured, Granite Rapids, products of one row with 390 MB of weights, ahead by bytes: 0: 16.6 GB/s,
// 256: 18.2, 1024: 18.9, 2048: 19.1, 4096: 17.6, 8192: 16.8.
inline constexpr double seconds_of_memory = 55e-9;

// ---- tasks

// Of one launch, from which cutting further gains nothing: spares for uneven cores. Design; must not shrink cache
// blocks (measured: 201 -> 150 where it did).
// Cores that run workgroups have several at a time, whose waiting for memory they hide by one another, and begin one in
// no time. Design.
inline int64_t enough_tasks(const Target& target) { return target.has_workgroups() ? 8 * target.cores : 32; }
// Elements of a stream or of rows, at least: some us a task. Design
inline int64_t task_elements(const Target& target) { return target.has_workgroups() ? 1024 : 16384; }
// Elements of the lane axis in one task. Design
inline int64_t longest_stream(const Target& target) { return target.has_workgroups() ? 1024 : 4096; }
inline constexpr int64_t most_row_tiles = 8;     // of one task beside a panel that stays in L2. Design
inline constexpr int64_t least_row_tiles = 2;    // of a row block that L2 bounds. Design
inline constexpr int64_t whole_image_row = 512;  // rows: up to so many are not cut where others lie outside. Design
inline constexpr int64_t transposed_rows = 64;   // of a task. Design
inline constexpr int64_t pooled_row_tiles = 8;   // of a task. Design
// Of a task of several phases with a contraction. Measured on attention: 6 to 192 rows within 10 %; a product and its
// layer norm with 2.4 MB of weights: 6, 12, 24, 48, 128 rows 1103, 973, 909, 800, 744 us.
// Workgroups have less memory, and are to be many: their rows are a tile's.
inline int64_t rows_of_several_phases(const Target& target) { return target.has_workgroups() ? 1 : 48; }
inline constexpr int64_t rounds_of_cores = 2;  // blocks a core that a short launch still has. Design

// Rounds of a scan's phases, between which all cores wait for all: what such a barrier counts in launches, with the
// calls of the kernel around it; vector instructions a cycle, to estimate what a phase takes at least; the share of one
// task's time from which rounds do not pay; by how much the largest part may be more than its share. Design.
inline constexpr double launches_a_barrier = 3;
inline constexpr double instructions_a_cycle = 4;
inline constexpr double share_for_rounds = 0.9;
inline constexpr double even_parts = 1.1;

// Digits of coordinates that are written out, and what that may make of a kernel: a term's instructions in all of its
// copies, and equations. Design.
inline constexpr int64_t longest_written_digit = 4;
inline constexpr int64_t written_terms = 768;
inline constexpr int64_t written_equations = 32;
inline constexpr int64_t shortest_beside_digit = 8;  // the axis that vectors then run along

// Of what a scan reads or writes at one step, where a tile of its lanes runs all steps: a page. Longer rows are walked
// whole. Design.
inline constexpr int64_t longest_row_in_turn = 4096;
// From which on rows are walked whole if they come from behind L2 and are as many as the states, and the more of them
// the better. Measured, Zen 3: 512 steps of 1024 systems of three diagonals, 4 rows of 4 kB in each; tiles of 32 lanes
// that run all steps 0.63 ms, steps of 512 lanes, and their results written by them, 0.34.
inline constexpr int64_t least_streamed_row = 2048;

// Of a scan, for which its inputs are transposed at once: what is read of a row is so long that prefetchers follow, and
// takes 64 kB beside 64 lanes. Measured, in ms, 256 rows of 16,384 steps, two inputs, 64 at a time: 10.0 by 32 steps,
// 8.7 by 128, 4.9 by 256, 4.8 by 512.
inline constexpr int64_t steps_of_block = 256;
inline constexpr int64_t least_steps_for_blocks = 16;  // that a scan must be expected to have: a tile of transposes

// ---- fusion

// What a kernel of its own takes beside its work: the launch, which is measured, and code and data that are cold, loops
// that begin and end. Measured: a norm before a product of 64 x 256 x 128, one thread: 45 us as two kernels, 41 as one.
inline double seconds_of_a_kernel(const Target& target) { return target.launch_seconds + 2.7e-6; }

// An equation under this share of a kernel's work may be computed again by each task. Design.
inline constexpr double light_share = 1.0 / 64;
inline constexpr double largest_tile = 64;  // tasks that walk one operand together: its cost is shared. Design
inline constexpr double register_rows = 6;  // that a contraction wants: the 6 of 6 x 4; fewer cost operations
inline constexpr double rounds_shared = 2;  // tasks a core that a shared operand leaves at least. Design
// A scatter's terms in parts, each with a copy of the result: at most so many parts, each with so many terms for an
// element of its copy (filling and adding up stay a few hundredths of the work; rows of terms go by vectors, and are
// not split), and so many at all (some 30 us). Design.
inline constexpr int64_t most_scatter_parts = 16;
inline constexpr double scatter_terms_an_element = 8;
inline constexpr double scatter_terms_a_task = 1 << 15;
// The terms of a product are cut into parts of so many and more, where each factor serves so many points of the other
// one's axes. A tile of 32 floats by 4096 terms is half a megabyte of a core's L2 (1 or 2 MB); a copy of the result is
// then written and read once for 4096 multiply-adds an element. Design.
inline constexpr double product_shares = 16;
inline constexpr double product_terms_a_task = 4096;
// Reductions by words of several elements: of so many terms, where so many terms share each element that is packed, and
// so many terms in all (some microseconds, which one more launch costs too). Design.
inline constexpr double least_terms_by_words = 32;
inline constexpr double least_uses_of_a_word = 16;
inline constexpr double least_work_by_words = 1 << 20;
// Operations that a term counts whose place data choose: it goes alone, where others go by vectors. Only
// where the scatter has axes for tasks, which it would lose to a reader. Measured: 0.6 to 2 ns,
// where a core does 250 operations a nanosecond.
inline constexpr double scattered_term = 256;

// A small producer joins a large reader only for more than a launch: both in launches. Design, from scores with a mask.
inline constexpr double small_producer = 8;
inline constexpr double hardly_a_launch = 1.1;
// A second contraction joins where the tensor between has more bytes than this many times what stays outside. Design;
// measured: joined where the packed operand then leaves L2, a kernel loses up to 45 %.
inline constexpr double between_two_contractions = 2;

}  // namespace heddle::choice_numbers
