// The one spelling of texts and numbers: whatever is printed is read back to the same value.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "support/narrow_float.h"
#include "support/tensor_data.h"
#include "support/text_reader.h"

namespace heddle {
namespace {

TextReader reader_of(const std::string& text, TextReader::Lines lines = TextReader::Lines::are_space) {
    return TextReader(std::make_shared<const SourceText>("text", text), "support.test", lines);
}

bool same(double a, double b) {
    return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}

void expect_round_trip(const Literal& literal) {
    const std::string text = literal_text(literal);
    TextReader reader = reader_of(text + " , " + digits_text(literal) + " )");
    ASSERT_TRUE(reader.at_literal()) << text;
    const Literal typed = reader.literal();
    reader.expect(",");
    const Literal digits = reader.literal_of(literal.dtype);
    reader.expect(")");
    ASSERT_FALSE(reader.failed()) << text << render(reader.failure().error());
    for (const Literal& found : {typed, digits}) {
        EXPECT_EQ(found.dtype, literal.dtype) << text;
        EXPECT_EQ(found.integer, literal.integer) << text;
        EXPECT_TRUE(same(found.real, literal.real)) << text;
    }
}

TEST(Spelling, LiteralsOfEveryTypeComeBack) {
    std::mt19937_64 random(5);
    for (const DTypeInfo& type : all_dtypes()) {
        if (is_complex(type.dtype)) continue;
        for (int round = 0; round < 2000; round++) {
            const uint64_t bits =
                round < 4 ? uint64_t(-(round % 2)) << (round < 2 ? 0 : 63) : random() >> random() % 64;
            Literal literal{.dtype = type.dtype};
            if (type.dtype == DType::float64)
                literal.real = std::bit_cast<double>(bits);
            else if (type.dtype == DType::float32)
                literal.real = std::bit_cast<float>(static_cast<uint32_t>(bits));
            else if (is_float(type.dtype))
                literal.real = float_from_code(type.dtype, static_cast<uint32_t>(bits & ((1U << type.bits) - 1)));
            else
                literal.integer = is_bool(type.dtype) ? bits & 1 : wrapped_to(type.dtype, static_cast<int64_t>(bits));
            expect_round_trip(literal);
        }
    }
    for (double special : {0.0, -0.0, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                           std::nan(""), 1e300, 5e-324, 1.8446744073709552e19})
        expect_round_trip({.dtype = DType::float64, .real = special});
}

TEST(Spelling, LiteralsReadAsPeopleWriteThem) {
    EXPECT_EQ(literal_text({.dtype = DType::int64, .integer = 3}), "3");
    EXPECT_EQ(literal_text({.dtype = DType::float32, .real = 3}), "3.0");
    EXPECT_EQ(literal_text({.dtype = DType::float32, .real = 0.1F}), "0.1");
    EXPECT_EQ(literal_text({.dtype = DType::float64, .real = 0.1}), "float64(0.1)");
    EXPECT_EQ(literal_text({.dtype = DType::boolean, .integer = 1}), "true");
    EXPECT_EQ(literal_text({.dtype = DType::uint64, .integer = -1}), "uint64(18446744073709551615)");
    EXPECT_EQ(element_text(TensorData(DType::float16, {2}), 1), "0.0");
}

TEST(Spelling, LiteralsOutOfTheirTypesRangeAreRefused) {
    for (const char* text :
         {"uint8(256)", "int8(128)", "int8(-129)", "uint64(-1)", "int4(8)", "int32(1.5)", "bool(1)", "int64(inf)",
          "9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e999", "3x", "complex64(1)"}) {
        TextReader reader = reader_of(text);
        reader.literal();
        EXPECT_TRUE(reader.failed()) << text;
    }
    // No literals, but what begins like one.
    for (const char* text : {"uint8(x)", "uint8(3 + 4)", "inf[0]", "nan(1)", "data(3)", "-x", "$0", "'3'"})
        EXPECT_FALSE(reader_of(text).at_literal()) << text;
}

TEST(Spelling, AnyBytesStandInQuotes) {
    std::mt19937 random(3);
    for (int round = 0; round < 2000; round++) {
        std::string bytes;
        for (size_t i = random() % 12; i > 0; i--)
            bytes += random() % 2 ? "'\\\n#x\"$"[random() % 7] : static_cast<char>(random() % 256);
        TextReader reader = reader_of(quoted_text(bytes) + " end");
        EXPECT_EQ(reader.text("a text"), bytes);
        reader.expect("end");
        EXPECT_FALSE(reader.failed()) << quoted_text(bytes);
    }
    for (const char* text : {"'a", "'a\n'", "'\\n'", "'\\x4'", "'\\xAB'", "\"a\""}) {
        TextReader reader = reader_of(text);
        reader.text("a text");
        ASSERT_TRUE(reader.failed()) << text;
        EXPECT_EQ(reader.failure().error()[0].code, "support.test");
    }
}

TEST(TextReader, LinesEndWhatTheyHold) {
    TextReader reader =
        reader_of("one 1  # a comment\n\n  # nothing\n    two\n  three\n  four\nfive", TextReader::Lines::matter);
    ASSERT_TRUE(reader.next_line());
    EXPECT_EQ(reader.word("a word"), "one");
    EXPECT_EQ(reader.peek().integer, 1);
    EXPECT_EQ(reader.peek(1).kind, Token::Kind::end);
    reader.next();
    EXPECT_TRUE(reader.at_line());
    EXPECT_EQ(reader.next_indentation(), 4);
    EXPECT_EQ(reader.next().kind, Token::Kind::end);  // stays there
    const Place block = reader.skip_block(0);
    EXPECT_EQ(block.source->text().substr(block.offset, block.length), "    two\n  three\n  four\n");
    ASSERT_TRUE(reader.next_line());
    EXPECT_EQ(reader.indentation(), 0);
    EXPECT_TRUE(reader.take("five"));
    EXPECT_TRUE(reader.at_end());
    EXPECT_FALSE(reader.next_line());
    EXPECT_FALSE(reader.failed());

    TextReader early = reader_of("one two\nthree", TextReader::Lines::matter);
    early.next_line();
    early.expect("one");
    EXPECT_FALSE(early.next_line());
    EXPECT_TRUE(early.failed());
}

TEST(TextReader, TheFirstErrorStaysAndNamesWhatItFound) {
    TextReader reader = reader_of("a 'b' $1 99999999999999999999");
    reader.expect("a");
    reader.integer("a number");
    reader.expect("c");
    ASSERT_TRUE(reader.failed());
    EXPECT_EQ(reader.peek().kind, Token::Kind::end);
    const Diagnostic error = reader.failure().error()[0];
    EXPECT_EQ(error.expected, "a number");
    EXPECT_EQ(error.found, "''b''");
    EXPECT_EQ(error.place.offset, 2U);
    TextReader deep = reader_of(std::string(100'000, '('));
    std::function<int()> nest = [&] { return deep.take("(") ? deep.nested(nest) : 0; };
    nest();
    EXPECT_TRUE(deep.failed());
}

// A backslash ends a line that goes on in the next.
TEST(TextForms, LinesGoOnBehindABackslash) {
    const std::string text = "one 1 \\\n      2 3\n  two \\\n  4\n";
    TextReader reader = reader_of(text, TextReader::Lines::matter);
    std::vector<int64_t> numbers;
    ASSERT_TRUE(reader.next_line());
    reader.expect("one");
    while (!reader.at_line()) numbers.push_back(reader.natural("a number"));
    EXPECT_EQ(numbers, (std::vector<int64_t>{1, 2, 3}));
    ASSERT_TRUE(reader.next_line());
    EXPECT_EQ(reader.indentation(), 2);
    reader.expect("two");
    EXPECT_EQ(reader.natural("a number"), 4);
    EXPECT_FALSE(reader.next_line());
    EXPECT_FALSE(reader.failed());
    EXPECT_EQ(joined_lines(text), "one 1 2 3\n  two 4\n");
    EXPECT_EQ(joined_lines("a\\\n"), "a");
    EXPECT_EQ(joined_lines("a\\"), "a\\");
    // Templates have no such lines.
    EXPECT_EQ(tokens_of("a \\\n b")[1].kind, Token::Kind::bad);
}

}  // namespace
}  // namespace heddle
