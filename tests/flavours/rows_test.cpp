// Rows of kernels: mixed vectors, annotations checked when loaded, stages, order, documentation.
#include <fmt/format.h>

#include "flavours_test.h"

namespace heddle::flavours {
namespace {

// ---- a decryption in four levels: the key and the text may each be of any kind, then of a kind, then known

const char* levels = R"yaml(
decrypt:
  inputs: {key: "uint64[$n]", cipher: "uint64[$m]"}
  outputs: {text: "uint64[$m]"}
  kernels:
    - "(HostPlacement, (AnyaesKey, AnyaesTensor) -> HostRing64Tensor)   => [concrete, transparent -> transparent] => open_key"
    - "(HostPlacement, (HostAesKey, AnyaesTensor) -> HostRing64Tensor)  => [transparent, concrete -> transparent] => open_text"
    - "(HostPlacement, (HostAesKey, BlocksTensor) -> HostRing64Tensor)  => [transparent, concrete -> transparent] => open_blocks"
    - "(HostPlacement, (HostAesKey, HostAesTensor) -> HostRing64Tensor) => [concrete, concrete -> concrete]       => decrypt_block"
load:
  inputs: {name: "uint64[]"}
  outputs: {y: {shape: "[2]", dtype: uint64}}
  kernels: ["(HostPlacement, (HostUint64Tensor) -> HostRing64Tensor) => [runtime] => load"]
save:
  inputs: {name: "uint64[]", x: "uint64[$n]"}
  outputs: {done: "bool[]"}
  kernels:
    - "(HostPlacement, (HostUint64Tensor, AnyaesTensor) -> HostBoolTensor)     => [transparent, concrete -> transparent] => save_any"
    - "(HostPlacement, (HostUint64Tensor, HostRing64Tensor) -> HostBoolTensor) => [runtime] => save"
)yaml";

template <size_t position>
Value open_one(Context& context, const Value& key, const Value& text, const Opened& opened) {
    std::vector<Value> arguments = {key, text};
    arguments[position] = opened.part(0);
    return context.apply("decrypt", context.placement(), arguments);
}

// The key is added, as a stand-in for a cipher.
Opened decrypt_block(Context& context, const Opened& key, const Opened& text) {
    TensorData sum = text.data()->clone();
    for (int64_t i = 0; i < sum.size(); ++i) sum.mutable_as<uint64_t>()[i] += key.data()->as<uint64_t>()[0];
    return context.opened(context.constant(ring_word, sum, context.placement()));
}

std::map<uint64_t, TensorData>& disk() {
    static std::map<uint64_t, TensorData> files;
    return files;
}

struct Flavours2 : FlavoursTest {
    void SetUp() override {
        registry.vocabulary.elements["aes"] = DType::uint64;
        registry.vocabulary.elements["anyaes"] = DType::uint64;
        registry.vocabulary.elements["blocks"] = DType::uint64;
        EXPECT_TRUE(registry.add(
            "open_key", +[](Context& context, const Opened& key, const Value& text) {
                return open_one<0>(context, key.value(), text, key);
            }));
        for (const char* name : {"open_text", "open_blocks"}) {
            EXPECT_TRUE(registry.add(
                name, +[](Context& context, const Value& key, const Opened& text) {
                    return open_one<1>(context, key, text.value(), text);
                }));
        }
        EXPECT_TRUE(registry.add("decrypt_block", decrypt_block));
        EXPECT_TRUE(registry.add(
            "load", +[](const Call& call) -> Result<std::vector<TensorData>> {
                auto file = disk().find(call.inputs[0].as<uint64_t>()[0]);
                if (file == disk().end()) return fail(Diagnostic{.code = "test.no_file", .summary = "no such file"});
                return {{file->second}};
            }));
        EXPECT_TRUE(registry.add(
            "save", +[](const Call& call) -> Result<std::vector<TensorData>> {
                disk()[call.inputs[0].as<uint64_t>()[0]] = call.inputs[1];
                return {{TensorData(DType::boolean, {})}};
            }));
        EXPECT_TRUE(registry.add(
            "save_any", +[](Context& context, const Value& name, const Opened& x) {
                return context.apply("save", context.placement(), {name, x.part(0)});
            }));
        load(levels);
    }

