#include "schedules/tree.h"

#include <algorithm>
#include <array>

namespace heddle::schedules {

const EachRow* each_row(const Rows& rows) {
    return rows.body.empty() ? nullptr : std::get_if<EachRow>(&rows.body.back().node);
}

namespace {

void accumulators_in_rows(const Block& block, bool rows, std::vector<bool>& found) {
    for (const Statement& statement : block) {
        if (auto* start = std::get_if<Start>(&statement.node)) found[static_cast<size_t>(start->accumulator)] = rows;
        if (auto* phase = std::get_if<Phase>(&statement.node)) accumulators_in_rows(phase->body, rows, found);
        if (auto* loop = std::get_if<For>(&statement.node)) accumulators_in_rows(loop->body, rows, found);
        if (auto* tile = std::get_if<Rows>(&statement.node)) accumulators_in_rows(tile->body, true, found);
        if (auto* lanes = std::get_if<Lanes>(&statement.node)) accumulators_in_rows(lanes->body, rows, found);
    }
}

void add(Varies& varies, const Varies& other) {
    varies.rows = varies.rows || other.rows;
    varies.lanes = varies.lanes || other.lanes;
}

void add(Varies& varies, const Tree& tree, const Affine& affine, const std::vector<Varies>& known) {
    for (const Term& term : affine.terms) {
        Variable::Kind kind = tree.variable(term.variable).kind;
        if (kind == Variable::Kind::row || kind == Variable::Kind::fused_row) varies.rows = true;
        if (kind == Variable::Kind::lane) varies.lanes = true;
    }
    for (const auto& [value, factor] : affine.values) add(varies, known[static_cast<size_t>(value)]);
}

// 64-bit FNV-1a, twice with different starts.
std::array<uint64_t, 2> hash(const std::string& text) {
    std::array<uint64_t, 2> state{0xcbf29ce484222325u, 0x9ae16a3b2f90404fu};
    for (unsigned char c : text) {
        state[0] = (state[0] ^ c) * 0x100000001b3u;
        state[1] = (state[1] ^ c ^ (state[0] >> 57)) * 0x9ddfea08eb382d69u;
        state[1] ^= state[1] >> 29;
    }
    return state;
}

}  // namespace

size_t Tree::buffers() const {
    return static_cast<size_t>(
        std::count_if(memories.begin(), memories.end(), [](const Memory& m) { return m.kind != Memory::Kind::array; }));
}

std::vector<Varies> varies(const Tree& tree) {
    std::vector<bool> in_rows(tree.accumulators.size());
    accumulators_in_rows(tree.body, false, in_rows);
    std::vector<Varies> known;
    known.reserve(tree.expressions.size());
    for (const Expression& e : tree.expressions) {
        Varies v;
        for (ExpressionId operand : e.operands) add(v, known[static_cast<size_t>(operand)]);
        if (e.kind == Expression::Kind::index) add(v, tree, e.affine, known);
        if (e.kind == Expression::Kind::load) add(v, tree, e.address.element, known);
        if (e.kind == Expression::Kind::let) v = known[static_cast<size_t>(tree.let(e.let_id()).value)];
        const bool in_step = e.kind == Expression::Kind::before && tree.accumulator(e.accumulator_id()).state;
        if (e.kind == Expression::Kind::before && !in_step) v.lanes = true;
        if (e.kind == Expression::Kind::accumulator || in_step) {
            v.rows = in_rows[e.accumulator_id()];
            v.lanes =
                !tree.accumulator(e.accumulator_id()).reduced_lanes && tree.accumulator(e.accumulator_id()).width > 1;
        }
        known.push_back(v);
    }
    return known;
}

std::string key(const Tree& tree, const Target& target) {
    // Names are for people; facts are seen in what they made of the text.
    Tree nameless = tree;
    nameless.name = "kernel";
    nameless.facts.clear();
    for (LaunchNumberInfo& number : nameless.numbers) number.what.clear();
    auto rename = [](auto& list, const char* prefix) {
        for (size_t i = 0; i < list.size(); i++) list[i].name = prefix + std::to_string(i);
    };
    rename(nameless.memories, "m");
    rename(nameless.variables, "i");
    rename(nameless.accumulators, "acc");
    rename(nameless.lets, "let");
    rename(nameless.tasks, "t");
    for (Statement& statement : nameless.body) {
        if (auto* phase = std::get_if<Phase>(&statement.node)) phase->name = "phase";
    }
    std::string text =
        print(nameless) + "\n" + target.cpu + "\n" + target.features + "\n" + std::to_string(target.vector_bytes);
    constexpr const char* digits = "0123456789abcdef";
    std::string result;
    for (uint64_t part : hash(text)) {
        for (int shift = 60; shift >= 0; shift -= 4) result += digits[(part >> shift) & 15];
    }
    return result;
}

}  // namespace heddle::schedules
