#include "zspace/substituted_origin.h"

namespace heddle {

OriginPointer substituted(OriginPointer origin, const std::map<std::string, OriginPointer>& names) {
    using Kind = Origin::Kind;
    if (origin->is_constant()) return origin;
    if (origin->kind() == Kind::name) {
        const auto found = names.find(origin->text());
        return found == names.end() ? origin : found->second;
    }
    if (origin->kind() != Kind::sum)
        return Origin::of(origin->kind(), substituted(origin->left(), names), substituted(origin->right(), names));
    OriginPointer sum = Origin::of_constant(origin->constant_value());
    for (const Origin::Term& term : origin->terms()) {
        OriginPointer product = Origin::of_constant(term.coefficient);
        for (OriginPointer atom : term.atoms) product = Origin::of(Kind::multiply, product, substituted(atom, names));
        sum = Origin::of(Kind::add, sum, product);
    }
    return sum;
}

}  // namespace heddle