    // A value of one part, as a union of kinds holds it.
    static Value wrapped(const std::string& element, const Value& inner) {
        return Value(Type{"Host", element, inner.type().form}, inner.tensor(), inner.placement(),
                     std::vector<Value>{inner});
    }
};

TEST_F(Flavours2, ShareRevealMux) {
    Session symbolic = session(Mode::symbolic);
    Value handle = *symbolic.input("x", ring_word, {2}, alice);
    Value constant = *symbolic.constant(ring_word, words({1, 2}), alice);
    Value shared_handle = *symbolic.input("s", shared_word, {2}, rep);
    // [transparent -> concrete]: nothing is opened, so nothing is recorded or refused.
    EXPECT_EQ(outcome(symbolic, "share", rep, {constant}), "called");
    EXPECT_EQ(outcome(symbolic, "share", rep, {handle}), "called");
    Value shared = one(last);
    // [concrete -> transparent]
    EXPECT_EQ(outcome(symbolic, "reveal", bob, {shared}), "called");
    EXPECT_FALSE(one(last).concrete());
    EXPECT_EQ(outcome(symbolic, "reveal", bob, {shared_handle}), "recorded");
    // [transparent, concrete, concrete -> concrete]: the selector may be either.
    EXPECT_EQ(outcome(symbolic, "mux", rep, {handle, shared, shared}), "called");
    EXPECT_TRUE(one(last).concrete());
    EXPECT_EQ(outcome(symbolic, "mux", rep, {constant, shared, shared}), "called");
    EXPECT_EQ(outcome(symbolic, "mux", rep, {handle, shared_handle, shared_handle}), "recorded");
    Value product = one(symbolic.apply("ring_mul", rep, {shared_handle, shared_handle}));
    EXPECT_EQ(outcome(symbolic, "mux", rep, {handle, shared, product}), "flavours.mixed");
    const Diagnostic& problem = last.error().front();
    EXPECT_EQ(parameter(problem, "operator"), "mux");
    EXPECT_EQ(parameter(problem, "placement"), "rep(alice, bob, carole)");
    EXPECT_EQ(parameter(problem, "argument"), "y");
    EXPECT_TRUE(parameter(problem, "producer").ends_with("the result of ring_mul on rep(alice, bob, carole)"));
    EXPECT_EQ(outcome(symbolic, "mux", rep, {constant, product, product}), "flavours.mixed");
    EXPECT_EQ(parameter(last.error().front(), "argument"), "x");
}

TEST_F(Flavours2, FourLevelsOfDecryption) {
    Session symbolic = session(Mode::symbolic);
    Value key = *symbolic.constant("HostAesKey", words({5}), alice),
          text = *symbolic.constant("HostAesTensor", words({1, 2}), alice);
    Value key_handle = *symbolic.input("key", "HostAesKey", {1}, alice);
    Value text_handle = *symbolic.input("text", "HostAesTensor", {2}, alice);
    Value any_handle = *symbolic.input("any", "HostAnyaesTensor", {2}, alice);
    Value any_key_handle = *symbolic.input("any_key", "HostAnyaesKey", {1}, alice);
    Value blocks_handle = *symbolic.input("blocks", "HostBlocksTensor", {2}, alice);
    auto any = [&](const Value& inner) { return wrapped("anyaes", wrapped("blocks", inner)); };
    auto run = [&](const Value& k, const Value& t) { return outcome(symbolic, "decrypt", alice, {k, t}); };
    // All levels, down to the value.
    EXPECT_EQ(run(wrapped("anyaes", key), any(text)), "called");
    EXPECT_EQ(words(one(last)), (std::vector<uint64_t>{6, 7}));
    // Level by level: opened, recorded, refused.
    EXPECT_EQ(run(any_key_handle, any_handle), "recorded");
    EXPECT_EQ(run(any_key_handle, any(text)), "flavours.mixed");
    EXPECT_EQ(parameter(last.error().front(), "argument"), "key");
    EXPECT_EQ(run(wrapped("anyaes", key_handle), any_handle), "recorded");  // called, and the next level is recorded
    EXPECT_EQ(run(key_handle, any_handle), "recorded");
    EXPECT_EQ(run(key, any_handle), "flavours.mixed");
    EXPECT_EQ(parameter(last.error().front(), "argument"), "cipher");
    EXPECT_EQ(run(key_handle, blocks_handle), "recorded");
    EXPECT_EQ(run(key, blocks_handle), "flavours.mixed");
    EXPECT_EQ(run(key_handle, wrapped("blocks", text_handle)), "recorded");
    EXPECT_EQ(run(key_handle, text_handle), "recorded");
    EXPECT_EQ(run(key, text), "called");
    EXPECT_EQ(run(key_handle, any(text)), "flavours.mixed");  // two levels open, the last cannot
    EXPECT_EQ(parameter(last.error().front(), "argument"), "key");
    EXPECT_EQ(parameter(last.error().front(), "producer"), "key, an input on alice");
}

TEST_F(Flavours2, LoadAndSave) {
    Session symbolic = session(Mode::symbolic), eager = session(Mode::eager);
    disk().clear();
    auto name = [&](Session& session) {
        TensorData data(DType::uint64, {});
        data.mutable_as<uint64_t>()[0] = 9;
        return *session.constant("HostUint64Tensor", data, alice);
    };
    Value x = *eager.constant(ring_word, words({1, 2}), alice);
    EXPECT_EQ(codes_text(eager.apply("load", alice, {name(eager)})), "test.no_file");
    EXPECT_TRUE(eager.apply("save", alice, {name(eager), wrapped("anyaes", x)}));
    EXPECT_EQ(words(one(eager.apply("load", alice, {name(eager)}))), words(x));
    // Never while building: only what runs the computation reads and writes.
    disk().clear();
    Value any = *symbolic.input("any", "HostAnyaesTensor", {2}, alice),
          name_handle = *symbolic.input("n", "HostUint64Tensor", {}, alice);
    EXPECT_EQ(outcome(symbolic, "load", alice, {name(symbolic)}), "recorded");
    EXPECT_EQ(outcome(symbolic, "save", alice, {name(symbolic), *symbolic.constant(ring_word, words({3, 4}), alice)}),
              "recorded");
    EXPECT_TRUE(disk().empty());
    EXPECT_EQ(outcome(symbolic, "save", alice, {name_handle, any}), "recorded");
    EXPECT_EQ(outcome(symbolic, "save", alice, {name(symbolic), any}), "flavours.mixed");
    EXPECT_EQ(parameter(last.error().front(), "argument"), "x");
}

// ---- annotations are checked when they are loaded

struct Flavours3 : FlavoursTest {
    std::string loaded(const std::string& rows, const std::string& more = "") {
        load("t:\n  inputs: {x: \"uint64[$n]\", z: \"uint64[$n]\"}\n  outputs: {y: \"uint64[$n]\"}\n  kernels: [\"" +
             rows + "\"]\n" + more);
        auto found = matrix->find("t");
        return codes_text(found);
    }
    std::string row(const std::string& flavours, const std::string& chain) {
        return loaded("(Host, (HostRing64Tensor, HostUint64Tensor) -> HostRing64Tensor) => " + flavours + " => " +
                      chain);
    }
};

TEST_F(Flavours3, ARowSaysWhatItsKernelDoes) {
    ASSERT_TRUE(registry.add("mixed", +[](Context&, const Value& x, const Opened&) { return x; }));
    ASSERT_TRUE(registry.add("other", +[](Context&, const Opened& x, const Value&) { return x; }));
    ASSERT_TRUE(registry.add("list", +[](Context&, const std::vector<Value>& x) { return x[0]; }));
    EXPECT_EQ(row("[transparent, concrete -> transparent]", "mixed"), "");
    EXPECT_EQ(row("[concrete, transparent -> concrete]", "other"), "");
    EXPECT_EQ(row("[transparent, transparent -> transparent]", "mixed"), "flavours.contradiction");
    EXPECT_EQ(row("[concrete, concrete -> transparent]", "mixed"), "flavours.contradiction");
    EXPECT_EQ(row("[transparent, concrete -> concrete]", "mixed"), "flavours.contradiction");
    EXPECT_EQ(row("[concrete, transparent -> transparent]", "mixed"), "flavours.contradiction flavours.contradiction");
    EXPECT_EQ(row("[runtime]", "mixed"), "flavours.contradiction");
    EXPECT_EQ(row("[transparent, concrete -> transparent]", "prf_key"), "flavours.contradiction");
    EXPECT_EQ(row("[concrete, concrete -> concrete]", "list"), "flavours.contradiction");
    EXPECT_EQ(row("[runtime]", "body"), "flavours.contradiction");  // it has none
    EXPECT_EQ(row("[runtime]", "not_there"), "");                   // documented as not registered
    Session eager = session(Mode::eager), symbolic = session(Mode::symbolic);
    auto apply = [&](Session& session) {
        return session.apply("t", alice,
                             {*session.constant(ring_word, words({1}), alice),
                              *session.constant("HostUint64Tensor", words({1}), alice)});
    };
    EXPECT_EQ(codes_text(apply(eager)), "flavours.unknown_kernel");
    EXPECT_EQ(codes_text(apply(symbolic)), "");  // recorded, for a program that has it
}

TEST_F(Flavours3, WordsAndCounts) {
    std::string two = ") => [runtime] => later";
    EXPECT_EQ(loaded("(Host, (HostRong64Tensor, Tensor) -> HostTensr" + two), "flavours.type_word flavours.type_word");
    EXPECT_EQ(loaded("(Hest, (Tensor, Tensor) -> Tensor" + two), "flavours.type_word");
    EXPECT_EQ(loaded("(Ring64Tensor, (Tensor, Tensor) -> Tensor" + two), "flavours.type_word");
    EXPECT_EQ(loaded("(Host, (Tensor) -> Tensor" + two), "flavours.row_types");
    EXPECT_EQ(loaded("(Host, (Tensor, Tensor) -> (Tensor, Tensor)" + two), "flavours.row_types");
    EXPECT_EQ(loaded("(ReplicatedPlacement, (Tensor, Tensor) -> ReplicatedRing64Tensor) => [runtime] => prf_key"),
              "flavours.contradiction");
    EXPECT_EQ(loaded("(Host, (Tensor, Tensor) -> ReplicatedRing64Tensor" + two), "flavours.row_types");
    const Vocabulary& words = registry.vocabulary;
    auto type = [&](const std::string& word) { return *words.parse(word, {}); };
    EXPECT_EQ(type("HostRing64Tensor"), (Type{"Host", "ring64", "Tensor"}));
    EXPECT_EQ(type("ReplicatedBitArray64"), (Type{"Replicated", "bit", "Array64"}));
    EXPECT_EQ(type("Tensor"), (Type{"", "", "Tensor"}));
    EXPECT_EQ(type("Host"), type("HostPlacement"));
    EXPECT_EQ(type("ReplicatedPlacement"), (Type{"Replicated", "", ""}));
    EXPECT_TRUE(matches(type("Host"), type("HostRing64Tensor")));
    EXPECT_FALSE(matches(type("HostBitArray64"), type("HostBitArray32")));
    for (const char* bad : {"hostring64tensor", "HostArray", "HostBitArray1234567", "Tensor2"})
        EXPECT_EQ(codes_text(words.parse(bad, {})), "flavours.type_word") << bad;
}

TEST_F(Flavours3, KernelsHaveOneName) {
    auto kernel = +[](Context&, const Value& x) { return x; };
    EXPECT_EQ(codes_text(registry.add("body", kernel)), "flavours.kernel_name");
    EXPECT_EQ(codes_text(registry.add("ring_share", kernel)), "flavours.kernel_name");
}

// ---- stages

const char* staged = R"yaml(
share2:
  inputs: {x: "$T[$shape...]"}
  outputs: {y: "uint64[$shape...]"}
  kernels:
    - "(ReplicatedPlacement, (HostRing64Tensor) -> ReplicatedRing64Tensor) => [transparent -> concrete] => ring_kernel"
    - "(ReplicatedPlacement, (HostUint64Tensor) -> ReplicatedRing64Tensor) => [transparent -> concrete] => pre_process_u64 => ring_kernel"
    - "(ReplicatedPlacement, (HostUint32Tensor) -> ReplicatedRing64Tensor) => [transparent -> concrete] => plus_three => twice => ring_kernel"
pre_process_u64:
  inputs: {x: "uint64[$shape...]"}
  index: "[$shape...]"
  outputs: {y: uint64}
  body: "y = x"
  kernels: ["(Host, (HostUint64Tensor) -> HostRing64Tensor) => [runtime] => body"]
plus_three:
  inputs: {x: "uint32[$shape...]"}
  index: "[$shape...]"
  outputs: {y: uint64}
  body: "y = cast(x, uint64) + 3"
  kernels: ["(Host, (HostUint32Tensor) -> HostUint64Tensor) => [runtime] => body"]
twice:
  inputs: {x: "uint64[$shape...]"}
  index: "[$shape...]"
  outputs: {y: uint64}
  body: "y = 2 * x"
  kernels: ["(Host, (HostUint64Tensor) -> HostRing64Tensor) => [runtime] => body"]
reveal2:
  inputs: {x: "uint64[$shape...]"}
  outputs: {y: {shape: "[$shape...]", dtype: bool}}
  kernels: ["(Host, (ReplicatedRing64Tensor) -> HostBitTensor) => [concrete -> transparent] => ring_reveal => ring64_to_uint64 => is_even"]
is_even:
  inputs: {x: "uint64[$shape...]"}
  index: "[$shape...]"
  outputs: {y: bool}
  body: "y = x % 2 == 0"
  kernels: ["(Host, (HostUint64Tensor) -> HostBitTensor) => [runtime] => body"]
reshared:
  inputs: {x: "uint64[$shape...]"}
  outputs: {y: "uint64[$shape...]"}
  kernels: ["(Host, (HostRing64Tensor) -> HostRing64Tensor) => [transparent -> transparent] => same => ring_reveal"]
endless:
  inputs: {x: "uint64[$shape...]"}
  index: "[$shape...]"
  outputs: {y: uint64}
  body: "y = x"
  kernels: ["(Host, (HostUint64Tensor) -> HostUint64Tensor) => [runtime] => endless => body"]
)yaml";

