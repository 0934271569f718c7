// What a graph that runs in stages keeps of each of them: for staged_graph.cpp alone.
#pragma once

#include "inference/staged_graph.h"

namespace heddle::inference {

// The import found that more values decide than were known to: it is done again with these.
inline constexpr const char* again = "again";

// What a stage is given, if it is a tensor. A dimension has a name, or one number; another number opens it for good.
struct StageRead {
    std::string name;
    int32_t number = -1;
    std::optional<std::vector<onnx::OnnxDimension>> pattern = {};

    // Whether it was another one before.
    bool widen(const Value& value);
};

struct StagedGraph::StageInputs {
    struct Key {
        int64_t version = -1;
        size_t asked = 0;
        std::string negative;
        bool operator==(const Key&) const = default;
    };
    std::vector<const StageRead*> reads;  // of tensors that are inputs
    std::vector<const Value*> values;     // one each
    std::map<std::string, TensorData> known;
    std::set<std::string> lists;
    ProgramCache::Part part;
    Key key;  // of the part
};

struct StagedGraph::PlannedStep {
    struct Input {
        int32_t number = -1;   // none: it is absent
        bool is_last = false;  // nothing reads it behind this step
    };
    onnx::OnnxNode node;
    std::vector<Input> inputs = {};
    std::vector<int32_t> outputs = {};
};

struct StagedGraph::Continuation {
    std::string name;
    std::vector<onnx::OnnxNode> rest;   // all
    std::vector<PlannedStep> steps;     // run first
    std::vector<onnx::OnnxNode> nodes;  // then a stage of these begins
    bool is_split = false;              // into steps and nodes: when it first runs
    std::vector<int32_t> lists;         // values that are no tensors, for which it is split
    std::set<std::string> asked;        // values by which it is decided
    std::vector<int32_t> needed;        // all that is read from here on, ascending
    std::vector<StageRead> reads;       // by `nodes`, and made by none of them
    StageInputs inputs;                 // of the run that goes on, or the last one
    int64_t version = 0;                // of patterns of inputs
};

struct StagedGraph::StageEnd {
    std::vector<int32_t> results;                         // of the program
    std::vector<std::pair<int32_t, int32_t>> handed_on;  // values that are inputs, and which
    Continuation* next = nullptr;
};

// The tensor that this one is a copy of, element by element; itself, where it is none.
TensorId copied_by(const Graph& graph, TensorId tensor);

}  // namespace heddle::inference
