// Every acceptance template with a body but those with ordered axes, on small tensors, against values from NumPy.
#include <cmath>

#include "acceptance_cases.h"

namespace heddle::body_test {
namespace {

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
