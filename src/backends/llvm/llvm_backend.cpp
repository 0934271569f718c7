#include "backends/llvm/llvm_backend.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm-c/Target.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/InstSimplifyPass.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <algorithm>
#include <cassert>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>

#include <fmt/format.h>

#include "backends/llvm/addresses.h"
#include "backends/llvm/code_work.h"
#include "backends/llvm/image.h"
#include "backends/llvm/lane_masks.h"
#include "backends/llvm/llvm_code.h"
#include "backends/llvm/x86_instructions.h"
#include "cache/identity.h"
#include "support/progress.h"
#include "support/resident_memory.h"
#include "target/facts.h"

namespace heddle::backends {
namespace {

using codegen::CompiledKernels;
using schedules::Tree;

constexpr const char* kernel_name = "kernel";

std::unexpected<Diagnostics> failure(const char* code, std::string summary, std::string found) {
    Diagnostic diagnostic;
    diagnostic.code = code;
    diagnostic.summary = std::move(summary);
    diagnostic.found = std::move(found);
    return fail(std::move(diagnostic));
}

// What undoes the schedule is off, and has no other switch than LLVM's own options.
struct LlvmOption {
    const char *name, *value;
};
constexpr LlvmOption llvm_options[] = {
    // Before register allocation it lifts all of a tile's broadcasts above its multiply-adds, and spills.
    {"enable-misched", "false"},
    // Addresses are made for loops already. Measured on models: a quarter of the time to compile, and runs as fast.
    {"disable-lsr", "true"},
    // It makes one of a loop's guard and its test, at the price of a jump in each iteration.
    {"enable-tail-merge", "false"},
    // How many places it looks at for where to split a value's life: what a tile's loop keeps in registers is split nowhere.
    // Measured: a twelfth of a large kernel's time to generate, and its code a tenth shorter. With 10 it is a sixth, but
    // with 16 registers something of an inner loop is spilled.
    {"grow-region-complexity-budget", "100"},
    // It looks for arithmetic to be moved to mask registers, and changed none of the gallery's kernels.
    {"disable-x86-domain-reassignment", "true"},
};

void initialise_llvm() {
    static std::once_flag once;
    std::call_once(once, [] {
        llvm::InitializeNativeTarget();
        llvm::InitializeNativeTargetAsmPrinter();
        llvm::InitializeNativeTargetAsmParser();
        auto& options = llvm::cl::getRegisteredOptions();
        for (const auto& [name, value] : llvm_options) {
            if (const auto found = options.find(name); found != options.end())
                found->second->addOccurrence(0, name, value);
        }
    });
}

bool is_x86(const Target& target) { return target.arch.empty() || target.arch == "x86_64"; }

// Of the machine that the code is for: this one, unless the target is of another architecture.
std::string triple_of(const Target& target) {
    const std::string here = llvm::sys::getProcessTriple(), there = llvm_triple(target);
    if (there.empty() || llvm::Triple(there).getArch() == llvm::Triple(here).getArch()) return here;
    static std::once_flag once;
    std::call_once(once, [] {
#define HEDDLE_LLVM_TARGET(name)        \
    LLVMInitialize##name##TargetInfo(); \
    LLVMInitialize##name##Target();     \
    LLVMInitialize##name##TargetMC();   \
    LLVMInitialize##name##AsmPrinter();
        HEDDLE_LLVM_GENERATORS
#undef HEDDLE_LLVM_TARGET
    });
    return there;
}

// A CPU that has at least the target's vectors, where it names none.
std::string cpu_name(const Target& target) {
    if (!target.cpu.empty()) return target.cpu;
    if (!is_x86(target)) return target.arch == "riscv64" ? "generic-rv64" : "generic";
    if (!target.features.empty()) return "x86-64";
    return target.vector_bytes >= 64 ? "x86-64-v4" : "x86-64-v3";
}

Result<void> check_target(const llvm::Target& found, const std::string& triple, const Target& target) {
    const std::unique_ptr<llvm::MCSubtargetInfo> subtarget(found.createMCSubtargetInfo(triple, "", ""));
    if (!subtarget->isCPUStringValid(cpu_name(target))) {
        return failure("backends.unknown_cpu", "LLVM does not know the target's CPU", target.cpu);
    }
    llvm::SmallVector<llvm::StringRef> features;
    llvm::StringRef(target.features).split(features, ',', -1, false);
    for (llvm::StringRef feature : features) {
        const bool has_sign = feature.starts_with("+") || feature.starts_with("-");
        bool known = false;
        for (const auto& row : subtarget->getAllProcessorFeatures()) known = known || feature.drop_front(1) == row.Key;
        if (!has_sign || !known) {
            return failure("backends.unknown_feature", "LLVM does not know a feature of the target", feature.str());
        }
    }
    return {};
}

Result<std::unique_ptr<llvm::TargetMachine>> target_machine(const Target& target) {
    initialise_llvm();
    const std::string triple = triple_of(target);
    std::string error;
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
    if (!found) return failure("backends.internal", "LLVM has no code generator for this machine", error);
    if (auto checked = check_target(*found, triple, target); !checked) return fail(checked.error());
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
    if (target.arch == "riscv64") options.MCOptions.ABIName = target.abi;
    std::unique_ptr<llvm::TargetMachine> machine(
        found->createTargetMachine(triple, cpu_name(target), target.features, options, llvm::Reloc::PIC_,
                                   llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, true));
    if (!machine) return failure("backends.internal", "LLVM has no code generator for this CPU", cpu_name(target));
    return machine;
}

// The short pipeline: no vectoriser, no unrolling, nothing that undoes the schedule. Nor LLVM's combining of instructions, which
// rewrites comparisons and choices of floats: it took max(0, |x|) for max(0, x), changed the sign of zeros, and called functions
// for halves (tests/exact).
void optimise(llvm::Module& module, llvm::TargetMachine& machine, const Gate& gate) {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager components;
    llvm::ModuleAnalysisManager modules;
    llvm::PassInstrumentationCallbacks callbacks;
    callbacks.registerShouldRunOptionalPassCallback([&gate](llvm::StringRef, llvm::Any) { return gate.is_open(); });
    llvm::PassBuilder builder(&machine, {}, std::nullopt, &callbacks);
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);

    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::EarlyCSEPass(true));
    passes.addPass(llvm::InstSimplifyPass());
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(AddressesByParts());
    llvm::LoopPassManager loop_passes;
    loop_passes.addPass(llvm::LoopRotatePass());
    // Accumulators are values already; what is promoted still are states of short loops. In long ones the search took a
    // third of all passes.
    constexpr unsigned most_accesses = 64;
    llvm::LICMOptions motion;
    motion.MssaNoAccForPromotionCap = most_accesses;
    loop_passes.addPass(llvm::LICMPass(motion));
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loop_passes), true));
    passes.addPass(llvm::EarlyCSEPass(true));
    passes.addPass(llvm::InstSimplifyPass());
    passes.addPass(llvm::SimplifyCFGPass());
    for (llvm::Function& function : module) {
        if (!function.isDeclaration()) passes.run(function, functions);
    }
}

