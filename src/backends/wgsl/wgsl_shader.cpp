#include "backends/wgsl/wgsl_shader.h"

#include <fmt/format.h>

#include "backends/wgsl/wgsl_checks.h"
#include "backends/wgsl/wgsl_code.h"
#include "target/tags.h"

namespace heddle::backends {
namespace {

using schedules::Memory;
using schedules::MemoryId;
using schedules::Tree;

constexpr int64_t word = 4;

// launch[i / 4].xyzw
std::string launch_word(int64_t i) { return fmt::format("launch[{}].{}", i / 4, "xyzw"[i % 4]); }

class Module {
public:
    Module(const Tree& tree, const WgslCode& code, int lanes) : tree_(tree), code_(code), lanes_(lanes) {}

    // `scratch`: words of arrays in workgroup memory.
    WgslShader written(WgslArrays arrays, int64_t scratch) {
        shader_.workgroup_size = lanes_;
        const auto buffers = static_cast<int64_t>(tree_.buffers());
        const auto numbers = static_cast<int64_t>(tree_.numbers.size());
        shader_.launch_words = (launch_head_words + buffers + numbers + 3) / 4 * 4;
        std::string text = fmt::format("// {}\n", tree_.name);
        text +=
            fmt::format("@group(0) @binding(0) var<uniform> launch: array<vec4<i32>, {}>;\n", shader_.launch_words / 4);
        for (int64_t i = 0; i < buffers; i++) {
            const auto memory = static_cast<MemoryId>(i);
            text += bound({WgslShader::Binding::What::buffer, static_cast<int32_t>(i), code_.is_written(memory)},
                          fmt::format("m{}", i), code_.buffer_type(memory));
        }
        shader_.has_scratch = arrays == WgslArrays::storage;
        if (code_.reports() || shader_.has_scratch) {
            text += fmt::format("struct Report {{ status: array<atomic<i32>, {}>, scratch: array<u32> }};\n",
                                WgslShader::status_words);
            text += bound({WgslShader::Binding::What::report, -1, true}, "report", "Report");
        }
        if (arrays == WgslArrays::workgroup) {
            text += fmt::format("var<workgroup> scratch: array<u32, {}>;\n", scratch);
            shader_.workgroup_bytes += scratch * word;
        }
        if (code_.exchanges()) {
            text += fmt::format("var<workgroup> exchange: array<u32, {}>;\n", 2 * lanes_);
            shader_.workgroup_bytes += 2 * lanes_ * word;
        }
        text += "var<private> infinity: u32 = 0x7f800000u;\nvar<private> not_a_number: u32 = 0x7fc00000u;\n";
        text += code_.functions();
        shader_.text = text + entry(arrays);
        return std::move(shader_);
    }

private:
    std::string bound(WgslShader::Binding binding, const std::string& name, const std::string& type) {
        shader_.bindings.push_back(binding);
        return fmt::format("@group(0) @binding({}) var<storage, {}> {}: {};\n", shader_.bindings.size(),
                           binding.written ? "read_write" : "read", name, type);
    }

    // Workgroups along two axes, of which the last ones may have no task.
    std::string entry(WgslArrays arrays) const {
        std::string text = fmt::format(
            "@compute @workgroup_size({})\n"
            "fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) invocation: u32) "
            "{{\n"
            "    let lane = i32(invocation);\n"
            "    let task = launch[0].x + i32(workgroup.y) * launch[0].w + i32(workgroup.x);\n"
            "    if (task >= launch[0].y) {{ return; }}\n",
            lanes_);
        for (size_t i = 0; i < tree_.buffers(); i++)
            text += fmt::format("    let b{} = {};\n", i, launch_word(launch_head_words + static_cast<int64_t>(i)));
        for (size_t i = 0; i < tree_.numbers.size(); i++) {
            text += fmt::format("    let n{} = {};\n", i,
                                launch_word(launch_head_words + static_cast<int64_t>(tree_.buffers() + i)));
        }
        if (arrays == WgslArrays::storage)
            text += fmt::format("    let scratch_base = (task - launch[0].x) * {};\n", launch_word(5));
        return text + code_.body() + "}\n";
    }

    const Tree& tree_;
    const WgslCode& code_;
    const int lanes_;
    WgslShader shader_;
};

}  // namespace

Target webgpu_target() { return *TargetTags::built_in().target("webgpu/default"); }  // tests read all tags

Result<WgslShader> wgsl_shader(const Tree& tree, const Target& target, int64_t scratch_bytes) {
    const int lanes = target.lanes(word);
    if (auto fine = check_wgsl(tree, lanes); !fine) return fail(std::move(fine.error()));
    bool has_arrays = false;
    for (const Memory& memory : tree.memories) has_arrays = has_arrays || memory.kind == Memory::Kind::array;
    const int64_t exchange = 2 * lanes * word;
    const WgslArrays arrays = !has_arrays                                          ? WgslArrays::none
                              : scratch_bytes + exchange <= target.workgroup_bytes ? WgslArrays::workgroup
                                                                                   : WgslArrays::storage;
    WgslCode code(tree, lanes, arrays);
    codegen::walk(tree, code);
    if (!code.missing().empty()) {
        return fail({.code = "backends.wgsl_construct",
                     .summary = fmt::format("a kernel has what is not written in WGSL: {}", *code.missing().begin()),
                     .remedy = "leave this to the host",
                     .params = {{"kernel", tree.name}}});
    }
    return Module(tree, code, lanes).written(arrays, (scratch_bytes + word - 1) / word);
}

}  // namespace heddle::backends
