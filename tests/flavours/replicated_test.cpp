// Replicated values of three hosts in one process: sessions agree, and mean what the bodies say.
#include "flavours/siphash.h"
#include "flavours_test.h"

namespace heddle::flavours {
namespace {

constexpr uint64_t most = ~uint64_t{0};

std::vector<uint64_t> samples(uint64_t seed, size_t count = 64) {
    std::vector<uint64_t> values = {0, 1, most, most - 1, uint64_t{1} << 63, (uint64_t{1} << 63) - 1};
    std::mt19937_64 generator(seed);
    while (values.size() < count) values.push_back(generator());
    std::shuffle(values.begin(), values.end(), generator);
    return values;
}

// All leaves of values, in order.
std::vector<std::vector<uint64_t>> leaves(const std::vector<Value>& values) {
    std::vector<std::vector<uint64_t>> list;
    for (const Value& value : values) {
        EXPECT_TRUE(value.concrete());
        if (Opened(value).data()) list.push_back(words(value));
        auto parts = leaves(Opened(value).parts());
        list.insert(list.end(), parts.begin(), parts.end());
    }
    return list;
}

TEST(SipHash, ReferenceVectors) {
    PrfKey key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    std::array<uint64_t, 2> message = key;
    EXPECT_EQ(siphash(key, std::span(message).first(0)), 0x726fdb47dd0e0e31u);
    EXPECT_EQ(siphash(key, std::span(message).first(1)), 0x93f5f5799a932462u);
    EXPECT_EQ(siphash(key, message), 0x3f2acc7f57c29bdbu);
}

struct Flavours6 : FlavoursTest {
    void SetUp() override { load(""); }

