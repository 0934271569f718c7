#include <chrono>
#include <cstdio>
#include <vector>
#include <algorithm>
#include "frontends/onnx/import.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "equations/system.h"
#include "target/target.h"
#include "support/diagnostic.h"
using namespace heddle;
using Clock = std::chrono::steady_clock;
int main(int argc, char** argv) {
    auto library = open_library("/tmp/clone/operators");
    auto model = onnx::read_model(argv[1]);
    if (!model) return puts(render(model.error()).c_str()), 1;
    Target target = detect_host();
    std::vector<double> t[3];
    std::string dim = argv[2]; int from = atoi(argv[3]), to = atoi(argv[4]);
    for (int n = from; n < to; n++) {
        onnx::ImportOptions options;
        for (int i = 5; i < argc; i++) { std::string a = argv[i]; auto e = a.find('='); options.bindings[a.substr(0, e)] = std::stol(a.substr(e + 1)); }
        options.bindings[dim] = n;
        auto a = Clock::now();
        auto imported = onnx::import_model(*model, *library, options);
        if (!imported) return puts(render(imported.error()).c_str()), 1;
        auto b = Clock::now();
        auto system = equations::lower(imported->graph);
        auto c = Clock::now();
        auto plan = plan::make_plan(imported->graph, target);
        auto d = Clock::now();
        if (!plan) return puts(render(plan.error()).c_str()), 1;
        auto ms = [](auto x, auto y) { return std::chrono::duration<double, std::milli>(y - x).count(); };
        t[0].push_back(ms(a, b)); t[1].push_back(ms(b, c)); t[2].push_back(ms(c, d));
    }
    for (auto& x : t) { std::sort(x.begin(), x.end()); printf("%.2f ", x[x.size() / 2]); }
    puts("ms import, lower, plan (with lower)");
}
