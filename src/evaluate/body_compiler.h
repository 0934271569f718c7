// The two halves of the compiler of bodies: tables and roots of a whole body, and the steps of one region.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <span>
#include <vector>

#include "evaluate/body_facts.h"
#include "evaluate/inversion.h"
#include "evaluate/program.h"

namespace heddle::evaluation {

struct Value {
    Slot slot = -1;
    Slot poison = -1;
};

class RegionCompiler;

class BodyCompiler {
public:
    BodyCompiler(const Body& body, const std::vector<TensorData>& inputs, const std::vector<TensorData>& outputs,
                 CompileOptions options)
        : body(body), facts(body, inputs), outputs(outputs), options(options) {}

    Result<Program> run();

    // The table of a local, or of a reduction that does not depend on all variables around it.
    int32_t local_table(int32_t local);
    int32_t reduction_table(NodeId node);
    // The table of a reduction that is turned round; -1: it is none.
    int32_t scatter_table(NodeId node);
    LaneType lanes_of(NodeId node) const { return lane_type(body.node(node).dtype, options.exact); }
    int32_t add_space(std::span<const VariableId> variables);

    const Body& body;
    const BodyFacts facts;
    const std::vector<TensorData>& outputs;
    const CompileOptions options;
    Program program;

private:
    // `state` is null for what is no state.
    int32_t add_table(NodeId root, std::vector<VariableId> variables, DType dtype, const Local* state = nullptr);
    void compile_table(int32_t table);
    void compile_scatter(int32_t table, const Inversion& inversion);
    void choose_elements(RegionCompiler& region, const Inversion& inversion, Scatter& scatter);
    void add_root(int32_t table, NodeId node, std::span<const VariableId> variables, VariableId step,
                  int64_t first_step);
    std::tuple<NodeId, int, NodeId, bool> place_of(const Root& root) const;
    void compile_equation(int32_t equation);

    std::map<NodeId, int32_t> reduction_tables_;
    std::map<NodeId, int32_t> scatter_tables_;
    std::map<int32_t, Inversion> inversions_;  // by table
    std::map<int32_t, int32_t> local_tables_;
    std::optional<Diagnostics> failure_;
};

// Compiles the steps of one region, users before operands: a node is popped when all its users are done.
class RegionCompiler {
public:
    RegionCompiler(BodyCompiler& compiler, RegionCompiler* outer, int32_t space, bool own_space, VariableList bound,
                   VariableList loops, NodeId root)
        : compiler_(compiler),
          body_(compiler.body),
          outer_(outer),
          space_(space),
          own_space_(own_space),
          bound_(std::move(bound)),
          loops_(std::move(loops)),
          root_(root) {
        levels_.resize(loops_.size() + 1);
    }

    Value request(NodeId id);
    // Of a product, and of the products that it is made of.
    void request_factors(NodeId id, std::vector<Slot>& factors);
    Address address(const AffineForm& form);
    int32_t finish();  // emits all that was asked for; the region's index

    std::vector<Reduction::Import> imports;
    Slot lane_values(VariableId id);

private:
    Program& program() { return compiler_.program; }
    Slot new_slot() { return program().slots++; }
    Slot new_poison(NodeId id) {
        return compiler_.facts.poisoned[static_cast<size_t>(id)] ? program().poison_slots++ : -1;
    }
    bool belongs_here(NodeId id) const;
    bool is_lane(VariableId id) const;
    size_t level_of(NodeId id) const;
    int64_t scope_beyond(NodeId id) const;
    void emit(NodeId id, Value value);
    Step step_of(NodeId id, Value value, Step::Kind kind);
    void take_operands(Step& step, size_t count);
    void emit_read(NodeId id, Value value);
    // The first `before` dimensions are read at the reader's own variables.
    void emit_table_read(NodeId id, Value value, int32_t table, NodeList coordinates, size_t before = 0);
    void emit_reduce(NodeId id, Value value);
    void add_coordinate(Access& access, AffineForm& sum, NodeId coordinate, int64_t extent, int64_t stride);

    BodyCompiler& compiler_;
    const Body& body_;
    RegionCompiler* outer_;
    int32_t space_;
    bool own_space_;
    VariableList bound_;  // the reduction's variables; a node without them belongs outside
    VariableList loops_;
    NodeId root_;
    std::map<NodeId, Value> values_;
    std::set<NodeId> pending_;
    std::vector<std::vector<Step>> levels_;
};

std::vector<int64_t> strides_of(const std::vector<int64_t>& extents);  // row-major
void add_term(AffineForm& sum, VariableId variable, int64_t coefficient);

}  // namespace heddle::evaluation
