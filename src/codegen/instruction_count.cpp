#include "codegen/instruction_count.h"

#include <bit>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace heddle::codegen {
namespace {

// Numbers values instead of writing them.
class Counter : public Code {
public:
    explicit Counter(const Tree& tree) : tree_(tree) {}
    int64_t count() const { return count_; }

    // As in place; rare ones once a kernel, and a call each.
    Values function(const std::string& name, std::span<const CodeValue> arguments, Runs runs,
                    const std::function<Values(std::span<const CodeValue>)>& body) override {
        if (runs == Runs::always) return body(arguments);
        const auto [results, first] = functions_.try_emplace({name, arguments[0].dtype, arguments[0].width});
        if (first) inside([&] { results->second = body(arguments); });
        Values made;
        for (const CodeValue& result : results->second) made.push_back(once(result.dtype, result.width));
        return made;
    }

    CodeValue integer(DType dtype, int64_t value) override { return known({Form::constant, id(value)}, dtype, 1, 0); }
    CodeValue real(DType dtype, double value) override {
        return known({Form::real, std::bit_cast<uint64_t>(value)}, dtype, 1, 0);
    }
    CodeValue number(int64_t index) override { return known({Form::number, id(index)}, DType::int64, 1); }
    CodeValue iota(DType dtype, int width) override { return known({Form::iota}, dtype, width, 0); }
    CodeValue broadcast(CodeValue scalar, int width) override {
        return known({Form::broadcast, scalar.handle}, scalar.dtype, width);
    }
    CodeValue lane(CodeValue vector, int lane) override {
        return known({Form::lane, vector.handle, id(lane)}, vector.dtype, 1);
    }
    CodeValue shuffle(CodeValue a, CodeValue, std::span<const int> lanes) override {
        return once(a.dtype, static_cast<int>(lanes.size()));
    }

    CodeValue operation(CodeOp op, CodeValue a, CodeValue b) override {
        const bool compares = op >= CodeOp::equal && op <= CodeOp::less_equal;
        return known({Form::operation, id(op), a.handle, b.handle}, compares ? DType::boolean : a.dtype, a.width);
    }
    Units units() const override { return Units::parts_of_floats; }
    std::optional<int> look_up_cost() const override { return 1; }
    CodeValue look_up(const LookUpTable& table, CodeValue index) override {
        const auto bits = [&](size_t element) { return std::bit_cast<uint32_t>(table[element]); };
        return known({Form::look_up, index.handle, bits(0), bits(1)}, DType::float32, index.width);
    }
    CodeValue look_up(CodeValue table, CodeValue index) override {
        return known({Form::look_up, index.handle, table.handle}, DType::float32, index.width);
    }
    CodeValue multiply_add(CodeValue a, CodeValue b, CodeValue c) override {
        return known({Form::multiply_add, a.handle, b.handle, c.handle}, a.dtype, a.width);
    }
    CodeValue select(CodeValue condition, CodeValue then, CodeValue otherwise) override {
        return known({Form::select, condition.handle, then.handle, otherwise.handle}, then.dtype, then.width);
    }
    CodeValue convert(CodeValue value, DType dtype) override {
        return known({Form::convert, value.handle}, dtype, value.width);
    }
    CodeValue reinterpret(CodeValue value, DType dtype) override {
        return known({Form::reinterpret, value.handle}, dtype, value.width, 0);
    }
    CodeValue again(CodeValue value) override { return fresh(value.dtype, 1); }
    CodeValue any(CodeValue mask) override { return known({Form::any, mask.handle}, DType::boolean, 1); }

