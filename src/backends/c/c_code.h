// codegen::Code spelled in C. Names are v0, v1 ... for values and c0, c1 ... for cells; a vector of booleans is one
// of int8_t, 0 or -1 a lane.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/code.h"

namespace heddle::backends {

class CCode : public codegen::Code {
public:
    using Value = CodeValue;
    using Address = CodeAddress;

    CCode(const schedules::Tree& tree, codegen::Units units) : tree_(tree), units_(units) {}
    const std::string& body() const { return text_; }
    const std::string& functions() const { return functions_; }
    // Of the launch, that the body uses as n0, n1 ...
    const std::set<int64_t>& numbers() const { return numbers_; }
    std::string type_definitions() const;
    std::string memory_type(MemoryId memory) const;
    std::string memory_name(MemoryId memory) const;

    // codegen/code_operations.def says what they mean.
#define HEDDLE_CODE_OPERATION(RESULT, NAME, PARAMETERS) RESULT NAME PARAMETERS override;
#include "codegen/code_operations.def"
#undef HEDDLE_CODE_OPERATION
    codegen::Units units() const override { return units_; }
    std::optional<int> look_up_cost() const override {
        return units_ == codegen::Units::plain ? std::nullopt : std::optional(1);
    }
    Value look_up(const codegen::LookUpTable& table, Value index) override;
    Value look_up(Value table, Value index) override;

private:
    void line(const std::string& text);
    // A value whose text is used in place; one with a variable of its own; the same where the text's value never
    // changes: an equal one of this block or one around it serves.
    Value inline_value(DType dtype, int width, std::string text);
    Value fresh(DType dtype, int width, const std::string& text);
    Value define(DType dtype, int width, const std::string& text);
    void inside(const Action& block);
    // A new vector, lane by lane: `text` may use the lane number l.
    Value by_lane(DType dtype, int width, const std::string& text, const std::string& condition = "");
    void add_function(const std::string& name, const std::string& text);
    std::string helper(const std::string& name, DType dtype, int width, const std::string& parameters,
                       const std::string& text, const std::string& condition = "");
    const std::string& text(Value value) const { return names_[value.handle]; }
    std::string type(DType dtype, int width);
    std::string lane_text(Value value) const;  // lane l of a vector, or the scalar
    std::string pointer(const Address& address) const;
    Value integer_operation(const std::string& op, Value a, Value b);
    Value compare(const std::string& op, Value a, Value b);
    Value count_bits(Value a);
    Value dot_pairs(Value a, Value b);
    Value scale(Value a, Value exponent);
    Value significand_of(Value a);
    Value reciprocal_root_estimate(Value a);

    const schedules::Tree& tree_;
    const codegen::Units units_;
    std::string text_;
    std::string functions_;                  // that the body calls
    std::map<std::string, Values> results_;  // of each of them, in its own body
    std::set<std::string> helpers_;          // of them, those of vectors that are no functions of the walk
    std::vector<std::string> names_;
    std::map<std::string, Value> known_;  // by type and text
    std::vector<std::string> made_;       // keys of known_, in the order of their making
    std::set<std::pair<DType, int>> vectors_;
    std::set<int64_t> numbers_;
    int indent_ = 1;
    int next_ = 0;
};

}  // namespace heddle::backends
