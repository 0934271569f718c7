// A program as one C file: its tables and what follows them (exported/heddle_program.c). Kernels are C in the same file,
// or object code beside it.
#pragma once

#include <span>
#include <string>

#include "artefact/program.h"

namespace heddle::artefact {

// The fixed parts of every exported program, as text.
struct DriverTexts {
    std::string header;   // heddle_program.h
    std::string program;  // heddle_program.c
    std::string math;     // heddle_math.h, which kernels in C need
};

// Of the folder that has them. Codes of reading files.
Result<DriverTexts> read_driver(const std::string& folder);
// The same of what runs programs in steps: heddle_steps.h; heddle_values.c, heddle_lists.c and heddle_steps.c.
Result<DriverTexts> read_step_driver(const std::string& folder);

enum class WeightsIn : uint8_t {
    text,      // numbers in the C file
    assembly,  // the file `weights_path`, taken in by the assembler (GCC and clang)
    beside,    // a file that the caller maps
};

struct CWriterOptions {
    bool kernels_in_c = false;
    WeightsIn weights = WeightsIn::beside;
    std::string weights_path;
};

// A text, an integer and words of a comment as C has them.
std::string quoted(const std::string& text);
std::string in_comment(std::string text);
// The element type as DLPack has it, "{2, 32, 1}"; code and bits alone, "2, 32".
std::string dlpack_type_text(DType dtype);
std::string dlpack_code_text(DType dtype);
// "int32_t NAME[] = {...};" of C.
std::string integers_text(const std::string& type, const std::string& name, const std::vector<int64_t>& rows);
// What is said of a program's arguments and dimensions in its header.
std::string arguments_text(const Program& program);

// The name of a kernel's function.
std::string kernel_name(const Program& program, size_t variant, size_t kernel);
// What callers include: the fixed header, and the program's three functions with their inputs and outputs.
std::string header_text(const Program& program, const DriverTexts& texts);
// What runs programs, once for all that are in one file; then each program's kernels and tables, the last of which is
// NAME_this.
std::string driver_text(std::span<const Program> programs, const DriverTexts& texts, bool kernels_in_c);
std::string tables_text(const Program& program, const CWriterOptions& options);
// Both, with the three functions.
std::string c_text(const Program& program, const DriverTexts& texts, const CWriterOptions& options);

}  // namespace heddle::artefact
