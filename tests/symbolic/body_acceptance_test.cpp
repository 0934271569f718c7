// Every acceptance template with a body but those with ordered axes, on small tensors, against values from NumPy.
#include <cmath>

#include "body_session.h"

namespace heddle::body_test {
namespace {

struct Case {
    std::string name;
    std::map<std::string, StaticValue> parameters;
    std::vector<std::pair<std::string, Given>> inputs;
    std::vector<TensorData> outputs;
};

std::vector<int64_t> shape_of(const std::string& text) {
    std::vector<int64_t> shape;
    std::stringstream parts(text == "-" ? "" : text);
    for (std::string part; std::getline(parts, part, ',');) shape.push_back(std::stoll(part));
    return shape;
}

TensorData tensor_of(std::istream& line) {
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

StaticValue parameter_of(std::istream& line) {
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

std::vector<Case> cases() {
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

bool close(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return a == b || std::abs(a - b) <= 1e-5 + 1e-4 * std::abs(b);
}

TEST(BodyAcceptance, EveryTemplateGivesNumPysValues) {
    Library library = library_of(file_text("tests/language/acceptance/templates.yaml"));
    std::vector<Case> all = cases();
    ASSERT_EQ(all.size(), 96u);
    for (Case& one : all) {
        SCOPED_TRACE(one.name);
        auto metakernel = library.find(one.name);
        ASSERT_TRUE(metakernel) << render(metakernel.error());
        std::vector<Given> inputs;
        for (size_t i = 0; i < one.inputs.size(); ++i) {
            one.inputs[i].second.list = (*metakernel)->inputs[i].variadic;
            inputs.push_back(one.inputs[i].second);
        }
        auto outcome = apply(library, one.name, inputs, one.parameters);
        if (!outcome) {
            ADD_FAILURE() << render(outcome.error());
            continue;
        }
        EXPECT_EQ(outcome->outputs.size(), one.outputs.size());
        for (size_t o = 0; o < std::min(outcome->outputs.size(), one.outputs.size()); ++o) {
            const TensorData &got = outcome->outputs[o], &expected = one.outputs[o];
            EXPECT_EQ(name(got.dtype()), name(expected.dtype()));
            EXPECT_EQ(got.shape(), expected.shape());
            if (got.shape() != expected.shape()) continue;
            for (int64_t i = 0; i < got.size(); ++i)
                EXPECT_TRUE(close(got.real_at(i), expected.real_at(i)))
                    << "output " << o << " element " << i << ": " << got.real_at(i) << ", expected "
                    << expected.real_at(i);
        }
    }
}

}  // namespace
}  // namespace heddle::body_test
