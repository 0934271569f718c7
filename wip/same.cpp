// Whether a plan made at one size and instantiated for another is the plan made there: same MODEL A B [DIM=N...]; A and B: name=value,...
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include "frontends/onnx/import.h"
#include "inference/model.h"
#include "plan/instantiate.h"
#include "plan/plan.h"
#include "target/target.h"
#include "support/diagnostic.h"
using namespace heddle;
static std::map<std::string, int64_t> parsed(std::string a) { std::map<std::string, int64_t> m; std::stringstream s(a); std::string p; while (std::getline(s, p, ',')) { auto e = p.find('='); m[p.substr(0, e)] = std::stol(p.substr(e + 1)); } return m; }
int main(int argc, char** argv) {
    auto library = open_library("/work/wt/sizes/operators");
    auto kept = std::move(*library); auto model = onnx::read_model(argv[1]);
    if (!model) return puts(render(model.error()).c_str()), 1;
    Target target = detect_host();
    auto plan_at = [&](const std::map<std::string, int64_t>& names) -> Result<plan::Plan> {
        auto inputs = onnx::caller_inputs(*model);
        std::vector<TensorData> data; std::vector<const TensorData*> given; data.reserve(inputs.size());
        for (const auto* input : inputs) {
            std::vector<int64_t> shape;
            for (const auto& d : input->shape) shape.push_back(d.value ? *d.value : names.at(d.name));
            data.emplace_back(*input->dtype, shape, nullptr, nullptr);
            given.push_back(&data.back());
        }
        auto graph = inference::specialise(*model, kept, given);
        if (!graph) return fail(graph.error());
        return plan::make_plan(*graph, target);
    };
    auto a = plan_at(parsed(argv[2]));
    if (!a) return puts(render(a.error()).c_str()), 1;
    for (int i = 3; i < argc; i++) {
        auto names = parsed(argv[i]);
        auto b = plan_at(names);
        if (!b) { puts(render(b.error()).c_str()); continue; }
        auto* broken = a->facts->broken_by(names);
        printf("%s: %zu facts, %s%s\n", argv[i], a->facts->list().size(), broken ? "broken: " : "hold", broken ? broken->text().c_str() : "");
        for (auto& f : a->facts->list()) if (broken && getenv("ALL") && !f.holds(names)) printf("   broken %s\n", f.text().c_str());
        if (broken && !getenv("FORCE")) continue;
        plan::instantiate(*a, names);
        std::string x = plan::print(*a), y = plan::print(*b);
        printf("%s\n", x == y ? "same" : "DIFFERENT");
        if (x != y) { std::ofstream("/tmp/x.txt") << x; std::ofstream("/tmp/y.txt") << y; if (i + 1 == argc) system("diff /tmp/x.txt /tmp/y.txt | head -${LINES:-60} | cut -c1-300"); }
    }
}