    CodeValue load(const CodeAddress& address, int width, std::optional<CodeValue>) override {
        point(address);
        return once(tree_.memory(address.memory).dtype, width);
    }
    void store(const CodeAddress& address, CodeValue, std::optional<CodeValue>, bool) override {
        point(address);
        count_++;
    }
    CodeValue gather(MemoryId memory, CodeValue indices, std::optional<CodeValue>) override {
        return once(tree_.memory(memory).dtype, indices.width);
    }
    void scatter(MemoryId, CodeValue, CodeValue, std::optional<CodeValue>) override { count_++; }
    void store_compressed(const CodeAddress& address, CodeValue, CodeValue, CodeValue, CodeValue) override {
        point(address);
        count_ += 6;  // values, where each goes, a branch, and what is elsewhere
    }
    CodeValue address_of(const CodeAddress& address) override { return point(address); }
    void prefetch(CodeValue, int) override { count_++; }
    void place_array(MemoryId, CodeValue, CodeValue) override { count_++; }
    void report(int, CodeValue) override { count_++; }

    Cell cell(CodeValue initial) override { return {initial.dtype, initial.width, 0}; }
    CodeValue get(const Cell& cell) override { return fresh(cell.dtype, cell.width); }
    void set(const Cell&, CodeValue) override {}
    Cells cells(DType dtype, int width, int64_t) override { return {dtype, width, 0}; }
    CodeValue get(const Cells& cells, CodeValue) override { return once(cells.dtype, cells.width); }
    void set(const Cells&, CodeValue, CodeValue) override { count_++; }

    void repeat(CodeValue, CodeValue, int64_t, const std::function<void(CodeValue)>& body) override {
        count_ += 4;  // guard, step, test, jump
        inside([&] { body(fresh(DType::int64, 1)); });
    }
    void repeat_while(const std::function<CodeValue()>& condition, const Action& body) override {
        count_ += 2;
        inside([&] { condition(), body(); });
    }
    void branch(CodeValue, const Action& then, const Action& otherwise) override {
        count_ += 2;
        inside(then);
        inside(otherwise);
    }
    void rarely(CodeValue, const Action& then) override {
        count_++;
        inside(then);
    }
    void stop(int) override { count_++; }
    void comment(const std::string&) override {}
    CodeValue task_begin() override { return known({Form::task_begin}, DType::int64, 1, 0); }
    CodeValue task_end() override { return known({Form::task_end}, DType::int64, 1, 0); }

private:
    enum class Form : uint8_t {
        constant,
        real,
        number,
        iota,
        broadcast,
        lane,
        operation,
        look_up,
        multiply_add,
        select,
        convert,
        reinterpret,
        any,
        pointer,
        task_begin,
        task_end
    };
    struct Key {
        Form form;
        uint64_t a = 0, b = 0, c = 0;
        DType dtype = DType::int64;
        int width = 1;
        auto operator<=>(const Key&) const = default;
    };

    static uint64_t id(auto value) { return static_cast<uint64_t>(value); }
    CodeValue fresh(DType dtype, int width) { return {dtype, width, ++values_}; }
    CodeValue once(DType dtype, int width) {
        count_++;
        return fresh(dtype, width);
    }
    CodeValue known(Key key, DType dtype, int width, int instructions = 1) {
        key.dtype = dtype;
        key.width = width;
        auto [it, added] = known_.try_emplace(key, values_ + 1);
        if (added) {
            values_++;
            made_.push_back(key);
            count_ += instructions;
        }
        return {dtype, width, it->second};
    }
    CodeValue point(const CodeAddress& address) {
        CodeValue at = known({Form::pointer, id(address.memory), address.index.handle}, DType::int64, 1);
        for (CodeValue move : address.moves) at = known({Form::pointer, 0, at.handle, move.handle}, DType::int64, 1);
        return at;
    }
    // What a block makes is not known behind it.
    void inside(const Action& block) {
        const size_t before = made_.size();
        block();
        for (; made_.size() > before; made_.pop_back()) known_.erase(made_.back());
    }

    const Tree& tree_;
    int64_t count_ = 0;
    uintptr_t values_ = 0;
    std::map<Key, uintptr_t> known_;
    std::map<std::tuple<std::string, DType, int>, Values> functions_;
    std::vector<Key> made_;
};

}  // namespace

int64_t instruction_count(const Tree& tree) {
    Counter counter(tree);
    walk(tree, counter);
    return counter.count();
}

}  // namespace heddle::codegen
