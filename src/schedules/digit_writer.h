// Writes one digit of a kernel out: an equation for each of its values (written_digits.h). What the kernel becomes
// shares its arena, which grows: equations without the digit stay as they are.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "schedules/kernel.h"

namespace heddle::schedules {

// The axis itself, of `count` points; or (`divides`) its remainder by `count`, while another axis counts the quotients.
struct Digit {
    AxisId axis = no_id;
    int64_t count = 1;
    bool divides = false;
};

class DigitWriter {
public:
    DigitWriter(const Kernel& kernel, const Digit& digit) : kernel_(kernel), digit_(digit) {}
    Kernel write();
    AxisId quotient() const { return quotient_; }

private:
    bool is_written(const KernelEquation& e) const;
    bool is_concerned(const KernelEquation& e) const;
    void add_axes();
    AxisId add_share(int64_t value);
    void split_locals();
    std::optional<size_t> split_dimension(TensorIndex local) const;
    void write_run(size_t first, size_t end);
    size_t end_of_run(size_t first) const;
    KernelEquation made_of(const KernelEquation& from, int64_t value);
    Expr remade(Expr root, int64_t value, Arena::Memo& memo);
    Expr read_of_part(Expr read, std::vector<Expr> operands, int64_t value);
    TensorIndex part_of(TensorIndex local, Expr coordinate, int64_t value) const;
    void end_terms(KernelEquation& e);

    struct Parts {
        size_t dimension = 0;
        TensorIndex first = no_id;  // of `count` tensors that follow one another
    };

    const Kernel& kernel_;
    const Digit digit_;
    Kernel made_;
    AxisId quotient_ = no_id;
    std::vector<AxisId> shares_;          // by value: ends the quotients; -1: all of them
    std::map<TensorIndex, Parts> parts_;  // of locals that are one for each value
    int32_t next_written_ = 0;
};

}  // namespace heddle::schedules
