// Hostile texts all the way: templates with changed bytes and tokens are loaded, matched with tensors of random types,
// applied and evaluated. Each step answers or refuses; a refusal has a code, and a place within the text.
#include <random>

#include <gtest/gtest.h>

#include "evaluate/evaluate.h"
#include "symbolic/session.h"

#include "../text_test.h"

namespace heddle {
namespace {

using Random = std::mt19937_64;

std::vector<std::string> templates() {
    return {
        "t:\n  inputs: {a: \"$T[~$s...]\", b: \"$T[~$s...]\"}\n  index: \"[$s...]\"\n  outputs: {y: \"$T\"}\n"
        "  body: \"y = max(a, b) * 2 + a\"\n",
        "t:\n  inputs: {X: \"$T[$b..., $m, $k]\", W: \"$T[$b..., $k, $n]\"}\n  index: \"[$b..., $m, $n]\"\n"
        "  outputs: {y: \"$T\"}\n  body: \"y = sum(k < $k : X[@b..., @m, k] * W[@b..., k, @n])\"\n",
        "t:\n  params: {axis: \"axis($x) = -1\"}\n  inputs: {x: \"$T[$o...{$axis}, $n, $i...]\"}\n"
        "  index: \"[$o..., $i...]\"\n  outputs: {y: \"$T[$o..., $n, $i...]\"}\n  body: |\n"
        "    let m = max(k < $n : x[@o..., k, @i...])\n    let s = sum(k < $n : exp(x[@o..., k, @i...] - m))\n"
        "    y[@o..., j, @i...] = exp(x[@o..., j, @i...] - m) / s\n",
        "t:\n  params: {stride: \"int = 2\", pad: \"int = 1\"}\n  inputs: {x: \"$T[$n, $w]\"}\n  let: |\n"
        "    $out = max(0, ($w + 2 * $pad - 3) // $stride + 1)\n  index: \"[$n, o = $out]\"\n  outputs: {y: \"$T[$n, "
        "$out]\"}\n"
        "  body: \"y = mean(k < 3 : x[@n, @o * $stride - $pad + k] ?? 0)\"\n",
        "t:\n  inputs: {x: \"$T[$r, $n]\"}\n  index: \"[$r]\"\n  outputs: {y: \"$T[$r, $n]\"}\n  body: |\n"
        "    scan t < $n:\n      s[t] = s[t - 1] + x[@r, t] from 0\n    y[@r, j] = s[j]\n",
        "t:\n  inputs: {xs: \"$T[$o, $e[$i]]*\"}\n  each: \"$i < len($xs)\"\n  index: \"[$o, part = $e[$i]]\"\n"
        "  outputs: {y: \"$T[$o, sum($e)]\"}\n  body: \"y[@o, @part + sum($e[:$i])] = xs[$i][@o, @part]\"\n",
        "t:\n  inputs: {x: {shape: \"[$n, $m]\", dtype: \"$T\", ipf: \"[@n, *]\"}, ids: \"int64[$k]\"}\n"
        "  constraints: {T: [float32, int32]}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n"
        "  body: \"y = sum(k < $k if ids[k] == @n : x[@n, ids[k] % $m])\"\n",
    };
}

void mutate(std::string& text, Random& random) {
    static const std::vector<std::string> words = {"$n",
                                                   "$T",
                                                   "@n",
                                                   "@",
                                                   "...",
                                                   "[",
                                                   "]",
                                                   "(",
                                                   ")",
                                                   "*",
                                                   "0",
                                                   "-1",
                                                   "9223372036854775807",
                                                   "?? ",
                                                   " // ",
                                                   "%",
                                                   "sum",
                                                   "max",
                                                   "<",
                                                   ":",
                                                   "if ",
                                                   "scan ",
                                                   "let ",
                                                   "from",
                                                   ",",
                                                   "$i",
                                                   "~",
                                                   "{2}",
                                                   "1e999",
                                                   "inf",
                                                   "none",
                                                   "'a'",
                                                   "len",
                                                   " for i < 3",
                                                   "&&",
                                                   "\n    ",
                                                   "[:1]",
                                                   "$x.shape",
                                                   "^",
                                                   "-"};
    size_t changes = 1 + random() % 3;
    for (size_t i = 0; i < changes; i++) {
        size_t at = 9 + random() % (text.size() - 9);
        size_t length = std::min<size_t>(random() % 6, text.size() - at);
        switch (random() % 4) {
        case 0: text.erase(at, length); break;
        case 1: text.insert(at, words[random() % words.size()]); break;
        case 2: text.replace(at, length, words[random() % words.size()]); break;
        default: text[at] = static_cast<char>(random() % 256); break;
        }
        if (text.size() < 20) text += "                    ";
    }
}

void expect_refusal(const Diagnostics& problems, const std::string& text) {
    ASSERT_FALSE(problems.empty()) << text;
    for (const Diagnostic& problem : problems) {
        EXPECT_FALSE(problem.code.empty()) << text;
        EXPECT_FALSE(problem.summary.empty()) << text;
        if (problem.place.source) {
            EXPECT_LE(problem.place.offset + problem.place.length, problem.place.source->text().size() + 1) << text;
        }
    }
    EXPECT_FALSE(render(problems).empty());
}

TensorType any_type(Random& random) {
    constexpr DType dtypes[] = {DType::float32, DType::int32, DType::int64, DType::float16, DType::boolean};
    TensorType type{dtypes[random() % 3 == 0 ? random() % std::size(dtypes) : 0], {}};
    for (size_t rank = random() % 4; type.shape.size() < rank;)
        type.shape.emplace_back(static_cast<int64_t>(random() % 4));
    return type;
}

// How far it came: loaded, applied, evaluated.
int try_out(const std::string& text, Random& random) {
    Library library;
    auto loaded = library.add_source(std::make_shared<const SourceText>("t.yaml", text));
    if (!loaded) return expect_refusal(loaded.error(), text), 0;
    int reached = 1;
    for (const std::string& name : library.names()) {
        auto metakernel = library.find(name);
        if (!metakernel) {
            expect_refusal(metakernel.error(), text);
            continue;
        }
        for (int attempt = 0; attempt < 4; attempt++) {
            Session session(library);
            std::vector<Argument> inputs;
            TensorType same = any_type(random);
            for (size_t i = 0; i < (*metakernel)->inputs.size(); i++)
                inputs.emplace_back(session.add_input("x", random() % 2 ? same : any_type(random)));
            auto results = session.apply(**metakernel, inputs);
            if (!results) {
                expect_refusal(results.error(), text);
                continue;
            }
            std::erase(*results, -1);
            Graph graph = session.finish(*results);
            reached = std::max(reached, 2);
            int64_t elements = 0;
            for (const Tensor& tensor : graph.tensors) elements += tensor.type.elements();
            if (elements > 4'000 || graph.operations.size() > 20) continue;
            std::vector<TensorData> feeds;
            for (TensorId id : graph.inputs)
                feeds.emplace_back(graph.tensor(id).type.dtype, graph.tensor(id).type.extents());
            auto values = evaluate_graph(graph, feeds, Precision::body);
            if (values)
                reached = 3;
            else
                expect_refusal(values.error(), text);
        }
    }
    return reached;
}

TEST(Metakernels22, MutatedTemplatesAreAnsweredOrRefused) {
    Random random(22);
    std::vector<std::string> texts = templates();
    std::map<int, int> reached;
    for (const std::string& text : texts) EXPECT_GE(try_out(text, random), 1) << text;
    for (int round = 0; round < 3'000; round++) {
        std::string text = texts[static_cast<size_t>(round) % texts.size()];
        mutate(text, random);
        reached[try_out(text, random)]++;
    }
    // The mutations are neither all refused nor all harmless.
    for (int stage : {0, 1, 3}) EXPECT_GT(reached[stage], 20) << stage;
}

}  // namespace
}  // namespace heddle
