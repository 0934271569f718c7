// Makes expressions anew in another arena, or in the same one, or of another form.
#pragma once

#include <algorithm>
#include <vector>

#include "expr/arena.h"

namespace heddle::expr {

// Every distinct node that `root` is made of, operands before users: in the order of making.
inline std::vector<Expr> operands_first(Expr root) {
    std::vector<Expr> nodes = walk(root);
    std::ranges::sort(nodes, {}, [](Expr e) { return e->id; });
    return nodes;
}

// Each node once, however deep they nest; `memo` keeps what came of them. A node becomes given(e), or, where that is
// null, make(e, what parts(e) became).
template <typename Given, typename Parts, typename Make>
Expr remade(Expr root, Arena::Memo& memo, Given given, Parts parts, Make make) {
    auto settled = [&](Expr e) -> Expr {
        if (Expr known = given(e)) return known;
        auto found = memo.find(e);
        return found == memo.end() ? nullptr : found->second;
    };
    std::vector<Expr> stack = {root};
    while (!stack.empty()) {
        Expr e = stack.back();
        if (settled(e) != nullptr) {
            stack.pop_back();
            continue;
        }
        const size_t before = stack.size();
        std::vector<Expr> made;
        for (Expr part : parts(e)) {
            made.push_back(settled(part));
            if (made.back() == nullptr) stack.push_back(part);
        }
        if (stack.size() != before) continue;
        memo[e] = make(e, std::move(made));
        stack.pop_back();
    }
    return settled(root);
}

// Every node made anew of its operands.
template <typename Make>
Expr remade(Expr root, Make make) {
    Arena::Memo memo;
    auto none = [](Expr) -> Expr { return nullptr; };
    auto operands = [](Expr e) { return e->parts(); };
    return remade(root, memo, none, operands, make);
}

}  // namespace heddle::expr
