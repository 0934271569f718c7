// Which kernels run at symbolic execution, which operations are recorded, what is refused: every flavour, every
// combination of handle and concrete arguments.
#include <fmt/format.h>

#include "flavours_test.h"

namespace heddle::flavours {
namespace {

// A kernel of these parameters, whatever they are.
template <typename R, typename... P>
R marker(Context& context, const P&...) {
    Value value = context.constant(ring_word, words(std::vector<uint64_t>{sizeof...(P), 7}), context.placement());
    if constexpr (std::is_same_v<R, Opened>)
        return context.opened(value);
    else
        return value;
}

Result<std::vector<TensorData>> compute(const Call& call) {
    return {{words(std::vector<uint64_t>{call.inputs.size(), 7})}};
}

std::string template_text(const std::string& name, size_t fixed, bool variadic, const std::string& annotation) {
    std::string inputs, types;
    for (size_t i = 0; i < fixed + variadic; ++i) {
        inputs += fmt::format("{}a{}: \"uint64[$n{}...]{}\"", i ? ", " : "", i, i, i == fixed ? "*" : "");
        types += fmt::format("{}{}", i ? ", " : "", i % 2 ? "HostRing64Tensor" : "Tensor");
    }
    std::string section = inputs.empty() ? "" : fmt::format("  inputs: {{{}}}\n", inputs);
    return fmt::format(
        "{}:\n{}  outputs: {{y: {{shape: \"[2]\", dtype: uint64}}}}\n"
        "  kernels: [\"(Host, ({}) -> HostRing64Tensor) => {} => {}\"]\n",
        name, section, types, annotation, name);
}

struct Case {
    std::string name;
    std::string flavours;  // a letter an argument; "r" alone: [runtime]
    bool variadic = false;
    size_t arity = 0;
};

struct FlavoursTruthTable : FlavoursTest {
    template <typename R, typename... P>
    void add(const std::string& letters) {
        std::string result = std::is_same_v<R, Opened> ? "c" : "t";
        Case made{fmt::format("k{}_{}", letters, result), letters, false, sizeof...(P)};
        ASSERT_TRUE(registry.add(made.name, marker<R, P...>));
        note(made, result);
        if constexpr (sizeof...(P) < 3) {
            add<R, P..., Value>(letters + "t");
            add<R, P..., Opened>(letters + "c");
        }
    }
    void note(const Case& made, const std::string& result) {
        std::string list;
        for (char letter : made.flavours)
            list += fmt::format("{}{}", list.empty() ? "" : ", ", letter == 'c' ? "concrete" : "transparent");
        text += template_text(made.name, made.arity - made.variadic, made.variadic,
                              made.flavours == "r"
                                  ? "[runtime]"
                                  : fmt::format("[{} -> {}]", list, result == "c" ? "concrete" : "transparent"));
        cases.push_back(made);
    }

    // `known` says of each argument whether it is concrete.
    void check(const Case& made, const std::vector<bool>& known, bool composed) {
        Session symbolic = session(Mode::symbolic);
        std::vector<Value> arguments;
        for (size_t i = 0; i < known.size(); ++i) {
            Value handle = *symbolic.input(fmt::format("in{}", i), ring_word, {3}, bob);
            Value constant = *symbolic.constant(ring_word, words({1, 2, 3}), bob);
            Value parts(handle.type(), handle.tensor(), bob, std::vector<Value>{handle});
            arguments.push_back(!known[i] ? handle : composed ? parts : constant);
        }
        std::string expected = "called";
        std::optional<size_t> closed;
        for (size_t i = known.size(); i-- > 0;) {
            if (made.flavours != "r" && made.flavours[std::min(i, made.flavours.size() - 1)] == 'c' && !known[i])
                closed = i;
        }
        if (closed) expected = std::ranges::count(known, true) == 0 ? "recorded" : "flavours.mixed";
        if (made.flavours == "r") expected = "recorded";
        EXPECT_EQ(outcome(symbolic, made.name, alice, arguments), expected) << made.name << " " << known.size();
        ++checked[expected];
        if (expected == "flavours.mixed" && !last) {
            const Diagnostic& problem = last.error().front();
            EXPECT_EQ(parameter(problem, "operator"), made.name);
            EXPECT_EQ(parameter(problem, "placement"), "alice");
            EXPECT_TRUE(parameter(problem, "argument").starts_with("a")) << parameter(problem, "argument");
            EXPECT_TRUE(parameter(problem, "producer").starts_with(fmt::format("in{}, an input", *closed)));
            EXPECT_TRUE(symbolic.computation().operations.empty());
        }
        if (expected == "called") {
            EXPECT_EQ(words(one(last)), (std::vector<uint64_t>{made.arity, 7}));
        }
    }
    void check_eager(const Case& made, size_t count) {
        Session eager = session(Mode::eager);
        std::vector<Value> arguments(count, *eager.constant(ring_word, words({1, 2, 3}), bob));
        EXPECT_EQ(words(one(eager.apply(made.name, alice, arguments))),
                  (std::vector<uint64_t>{made.flavours == "r" ? count : made.arity, 7}));
    }

