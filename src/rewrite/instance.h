// Random instances of a rule: tensors for its variables and values for its parameters, made to fit the shape patterns
// of the operators in its match. What the operators or the rule's conditions refuse is thrown away by whoever asks.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "rewrite/apply.h"

namespace heddle::rewrite {

struct Instance {
    std::map<std::string, std::vector<TensorType>> tensors;  // one a variable; any number for a list variable
    std::map<std::string, StaticValue> values;               // parameters of Rule::pattern
    std::string text() const;                                // "X: float32[2, 3], $chunk = 2"
};

// Shapes have extents 0 to 5, sometimes to 24, with broadcasting, dimensions of one and, now and then, none at all;
// dtypes are those that the operators allow.
class InstanceMaker {
public:
    // With `named`, each new dimension is a named one, so that shapes carry expressions over them. With `all_dtypes`,
    // dtypes that nothing constrains may also be complex or narrow ones.
    InstanceMaker(const Rule& rule, const Library& library, uint64_t seed, bool named, bool all_dtypes = false);
    Instance next();

private:
    struct CallShapes;
    void fill(const CallPattern& pattern);
    void fill_operands(const CallPattern& pattern, size_t slot, CallShapes& shapes);
    void fill_parameters(const CallPattern& pattern, const CallShapes& shapes);
    std::optional<TensorType> type_of(const OperandPattern& operand);
    void learn(const Syntax& pattern, const TensorType& type, CallShapes& shapes);
    TensorType make(const TensorSpec& specification, const Template& metakernel, CallShapes& shapes);
    static std::optional<Size> value_of(const Syntax& written, const CallShapes& shapes);
    void make_dimensions(const std::vector<SyntaxPointer>& dimensions, CallShapes& shapes, std::vector<Size>& into);
    std::vector<Size> narrowed(std::vector<Size> joint, bool may_drop);
    DType dtype_for(const TensorSpec& specification, const Template& metakernel, CallShapes& shapes);
    StaticValue value_of(const ParameterType& type, int64_t rank, bool element);
    int64_t small_integer();
    Size extent();
    size_t below(size_t count) { return static_cast<size_t>(random_() % count); }
    bool chance(size_t percent) { return below(100) < percent; }

    const Rule& rule_;
    const Library& library_;
    std::mt19937_64 random_;
    bool named_, all_dtypes_;
    Instance made_;
    int64_t names_ = 0;
    size_t list_length_ = 1;  // of most lists of one instance
    bool empty_ = false, ones_ = false, large_ = false;
};

// Of a shape pattern: whether it stands for any number of dimensions; the members of groups among the others.
bool is_open(const Syntax& dimension);
std::vector<SyntaxPointer> flat(const std::vector<SyntaxPointer>& dimensions);

// Both sides of a rule on an instance.
struct Sides {
    CallGraph graph;
    std::vector<TensorId> left, right;
};

// Nothing if the rule does not match the instance. Codes as replacement_at's.
Result<std::optional<Sides>> sides_of(const std::shared_ptr<const Rule>& rule, const Library& library,
                                      const Instance& instance);

}  // namespace heddle::rewrite
