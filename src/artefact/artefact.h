// What `heddle compile` writes: a folder with a program that runs without Heddle and without a compiler.
#pragma once

#include <string>
#include <vector>

#include "artefact/program.h"

namespace heddle::artefact {

enum class Emit : uint8_t {
    library,  // libNAME.so
    object,   // NAME.o, to be linked into anything
    c,        // NAME.c, for any C compiler that knows GCC's vectors
};

struct ArtefactOptions {
    Emit emit = Emit::library;
    bool weights_beside = false;     // in NAME.weights, for callers to map; else in the library, object or C file
    std::string compiler = "cc";     // the C compiler that makes the small part around kernels, and links
    std::vector<std::string> flags;  // for it
    std::string driver_folder;       // with the fixed parts (c_writer.h)
    int threads = 1;                 // that compile kernels
    Progress* progress = nullptr;    // told kernels (stage code), and asked whether to go on
};

struct WrittenFile {
    std::string path;
    int64_t bytes = 0;
};

// Writes NAME.h, NAME.json (what is there, for programs) and the program into the folder, which it makes; all files or
// none. Codes: artefact.folder, artefact.compiler (it is not there, or refuses; with its words), those of the backend and
// of writing files.
Result<std::vector<WrittenFile>> write_artefact(const Program& program, const std::string& folder,
                                                const ArtefactOptions& options);

// "PP-OCR v4.onnx" as an identifier of C: "pp_ocr_v4".
std::string identifier_of(const std::string& text);

}  // namespace heddle::artefact
