// Whatever sizes decide, something is made for all of them.
#include "artefact/coverage.h"

#include <gtest/gtest.h>

#include <random>

#include "helpers/codes.h"
#include "zspace/size.h"

namespace heddle::artefact {
namespace {

// Makes something else wherever a decision that its sizes take comes out in another way: of remainders, products,
// several dimensions, and of single sizes.
class Decisions {
public:
    explicit Decisions(uint64_t seed) : seed_(seed) {}

    SizeDomain at(const SizeNames& sizes, const std::vector<Dimension>& dimensions, const SizeNames& fixed) const {
        SizeFacts facts;
        const RecordingFacts recording(facts);
        std::mt19937_64 random(seed_);
        std::vector<Size> known;
        for (const auto& [name, size] : sizes) known.push_back(named_size(name, size));
        const auto any = [&] { return known[random() % known.size()]; };
        const auto number = [&](uint64_t below) { return static_cast<int64_t>(random() % below); };
        for (int i = 0; i < 8; i++) {
            switch (random() % 9) {
            case 0: known.push_back(any() + any() * number(4)); break;
            case 1: known.push_back(ceil_divide(any(), 1 + number(16))); break;
            case 2: known.push_back(minimum(any(), number(40))); break;
            case 3: (void)(any() < number(30)); break;
            case 4: (void)(floor_modulo(any(), 1 + number(5)) == number(3)); break;
            case 5: (void)(any() == any()); break;
            case 6: (void)(any() * any() >= number(300)); break;
            case 7: (void)(any() == number(20)); break;
            default: (void)(any() < any()); break;
            }
        }
        return domain_of(facts.list(), dimensions, fixed);
    }

private:
    uint64_t seed_;
};

bool is_covered(const std::vector<SizeDomain>& domains, const std::vector<Dimension>& dimensions,
                const SizeNames& sizes) {
    return std::ranges::any_of(domains, [&](const SizeDomain& domain) { return domain.has(dimensions, sizes); });
}

TEST(Coverage, NoSizeIsLeftOut) {
    for (uint64_t seed = 1; seed <= 300; seed++) {
        std::mt19937_64 random(seed);
        const auto number = [&](uint64_t below) { return static_cast<int64_t>(random() % below); };
        std::vector<Dimension> dimensions;
        for (const char* name : {"a", "b"}) {
            Dimension made{name, number(5), 0, 1 + number(3)};
            made.to = made.from + made.step * number(40);
            dimensions.push_back(made);
        }
        const SizeNames fixed = {{"c", number(20)}};
        const Decisions decisions(seed);
        std::vector<SizeDomain> domains;
        const auto done = cover(dimensions, fixed, [&](const SizeNames& sizes) -> Result<SizeDomain> {
            domains.push_back(decisions.at(sizes, dimensions, fixed));
            EXPECT_TRUE(domains.back().has(dimensions, sizes)) << seed;
            EXPECT_FALSE(is_covered({domains.begin(), domains.end() - 1}, dimensions, sizes)) << seed << ": made again";
            return domains.back();
        });
        ASSERT_TRUE(done) << seed << render(done.error());
        for (int64_t a = dimensions[0].from; a <= dimensions[0].to; a += dimensions[0].step) {
            for (int64_t b = dimensions[1].from; b <= dimensions[1].to; b += dimensions[1].step) {
                const SizeNames sizes = {{"a", a}, {"b", b}, {"c", fixed.at("c")}};
                ASSERT_TRUE(is_covered(domains, dimensions, sizes)) << seed << ": " << text_of(sizes);
            }
        }
    }
}

// Of ranges that cannot be counted through: sizes at random, those at the ends, and those that differ least.
TEST(Coverage, WideRangesToo) {
    uint64_t left_out = 0, tried = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        const std::vector<Dimension> dimensions = {{"a", 1, 1'000'000, 1}, {"b", 0, 1 << 20, 32}};
        const Decisions decisions(seed);
        std::vector<SizeDomain> domains;
        const auto done = cover(dimensions, {{"c", 7}}, [&](const SizeNames& sizes) -> Result<SizeDomain> {
            domains.push_back(decisions.at(sizes, dimensions, {{"c", 7}}));
            return domains.back();
        });
        ASSERT_TRUE(done) << seed << render(done.error());
        std::mt19937_64 random(seed);
        for (int i = 0; i < 300; i++) {
            const auto size = [&](const Dimension& d) {
                return d.below(std::min(d.to, d.from + static_cast<int64_t>(random() >> (43 + random() % 20))));
            };
            SizeNames sizes = {{"a", size(dimensions[0])}, {"b", size(dimensions[1])}, {"c", 7}};
            const int64_t beside = sizes["b"] + static_cast<int64_t>(random() % 3) - 1;
            if (i % 5 == 0 && beside > 0) sizes["a"] = std::min<int64_t>(beside, 1'000'000);
            tried++;
            left_out += !is_covered(domains, dimensions, sizes);
        }
    }
    EXPECT_EQ(left_out, 0u) << "of " << tried;
}

TEST(Coverage, ClassesAndEndsAreFewParts) {
    const std::vector<Dimension> dimensions = {{"n", 0, 1'000'000, 1}};
    int made = 0;
    const auto done = cover(dimensions, {}, [&](const SizeNames& sizes) -> Result<SizeDomain> {
        made++;
        SizeFacts facts;
        const RecordingFacts recording(facts);
        const Size n = named_size("n", sizes.at("n"));
        for (int64_t end : {1, 4, 16, 256, 4096, 65536}) (void)(n < end);
        return domain_of(facts.list(), dimensions, {});
    });
    ASSERT_TRUE(done);
    EXPECT_EQ(made, 7);
}

// Remainders that all sizes of a range have are no facts.
TEST(Coverage, StepsAreKnown) {
    const std::vector<Dimension> dimensions = {{"n", 32, 3200, 32}};
    SizeFacts facts;
    const RecordingFacts recording(facts);
    const Size n = named_size("n", 64);
    (void)(ceil_divide(n, 16) == 2 * ceil_divide(n, 32));
    (void)(floor_modulo(n, 8) == 0);
    (void)(n < 256);
    const SizeDomain domain = domain_of(facts.list(), dimensions, {});
    EXPECT_EQ(domain.facts, std::vector<SizeFact>{});
    EXPECT_EQ(domain.ranges, (std::vector<SizeRange>{{32, 224}}));
    const std::vector<Dimension> all = {{"n", 32, 3200, 1}};
    EXPECT_EQ(domain_of(facts.list(), all, {}).facts.size(), 2u);
}

TEST(Coverage, WhatHoldsForOneSizeOnlyHasAnEnd) {
    const std::vector<Dimension> dimensions = {{"n", 1, 1'000'000, 1}};
    const auto one = [&](const SizeNames& sizes) -> Result<SizeDomain> {
        const SizeFact fact{(named_size("n", 0) - sizes.at("n")).origin(), SizeFact::Relation::zero};
        return domain_of({fact}, dimensions, {});
    };
    EXPECT_EQ(codes(cover(dimensions, {}, one)), Codes{"artefact.too_many_sizes"});
    const std::vector<Dimension> few = {{"n", 1, 100, 3}};
    int made = 0;
    EXPECT_TRUE(cover(few, {}, [&](const SizeNames& sizes) { return made++, one(sizes); }));
    EXPECT_EQ(made, 34);
}

// What is made knows how far it holds; beyond there is nothing.
Result<SizeDomain> as_far_as(int64_t limit, const char* code, const std::vector<Dimension>& dimensions,
                             const SizeNames& sizes) {
    SizeFacts facts;
    const RecordingFacts recording(facts);
    const Size n = named_size("n", sizes.at("n")), m = named_size("m", sizes.at("m"));
    (void)(n < 4096);
    if (n * m > limit) return fail({.code = code});
    return domain_of(facts.list(), dimensions, {});
}

TEST(Coverage, EndsWhereThereIsNothingMore) {
    for (const bool is_open : {false, true}) {
        const std::vector<Dimension> dimensions = {{"n", 1, 1'000'000, 1, is_open}, {"m", 1, 1'000'000, 1}};
        std::vector<SizeDomain> domains;
        const auto make = [&](const SizeNames& sizes) {
            auto made = as_far_as(1'000'000'000, is_open ? "other" : "graph.limit", dimensions, sizes);
            if (made) domains.push_back(*made);
            return made;
        };
        ASSERT_TRUE(cover(dimensions, {}, make));
        EXPECT_LT(domains.size(), 5u);
        const std::vector<std::pair<int64_t, int64_t>> inside = {
            {1, 1}, {1000, 1'000'000}, {1'000'000, 1000}, {31'000, 31'000}, {4095, 1}, {4096, 5}};
        for (const auto& [n, m] : inside)
            EXPECT_TRUE(is_covered(domains, dimensions, {{"n", n}, {"m", m}})) << n << " " << m;
        EXPECT_FALSE(is_covered(domains, dimensions, {{"n", 40'000}, {"m", 40'000}}));
    }
    const std::vector<Dimension> dimensions = {{"n", 1, 1'000'000, 1}, {"m", 1, 1'000'000, 1}};
    const auto failing = [&](int64_t limit, const char* code) {
        return cover(dimensions, {},
                     [&](const SizeNames& sizes) { return as_far_as(limit, code, dimensions, sizes); });
    };
    const auto other = failing(1'000'000'000, "other");
    ASSERT_EQ(codes(other), Codes{"other"});
    EXPECT_NE(render(other.error()).find("m = "), std::string::npos) << "it says at which sizes";
    EXPECT_EQ(codes(failing(0, "graph.limit")), Codes{"graph.limit"});
}

// Of sizes that data decide there may be more kinds than are made: those of small sizes are.
TEST(Coverage, small_sizes_come_first_where_there_is_no_end) {
    const std::vector<Dimension> dimensions = {{"n", 0, open_end, 1, true}, {"m", 0, open_end, 1, true}};
    std::vector<SizeDomain> domains;
    const auto one_kind_a_size = [&](const SizeNames& sizes) -> Result<SizeDomain> {
        if (domains.size() == 100) return fail(Diagnostic{.code = "artefact.too_many_sizes", .summary = "no more"});
        domains.push_back({{{sizes.at("n"), sizes.at("n")}, {sizes.at("m"), sizes.at("m")}}, {}});
        return domains.back();
    };
    ASSERT_TRUE(cover(dimensions, {}, one_kind_a_size));
    EXPECT_EQ(domains.size(), 100u);
    for (int64_t n = 0; n <= 3; n++) {
        for (int64_t m = 0; m <= 3; m++)
            EXPECT_TRUE(is_covered(domains, dimensions, {{"n", n}, {"m", m}})) << n << " " << m;
    }
}

}  // namespace
}  // namespace heddle::artefact
