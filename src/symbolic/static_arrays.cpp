#include "symbolic/static_arrays.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "expr/scalar_op.h"

namespace heddle {

namespace {

// Arrays whose elements meet in one value have one dtype: they are in one group.
class Groups {
public:
    Groups(const Body& body, const std::vector<int32_t>& group_of_local) : body_(body), of_local_(group_of_local) {
        parent_.resize(body.locals.size());
        std::iota(parent_.begin(), parent_.end(), 0);
        exact_.resize(body.locals.size());
        of_node_.reserve(body.nodes.size());
        for (const Node& node : body.nodes) of_node_.push_back(of(node));
        for (size_t local = 0; local < body.locals.size(); ++local) {
            if (group_of_local[local] < 0) continue;
            for (NodeId value : {body.locals[local].value, body.locals[local].initial})
                if (value >= 0) join(group_of_local[local], of_node(value));
        }
        for (const BodyEquation& equation : body.equations) stay(equation.left);
    }

    int32_t of_node(NodeId node) const { return of_node_[static_cast<size_t>(node)]; }
    int32_t root(int32_t group) const {
        while (parent_[static_cast<size_t>(group)] != group) group = parent_[static_cast<size_t>(group)];
        return group;
    }
    bool is_exact(int32_t group) const { return exact_[static_cast<size_t>(group)]; }
    void stay(int32_t group) {
        if (group >= 0) exact_[static_cast<size_t>(group)] = true;
    }

private:
    int32_t join(int32_t a, int32_t b) {
        if (a < 0 || b < 0) return std::max(a, b);
        parent_[static_cast<size_t>(root(a))] = root(b);
        return root(b);
    }
    template <typename Nodes>
    void stay(const Nodes& nodes) {
        for (NodeId node : nodes) stay(of_node(node));
    }

    // The group whose dtype is the node's, if it is computed from one; -1. Operands come before their users.
    int32_t of(const Node& node) {
        switch (node.kind) {
        case Node::Kind::local:
        case Node::Kind::previous: stay(node.operands); return of_local_[static_cast<size_t>(node.local())];
        case Node::Kind::cast: {
            const int32_t from = of_node(node.operands[0]);
            if (node.dtype == DType::int64) stay(from);  // rounded: a place
            return node.dtype == DType::float64 || node.dtype == DType::complex128 ? from : -1;
        }
        case Node::Kind::select: return join(of_node(node.operands[1]), of_node(node.operands[2]));
        default: break;
        }
        int32_t joined = -1;
        for (NodeId operand : node.operands) {
            const int32_t group = of_node(operand);
            if (is_integer(body_.node(operand).dtype)) stay(group);
            joined = join(joined, group);
        }
        return is_float(node.dtype) || is_complex(node.dtype) ? joined : -1;
    }

    const Body& body_;
    const std::vector<int32_t>& of_local_;
    std::vector<int32_t> parent_, of_node_;
    std::vector<char> exact_;
};

bool fits(Element::Weak weak, DType dtype) {
    switch (weak) {
    case Element::Weak::integer: return is_integer(dtype) || is_float(dtype);
    case Element::Weak::real: return is_float(dtype);
    case Element::Weak::complex: return is_complex(dtype);
    case Element::Weak::no: return false;
    }
    return false;
}

}  // namespace

std::map<const Syntax*, DType> StaticArrays::taken(const Body& body) const {
    std::map<const Syntax*, DType> result;
    if (declared_.empty()) return result;
    std::vector<int32_t> group_of_local(body.locals.size(), -1);
    for (const Declared& each : declared_)
        group_of_local[static_cast<size_t>(each.local)] = static_cast<int32_t>(each.local);
    Groups groups(body, group_of_local);
    std::map<int32_t, std::set<DType>> wanted;
    for (const auto& [node, dtype] : uses_) {
        const int32_t group = groups.of_node(node);
        if (group < 0) continue;
        if (dtype)
            wanted[groups.root(group)].insert(*dtype);
        else
            groups.stay(group);
    }
    std::set<int32_t> staying;
    for (const Declared& each : declared_) {
        const int32_t group = static_cast<int32_t>(each.local), root = groups.root(group);
        const auto found = wanted.find(root);
        const bool one = found != wanted.end() && found->second.size() == 1;
        if (!one || groups.is_exact(group) || !fits(each.weak, *found->second.begin())) staying.insert(root);
    }
    for (const Declared& each : declared_) {
        const int32_t root = groups.root(static_cast<int32_t>(each.local));
        if (!each.statement || staying.contains(root)) continue;
        const DType dtype = *wanted.at(root).begin();
        if (dtype != body.local(each.local).dtype) result.emplace(each.statement, dtype);
    }
    return result;
}

}  // namespace heddle
