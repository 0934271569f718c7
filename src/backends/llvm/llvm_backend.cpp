#include "backends/llvm/llvm_backend.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "backends/llvm/image.h"
#include "backends/llvm/llvm_code.h"

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

// A CPU that has at least the target's vectors, where it names none.
std::string cpu_name(const Target& target) {
    if (!target.cpu.empty()) return target.cpu;
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
    const std::string triple = llvm::sys::getProcessTriple();
    std::string error;
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
    if (!found) return failure("backends.internal", "LLVM has no code generator for this machine", error);
    if (auto checked = check_target(*found, triple, target); !checked) return fail(checked.error());
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
    std::unique_ptr<llvm::TargetMachine> machine(
        found->createTargetMachine(triple, cpu_name(target), target.features, options, llvm::Reloc::PIC_,
                                   llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, true));
    if (!machine) return failure("backends.internal", "LLVM has no code generator for this CPU", cpu_name(target));
    return machine;
}

// The short pipeline: no vectoriser, no unrolling, nothing that undoes the schedule.
void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager components;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder(&machine);
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);

    const auto combine = [] { return llvm::InstCombinePass(llvm::InstCombineOptions().setVerifyFixpoint(false)); };
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::EarlyCSEPass(true));
    passes.addPass(combine());
    passes.addPass(llvm::SimplifyCFGPass());
    llvm::LoopPassManager loop_passes;
    loop_passes.addPass(llvm::LoopRotatePass());
    loop_passes.addPass(llvm::LICMPass(llvm::LICMOptions()));
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loop_passes), true));
    passes.addPass(llvm::EarlyCSEPass(true));
    passes.addPass(combine());
    passes.addPass(llvm::SimplifyCFGPass());
    for (llvm::Function& function : module) {
        if (!function.isDeclaration()) passes.run(function, functions);
    }
}

Result<std::unique_ptr<llvm::Module>> make_module(llvm::LLVMContext& context, const Tree& tree,
                                                  llvm::TargetMachine& machine) {
    std::unique_ptr<llvm::Module> module = build_module(context, tree, kernel_name);
    module->setTargetTriple(machine.getTargetTriple().str());
    module->setDataLayout(machine.createDataLayout());
    std::string error;
    llvm::raw_string_ostream stream(error);
    if (llvm::verifyModule(*module, &stream))
        return failure("backends.internal", "LLVM refuses the kernel's code", error);
    optimise(*module, machine);
    return module;
}

Result<std::string> generate(const Tree& tree, llvm::TargetMachine& machine, llvm::CodeGenFileType kind) {
    llvm::LLVMContext context;
    auto module = make_module(context, tree, machine);
    if (!module) return fail(module.error());
    llvm::SmallString<0> code;
    llvm::raw_svector_ostream stream(code);
    llvm::legacy::PassManager passes;
    if (machine.addPassesToEmitFile(passes, stream, nullptr, kind)) {
        return failure("backends.internal", "LLVM cannot write this kind of file", tree.name);
    }
    passes.run(**module);
    return std::string(code.str());
}

Result<std::string> generate_image(const Tree& tree, llvm::TargetMachine& machine) {
    auto object = generate(tree, machine, llvm::CodeGenFileType::ObjectFile);
    if (!object) return object;
    return image_of(*object, kernel_name);
}

}  // namespace

Result<std::vector<std::string>> LlvmBackend::objects(const std::vector<const Tree*>& trees, const Target& target,
                                                      int threads) {
    std::vector<Result<std::string>> made(trees.size());
    std::atomic<size_t> next = 0;
    const auto work = [&] {
        auto machine = target_machine(target);
        for (size_t i = next++; i < trees.size(); i = next++) {
            if (!machine)
                made[i] = fail(machine.error());
            else
                made[i] = generate_image(*trees[i], **machine);
        }
    };
    std::vector<std::thread> workers;
    for (int t = 1; t < threads && static_cast<size_t>(t) < trees.size(); t++) workers.emplace_back(work);
    work();
    for (std::thread& worker : workers) worker.join();
    std::vector<std::string> objects;
    for (Result<std::string>& object : made) {
        if (!object) return fail(object.error());
        objects.push_back(std::move(*object));
    }
    return objects;
}

Result<std::shared_ptr<CompiledKernels>> LlvmBackend::link(const std::vector<std::string_view>& objects) {
    return load_images(objects);
}

Result<std::string> LlvmBackend::source(const Tree& tree, const Target& target) {
    auto machine = target_machine(target);
    if (!machine) return fail(machine.error());
    return generate(tree, **machine, llvm::CodeGenFileType::AssemblyFile);
}

}  // namespace heddle::backends
