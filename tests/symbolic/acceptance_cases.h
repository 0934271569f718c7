// The cases of body_acceptance_values.txt: each acceptance template on small tensors, with NumPy's values.
#pragma once

#include "body_session.h"

namespace heddle::body_test {

struct Case {
    std::string name;
    std::map<std::string, StaticValue> parameters;
    std::vector<std::pair<std::string, Given>> inputs;
    std::vector<TensorData> outputs;
};

inline std::vector<int64_t> shape_of(const std::string& text) {
    std::vector<int64_t> shape;
    std::stringstream parts(text == "-" ? "" : text);
    for (std::string part; std::getline(parts, part, ',');) shape.push_back(std::stoll(part));
    return shape;
}

inline TensorData tensor_of(std::istream& line) {
    std::string dtype, shape, colon, word;
    line >> dtype >> shape >> colon;
    TensorData data(*dtype_named(dtype), shape_of(shape));
    for (int64_t i = 0; line >> word; ++i)
        if (is_float(data.dtype()))
            data.set_real(i, std::strtod(word.c_str(), nullptr));
        else
            data.set_integer(i, std::stoll(word));
    return data;
}

inline StaticValue parameter_of(std::istream& line) {
    std::string kind, word;
    line >> kind;
    StaticValue::List list;
    while (line >> word) {
        if (kind == "int" || kind == "ints")
            list.push_back(StaticValue::of(int64_t{std::stoll(word)}));
        else if (kind == "float" || kind == "floats")
            list.push_back(StaticValue::of(std::stod(word)));
        else if (kind == "bool")
            list.push_back(StaticValue::of(word == "1"));
        else if (kind == "dtype")
            list.push_back(StaticValue::of(*dtype_named(word)));
        else
            list.push_back(StaticValue::of(word));
    }
    return kind == "ints" || kind == "floats" ? StaticValue::of(list) : list[0];
}

inline std::vector<Case> cases() {
    std::stringstream file(file_text("tests/symbolic/body_acceptance_values.txt"));
    std::vector<Case> result;
    for (std::string text; std::getline(file, text);) {
        std::stringstream line(text);
        std::string kind, name;
        line >> kind >> name;
        if (kind == "case")
            result.push_back({name, {}, {}, {}});
        else if (kind == "param")
            result.back().parameters.emplace(name, parameter_of(line));
        else if (kind == "absent")
            result.back().inputs.push_back({name, {false, false, {}}});
        else if (kind == "output")
            result.back().outputs.push_back(tensor_of(line));
        else if (kind == "input") {
            auto& inputs = result.back().inputs;
            if (inputs.empty() || inputs.back().first != name) inputs.push_back({name, {}});
            inputs.back().second.tensors.push_back(tensor_of(line));
        }
    }
    return result;
}

}  // namespace heddle::body_test
