// A graph of calls that grows: shipped operators and templates of its own, on what there is and on new inputs.
#pragma once

#include <string>
#include <vector>

#include "random/random_program.h"

namespace heddle::random {

int64_t product(const Shape& shape);
std::string list(const Shape& values);  // as a template writes it
const char* truth(bool value);

class RandomCalls {
public:
    explicit RandomCalls(Choices& choices);

    void add();
    void add_movement();  // or an elementwise operation
    // Results that nobody reads, and perhaps others, are outputs.
    Program finish();

private:
    struct Value {
        std::string name;
        Type type;
        int64_t limit = 0;  // of integers that may be indices
        bool input = false, read = false;
    };

    // --- Values ---
    int64_t size();
    Shape shape(int64_t most_rank);
    const Value& input(Type type, int64_t limit = 0);
    const Value& any();                                  // of a float type
    const Value& of_rank(size_t least, size_t most);     // of a float type
    const Value& like(const Value& value, Shape shape);  // of its dtype
    const Value& broadcasting(const Value& value);
    const Value& indices(Shape shape, int64_t limit);
    Value take(const Value& value);
    size_t dimension(const Value& value);
    bool fits(const Shape& shape) const;

    // --- Calls ---
    void result(const std::string& call, Type type, int64_t limit = 0);
    std::string inner(const std::string& call, Type type);  // a value that only the next call reads
    void results(const std::string& call, const std::vector<Value>& types);

    void own_template();
    void elementwise();
    void conversion();
    void movement();
    void joining();
    void choosing();
    void ordering();
    void cumulation();
    void reduction();
    void normalisation();
    void contraction();
    void contraction_of_contraction();
    void window();
    void recurrence();
    void attention();

    Choices& choices_;
    int64_t most_elements_ = 0;
    bool large_ = false;
    Input::Values values_ = Input::Values::normal;
    DType real_ = DType::float32;
    std::vector<Value> made_;
    std::vector<Input> inputs_;
    std::vector<Call> calls_;
    std::vector<Section> templates_;
    int names_ = 0;
};

}  // namespace heddle::random