struct Flavours4 : FlavoursTest {
    void SetUp() override {
        ASSERT_TRUE(registry.add(
            "ring_kernel", +[](Context& context, const Value& x) {
                return context.opened(context.apply("share", context.placement(), {x}));
            }));
        load(staged);
    }
    std::vector<std::string> operators(const Session& session) {
        std::vector<std::string> names;
        for (const RecordedOperation& operation : session.computation().operations)
            names.push_back(operation.operator_name);
        return names;
    }
};

TEST_F(Flavours4, OneCastAndTheOperationsOfTheShare) {
    Session eager = session(Mode::eager), cast = session(Mode::symbolic), plain = session(Mode::symbolic);
    constexpr uint64_t most = ~uint64_t{0};
    Value shared = one(eager.apply("share2", rep, {*eager.constant("HostUint64Tensor", words({most, 0}), bob)}));
    EXPECT_EQ(words(one(eager.apply("reveal", alice, {shared}))), (std::vector<uint64_t>{most, 0}));
    EXPECT_TRUE(one(cast.apply("share2", rep, {*cast.input("x", "HostUint64Tensor", {2}, bob)})).concrete());
    EXPECT_TRUE(one(plain.apply("share2", rep, {*plain.input("x", ring_word, {2}, bob)})).concrete());
    auto expected = operators(plain);
    expected.insert(expected.begin(), "pre_process_u64");
    EXPECT_EQ(operators(cast), expected);
    EXPECT_EQ(operators(plain), (std::vector<std::string>{"prf_key", "prf_key", "prf_key", "derive_seed", "ring_random",
                                                          "ring_sub", "derive_seed", "ring_random"}));
    EXPECT_EQ(cast.computation().operations[0].placement.name, "bob");  // where the value is
    // The same in a session of constants: a value that is passed on unopened is converted too.
    Session constants = session(Mode::symbolic);
    one(constants.apply("share2", rep, {*constants.constant("HostUint64Tensor", words({1, 2}), bob)}));
    EXPECT_EQ(operators(constants), expected);
}