    std::string text;
    std::vector<Case> cases;
    std::map<std::string, int> checked;
};

TEST_F(FlavoursTruthTable, Flavours1) {
    add<Opened>("");
    add<Value>("");
    for (size_t arity = 0; arity <= 3; ++arity) {
        Case made{fmt::format("runtime{}", arity), "r", false, arity};
        ASSERT_TRUE(registry.add(made.name, compute));
        note(made, "");
    }
    load(text);
    for (const Case& made : cases) {
        for (unsigned bits = 0; bits < 1u << made.arity; ++bits) {
            std::vector<bool> known;
            for (size_t i = 0; i < made.arity; ++i) known.push_back(bits >> i & 1);
            check(made, known, false);
            check(made, known, true);
        }
        check_eager(made, made.arity);
    }
    EXPECT_EQ(cases.size(), 34u);
    // Two results and two kinds of concrete values: 4 (1 + 2*2 + 4*4 + 8*8) and 2 (1 + 2 + 4 + 8) combinations. One
    // runs unless an argument to be opened is a handle: 3^n of the 4^n; with c of n concrete flavours one of the others
    // has handles alone.
    EXPECT_EQ(checked["called"], 4 * (1 + 3 + 9 + 27));
    EXPECT_EQ(checked["recorded"], 4 * (0 + 1 + 3 + 7) + 30);
    EXPECT_EQ(checked["flavours.mixed"], 4 * (85 - 40 - 11));
}

TEST_F(FlavoursTruthTable, Flavours1Variadic) {
    ASSERT_TRUE(registry.add("all_c", marker<Opened, std::vector<Opened>>));
    ASSERT_TRUE(registry.add("all_t", marker<Opened, std::vector<Value>>));
    ASSERT_TRUE(registry.add("first_t", marker<Opened, Value, std::vector<Opened>>));
    ASSERT_TRUE(registry.add("first_c", marker<Opened, Opened, std::vector<Value>>));
    ASSERT_TRUE(registry.add("all_r", compute));
    note({"all_c", "c", true, 1}, "c");
    note({"all_t", "t", true, 1}, "c");
    note({"first_t", "tc", true, 2}, "c");
    note({"first_c", "ct", true, 2}, "c");
    note({"all_r", "r", true, 1}, "c");
    load(text);
    for (const Case& made : cases) {
        for (size_t count = made.arity; count <= 4; ++count) {
            for (unsigned bits = 0; bits < 1u << count; ++bits) {
                std::vector<bool> known;
                for (size_t i = 0; i < count; ++i) known.push_back(bits >> i & 1);
                check(made, known, bits % 3 == 0);
            }
            check_eager(made, count);
        }
    }
    EXPECT_GT(checked["called"], 40);
    EXPECT_GT(checked["recorded"], 35);
    EXPECT_GT(checked["flavours.mixed"], 20);
}

}  // namespace
}  // namespace heddle::flavours