Result<std::unique_ptr<llvm::Module>> make_module(llvm::LLVMContext& context, const Tree& tree, const std::string& name,
                                                  llvm::TargetMachine& machine, const Gate& gate) {
    const llvm::MCSubtargetInfo& can = *machine.getMCSubtargetInfo();
    // AVX10 of 256 bits brings all of AVX-512 but evex512, its registers.
    const int widest = !machine.getTargetTriple().isX86()                  ? 0
                       : can.checkFeatures("+avx512bw,+avx512vl,+evex512") ? 64
                       : can.checkFeatures("+avx2")                        ? 32
                                                                           : 16;
    std::unique_ptr<llvm::Module> module = build_module(context, tree, name, widest);
    module->setTargetTriple(machine.getTargetTriple().str());
    module->setDataLayout(machine.createDataLayout());
    std::string error;
    llvm::raw_string_ostream stream(error);
    if (llvm::verifyModule(*module, &stream))
        return failure("backends.internal", "LLVM refuses the kernel's code", error);
    optimise(*module, machine, gate);
    for (llvm::Function& function : *module) {
        if (widest == 64) count_under_masks(function);
        if (widest == 32) widen_joined_masks(function);
    }
    return module;
}

Result<std::string> generate(const Tree& tree, const std::string& name, llvm::TargetMachine& machine,
                             llvm::CodeGenFileType kind, Gate& gate) {
    llvm::LLVMContext context;
    context.setOptPassGate(gate);
    auto module = make_module(context, tree, name, machine, gate);
    if (!module) return fail(module.error());
    if (!gate.is_open()) return cancelled();
    llvm::SmallString<0> code;
    llvm::raw_svector_ostream stream(code);
    llvm::legacy::PassManager passes;
    if (machine.addPassesToEmitFile(passes, stream, nullptr, kind)) {
        return failure("backends.internal", "LLVM cannot write this kind of file", tree.name);
    }
    passes.run(**module);
    if (!gate.is_open()) return cancelled();
    return std::string(code.str());
}

// What a kernel's code is called in its object file, by tree; none: an image is made of it, for this process.
using Names = std::vector<std::string>;

std::function<CodeWork::Maker(Gate&)> maker(const Target& target, Names names) {
    return [target, names = std::move(names)](Gate& gate) -> CodeWork::Maker {
        auto made = target_machine(target);
        auto machine = std::make_shared<decltype(made)>(std::move(made));
        return [machine, names, &gate](size_t place, const Tree& tree) -> Result<std::string> {
            if (!*machine) return fail(machine->error());
            const std::string name = names.empty() ? kernel_name : names[place];
            auto object = generate(tree, name, ***machine, llvm::CodeGenFileType::ObjectFile, gate);
            return object && names.empty() ? image_of(*object, name) : object;
        };
    };
}