TEST_F(Flavours4, StagesComposeFromLeftToRight) {
    Session eager = session(Mode::eager), symbolic = session(Mode::symbolic), local = session(Mode::eager);
    TensorData data(DType::uint32, {2});
    data.set_integer(0, 10);
    data.set_integer(1, 4294967295);
    Value x = *eager.constant("HostUint32Tensor", data, alice);
    Value shared = one(eager.apply("share2", rep, {x}));
    EXPECT_EQ(words(one(eager.apply("reveal", alice, {shared}))), (std::vector<uint64_t>{26, 2 * (4294967295 + 3ull)}));
    Value even = one(eager.apply("reveal2", alice, {shared}));
    EXPECT_EQ(even.type().text(), "HostBitTensor");
    EXPECT_EQ(Opened(even).data()->integer_at(0), 1);
    Value handle = one(symbolic.apply("share2", rep, {*symbolic.input("x", "HostUint32Tensor", {2}, alice)}));
    EXPECT_EQ(operators(symbolic)[0] + " " + operators(symbolic)[1], "plus_three twice");
    Value late = one(symbolic.apply("reveal2", alice, {handle}));
    auto names = operators(symbolic);
    EXPECT_EQ(names[names.size() - 2] + " " + names.back(), "ring64_to_uint64 is_even");
    auto results = run(symbolic.computation(), local, {x}, {late});
    ASSERT_TRUE(results) << render(results.error());
    EXPECT_EQ(Opened(results->front()).data()->integer_at(1), 1);
}

