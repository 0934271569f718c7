#include "equations/system.h"

#include "helpers/run_system.h"

#include <gtest/gtest.h>

namespace heddle::equations {
namespace {

Result<System> parse(const std::string& text) { return parse_system(std::make_shared<const SourceText>("test", text)); }

System parsed(const std::string& text) {
    auto system = parse(text);
    EXPECT_TRUE(system.has_value()) << (system ? "" : render(system.error()));
    return system ? std::move(*system) : System();
}

std::string parse_error(const std::string& text) {
    auto system = parse(text);
    return system ? "" : system.error()[0].code;
}

std::string verify_error(const std::string& text) {
    auto sound = verify(parsed(text));
    return sound ? "" : sound.error()[0].code;
}

const char* softmax_text = R"(system softmax
  in x: float32[4, 7]
  local m: float32[4]
  local e: float32[4, 7]
  local s: float32[4]
  out y: float32[4, 7]
  for r < 4:
    m[r] = max(c < 7 : x[r, c])
  for r < 4, c < 7:
    e[r, c] = exp((x[r, c] - m[r]))
  for r < 4:
    s[r] = sum(c < 7 : e[r, c])
  for r < 4, c < 7:
    y[r, c] = (e[r, c] * recip(s[r]))
  outputs y
)";

TEST(SystemText, PrintsWhatItParsed) {
    const System system = parsed(softmax_text);
    EXPECT_EQ(print(system, "softmax"), softmax_text);
    EXPECT_TRUE(verify(system).has_value());
    EXPECT_EQ(system.outputs, std::vector{TensorIndex(4)});
    EXPECT_TRUE(system.tensor(TensorIndex(4)).is_output);
    EXPECT_EQ(system.order(), (std::vector<int32_t>{0, 1, 2, 3}));
    EXPECT_EQ(system.readers()[0], (std::vector<int32_t>{0, 1}));
}

TEST(SystemText, EveryKindOfNodeComesBack) {
    const std::string text = R"(system kinds
  in x: float32[8, 6]
  in h: float16[48]
  in ids: int64[5]
  in 'a/b c''d': uint8[8]
  const w: float32[3] = [1.0, -0.5, inf]
  const k: uint64[1] = [18446744073709551615]
  const large: float32[100]
  opaque o: float32[8] from (x, ids)
  local l: float32[10, 6] prepared kept
  local b: bool[8, 6]
  local u: uint8[8]
  local g: float32[5]
  local a: int64[8]
  out y: float32[48]
  out z: float16[48]
  local v: int64[5]
  for i < 4, j < 6:
    l[i, j] = x[(2 * i), j]
  for i < 6, j < 6:
    l[(i + 4), j] = x[(i - 1), j] ?? -1.5
  for i < 8 named, j < 6:
    b[i, j] = ((x[i, j] < 0.0) || ((i - 3 < 0) ? true : not((x[i, j] == data(2.0)))))
  for i < 8 named 2:
    u[i] = ('a/b c''d'[i] + uint8(3))
  for i < 5:
    g[i] = x[((ids[i] < 0) ? (ids[i] + 8) : ids[i]), 2]
  for i < 8:
    a[i] = argmax(j < 6 : x[i, j])
  for i < 48:
    y[i] = x[(i // 6), (i % 6)]
  for i < 48:
    z[i] = float16((float32(h[i]) * w[0]))
  for i < 5:
    v[i] = value.add(ids[i], min(i, 3))
  outputs y, z
)";
    const System system = parsed(text);
    const std::string once = print(system, "kinds");
    const System again = parsed(once);
    EXPECT_EQ(print(again, "kinds"), once);
    EXPECT_NE(once.find("x[(i - 1), j] ?? -1.5"), std::string::npos) << once;
    EXPECT_NE(once.find("'a/b c''d'"), std::string::npos);
    EXPECT_NE(once.find("i < 8 named 2"), std::string::npos);
    EXPECT_NE(once.find("data(2.0)"), std::string::npos);
    auto sound = verify(system);
    EXPECT_TRUE(sound.has_value()) << render(sound.error());
}

TEST(SystemText, SharedSubexpressionsDoNotMultiply) {
    std::string text = "system s\n  in x: float32[4]\n  out y: float32[4]\n  for i < 4:\n";
    std::string last = "x[i]";
    for (int k = 0; k < 60; k++) {
        text += "    let $" + std::to_string(k) + " = (" + last + " * " + last + ")\n";
        last = "$" + std::to_string(k);
    }
    text += "    y[i] = " + last + "\n  outputs y\n";
    const std::string once = print(parsed(text), "s");
    EXPECT_LT(once.size(), 4000u);
    EXPECT_EQ(print(parsed(once), "s"), once);
}

TEST(SystemText, DeepExpressionsComeBack) {
    System system;
    const TensorIndex x =
        system.add_tensor({.name = "x", .kind = SystemTensor::Kind::input, .shape = {4}});
    const TensorIndex y = system.add_tensor({.name = "y", .shape = {4}, .is_output = true});
    Arena& arena = *system.arena;
    const AxisId i = arena.add_axis({.name = "i", .extent = 4});
    Expr value = arena.read(x, DType::float32, {arena.axis_value(i)});
    for (int k = 0; k < 5000; k++) value = arena.scalar(ScalarOp::exp, DType::float32, {value});
    system.add_equation({.tensor = y, .axes = {i}, .left = {arena.axis_value(i)}, .right = value});
    const std::string once = print(system);
    EXPECT_EQ(print(parsed(once)), once);
}

TEST(SystemText, TermsStandInOneOrderHoweverTheyWereMade) {
    System one, two;
    for (System* system : {&one, &two}) {
        system->inputs.push_back(
            system->add_tensor({.name = "x", .kind = SystemTensor::Kind::input, .shape = {99}}));
        system->add_tensor({.name = "y", .shape = {4, 6}, .is_output = true});
        Arena& arena = *system->arena;
        const AxisId a = arena.add_axis({.name = "a", .extent = 4}), b = arena.add_axis({.name = "b", .extent = 6});
        Expr first = system == &one ? arena.axis_value(a) : arena.modulo(arena.axis_value(b), 4);
        Expr second = system == &one ? arena.modulo(arena.axis_value(b), 4) : arena.axis_value(a);
        Expr at = arena.add(arena.add(first, second), arena.axis_value(b), 2);
        system->add_equation({.tensor = TensorIndex(1),
                              .axes = {a, b},
                              .left = {arena.axis_value(a), arena.axis_value(b)},
                              .right = arena.read(TensorIndex(0), DType::float32, {at})});
    }
    EXPECT_EQ(print(one), print(two));
}

TEST(SystemText, ErrorsPointAtThePlace) {
    auto system = parse("system s\n  in x: float32[4]\n  out y: float32[4]\n  for i < 4:\n    y[i] = x[i] + z[i]\n");
    ASSERT_FALSE(system.has_value());
    EXPECT_EQ(system.error()[0].code, "expr.unknown_name");
    const std::string text = render(system.error());
    EXPECT_NE(text.find("test:5:19"), std::string::npos) << text;
}

TEST(SystemText, BadTextsAreErrors) {
    const std::string head = "system s\n in x: float32[4]\n out y: float32[4]\n";
    EXPECT_EQ(parse_error("kernel"), "equations.syntax");
    EXPECT_EQ(parse_error(head + " for i < 4: y[i] = x[i"), "equations.syntax");
    EXPECT_EQ(parse_error(head + " for i < 4: y[i] = ;"), "equations.syntax");
    EXPECT_EQ(parse_error(head + " for i < 4: y[i] = 'x"), "equations.syntax");
    EXPECT_EQ(parse_error(head + " for i < 99999999999999999999: y[i] = x[i]"), "equations.syntax");
    EXPECT_EQ(parse_error(head + " for i < 4: y[i] = " + std::string(100000, '(')), "equations.syntax");
    EXPECT_EQ(parse_error(head + " for i < 4: y[i] = " + std::string(100000, '-')), "equations.syntax");
    EXPECT_EQ(parse_error(head + " for i < 4: y[i] = x[q]"), "expr.unknown_name");
    EXPECT_EQ(parse_error(head + " for i < 4: y[i] = $0"), "expr.unknown_name");
    EXPECT_EQ(parse_error(head + " for i < 4: y[i] = blur(x[i])"), "expr.unknown_name");
    EXPECT_EQ(parse_error(head + " in x: float32[2]"), "equations.duplicate_name");
    // Complex numbers are taken apart before.
    EXPECT_EQ(parse_error(head + " in z: complex64[2]"), "equations.syntax");
    EXPECT_EQ(parse_error(head + " for i < 4: y[i] = re(x[i])"), "expr.type");
    EXPECT_NE(parse_error(head + " for i < 4: y[i] = complex64(x[i])"), "");
    EXPECT_EQ(parse_error(head + " for i < 4, i < 3: y[i] = x[i]"), "equations.duplicate_name");
    EXPECT_EQ(parse_error(head + " in v: float32[2000000, 2000000]"), "equations.size");
    EXPECT_EQ(parse_error(head + " const c: float32[3] = [1.0]"), "equations.size");
    EXPECT_EQ(parse_error(head + " for i < 4: y[i] = x[i] + 1"), "expr.type");
    EXPECT_EQ(parse_error(head + " for i < 4: y[i] = x[i, i]"), "expr.type");
    EXPECT_EQ(parse_error(head + " for i < 4: y[i] = x[x[i]]"), "expr.type");
    EXPECT_EQ(parse_error(head + " for i < 4: y[i] = i"), "equations.type");
    EXPECT_EQ(parse_error(head + " for i < 4: y[i] = x[i * i]"), "expr.type");
    EXPECT_EQ(parse_error(head + " for i < 4: y[i] = x[i // 0]"), "expr.type");
    EXPECT_EQ(parse_error(head + " for i < 4: y[i] = any(k < 3 : x[i])"), "equations.type");
    EXPECT_EQ(parse_error(head + " for i < 4: x[i] = x[i]"), "equations.syntax");
}

TEST(SystemVerify, BrokenRulesAreNoticed) {
    const std::string head =
        "system s\n in x: float32[4]\n in z: float32[2, 4]\n local t: float32[4]\n out y: float32[4]\n";
    const std::string rest = " for i < 4: t[i] = x[i]\n";
    EXPECT_EQ(verify_error(head + rest + " for i < 4: y[i] = x[i]"), "");
    EXPECT_EQ(verify_error(head + rest + " for i < 3: y[i] = x[i]"), "equations.cover");
    EXPECT_EQ(verify_error(head + rest + " for i < 5: y[i] = x[0]"), "equations.cover");
    EXPECT_EQ(verify_error(head + rest + " for i < 2: y[2 * i] = x[i]"), "equations.cover");
    EXPECT_EQ(verify_error(head + rest + " for i < 2, j < 2: y[2 * i + j] = x[i]"), "");
    EXPECT_EQ(verify_error(head + rest + " for i < 4, j < 2: y[i] = x[i]"), "equations.cover");
    EXPECT_EQ(verify_error(head + rest + " for i < 3: y[i] = x[i]\n for i < 2: y[i + 2] = x[i]"), "equations.cover");
    EXPECT_EQ(verify_error(head + rest + " for i < 3: y[i] = x[i]\n y[3] = x[0]"), "");
    EXPECT_EQ(verify_error(head + rest + " for i < 4: y[i] = x[i + 1]"), "expr.out_of_range");
    EXPECT_EQ(verify_error(head + rest + " for i < 4: y[i] = x[i + 1] ?? 0.0"), "");
    EXPECT_EQ(verify_error(head + rest + " for i < 4: y[i] = i < 3 ? x[i + 1] : 0.0"), "");
    EXPECT_EQ(verify_error(head + " for i < 4: t[i] = y[i]\n for i < 4: y[i] = t[i]"), "equations.cycle");
}

TEST(SystemVerify, ScanStepsReadWhatIsThere) {
    const std::string head =
        "system s\n in x: float32[4, 3]\n local h: float32[5, 3]\n local g: float32[4, 3]\n"
        " out y: float32[4, 3]\n for b < 3: h[0, b] = 0.0\n";
    const std::string sum = " for t < 4 named 1 ordered 0, b < 3: g[t, b] = sum(k < 3 : h[t, k])\n";
    const std::string step = " for t < 4 named 1 ordered 0, b < 3: h[t + 1, b] = g[t, b] + x[t, b]\n";
    const std::string end = " for t < 4, b < 3: y[t, b] = h[t + 1, b]";
    EXPECT_EQ(verify_error(head + sum + step + end), "");
    EXPECT_EQ(verify_error(head + step + sum + end), "");  // the order of a step is found
    auto step_of = [&](const std::string& right) {
        return verify_error(head + sum + " for t < 4 named 1 ordered 0, b < 3: h[t + 1, b] = " + right + "\n" + end);
    };
    EXPECT_EQ(step_of("g[t, b] + h[t, 2 - b]"), "");
    EXPECT_EQ(step_of("g[t, b] + h[t + 1, b]"), "equations.cycle");
    EXPECT_EQ(step_of("g[t, b] + h[4 - t, b]"), "equations.scan");
    EXPECT_EQ(step_of("g[t, b] + (t < 3 ? h[t + 2, b] : 0.0)"), "equations.scan");
    EXPECT_EQ(step_of("g[t, b] + (h[t, b] ?? 0.0)"), "");  // inside: no guard is left
    // Another number of steps; no dimension that counts them; no ordered axis where there is a circle.
    EXPECT_EQ(verify_error(head + sum +
                           " for t < 2 named 1 ordered 0, b < 3: h[t + 1, b] = x[t, b]\n"
                           " for t < 2, b < 3: h[t + 3, b] = x[t, b]\n" +
                           end),
              "equations.scan");
    EXPECT_EQ(verify_error(head +
                           " for t < 4, b < 3: g[t, b] = h[t, b]\n for t < 4, b < 3 named 1 ordered 0:"
                           " h[t + 1, b] = g[t, b]\n" +
                           end),
              "equations.cycle");
    EXPECT_EQ(verify_error(head +
                           " for t < 4, b < 3: g[t, b] = h[t, b]\n for t < 4, b < 3:"
                           " h[t + 1, b] = g[t, b]\n" +
                           end),
              "equations.cycle");
    EXPECT_EQ(verify_error(head +
                           " for t < 4, b < 3: g[t, b] = x[t, b]\n for t < 2, u < 2 named 1 ordered 0, b < 3:"
                           " h[2 * t + u + 1, b] = g[u, b]\n" +
                           end),
              "equations.scan");
}

// What reads the step before comes first, and the value may be replaced, but not where nothing stands before the first step.
TEST(System, EquationsOfAStepHaveAnOrder) {
    auto order_of = [](const std::string& first) {
        return parsed("system s\n in x: float32[4]\n local h: float32[5]\n out y: float32[4]\n" + first +
                      " for t < 4 named 1 ordered 0: y[t] = t < 1 ? 0.0 : h[t]\n"
                      " for t < 4 named 1 ordered 0: h[t + 1] = x[t] + (t < 1 ? 0.0 : y[t])\n outputs y")
            .order();
    };
    EXPECT_EQ(order_of(" h[0] = 1.0\n"), (std::vector<int32_t>{0, 1, 2}));
    // Also where what is made of the step before makes the step: there is no other order.
    EXPECT_EQ(order_of(""), (std::vector<int32_t>{0, 1}));
    auto apart = [](const std::string& first) {
        return parsed("system s\n in x: float32[4]\n local h: float32[5]\n out y: float32[4]\n" + first +
                      " for t < 4 named 1 ordered 0: y[t] = t < 1 ? 0.0 : h[t]\n"
                      " for t < 4 named 1 ordered 0: h[t + 1] = x[t]\n outputs y")
            .order();
    };
    EXPECT_EQ(apart(" h[0] = 1.0\n"), (std::vector<int32_t>{0, 1, 2}));
    EXPECT_EQ(apart(""), (std::vector<int32_t>{1, 0}));
}

TEST(SystemText, ScansComeBackAndRun) {
    const std::string text =
        "system s\n in x: float32[3]\n out s: float32[4]\n s[0] = 1.0\n"
        " for t < 3 named 1 ordered 7: s[t + 1] = s[t] * 2.0 + x[t]\n outputs s";
    System system = parsed(text);
    EXPECT_EQ(print(parsed(print(system))), print(system));
    TensorData x(DType::float32, {3});
    for (int64_t i = 0; i < 3; i++) x.set_real(i, static_cast<double>(i));
    auto values = run(system, {x});
    ASSERT_TRUE(values) << render(values.error());
    const TensorData& s = (*values)[static_cast<size_t>(system.outputs[0])];
    for (auto [i, value] : {std::pair{0, 1.0}, {1, 2.0}, {2, 5.0}, {3, 12.0}}) EXPECT_EQ(s.real_at(i), value);
}

TEST(SystemVerify, HandMadeMistakesAreNoticed) {
    auto code_after = [](const auto& change) {
        System system = parsed("system s\n in x: float32[4]\n out y: float32[4]\n for i < 4: y[i] = x[i]\n outputs y");
        change(system);
        auto sound = verify(system);
        return sound ? std::string() : sound.error()[0].code;
    };
    EXPECT_EQ(code_after([](System& s) { s.tensors[1].name = "x"; }), "equations.duplicate_name");
    EXPECT_EQ(code_after([](System& s) { s.equations[0].tensor = TensorIndex(7); }), "equations.reference");
    EXPECT_EQ(code_after([](System& s) { s.equations[0].reduced = s.equations[0].axes; }), "equations.scope");
    EXPECT_EQ(code_after([](System& s) { s.equations[0].axes.clear(); }), "equations.scope");
    EXPECT_EQ(code_after([](System& s) { s.tensors[1].dtype = DType::float64; }), "equations.type");
    EXPECT_EQ(code_after([](System& s) { s.equations[0].right = s.arena->read(TensorIndex(7), DType::float32, {}); }),
              "expr.reference");
    EXPECT_EQ(code_after([](System& s) { s.equations[0].right = s.arena->read(TensorIndex(0), DType::float32, {}); }),
              "expr.type");
    // Systems have two conditions for it.
    Arena written(Building::as_written);
    EXPECT_EQ(code_after([&](System& s) {
                  Expr zero = written.real(DType::float32, 0), inside = written.inside(written.integer(0), 4);
                  s.equations[0].right = written.select(inside, zero, zero);
              }),
              "expr.kind");
}

}  // namespace
}  // namespace heddle::equations
