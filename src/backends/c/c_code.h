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
    using Value = codegen::CodeValue;
    using Cell = codegen::Cell;
    using Address = codegen::CodeAddress;
    using MemoryId = schedules::MemoryId;

    CCode(const schedules::Tree& tree, codegen::Units units) : tree_(tree), units_(units) {}
    const std::string& body() const { return text_; }
    const std::string& functions() const { return functions_; }
    // Of the launch, that the body uses as n0, n1 ...
    const std::set<int64_t>& numbers() const { return numbers_; }
    std::string type_definitions() const;
    std::string memory_type(MemoryId memory) const;
    std::string memory_name(MemoryId memory) const;

    Values function(const std::string& name, std::span<const Value> arguments, codegen::Runs runs,
                    const std::function<Values(std::span<const Value>)>& body) override;
    Value integer(DType dtype, int64_t value) override;
    Value real(DType dtype, double value) override;
    Value number(int64_t index) override;
    Value iota(DType dtype, int width) override;
    Value broadcast(Value scalar, int width) override;
    Value lane(Value vector, int lane) override;
    Value shuffle(Value a, Value b, std::span<const int> lanes) override;
    Value operation(codegen::CodeOp op, Value a, Value b) override;
    codegen::Units units() const override { return units_; }
    std::optional<int> look_up_cost() const override {
        return units_ == codegen::Units::plain ? std::nullopt : std::optional(1);
    }
    Value look_up(const codegen::LookUpTable& table, Value index) override;
    Value look_up(Value table, Value index) override;
    Value multiply_add(Value a, Value b, Value c) override;
    Value select(Value condition, Value then, Value otherwise) override;
    Value convert(Value value, DType dtype) override;
    Value reinterpret(Value value, DType dtype) override;
    Value any(Value mask) override;
    Value again(Value value) override;
    Value load(const Address& address, int width, std::optional<Value> mask) override;
    void store(const Address& address, Value value, std::optional<Value> mask, bool non_temporal) override;
    Value gather(MemoryId memory, Value indices, std::optional<Value> mask) override;
    void scatter(MemoryId memory, Value indices, Value value, std::optional<Value> mask) override;
    void store_compressed(const Address& address, Value value, Value mask, Value filling, Value fits) override;
    Value address_of(const Address& address) override;
    void prefetch(Value address, int level) override;
    void place_array(MemoryId memory, Value offset, Value origin) override;
    void report(int position, Value value) override;
    Cell cell(Value initial) override;
    Value get(const Cell& cell) override;
    void set(const Cell& cell, Value value) override;
    codegen::Cells cells(DType dtype, int width, int64_t count) override;
    Value get(const codegen::Cells& cells, Value index) override;
    void set(const codegen::Cells& cells, Value index, Value value) override;
    void repeat(Value first, Value end, int64_t step, const std::function<void(Value)>& body) override;
    void repeat_while(const std::function<Value()>& condition, const Action& body) override;
    void branch(Value condition, const Action& then, const Action& otherwise) override;
    void stop(int status) override;
    void rarely(Value condition, const Action& then) override;
    void comment(const std::string& text) override;
    Value task_begin() override { return inline_value(DType::int64, 1, "begin"); }
    Value task_end() override { return inline_value(DType::int64, 1, "end"); }

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