TEST_F(Flavours4, StagesThatAreNone) {
    Session eager = session(Mode::eager);
    EXPECT_EQ(codes_text(matrix->find("reshared")), "flavours.stage");  // there is no operator `same`
    Value x = *eager.constant("HostUint64Tensor", words({1}), alice);
    EXPECT_EQ(codes_text(eager.apply("endless", alice, {x})), "flavours.depth");
    auto stage = [&](const std::string& chain) {
        load(staged +
             std::string("t:\n  inputs: {x: \"uint64[$n]\"}\n  outputs: {y: \"uint64[$n]\"}\n  kernels: [\"(Host, "
                         "(HostUint64Tensor) -> HostRing64Tensor) => ") +
             chain + "\"]\n");
        return codes_text(matrix->find("t"));
    };
    ASSERT_TRUE(registry.add("pass", +[](Context&, const Value& x) { return x; }));
    ASSERT_TRUE(registry.add("open", +[](Context&, const Opened& x) { return x; }));
    EXPECT_EQ(stage("[transparent -> transparent] => pre_process_u64 => pass"), "");
    EXPECT_EQ(stage("[transparent -> transparent] => pass => pass"), "flavours.stage");
    EXPECT_EQ(stage("[transparent -> transparent] => plus_three => pass"), "flavours.stage");  // not of this type
    EXPECT_EQ(stage("[transparent -> transparent] => ring_add => pass"), "flavours.stage");    // two inputs
    EXPECT_EQ(stage("[concrete -> concrete] => pre_process_u64 => open"),
              "flavours.contradiction");  // a handle is opened
    EXPECT_EQ(stage("[concrete -> transparent] => pre_process_u64 => pass"), "flavours.contradiction");
    EXPECT_EQ(stage("[concrete -> concrete] => open => pre_process_u64"), "flavours.contradiction");
}