    // x from one host, y from another: shares of both, and of sum, difference, product and their mux, then revealed.
    std::vector<Value> program(Session& session, const Value& x, const Value& y, const Placement& receiver) {
        auto apply = [&](const char* name, const Placement& where, const std::vector<Value>& arguments) {
            return one(session.apply(name, where, arguments));
        };
        Value a = apply("share", rep, {x}), b = apply("share", rep, {y});
        std::vector<Value> results = {a, b};
        for (const char* name : {"ring_add", "ring_sub", "ring_mul"}) results.push_back(apply(name, rep, {a, b}));
        results.push_back(apply("mux", rep, {a, results[2], results[3]}));
        size_t count = results.size();
        for (size_t i = 0; i < count; ++i) results.push_back(apply("reveal", receiver, {results[i]}));
        return results;
    }
};

TEST_F(Flavours6, SessionsAgreeBitForBit) {
    auto first = samples(1), second = samples(2);
    for (const Placement& owner : {alice, bob, carole, dave}) {
        for (const Placement& receiver : {alice, bob, carole, dave}) {
            Session eager = session(Mode::eager), symbolic = session(Mode::symbolic), local = session(Mode::eager);
            Value x = *eager.constant(ring_word, words(first), owner);
            Value y = *eager.constant(ring_word, words(second), carole);
            auto direct = program(eager, x, y, receiver);
            Value x_handle = *symbolic.input("x", ring_word, {64}, owner);
            Value y_handle = *symbolic.input("y", ring_word, {64}, carole);
            auto handles = program(symbolic, x_handle, y_handle, receiver);
            for (const RecordedOperation& operation : symbolic.computation().operations)
                EXPECT_EQ(operation.placement.kind, "Host") << operation.operator_name;
            auto later = run(symbolic.computation(), local, {x, y}, handles);
            ASSERT_TRUE(later) << render(later.error());
            EXPECT_EQ(leaves(*later), leaves(direct));
            for (size_t i = 0; i < 64; ++i) {
                uint64_t a = first[i], b = second[i];
                std::vector<uint64_t> expected = {a, b, a + b, a - b, a * b, a * ((a + b) - (a - b)) + (a - b)};
                for (size_t k = 0; k < expected.size(); ++k)
                    EXPECT_EQ(words(direct[expected.size() + k])[i], expected[k]) << k << " of " << a << " " << b;
            }
        }
    }
}

// Both holders of a share hold the same, shares add up, and no host's two shares do.
TEST_F(Flavours6, SharesLieAsTheProtocolSays) {
    auto values = samples(3);
    for (const Placement& owner : {alice, bob, carole, dave}) {
        Session eager = session(Mode::eager);
        Value x = one(eager.apply("share", rep, {*eager.constant(ring_word, words(values), owner)}));
        for (bool product : {false, true}) {
            Value shared = product ? one(eager.apply("ring_mul", rep, {x, x})) : x;
            auto held = leaves({shared});
            ASSERT_EQ(held.size(), 6u);
            EXPECT_EQ(held[1], held[2]);
            EXPECT_EQ(held[3], held[4]);
            EXPECT_EQ(held[5], held[0]);
            for (size_t i = 0; i < values.size(); ++i) {
                uint64_t meant = product ? values[i] * values[i] : values[i];
                EXPECT_EQ(held[0][i] + held[2][i] + held[4][i], meant);
                for (size_t one_host = 0; one_host < 3; ++one_host) {
                    bool owns = rep.hosts[one_host] == owner.name;
                    if (owns && !product) continue;  // it knows the value anyway
                    EXPECT_NE(held[2 * one_host][i] + held[2 * one_host + 1][i], meant);
                }
            }
        }
    }
}

TEST_F(Flavours6, BroadcastsAndNewKeysEachRun) {
    Session eager = session(Mode::eager), other = session(Mode::eager, 2);
    auto column = words({5, 6}).reshaped({2, 1});
    auto shared = [&](Session& session, const TensorData& data) {
        return one(session.apply("share", rep, {*session.constant(ring_word, data, bob)}));
    };
    Value product = one(eager.apply("ring_mul", rep, {shared(eager, column), shared(eager, words({1, most, 3}))}));
    EXPECT_EQ(product.tensor().text(), "uint64[2, 3]");
    EXPECT_EQ(words(one(eager.apply("reveal", dave, {product}))),
              (std::vector<uint64_t>{5, uint64_t(-5), 15, 6, uint64_t(-6), 18}));
    EXPECT_NE(leaves({shared(eager, column)}), leaves({shared(other, column)}));
    EXPECT_NE(leaves({shared(eager, column)}), leaves({shared(eager, column)}));  // a new sync key each time
}

// A computation on replicated handles is recorded as it is, and lowered by running its kernels when it is run.
TEST_F(Flavours6, RecordedReplicatedOperationsRunLater) {
    Session symbolic = session(Mode::symbolic), eager = session(Mode::eager);
    Value x = *symbolic.input("x", shared_word, {2}, rep);
    Value sum = one(symbolic.apply("ring_add", rep, {x, one(symbolic.apply("ring_mul", rep, {x, x}))}));
    Value result = one(symbolic.apply("reveal", dave, {sum}));
    EXPECT_EQ(print(symbolic.computation()),
              "input x: ReplicatedRing64Tensor uint64[2] on rep(alice, bob, carole)\n"
              "ring_mul: ReplicatedRing64Tensor uint64[2] = ring_mul(x, x) on rep(alice, bob, carole)\n"
              "ring_add: ReplicatedRing64Tensor uint64[2] = ring_add(x, ring_mul) on rep(alice, bob, carole)\n"
              "reveal: HostRing64Tensor uint64[2] = reveal(ring_add) on dave\n");
    Value shared = one(eager.apply("share", rep, {*eager.constant(ring_word, words({most, 10}), alice)}));
    auto values = run(symbolic.computation(), eager, {shared}, {result});
    ASSERT_TRUE(values) << render(values.error());
    EXPECT_EQ(words(values->front()), (std::vector<uint64_t>{0, 110}));
    EXPECT_EQ(codes_text(run(symbolic.computation(), eager, {}, {result})), "flavours.feeds");
    EXPECT_EQ(codes_text(run(symbolic.computation(), eager, {values->front()}, {result})), "flavours.feeds");
    EXPECT_EQ(codes_text(run(symbolic.computation(), symbolic, {shared}, {result})), "flavours.feeds");
    EXPECT_EQ(codes_text(run(symbolic.computation(), eager, {shared}, {shared})), "flavours.feeds");
    EXPECT_EQ(codes_text(run(symbolic.computation(), eager, {shared}, {Value()})), "flavours.feeds");
    Placement elsewhere{"Replicated", "rep", {"bob", "alice", "carole"}};
    Value moved = one(eager.apply("share", elsewhere, {*eager.constant(ring_word, words({most, 10}), alice)}));
    EXPECT_EQ(codes_text(run(symbolic.computation(), eager, {moved}, {result})), "flavours.feeds");
}

TEST_F(Flavours6, Errors) {
    Session eager = session(Mode::eager), symbolic = session(Mode::symbolic);
    Value x = *eager.constant(ring_word, words({1}), alice);
    Placement two{"Replicated", "two", {"alice", "bob"}};
    EXPECT_EQ(codes_text(eager.apply("share", two, {x})), "flavours.hosts");
    EXPECT_EQ(codes_text(eager.input("x", ring_word, {1}, alice)), "flavours.input");
    EXPECT_EQ(codes_text(symbolic.input("x", ring_word, {1}, rep)), "flavours.input");
    EXPECT_EQ(codes_text(symbolic.input("x", "HostTensor", {1}, alice)), "flavours.input");
    EXPECT_EQ(codes_text(eager.constant(shared_word, words({1}), rep)), "flavours.input");
    EXPECT_EQ(codes_text(eager.constant("HostBitTensor", words({1}), alice)), "flavours.input");
    EXPECT_EQ(codes_text(eager.constant("HostRong64Tensor", words({1}), alice)), "flavours.type_word");
    // Values of another session.
    EXPECT_EQ(codes_text(symbolic.apply("share", rep, {x})), "flavours.input");
    EXPECT_EQ(codes_text(eager.apply("share", rep, {*symbolic.input("x", ring_word, {1}, alice)})), "flavours.input");
    // Types are the template's matter, and what was recorded before an error is undone.
    Value a = one(symbolic.apply("share", rep, {*symbolic.input("a", ring_word, {2}, alice)}));
    Value b = one(symbolic.apply("share", rep, {*symbolic.input("b", ring_word, {3}, alice)}));
    size_t before = symbolic.computation().operations.size();
    EXPECT_NE(codes_text(symbolic.apply("ring_mul", rep, {a, b})), "");
    EXPECT_EQ(symbolic.computation().operations.size(), before);
}

}  // namespace
}  // namespace heddle::flavours
