// One struct of options and one function a command. Functions print their result and give an exit status.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evaluate/work.h"

namespace heddle::cli {

struct CommonOptions {
    bool json = false;
    std::vector<std::string> libraries;  // files of the user's templates
};

// Where code is kept for other processes.
struct CacheOptions {
    std::string folder;  // empty: the user's
    bool off = false;
};

// Scalar operations that a run may take unless told otherwise: some minutes to an hour. Interpreted, a hundredth of it.

// What is differentiated, with respect to what (heddle grad).
struct GradientOptions {
    std::vector<std::string> wrt;          // names and patterns, "x,decoder.*"; empty: all inputs of float types
    std::string loss;                      // a program of outputs; empty: adjoints of all outputs are inputs
    std::vector<std::string> input_types;  // NAME=TYPE, of what has no file: inputs of a call, and of the loss
    int64_t every = -1;                    // steps between the states that are kept of a scan; 0: chosen; -1: all are
};

// Of a program over several places (docs/machines.md).
struct ShardOptions {
    std::vector<std::string> shards;  // "in_row=2,y.k=4", "4": cuts over a mesh; empty: what is best for the processes
    std::string hosts;                // a file with an address a line; empty: none
    int rank = -1;                    // this process's line of it
    std::string machines;             // "mpi", or a file of the plug-in; empty: as the launcher says
    double timeout = 60;              // seconds
};

struct RunOptions {
    CommonOptions common;
    CacheOptions cache;
    double work = default_work;
    std::string model;                     // an ONNX file, or empty with `call`
    std::string call;                      // a program: "y = swish(x); z = add2(y, x)"
    std::vector<std::string> input_types;  // of `call`: NAME=TYPE, of inputs that no file gives
    std::vector<std::string> inputs;       // NAME=FILE
    int64_t random_seed = -1;              // below zero: inputs that are not given are an error
    std::string output_dir, output;        // a folder of .npy files; a .npz file
    int threads = 0;                       // 0: all cores
    std::string backend = "cpu";           // empty: the plugin's
    std::string plugin;                    // a shared library with a backend; empty: none
    int64_t repeat = 1;
    std::string profile;
    std::vector<std::string> bindings;  // "batch=4,seq=128"
    std::vector<std::string> rules;     // to rewrite by first: "split_inner(chunk: 4)", "mine::*"
    bool unfused = false;
    std::vector<std::string> choices;  // "h=stored": values against what costs say
    std::string system;              // devices to place it on: a file or a tag of a target; empty: this process
    std::vector<std::string> place;  // "y=gpu0"
    bool placement = false;          // say where all is placed, and why
    ShardOptions shard = {};
    std::optional<GradientOptions> gradient = {};  // of it, with its outputs
};
int run_model(const RunOptions& options);

struct CheckOptions {
    CommonOptions common;
    std::vector<std::string> files;
};
int check_files(const CheckOptions& options);

struct ExplainOptions {
    CommonOptions common;
    std::string operator_name;
    std::vector<std::string> arguments;  // NAME=float32[2,3] or PARAM=VALUE
    bool notations = false;              // all of each projection, not the rows alone
    bool gradient = false;               // of the operator: its adjoint bodies; the parts below are of these then
    std::string equations;  // a pass, behind which they are shown too; "true": none; empty: no equations
    bool schedule = false, source = false;
    std::vector<std::string> shards;  // "m=2,y.k=3": as of ShardOptions
    bool one_round = false;           // maxima and sums of exponentials together
    std::string svg;                  // where to draw them, or the operator
    std::string target;               // a file of a target; empty: this machine
    std::string system;               // devices to place it on; empty: none
    std::vector<std::string> place;   // "y=gpu0"
    std::vector<std::string> choices;  // "h=stored": values against what costs say
    bool kernels = false;             // the matrix of kernels, of one operator or of all
};
int explain_operator(const ExplainOptions& options);

struct OperatorsOptions {
    CommonOptions common;
    std::string word;   // in names and descriptions; empty: all
    bool page = false;  // as docs/operators.md
};
int list_operators(const OperatorsOptions& options);

struct CompareOptions {
    CommonOptions common;
    CacheOptions cache;
    double work = default_work;
    std::string model, call, with;
    std::vector<std::string> input_types;  // of `call`: NAME=TYPE
    std::string plugin;                    // whose backend is compared; empty: this machine's
    std::vector<std::string> inputs, bindings, rules;
    int64_t random_seed = -1;
    int threads = 0;
};
int compare_model(const CompareOptions& options);

struct GraphOptions {
    CommonOptions common;
    std::string file;                      // a model, or a graph document (.json); or empty with `call`
    std::string call;                      // a program
    std::vector<std::string> input_types;  // of `call`: NAME=TYPE
    std::vector<std::string> bindings, rules;
    std::vector<std::string> inputs;  // NAME=FILE: values that shapes and branches of a model depend on
    std::vector<std::string> shards;  // "m=2,y.k=3": the document and the picture are of the sharded graph
    bool validate = false, fused = false, profile = false, unfold = false;
    int threads = 0;  // of --profile; 0: all cores
    CacheOptions cache;
    std::string environment;                       // a name or a file; empty: "heddle", and "loom" for a document
    std::string svg, json;                         // where to write; empty: not
    std::optional<GradientOptions> gradient = {};  // of the model or call, in its place
};
int show_graph(const GraphOptions& options);

struct GradOptions {
    RunOptions run;  // with its gradient
    bool list = false, explain = false;
    bool equations = false, schedule = false, source = false;  // parts of what is explained
    bool fused = false, unfold = false;                        // of the picture
    std::string svg, json;                                     // where to write; empty: not
};
int differentiate_model(const GradOptions& options);

struct VerifyOptions {
    CommonOptions common;
    std::vector<std::string> files;
    std::vector<std::string> rules;  // names; empty: all
    int64_t trials = 100;
    int64_t seed = 1;
};
int verify_rules(const VerifyOptions& options);

struct RewriteOptions {
    CommonOptions common;
    std::string call;
    std::vector<std::string> arguments;  // NAME=float32[2,3]
    std::vector<std::string> rules;      // "split_inner(chunk: 4)"; empty: those of the user's libraries
    int64_t steps = -1;                  // below zero: to a fixed point
};
int rewrite_program(const RewriteOptions& options);

struct ConformanceOptions {
    CommonOptions common;
    std::string plugin;
    std::vector<std::string> only;  // names of checks; empty: all
    int64_t seed = 1;
    int threads = 0;
};
int check_conformance(const ConformanceOptions& options);

struct CacheCommandOptions {
    CommonOptions common;
    CacheOptions cache;
    int64_t limit = -1;  // bytes; below zero: as it is
    bool list = false, clear = false;
};
int show_cache(const CacheCommandOptions& options);

struct CompileOptions {
    CommonOptions common;
    CacheOptions cache;                    // a page: what packs weights
    double work = default_work;            // a page: of its check
    std::string model;                     // an ONNX file, or empty with `call`
    std::string call;                      // a program
    std::vector<std::string> input_types;  // of `call`: NAME=TYPE
    std::vector<std::string> inputs,
        rules;                          // NAME=FILE: values that shapes and branches follow from; a page: of its check
    std::vector<std::string> bindings;  // "batch=1:64,seq=8:512:8,rows=1:"
    std::vector<std::string> targets;   // files or names; empty: AVX-512 and AVX2
    std::string system;                 // devices to place it on; empty: none
    std::vector<std::string> place;     // "y=c0"
    std::string folder, name;           // of the program; empty: the model's
    std::string emit = "library", weights;
    std::string compiler;            // empty: this machine's, or the usual one for the target
    std::vector<std::string> flags;  // for the C compiler
    int64_t random_seed = -1;        // a page: of inputs of its check that are not given
    int threads = 0;
};
int compile_model(const CompileOptions& options);

// How a program is best cut over machines (heddle optimise).
struct OptimiseOptions {
    CommonOptions common;
    std::string model, call;
    std::vector<std::string> input_types;  // of `call`: NAME=TYPE
    std::vector<std::string> inputs;       // NAME=FILE: values that shapes and branches of a model follow from
    std::vector<std::string> bindings, rules;
    std::string loss;              // of a step of training: what is differentiated, as for grad; empty: it is not
    std::vector<std::string> wrt;  // then with respect to what
    std::string machines;  // a number of places here, a tag or a file
    std::string limit;     // "memory=2e9,bytes=1e6": of what is taken
    int64_t seed = 1;
    double time = 0;                  // seconds after which the search ends; 0: when it is done
    int threads = 0;                  // 0: all cores
    std::string svg, output;          // where to draw the front, and to write the fastest way; empty: not
    std::string simulate;             // "8,64,512": on paper, over so many places of a cluster; empty: the search
    std::string grow;                 // then "batch=32": a dimension that is so large a place
    std::vector<std::string> shards;  // then how it is cut (placing::parse_cuts); its first dimension grows
};
int optimise_program(const OptimiseOptions& options);

struct TargetsOptions {
    CommonOptions common;
    CacheOptions cache;
    std::string target;    // a tag, a file or JSON; empty: all tags, or this machine with `host`
    std::string diff;      // another one
    std::string ask;       // for one field
    bool explain = false;  // each value with who says it
    bool host = false;
    bool measure = false;  // anew
    int processes = 0;     // that share the target; 0: it is as it is
    bool places = false;
    std::string place_kind;  // empty: what placing/places.h takes
};
int show_targets(const TargetsOptions& options);

int print_version(const CommonOptions& options);

}  // namespace heddle::cli