// ---- order, and what has no row

TEST_F(FlavoursTest, Flavours5) {
    ASSERT_TRUE(registry.add(
        "first", +[](Context& c, const Value&) { return c.constant(ring_word, words({1}), c.placement()); }));
    ASSERT_TRUE(registry.add(
        "second", +[](Context& c, const Value&) { return c.constant(ring_word, words({2}), c.placement()); }));
    ASSERT_TRUE(registry.add(
        "third", +[](Context& c, const Value&) { return c.constant(ring_word, words({3}), c.placement()); }));
    load(R"yaml(
t:
  inputs: {x: "$T[$n]"}
  outputs: {y: {shape: "[1]", dtype: uint64}}
  kernels:
    - "(Host, (HostRing64Tensor) -> Tensor) => [transparent -> transparent] => first"
    - "(Host, (HostTensor) -> Tensor) => [transparent -> transparent] => second"
    - "(Host, (Tensor) -> Tensor) => [transparent -> transparent] => third"
    - "(Host, (HostRing64Tensor) -> Tensor) => [transparent -> transparent] => not_registered"
wrong:
  inputs: {x: "$T[$n]"}
  outputs: {y: "$T[$n]"}
  kernels: ["(Host, (Tensor) -> HostRing64Tensor) => [transparent -> transparent] => first"]
pending:
  inputs: {x: "uint64[$n]"}
  outputs: {y: "uint64[$n]"}
  kernels: ["(ReplicatedPlacement, (Tensor) -> Tensor) => [transparent -> concrete] => assume"]
)yaml");
    Session eager = session(Mode::eager), symbolic = session(Mode::symbolic);
    auto answer = [&](const Value& x) { return words(one(eager.apply("t", alice, {x}))); };
    Value ring = *eager.constant(ring_word, words({9}), bob);
    EXPECT_EQ(answer(ring), (std::vector<uint64_t>{1}));
    EXPECT_EQ(answer(*eager.constant("HostUint64Tensor", words({9}), bob)), (std::vector<uint64_t>{2}));
    EXPECT_EQ(answer(one(eager.apply("share", rep, {ring}))), (std::vector<uint64_t>{3}));
    auto none = eager.apply("t", rep, {ring});
    ASSERT_EQ(codes_text(none), "flavours.no_row");
    EXPECT_EQ(parameter(none.error()[0], "operator"), "t");
    EXPECT_EQ(parameter(none.error()[0], "placement"), "rep(alice, bob, carole)");
    EXPECT_EQ(parameter(none.error()[0], "types"), "(HostRing64Tensor)");
    EXPECT_EQ(codes_text(eager.apply("t", alice, {ring, ring})), "flavours.no_row");
    EXPECT_EQ(codes_text(eager.apply("t", alice, {})), "flavours.no_row");
    EXPECT_EQ(codes_text(eager.apply("not_an_operator", alice, {ring})), "language.unknown_operator");
    // A kernel whose result is not what row and template say.
    EXPECT_EQ(codes_text(eager.apply("wrong", alice, {*eager.constant(ring_word, words({1, 2}), bob)})),
              "flavours.result_type");
    EXPECT_EQ(codes_text(eager.apply("pending", rep, {ring})), "flavours.unknown_kernel");
    // An operator with a body and no rows runs it on a host, whatever is stored as it asks.
    Value sum = one(eager.apply("add2", alice, {ring, ring}));
    EXPECT_EQ(sum.type().text(), ring_word);
    EXPECT_EQ(words(sum), (std::vector<uint64_t>{18}));
    EXPECT_EQ(outcome(symbolic, "add2", alice,
                      {*symbolic.constant(ring_word, words({9}), bob), *symbolic.constant(ring_word, words({9}), bob)}),
              "recorded");
    EXPECT_EQ(codes_text(eager.apply("add2", rep, {ring, ring})), "flavours.no_row");
}