// Of trees that its owner, if any, keeps alive.
std::shared_ptr<CodeWork> work_on(const std::vector<const Tree*>& trees, const Target& target, Names names,
                                  const std::shared_ptr<const void>& owner) {
    auto work = std::make_shared<CodeWork>(maker(target, std::move(names)));
    std::vector<size_t> all(trees.size());
    std::iota(all.begin(), all.end(), size_t{0});
    for (const Tree* tree : trees) work->add(CodeWork::TreePointer(owner, tree));
    work->close(std::move(all));
    return work;
}

}  // namespace

Result<CompileConfig> LlvmBackend::compile_config(const CompileRequest& request) const {
    CompileConfig config{.backend = name(), .target = {}, .options = {}, .version = cache::identity()};
    config.target = fmt::format("cpu {}, features {}, {} bytes a vector", cpu_name(request.target),
                                request.target.features, request.target.vector_bytes);
    for (const auto& [option, value] : llvm_options)
        config.options += fmt::format("{}{}={}", config.options.empty() ? "" : " ", option, value);
    return config;
}

namespace {

// Of closed work: by these threads, more where there are fewer than `most`, and this one unless it has to tell of it.
// They are left in `workers` where `may_leave`, and nothing is wanted any more.
Result<std::vector<std::string>> finish(const std::shared_ptr<CodeWork>& work, std::vector<std::thread>& workers,
                                        size_t most, Progress* progress, bool may_leave) {
    while (workers.size() + (progress ? 0 : 1) < most) workers.emplace_back([work] { work->run(); });
    if (progress)
        work->wait(*progress);
    else
        work->run();
    if (may_leave && !work->is_wanted()) return cancelled();
    for (std::thread& worker : workers) worker.join();
    workers.clear();
    return work->take();
}

size_t threads_for(size_t trees, int threads) { return std::min(trees, static_cast<size_t>(std::max(threads, 1))); }

}  // namespace

// What comes while a program is planned has all threads but that which plans.
class LlvmBackend::ComingWork : public codegen::KernelWork {
public:
    ComingWork(LlvmBackend& backend, const Target& target, int threads)
        : backend_(backend), threads_(threads), work_(std::make_shared<CodeWork>(maker(target, {}))) {}

    void add(std::shared_ptr<const Tree> tree) override {
        work_->add(std::move(tree));
        if (static_cast<int>(workers_.size()) + 1 < threads_) workers_.emplace_back([work = work_] { work->run(); });
    }

    Result<std::vector<std::string>> take(const std::vector<size_t>& wanted, Progress* progress) override {
        work_->close(wanted);
        backend_.settle();
        return finish(work_, workers_, threads_for(wanted.size(), threads_), progress, true);
    }

    ~ComingWork() override {
        work_->give_up();
        backend_.leave(workers_);
    }

private:
    LlvmBackend& backend_;
    const int threads_;
    const std::shared_ptr<CodeWork> work_;
    std::vector<std::thread> workers_;
};

std::unique_ptr<codegen::KernelWork> LlvmBackend::begin(const Target& target, int threads) {
    return std::make_unique<ComingWork>(*this, target, threads);
}

Result<std::vector<std::string>> LlvmBackend::objects(const std::vector<const Tree*>& trees, const Target& target,
                                                      int threads, Progress* progress,
                                                      std::shared_ptr<const void> owner) {
    settle();
    std::vector<std::thread> workers;
    const bool may_leave = owner != nullptr;
    auto made =
        finish(work_on(trees, target, {}, owner), workers, threads_for(trees.size(), threads), progress, may_leave);
    leave(workers);
    return made;
}

void LlvmBackend::leave(std::vector<std::thread>& workers) {
    std::lock_guard lock(mutex_);
    std::ranges::move(workers, std::back_inserter(leaving_));
    workers.clear();
}

void LlvmBackend::settle() {
    std::vector<std::thread> threads;
    {
        std::lock_guard lock(mutex_);
        threads.swap(leaving_);
    }
    for (std::thread& thread : threads) thread.join();
}

void LlvmBackend::rest() { give_back_library(reinterpret_cast<const void*>(&llvm::sys::getHostCPUName)); }

Result<std::shared_ptr<CompiledKernels>> LlvmBackend::link(const std::vector<std::string_view>& objects) {
    return load_images(objects);
}

Result<std::vector<std::string>> object_files(const std::vector<const Tree*>& trees,
                                              const std::vector<std::string>& names, const Target& target, int threads,
                                              Progress* progress) {
    assert(names.size() == trees.size());
    if (trees.empty()) return std::vector<std::string>();
    std::vector<std::thread> workers;
    return finish(work_on(trees, target, names, nullptr), workers, threads_for(trees.size(), threads), progress, false);
}

Result<std::string> LlvmBackend::source(const Tree& tree, const Target& target) {
    auto machine = target_machine(target);
    if (!machine) return fail(machine.error());
    Gate gate;
    return generate(tree, kernel_name, **machine, llvm::CodeGenFileType::AssemblyFile, gate);
}

}  // namespace heddle::backends
