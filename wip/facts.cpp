// Which facts a model's plan holds for: facts MODEL DIM=N... ; STAGE=import|lower|plan says how far (and PRINT what).
#include <execinfo.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "frontends/onnx/import.h"
#include "graph/graph.h"
#include "inference/model.h"
#include "equations/system.h"
#include "plan/plan.h"
#include "target/target.h"
#include "zspace/size_facts.h"
#include "zspace/size.h"
#include "support/diagnostic.h"
using namespace heddle;
using Clock = std::chrono::steady_clock;
int main(int argc, char** argv) {
    auto library = open_library("/work/wt/sizes/operators");
    if (!library) return puts("library"), 1;
    auto kept = std::move(*library); auto model = onnx::read_model(argv[1]);
    if (!model) return puts(render(model.error()).c_str()), 1;
    onnx::ImportOptions options;
    for (int i = 2; i < argc; i++) { std::string a = argv[i]; auto e = a.find('='); options.bindings[a.substr(0, e)] = std::stol(a.substr(e + 1)); }
    const std::string stage = getenv("STAGE") ? getenv("STAGE") : "plan";
    Target target = detect_host();
    SizeFacts facts;
    auto a = Clock::now();
    auto ms = [&] { auto b = Clock::now(); double t = std::chrono::duration<double, std::milli>(b - a).count(); a = b; return t; };
    auto report = [&](const char* name) {
        double t = ms(); size_t zero = 0, not_zero = 0;
        for (auto& f : facts.list()) zero += f.relation == SizeFact::Relation::zero, not_zero += f.relation == SizeFact::Relation::not_zero;
        fprintf(stdout, "-- %s: %zu facts, %zu equal, %zu not equal, %.2f ms\n", name, facts.list().size(), zero, not_zero, t);
        a = Clock::now();
    };
    for (int again = 0; again < (getenv("AGAIN") ? 3 : 1); again++) {
    facts = SizeFacts();
    RecordingFacts recording(facts);
    a = Clock::now();
    auto imported = onnx::import_model(*model, kept, options);
    if (!imported) return puts(render(imported.error()).c_str()), 1;
    report("import");
    if (stage != "import") {
        if (getenv("ONLY")) facts = SizeFacts();
        auto system = equations::lower(imported->graph);
        if (!system) return puts(render(system.error()).c_str()), 1;
        report("lower");
        if (stage != "lower") {
            if (getenv("ONLY")) facts = SizeFacts();
            equations::optimise(*system);
            report("passes");
            auto plan = plan::make_plan(imported->graph, target);
            report("plan");
            if (!plan) return puts(render(plan.error()).c_str()), 1;
            for (auto& n : plan->notes) puts(render(n).c_str());
            if (getenv("PLAN")) puts(plan::print(*plan).c_str());
        }
    }
    if (getenv("GRAPH")) puts(print(imported->graph).c_str());
    }
    for (auto& f : facts.list()) puts(f.text().c_str());
}
