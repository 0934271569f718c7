// Small programs that were once refused, computed wrongly, or ended the process: as planned, fused and unfused, they give
// what the interpreter does.
#include <gtest/gtest.h>

#include <random>

#include "evaluate/compare.h"
#include "evaluate/evaluate.h"
#include "helpers/running.h"
#include "symbolic/program.h"

namespace heddle::plan {
namespace {

const char* const operators = R"yaml(
offset_gradient:
  doc: Two products, then a sum over the rows of what they give. The first one's lanes are the second one's rows.
  inputs: {x: "$T[$c, $h, $w]", W: "$T[$o, $c, 3, 3]", g: "$T[$o, $h, $w]", a: "int64[9, $h, $w]", b: "int64[9, $h, $w]"}
  index: "[p = 18, $h, $w]"
  outputs: {y: "$T"}
  body: |
    let one = @p % 2 == 1
    let q = (@p - 1) // 2
    let r = @p // 2
    let first = sum(c < $c : sum(o < $o : g[o, @h, @w] * W[o, c, q // 3, q % 3]) * (x[c, a[q, @h, @w], b[q, @h, @w]] ?? 0))
    let second = sum(c < $c : sum(o < $o : g[o, @h, @w] * W[o, c, r // 3, r % 3]) * (x[c, a[r, @h, @w], b[r, @h, @w]] ?? 0))
    y = one || @p == 4 ? (one ? first : 0) + second : 0
selected_twice:
  doc: A scatter's result is joined to something else, and read elsewhere too.
  inputs: {x: "$T[$m, $n]", z: "$T[$m, 2]"}
  outputs: {a: "$T[$m, 2]", b: "$T[$m, 2]"}
  graph: |
    v, i = top_k(x, k: 2)
    a = tanh(v)
    b = add2(v, z)
selected_and_summed:
  inputs: {x: "$T[$m, $n]"}
  outputs: {a: "$T[$m, 2]", b: "$T[2]"}
  graph: |
    v, i = top_k(x, k: 2)
    a = cumsum(v, axis: 1)
    b = reduce_sum(v, axes: [0], keepdims: false)
summed_selection:
  doc: A scan's step joins a scatter's result to its state.
  inputs: {x: "$T[$m, $n]"}
  outputs: {a: "$T[$m, 2]"}
  graph: |
    v, i = top_k(x, k: 2)
    a = cumsum(v, axis: 1)
scans_in_turn:
  doc: A scan over the results of another one, which are an output too.
  inputs: {x: "$T[$m, $n]"}
  outputs: {a: "$T[$m, $n]", b: "$T[$m, $n]"}
  graph: |
    a = tanh(cumsum(x, axis: 1))
    b = cumsum(a, axis: 1)
scans_of_one:
  doc: Two scans over one tensor, along different axes.
  inputs: {x: "$T[$m, $n]"}
  outputs: {a: "$T[$m, $n]", b: "$T[$n, $m]"}
  graph: |
    s = sin(x)
    a = cumsum(s, axis: 0)
    b = cumsum(transpose(s, perm: [1, 0]), axis: 1)
scan_backwards:
  doc: The second scan needs the whole of the first at its first step.
  inputs: {x: "$T[$r, $n]"}
  index: "[$r]"
  outputs: {z: "$T[$r, $n]", y: "$T[$r, $n]"}
  body: |
    scan t < $n:
      a[t] = a[t - 1] + x[@r, t] from 0
      z[@r, t] = tanh(a[t])
    scan s < $n:
      b[s] = b[s - 1] + tanh(a[s]) * tanh(a[$n - 1 - s]) from 1
    y[@r, j] = b[j]
chained:
  inputs: {x: "$T[$r, $n]"}
  index: "[$r]"
  outputs: {y: "$T[$r, $n]"}
  body: |
    scan t < $n:
      a[t] = a[t - 1] + x[@r, t] from 0
    scan s < $n:
      b[s] = b[s - 1] + a[s] from 1
    y[@r, j] = b[j]
two_states:
  inputs: {x: "$T[$n]"}
  index: "[]"
  outputs: {y: "$T[$n]"}
  body: |
    scan t < $n:
      a[t] = a[t - 1] + x[t] from 0
      b[t] = b[t - 1] * x[t] from 1
    y[j] = a[j] + b[j]
crossed:
  inputs: {x: "$T[$n]"}
  index: "[]"
  outputs: {y: "$T[$n]"}
  body: |
    scan t < $n:
      o[t] = x[t] + p[t - 1] from 0
      p[t] = x[t] - o[t] from 0
      y[t] = o[t]
running_log_sum_exp:
  inputs: {x: "$T[$r, $n]"}
  index: "[$r]"
  outputs: {y: "$T[$r, $n]"}
  body: |
    scan t < $n:
      m[t] = max(m[t - 1], x[@r, t]) from x[@r, 0]
      s[t] = s[t - 1] * exp(m[t - 1] - m[t]) + exp(x[@r, t] - m[t]) from 0
    y[@r, j] = m[j] + log(s[j])
deviation:
  doc: Welford's mean and sum of squares.
  inputs: {x: "$T[$n]"}
  index: "[]"
  outputs: {mean: "$T[$n]", squares: "$T[$n]"}
  body: |
    scan t < $n:
      let change = x[t] - u[t - 1]
      u[t] = u[t - 1] + change / (t + 1) from 0
      v[t] = v[t - 1] + change * (x[t] - u[t]) from 0
    mean[j] = u[j]
    squares[j] = v[j]
viterbi:
  doc: The best path's score by state, and where it came from.
  inputs: {x: "$T[$n, $k]", w: "$T[$k, ($k)]"}
  index: "[]"
  outputs: {score: "$T[$k]", path: "int64[$n, $k]"}
  body: |
    scan t < $n:
      best[t, j < $k] = max(i < $k : best[t - 1, i] + w[i, j]) + x[t, j] from 0
      back[t, j < $k] = argmax(i < $k : best[t - 1, i] + w[i, j]) from 0
    score[j] = best[$n - 1, j]
    path[t, j] = back[t, j]
state_space:
  inputs: {u: "$T[$l, $d]", e: "$T[$l, $d]", A: "$T[$d, $n]", B: "$T[$l, $n]", C: "$T[$l, $n]"}
  index: "[$d]"
  outputs: {y: "$T[$l, $d]"}
  body: |
    scan t < $l:
      let step = log(1 + exp(e[t, @d]))
      h[t, n < $n] = exp(step * A[@d, n]) * h[t - 1, n] + B[t, n] * u[t, @d] from 0
      y[t, @d] = sum(n < $n : C[t, n] * h[t, n])
counted:
  doc: A scan of nothing but constants, and a reader of its steps that waits for an input.
  inputs: {x: "$T[$n]"}
  index: "[]"
  outputs: {y: "$T[$n]"}
  body: |
    scan t < $n:
      c[t] = (c[t - 1] + 1) % 3 from 0
      y[t] = x[c[t - 1]]
scattered_beside:
  doc: What a scatter is added to runs along two columns of s, and the scatter's terms along all of them, two by two.
  inputs: {x: "$T[$n, $m]", to: "int64[$m]"}
  outputs: {y: "$T[$n, $n, 2]"}
  graph: |
    s = window_sums(x)
    y = scattered_sums(s, to)
window_sums:
  inputs: {x: "$T[$n, $m]"}
  index: "[i = $m, j = $m, k = $n]"
  outputs: {y: "$T"}
  body: "y = sum(a < 3 : x[@k, @i + a - 1] ?? 0)"
scattered_sums:
  inputs: {x: "$T[$m, ($m), $n]", to: "int64[$m]"}
  index: "[i = $n, j = $n, c = 2]"
  outputs: {y: "$T"}
  body: "y = sum(k < $n : x[0, @c, @i]) + sum(k < $m if to[k] == @j : x[$m - 1 - @i, k, $n - 1 - @i])"
begun_by_another:
  doc: A scan begins with what a step of another one makes, and needs all of that one's steps before its own.
  inputs: {x: "$T[$n, ($n)]"}
  index: "[i = $n, j = $n]"
  outputs: {y: "$T"}
  body: |
    scan t < $n:
      a[t] = a[t - 1] + x[@i, t] from 0
    scan s < $n:
      b[s] = b[s - 1] * a[$n - 1] + x[@j, s] from tanh(a[@j])
    y = b[-1] + 1
waited_for_together:
  doc: A result reads two scans. It cannot join one of them where another equation of the other one waits for that one.
  inputs: {x: "$T[$n]"}
  index: "[i = $n]"
  outputs: {y: "$T[$n, $n]", z: "$T[$n, $n]"}
  body: |
    scan t < $n:
      a[t] = (a[t - 1] < x[@i]) ? a[t - 1] : 1 from 1
    scan s < $n:
      b[s] = argmax(k < $n : c[s - 1] * a[-1]) from 0
      c[s] = 1 from cast(0, $T)
      y[@i, s] = tanh(c[s - 1] + x[b[s]])
    z[@i, j] = max(a[j] / (1 + abs(c[$n - 1])), c[@i])
begun_by_chosen_sums:
  doc: A state begins with no more than sums whose elements the filter chooses; so does the value of another one.
  inputs: {x: "$T[$n]"}
  index: "[]"
  outputs: {y: "$T[$n + 3]"}
  body: |
    scan t < $n:
      b[t, j < ($n + 3)] = sum(k < $n if k // 3 == j : x[k] < a[t - 1, 0] ? x[t] : 1) from sum(k < $n if k // 4 == j : x[k])
      a[t, j < ($n + 3)] = 0.5 * a[t - 1, j] + b[t, j] from sum(k < $n if k // 2 == j : x[k])
    y[j] = a[-1, j] + b[-1, j]
never_read_back:
  doc: A state that no step needs the one before of.
  inputs: {x: "$T[$n]"}
  index: "[]"
  outputs: {y: "$T[$n]", z: "$T[$n]"}
  body: |
    scan t < $n:
      a[t, j < 2] = 1 from 0
      b[t] = tanh(b[t - 1]) + x[t] from 0
      y[t] = b[t]
    z[j] = a[$n - 1, 1] + x[j]
chosen_from_none:
  doc: A sum over the steps of a scan, of which there may be none.
  inputs: {x: "$T[$n]", g: "$T[$k]"}
  index: "[i = $n]"
  outputs: {y: "$T[$n]"}
  body: |
    scan t < $k:
      place[t] = argmax(i < $n if i > place[t - 1] : x[i]) from -1
    y = sum(r < $k if place[r] == @i : g[r])
followed_links:
  doc: At each step terms go where data say, and to the step itself.
  inputs: {source: "int64[$links]", to: "int64[$links]", x: "$T[$n]", w: "$T[$links]"}
  index: "[]"
  outputs: {y: "$T[$n]", z: "$T[$n]", u: "$T[6, $n]"}
  body: |
    scan t < 6:
      let found[i < $n] = sum(k < $links if to[k] == i && w[k] < 1 : r[t - 1, source[k]] * w[k])
      r[t, i < $n] = 0.5 * x[i] + 0.25 * found[i] from x[i]
      d[t, i < $n] = min(d[t - 1, i], min(k < $links if to[k] == i : d[t - 1, source[k]] + w[k] * w[k])) from i == 0 ? 0.0 : 9.0
      c[t, i < $n] = sum(k < $links if source[k] + t == i : w[k]) from 0
      u[t, i] = c[t, i]
    y[i] = r[5, i]
    z[i] = d[5, i]
followed_in_rounds:
  doc: Checks of data are asked before a scan whose steps several cores share.
  inputs: {source: "int64[$links]", to: "int64[$links]", x: "$T[$n]"}
  index: "[]"
  outputs: {y: "$T[$n]"}
  body: |
    scan t < 3:
      let found[i < $n] = sum(k < $links if to[k] == i : r[t - 1, source[k]])
      r[t, i < $n] = 0.5 * found[i] + sum(j < $n : sin(x[j] * r[t - 1, i])) from x[i]
    y[i] = r[2, i]
steps_by_turns:
  doc: The steps of a result do not lie side by side.
  inputs: {x: "$T[$n, ($n)]"}
  index: "[i0 = $n, i1 = $n]"
  outputs: {y: "$T[$n, $n, 2 * ($n + 2)]", z: "$T[$n, $n, 2]"}
  body: |
    scan t < ($n + 2):
      h[t, j < $n] = 1 from 1
      y[@i0, @i1, 2 * t + 0] = 1
      y[@i0, @i1, 2 * t + 1] = h[t, @i0]
    z[@i0, @i1, j] = h[0, @i0] + x[@i0, @i1]
filtered_where_asked:
  doc: What the filter reads lies inside only where the condition holds.
  inputs: {x: "$T[$a, $c]"}
  index: "[i = 16, j = 5]"
  outputs: {y: "$T"}
  body: "y = @i < $c ? max(k < $a if x[k, @i] > 0 && k != @j : x[k, @i]) : 0"
asked_twice:
  doc: The second condition reads what the first one makes sure of, and a filter behind both, too.
  inputs: {x: "$T[$a, $c]"}
  index: "[i = 16]"
  outputs: {y: "$T"}
  body: "y = @i < $c ? (x[0, @i] > 0 ? sum(k < $a if x[k, @i] > 0 : x[k, @i]) : 2) : 3"
asked_in_a_reduction:
  inputs: {x: "$T[$a, $c]"}
  index: "[i = 16]"
  outputs: {y: "$T"}
  body: "y = @i < $c ? sum(k < $a if x[k, @i] > 0 : max(l < $a if x[l, @i] < x[k, @i] : x[l, @i])) : 0"
solved_and_asked:
  doc: The equality says what k is, and where that lies outside the rest is not asked.
  inputs: {x: "$T[$a, $c]"}
  index: "[i = 16, j = $c]"
  outputs: {y: "$T"}
  body: "y = sum(k < $a if x[k, @j] > 0 && k == @i - 1 : x[k, @j])"
selected_among_infinities:
  doc: More elements are chosen than are finite; infinities are worth no less than what the filter leaves out.
  inputs: {x: "$T[$m, $n]"}
  outputs: {a: "$T[$m, $n]", i: "int64[$m, $n]", c: "$T[$m, $n]", j: "int64[$m, $n]"}
  graph: |
    low = masked(x, by: -inf)
    high = masked(x, by: inf)
    a, i = top_k_selected(low, k: $n)
    c, j = top_k_selected(high, k: $n, largest: false)
masked:
  params: {by: "float"}
  inputs: {x: "$T[$s...]"}
  outputs: {y: "$T[$s...]"}
  body: "y = x[@s...] > 0 ? x[@s...] : $by"
diffused:
  doc: Of all steps the last is read, or the last two.
  params: {steps: "int", back: "int"}
  inputs: {x: "$T[$h, $w]"}
  index: "[]"
  outputs: {y: "$T[$h, $w]"}
  body: |
    scan t < $steps:
      u[t, i < $h, j < $w] = 0.5 * u[t - 1, i, j] + 0.5 * (i > 0 && j > 0 ? u[t - 1, i - 1, j - 1] : 0) from x[i, j]
    y[i, j] = u[$steps - 1, i, j] - u[$steps - 1 - $back, i, j]
last_of_crossed:
  doc: Two states that read each other, a sum over one, and a product over both.
  params: {steps: "int"}
  inputs: {x: "$T[$h, $w]"}
  index: "[$h]"
  outputs: {y: "$T[$h]"}
  body: |
    scan t < $steps:
      let all = sum(j < $w : u[t - 1, j] * v[t - 1])
      u[t, j < $w] = 0.5 * u[t - 1, j] + v[t - 1] - all from x[@h, j]
      v[t] = tanh(v[t - 1] + u[t, 0] + all) from 0.5
    y[@h] = v[$steps - 1] + max(j < $w : u[$steps - 1, j])
echoes:
  doc: States that are read many steps back; of rows too, whose steps are kept in turn.
  inputs: {x: "$T[$n, $w]"}
  index: "[]"
  outputs: {y: "$T[$n]", z: "$T[$n]", last: "$T[$w]"}
  body: |
    scan t < $n:
      s[t] = s[t - 1] + x[t, 0] - (u[t - 9] ?? 0) from 0
      u[t] = 0.5 * x[t, 0] + 0.25 * (u[t - 8] ?? 1) from 3
      v[t] = u[t] + 0.5 * (v[t - 33] ?? 2) + (u[t - 12] ?? 0) from 1
      r[t, j < $w] = x[t, j] + 0.25 * (r[t - 17, $w - 1 - j] ?? 1) + 0.125 * (r[t - 30, j] ?? 1) from 3
      y[t] = s[t] + v[t]
    z[i] = v[i - 1] + u[i]
    last[j] = r[$n - 1, j]
bags:
  doc: Conditions of data stand around reductions, and what is made of these.
  inputs: {x: "$T[$v, $d]", ids: "int64[$n]"}
  index: "[$n]"
  outputs: {y: "$T[$n]", z: "$T[$n]", m: "$T[$n]", w: "$T[$n]", b: "int64[$n]"}
  body: |
    let id = ids[@n] - 2
    y = id >= 0 ? 2 * sum(k < $d : x[id, k]) : 1
    z = id >= 0 && x[id, 0] > 0 ? exp(-abs(max(k < $d : x[id, k] * x[id, 0]))) : -1
    m = (id >= 0 ? mean(k < $d : x[id, k]) : 3) + (id >= 0 ? 1 : 5)
    w = id < 0 ? 7 : (sum(k < $d : x[id, k]) > 0 ? sum(k < $d if x[id, k] > 0 : x[id, k]) : -7)
    b = id >= 0 ? argmax(k < $d : x[id, k]) + 1 : -9
masked_updates:
  doc: What data choose may be no element at all; then nothing is asked of the mask there.
  inputs: {x: "$T[$k]", ids: "int64[$k]", m: "$T[$n]"}
  index: "[]"
  outputs: {y: "$T[$n]", z: "$T[$n]"}
  body: |
    scan t < $k:
      s[t, i < $n] = i == ids[t] - 3 && m[i] > 0 ? s[t - 1, i] + x[t] * m[i] : s[t - 1, i] from 0.0
    y[i] = s[$k - 1, i]
    z[i] = sum(k < $k if ids[k] - 3 == i && m[i] > 0 : x[k] * m[i])
asked_by_none:
  doc: Lanes and rows behind the last one have zeros for w.
  inputs: {x: "$T[$n]", f: "int64[$n]", w: "$T[$m]", v: "$T[$n, $d]"}
  index: "[$m]"
  outputs: {y: "$T", z: "$T[$m, $d]"}
  body: |
    y = w + sum(k < $n if w[@m] == 0 : x[f[k] + $n])
    z[@m, j] = sum(k < $n : (w[@m] == 0 ? x[f[k] + $n] : 2) * v[k, j])
no_place:
  doc: The best of terms, of which there may be none.
  inputs: {x: "$T[$n, $d]", first: "int64[$n]", last: "int64[$n]"}
  index: "[n = $n]"
  outputs: {a: "int64[$n]", b: "int64[$n]", c: "int64[$n]", y: "$T[$n]"}
  body: |
    a = argmax(k < $d from first[@n] to last[@n] : x[@n, k])
    b = argmin(i < 3, k < $d if x[@n, k] > 1.5 && i != 1 : x[@n, k] * i)
    c = argmin(k < 1 if x[@n, 0] > 0 : x[@n, k])
    y = x[@n, argmax(k < $d if k >= first[@n] && x[@n, k] < 0 : 1 / (x[@n, k] * 0))] ?? 5
beyond_rows:
  doc: Elements behind the ends of short rows and small matrices, asked for by numbers.
  inputs: {x: "$T[$a, $b, $c]"}
  index: "[q = 8]"
  outputs: {y: "$T[$a, 8, 4]", z: "$T[8, 4]"}
  body: |
    y[p, @q, j] = (x[p, 1, j + 2] ?? 0.5) + (x[p, 0, j - 1] ?? 0.25)
    z[@q, j] = (x[1, j - 1, j + @q % 2] ?? 3) - (x[0, 2, j - 2] ?? 4)
halves:
  doc: What a scan's steps give, behind a half that is no step's.
  inputs: {x: "$T[$n, $w]"}
  index: "[]"
  outputs: {y: "$T[2 * $n]"}
  body: |
    scan t < $n:
      h[t] = argmin(k < $w : x[t, k]) from 0
      y[$n - 1 - t] = (x[t - 2, t] ?? -1)
      y[t + $n] = log(1 + abs(x[t, h[t]]))
extremes_taken:
  doc: The first of those taken, though nothing is worth less than what the filter leaves out.
  inputs: {x: "int64[$n]"}
  index: "[r = 4]"
  outputs: {y: "int64", z: "int64"}
  body: |
    y = argmax(i < $n if x[i] % 4 == @r || i == $n - 1 : lowest(int64))
    z = argmin(i < $n if x[i] % 4 == @r || i == $n - 1 : i % 2 == 0 ? highest(int64) : x[i]) + @r
)yaml";

struct Given {
    std::string name;
    std::vector<int64_t> shape;
    int64_t below = 0;  // integers under it; 0: floats
};

TensorData feed(const Given& given, std::mt19937& random) {
    TensorData data(given.below > 0 ? DType::int64 : DType::float32, given.shape);
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < data.size(); i++) {
        if (given.below > 0)
            data.set_integer(i, static_cast<int64_t>(random() % static_cast<uint64_t>(given.below)));
        else
            data.set_real(i, normal(random));
    }
    return data;
}

void check(const Graph& graph, const std::vector<TensorData>& feeds) {
    auto sound = heddle::verify(graph);
    ASSERT_TRUE(sound) << render(sound.error());
    auto expected = evaluate_graph_bounded(graph, feeds);
    ASSERT_TRUE(expected) << render(expected.error());
    for (bool fuse : {true, false}) {
        auto executable = compiled(plan_of(graph, {.fuse = fuse}));
        ASSERT_TRUE(executable);
        auto found = runtime::Session(executable, std::make_shared<ThreadPool>(2)).run(feeds);
        ASSERT_TRUE(found) << render(found.error());
        for (size_t i = 0; i < found->size(); i++) {
            auto comparison = compare_bounded((*found)[i], (*expected)[static_cast<size_t>(graph.outputs[i])]);
            EXPECT_TRUE(comparison.equal) << (fuse ? "fused: " : "unfused: ") << comparison.text();
        }
    }
}

void check(const std::string& call, const std::vector<Given>& given) {
    static const Library library = library_with(operators);
    SCOPED_TRACE(call);
    std::mt19937 random(5);
    std::vector<ProgramInput> inputs;
    std::vector<TensorData> feeds;
    for (const Given& one : given) {
        SCOPED_TRACE(testing::PrintToString(one.shape));
        inputs.push_back(
            {one.name, {one.below > 0 ? DType::int64 : DType::float32, {one.shape.begin(), one.shape.end()}}});
        feeds.push_back(feed(one, random));
    }
    auto graph = build_program(std::make_shared<SourceText>("call", call), library, inputs);
    ASSERT_TRUE(graph) << render(graph.error());
    check(*graph, feeds);
}

// Steps of tasks are whole panels of an operand that is packed for the lanes of one phase, whatever another phase's rows
// would like.
TEST(WholePrograms, TheLanesOfOnePhaseAreTheRowsOfAnother) {
    check("y = offset_gradient(x, W, g, a, b)", {{"x", {16, 14, 14}},
                                                 {"W", {16, 16, 3, 3}},
                                                 {"g", {16, 14, 14}},
                                                 {"a", {9, 14, 14}, 14},
                                                 {"b", {9, 14, 14}, 14}});
}

TEST(WholePrograms, AScatterThatSeveralRead) {
    check("a, b = selected_twice(x, z)", {{"x", {4, 4}}, {"z", {4, 2}}});
    check("a, b = selected_and_summed(x)", {{"x", {4, 5}}});
    check("a = summed_selection(x)", {{"x", {4, 4}}});
    check("y = scattered_beside(x, to)", {{"x", {4, 48}}, {"to", {48}, 4}});
}

TEST(WholePrograms, ScansAmongScans) {
    for (int64_t n : {0, 1, 2, 8}) {
        for (int64_t m : {0, 1, 3}) {
            const std::vector<Given> x = {{"x", {m, n}}};
            check("a, b = scans_in_turn(x)", x);
            check("a, b = scans_of_one(x)", x);
            check("z, y = scan_backwards(x)", x);
            check("y = chained(x)", x);
        }
    }
}

TEST(WholePrograms, SeveralStatesReadBehindTheirScan) {
    for (int64_t n : {1, 7}) {
        check("y = two_states(x)", {{"x", {n}}});
        check("y = crossed(x)", {{"x", {n}}});
        check("y = running_log_sum_exp(x)", {{"x", {3, n}}});
        check("m, s = deviation(x)", {{"x", {n}}});
        check("s, f = viterbi(x, w)", {{"x", {n, 3}}, {"w", {3, 3}}});
        check("y = state_space(u, e, A, B, C)",
              {{"u", {n, 3}}, {"e", {n, 3}}, {"A", {3, 4}}, {"B", {n, 4}}, {"C", {n, 4}}});
    }
}

TEST(WholePrograms, ScansOfWhichTheLastStepsAreRead) {
    for (int steps : {0, 1, 2, 3, 10}) {
        for (int back : {0, 1, 2}) {
            if (back > steps) continue;
            check("y = diffused(x, steps: " + std::to_string(steps) + ", back: " + std::to_string(back) + ")",
                  {{"x", {5, 37}}});
        }
        check("y = last_of_crossed(x, steps: " + std::to_string(steps) + ")", {{"x", {35, 3}}});
    }
}

TEST(WholePrograms, StatesThatAreReadManyStepsBack) {
    for (int64_t n : {1, 5, 40, 301}) {
        for (int64_t w : {3, 100}) check("y, z, last = echoes(x)", {{"x", {n, w}}});
    }
}

// On all sides of what a condition must pay for to be asked before a loop.
TEST(WholePrograms, ConditionsOfDataAroundReductions) {
    for (int64_t n : {1, 5, 70}) {
        for (int64_t d : {1, 3, 63, 64, 200})
            check("y, z, m, w, b = bags(x, ids)", {{"x", {9, d}}, {"ids", {n}, 11}});
    }
}

TEST(WholePrograms, UpdatesOfNoElement) {
    for (int64_t k : {1, 30})
        for (int64_t n : {1, 5, 100})
            check("y, z = masked_updates(x, f, m)", {{"x", {k}}, {"f", {k}, n + 7}, {"m", {n}}});
}

TEST(WholePrograms, IndicesThatOnlyMissingLanesAndRowsAskFor) {
    for (int64_t m : {1, 2, 5, 19, 67})
        for (int64_t n : {1, 4, 40})
            for (int64_t d : {1, 3, 35})
                check("y, z = asked_by_none(x, f, w, v)",
                      {{"x", {n}}, {"f", {n}, n}, {"w", {m}}, {"v", {n, d}}});
}

TEST(WholePrograms, TheBestOfNoTerms) {
    for (int64_t n : {1, 7, 40})
        for (int64_t d : {1, 2, 33, 200})
            check("a, b, c, y = no_place(x, f, t)", {{"x", {n, d}}, {"f", {n}, d + 1}, {"t", {n}, d + 1}});
}

TEST(WholePrograms, NumbersBehindTheEndsOfRows) {
    for (int64_t a : {2, 40})
        for (int64_t b : {3, 5})
            for (int64_t c : {1, 2, 3, 4, 7}) check("y, z = beyond_rows(x)", {{"x", {a, b, c}}});
}

TEST(WholePrograms, StepsBehindAHalfThatIsNone) {
    for (int64_t n : {1, 2, 5}) check("h = halves(x); y = add(h, b)", {{"x", {n, 33}}, {"b", {2 * n}}});
}

// A thousand steps of a megabyte each.
TEST(WholePrograms, StepsThatNobodyReadsAreNotKept) {
    auto graph = build_program(std::make_shared<SourceText>("call", "y = diffused(x, steps: 1000, back: 1)"),
                               library_with(operators), {{"x", {DType::float32, {512, 512}}}});
    ASSERT_TRUE(graph) << render(graph.error());
    const plan::Plan plan = plan_of(*graph);
    EXPECT_LT(plan.workspace_bytes + plan.scratch_bytes, 5 << 20);
}

TEST(WholePrograms, AScanThatIsPrepared) { check("y = counted(x)", {{"x", {5}}}); }

TEST(WholePrograms, AReductionOverNoSteps) {
    for (int64_t k : {0, 2}) check("y = chosen_from_none(x, g)", {{"x", {4}}, {"g", {k}}});
}

TEST(WholePrograms, InitialValues) {
    for (int64_t n : {1, 2, 4, 5}) {
        check("y, z = never_read_back(x)", {{"x", {n}}});
        check("y = begun_by_another(x)", {{"x", {n, n}}});
        check("y, z = waited_for_together(x)", {{"x", {n}}});
        check("y = begun_by_chosen_sums(x)", {{"x", {n}}});
    }
}

// A reduction is an equation over all points, and nothing that it reads may lie outside where nobody asks for it.
TEST(WholePrograms, AFilterIsReadOnlyWhereItIsAsked) {
    for (const char* name : {"filtered_where_asked", "asked_twice", "asked_in_a_reduction", "solved_and_asked"})
        check(std::string("y = ") + name + "(x)", {{"x", {7, 3}}});
}

TEST(WholePrograms, AScatterAtEachStep) {
    for (int64_t n : {1, 7, 40})
        for (int64_t links : {1, 5, 200})
            check("y, z, u = followed_links(a, b, x, w)",
                  {{"a", {links}, n}, {"b", {links}, n}, {"x", {n}}, {"w", {links}}});
}

TEST(WholePrograms, ChecksAheadOfRounds) {
    check("y = followed_in_rounds(a, b, x)", {{"a", {500}, 200}, {"b", {500}, 200}, {"x", {200}}});
}

TEST(WholePrograms, StepsByTurns) {
    for (int64_t n : {1, 4}) check("y, z = steps_by_turns(x)", {{"x", {n, n}}});
}

TEST(WholePrograms, AFilterTakesNeutralTerms) {
    for (int64_t n : {1, 2, 7, 40}) {
        check("a, i, c, j = selected_among_infinities(x)", {{"x", {3, n}}});
        check("y, z = extremes_taken(x)", {{"x", {n}, 100}});
    }
}

// What one step reads of a constant initial state is constant, but the scan is not.
TEST(WholePrograms, OneStepFromAConstantState) {
    for (const char* layer : {"rnn", "gru", "lstm"}) {
        SCOPED_TRACE(layer);
        const int64_t gates = layer == std::string("rnn") ? 1 : layer == std::string("gru") ? 3 : 4;
        heddle::Session session(library());
        TensorId x = session.add_input("x", {DType::float32, {1, 2, 3}});
        TensorId w = session.add_constant("w", random_tensor({1, 4 * gates, 3}, 1));
        TensorId r = session.add_constant("r", random_tensor({1, 4 * gates, 4}, 2));
        TensorId h = session.add_constant("h", random_tensor({1, 2, 4}, 3));
        std::vector<Argument> arguments = {x, w, r, {}, {}, h};
        if (gates == 4) arguments.emplace_back(h);
        const TensorId y = call(session, layer, arguments);
        check(session.finish({y}), {random_tensor({1, 2, 3}, 4)});
    }
}

// A constant index outside is the model's mistake, told when it runs; where a selection skips it, it is none.
TEST(WholePrograms, AConstantIndexOutside) {
    for (int64_t rows : {1, 3}) {
        for (const std::vector<int64_t>& indices : {std::vector<int64_t>{5}, {1, 2, 3}, {-7, -9}}) {
            TensorData at(DType::int64, {static_cast<int64_t>(indices.size())});
            for (size_t i = 0; i < indices.size(); i++) at.set_integer(static_cast<int64_t>(i), indices[i]);
            heddle::Session session(library());
            TensorId x = session.add_input("x", {DType::float32, {rows}});
            const Size count = static_cast<int64_t>(indices.size());
            const TensorId y = call(session, "gather", {x, session.add_input("at", {DType::int64, {count}})});
            // Not known when the operator is applied: that would refuse it.
            Graph graph = session.finish({y});
            graph.tensors[static_cast<size_t>(graph.inputs.back())].constant = std::move(at);
            graph.inputs.pop_back();
            const std::vector<TensorData> feeds = {random_tensor({rows}, 4)};
            EXPECT_FALSE(evaluate_graph_bounded(graph, feeds));
            for (bool fuse : {true, false}) {
                auto executable = compiled(plan_of(graph, {.fuse = fuse}));
                ASSERT_TRUE(executable);
                auto found = runtime::Session(executable, std::make_shared<ThreadPool>(1)).run(feeds);
                ASSERT_FALSE(found);
                EXPECT_EQ(found.error().front().code, "runtime.index_out_of_range");
            }
        }
    }
}

}  // namespace
}  // namespace heddle::plan