// A kernel that promises a concrete result and gets none from what it applies.
TEST_F(FlavoursTest, Flavours5PromisesAreKept) {
    ASSERT_TRUE(registry.add(
        "assume", +[](Context& context, const Value& x) {
            return context.opened(context.apply("ring_add", context.placement(), {x, x}));
        }));
    load(R"yaml(
t:
  inputs: {x: "uint64[$n]"}
  outputs: {y: "uint64[$n]"}
  kernels: ["(Host, (Tensor) -> HostRing64Tensor) => [transparent -> concrete] => assume"]
)yaml");
    Session eager = session(Mode::eager), symbolic = session(Mode::symbolic);
    EXPECT_EQ(words(one(eager.apply("t", alice, {*eager.constant(ring_word, words({4}), bob)}))),
              (std::vector<uint64_t>{8}));
    EXPECT_EQ(outcome(symbolic, "t", alice, {*symbolic.input("x", ring_word, {1}, bob)}), "flavours.not_concrete");
    EXPECT_TRUE(symbolic.computation().operations.empty());
}

// ---- the matrix as a document

TEST_F(FlavoursTest, Flavours7) {
    load("");
    std::vector<std::string> operators = {"add2", "share", "nonzero", "ring_mul"};
    EXPECT_TRUE(matrix->check(library->names()).empty()) << render(matrix->check(library->names()));
    EXPECT_EQ(
        matrix->markdown(operators),
        "| operator | placement | arguments | results | flavours | kernel |\n"
        "|---|---|---|---|---|---|\n"
        "| share | Replicated | HostRing64Tensor | ReplicatedRing64Tensor | [transparent -> concrete] | ring_share |\n"
        "| share | Replicated | HostUint64Tensor | ReplicatedRing64Tensor | [transparent -> concrete] | "
        "uint64_to_ring64 => ring_share |\n"
        "| nonzero | Host | Tensor | Tensor | [runtime] | nonzero (not registered) |\n"
        "| ring_mul | Host | HostRing64Tensor, HostRing64Tensor | HostRing64Tensor | [runtime] | body |\n"
        "| ring_mul | Replicated | ReplicatedRing64Tensor, ReplicatedRing64Tensor | ReplicatedRing64Tensor | "
        "[concrete, concrete -> concrete] | ring_mul_shares |\n"
        "\n| coverage | Host | Replicated |\n|---|---|---|\n"
        "| share | - | 2 |\n| nonzero | 0 of 1 | - |\n| ring_mul | 1 | 1 |\n"
        "\n4 of 5 rows have a kernel; 1 operators without rows run their body on a host.\n");
    EXPECT_NE(matrix->json(operators).find("\"before\": [\n        \"uint64_to_ring64\"\n      ]"), std::string::npos);
}

}  // namespace
}  // namespace heddle::flavours
