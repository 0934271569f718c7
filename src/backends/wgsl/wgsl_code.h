// codegen::Code spelled in WGSL. A task is a workgroup, and lane l of a vector is what invocation l holds: every value
// is a scalar of its own in each invocation, and those of width 1 are the same in all. What goes from lane to lane goes
// through workgroup memory, with barriers around it.
//
// Registers have 32 bits: int64 and uint64 are i32 and u32 (wgsl_checks.h says where that holds), narrower integers are
// wrapped behind each operation, float64 is only what launch numbers are read as.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/code.h"

namespace heddle::backends {

// Where a task's arrays lie.
enum class WgslArrays : uint8_t { none, workgroup, storage };

class WgslCode : public codegen::Code {
public:
    using Value = CodeValue;
    using Address = CodeAddress;

    WgslCode(const schedules::Tree& tree, int lanes, WgslArrays arrays);
    const std::string& body() const { return text_; }
    const std::string& functions() const { return functions_; }
    // What the code uses beside the tree's buffers.
    bool exchanges() const { return exchanges_; }
    bool reports() const { return reports_; }
    // What a tree asks for that is not written: empty if all is.
    const std::set<std::string>& missing() const { return missing_; }

    // Of a buffer: its type in the module, and whether the code stores to it.
    std::string buffer_type(MemoryId memory) const;
    bool is_written(MemoryId memory) const;

    // codegen/code_operations.def says what they mean.
#define HEDDLE_CODE_OPERATION(RESULT, NAME, PARAMETERS) RESULT NAME PARAMETERS override;
#include "codegen/code_operations.def"
#undef HEDDLE_CODE_OPERATION
    codegen::Units units() const override { return codegen::Units::single; }
    // By a zero of the launch, which no compiler knows.
    Value pinned(Value value) override;
    Value first_where(Value, Value value) override { return value; }
    void phase(const std::string& name) override;

private:
    struct Name {
        std::string text;
        bool uniform;  // the same in all invocations, as the language's own analysis sees it
    };
    // What a block came to.
    struct Captured {
        std::string text;
        bool waits = false;  // it has a barrier
    };

    void line(const std::string& text);
    void barrier();
    Value named(DType dtype, int width, std::string text, bool uniform);
    Value fresh(DType dtype, int width, const std::string& text, bool uniform);
    Value define(DType dtype, int width, const std::string& text, bool uniform);
    const std::string& text(Value value) const { return names_[value.handle].text; }
    bool is_uniform(Value value) const { return names_[value.handle].uniform; }
    bool are_uniform(std::initializer_list<Value> values) const;
    Captured captured(const Action& block);
    // A condition or bound under which invocations wait for one another: one that all agree on.
    Value agreed(Value value);
    std::string type(DType dtype) const;
    std::string wrapped(DType dtype, const std::string& text) const;
    std::string as_bits(Value value) const;
    std::string from_bits(DType dtype, const std::string& word) const;
    void add_function(const std::string& name, const std::string& text);
    Value integer_operation(const char* op, Value a, Value b);
    Value compare(const char* op, Value a, Value b);
    Value is_nan(Value a);

    // wgsl_memory.cpp
    const char* scratch() const { return arrays_ == WgslArrays::storage ? "report.scratch" : "scratch"; }
    std::string base(MemoryId memory) const;
    std::string place(const Address& address) const;
    std::string element(MemoryId memory, const std::string& index);
    std::string load_function(MemoryId memory);
    std::string store_function(MemoryId memory);
    Value loaded(MemoryId memory, const std::string& index, int width, std::optional<Value> mask, bool uniform);
    void stored(MemoryId memory, const std::string& index, Value value, const std::string& condition);
    bool reads_uniformly(MemoryId memory) const;

    const schedules::Tree& tree_;
    const int lanes_;
    const WgslArrays arrays_;
    std::set<MemoryId> stored_;
    std::string text_, functions_;
    std::map<std::string, Values> results_;  // of each function of the walk, in its own body
    std::set<std::string> written_;          // functions
    std::vector<Name> names_;
    std::map<std::string, Value> known_;  // by type and text
    std::vector<std::string> made_;       // keys of known_, in the order of their making
    std::set<std::string> missing_;
    std::vector<std::string> reported_;  // until the kernel stops
    Value task_begin_, task_end_, lane_;
    bool exchanges_ = false, reports_ = false, waits_ = false;
    bool begun_ = false;  // there is a phase before
    int loops_ = 0;
    int indent_ = 1;
    int next_ = 0;
};

}  // namespace heddle::backends
