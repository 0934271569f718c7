// Checks of a graph.
#include "graph/verify.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "zspace/checked.h"

namespace heddle {
namespace {

constexpr int64_t maximum_bytes = int64_t{1} << 46;
constexpr size_t maximum_boxes = 65536;  // that operations write of one tensor

class GraphVerifier {
public:
    explicit GraphVerifier(const Graph& graph) : graph_(graph) {}

    Result<void> run() {
        check_tensors();
        if (problems_.empty()) check_ends();
        if (problems_.empty()) check_operations();
        if (problems_.empty()) check_coverage();
        if (!problems_.empty()) return fail(std::move(problems_));
        return {};
    }

private:
    Diagnostic& problem(const char* code, std::string summary, std::string expected = {}, std::string found = {}) {
        Diagnostic diagnostic;
        diagnostic.code = code;
        diagnostic.summary = std::move(summary);
        diagnostic.expected = std::move(expected);
        diagnostic.found = std::move(found);
        problems_.push_back(std::move(diagnostic));
        return problems_.back();
    }

    bool exists(TensorId id) const { return id >= 0 && static_cast<size_t>(id) < graph_.tensors.size(); }

    void check_tensors() {
        std::set<std::string> names;
        for (const Tensor& tensor : graph_.tensors) {
            if (!names.insert(tensor.name).second)
                problem("graph.name", fmt::format("two tensors are called '{}'", tensor.name));
            if (static_cast<size_t>(tensor.type.dtype) >= all_dtypes().size()) {
                problem("graph.type", fmt::format("tensor '{}' has an unknown type", tensor.name));
                continue;
            }
            std::optional<Size> size = bytes(tensor.type.dtype);
            for (const Size& extent : tensor.type.shape) {
                if (extent < 0) size.reset();
                if (size) size = checked_multiply(*size, greater(extent, 1));
            }
            if (!size || *size > maximum_bytes) {
                problem("graph.limit", fmt::format("the shape of tensor '{}' is negative or too large", tensor.name),
                        {}, tensor.type.text());
            } else if (tensor.constant && (tensor.constant->dtype() != tensor.type.dtype ||
                                           tensor.constant->shape() != tensor.type.extents())) {
                problem("graph.type", fmt::format("the data of constant '{}' have another type or shape", tensor.name),
                        tensor.type.text());
            }
        }
    }

    void check_ends() {
        for (const auto* ids : {&graph_.inputs, &graph_.outputs}) {
            for (TensorId id : *ids) {
                if (!exists(id))
                    problem("graph.reference", "the graph names a tensor that does not exist", {}, std::to_string(id));
            }
        }
        if (!problems_.empty()) return;
        defined_.assign(graph_.tensors.size(), false);
        for (TensorId id : graph_.inputs) {
            if (defined_[static_cast<size_t>(id)])
                problem("graph.reference", fmt::format("'{}' is a graph input twice", graph_.tensor(id).name));
            defined_[static_cast<size_t>(id)] = true;
        }
        for (size_t i = 0; i < graph_.tensors.size(); i++) {
            if (graph_.tensors[i].constant) defined_[i] = true;
        }
        given_ = defined_;
    }

    void check_operations() {
        std::set<std::string> names;
        // A tensor that several operations write is complete after the last of them.
        std::vector<size_t> last_writer(graph_.tensors.size(), 0);
        for (size_t i = 0; i < graph_.operations.size(); i++) {
            for (TensorId id : graph_.operations[i].outputs) {
                if (exists(id)) last_writer[static_cast<size_t>(id)] = i;
            }
        }
        for (size_t i = 0; i < graph_.operations.size(); i++) {
            const Operation& operation = graph_.operations[i];
            if (!names.insert(operation.name).second)
                problem("graph.name", fmt::format("two operations are called '{}'", operation.name));
            if (!check_references(operation, i)) continue;
            check_index(operation);
            check_body(operation);
            for (TensorId id : operation.outputs) {
                if (last_writer[static_cast<size_t>(id)] == i) defined_[static_cast<size_t>(id)] = true;
            }
        }
        for (TensorId id : graph_.outputs) {
            if (problems_.empty() && !defined_[static_cast<size_t>(id)]) {
                problem("graph.order", fmt::format("nothing makes the graph output '{}'", graph_.tensor(id).name));
            }
        }
    }

    bool check_references(const Operation& operation, size_t position) {
        size_t before = problems_.size();
        for (TensorId id : operation.inputs) {
            if (!exists(id)) {
                problem("graph.reference",
                        fmt::format("operation '{}' reads a tensor that does not exist", operation.name));
            } else if (!defined_[static_cast<size_t>(id)]) {
                problem("graph.order", fmt::format("operation '{}' reads '{}' before it is made", operation.name,
                                                   graph_.tensor(id).name));
            }
        }
        std::set<TensorId> outputs;
        for (TensorId id : operation.outputs) {
            if (!exists(id)) {
                problem("graph.reference",
                        fmt::format("operation '{}' writes a tensor that does not exist", operation.name));
                continue;
            }
            const Tensor& tensor = graph_.tensor(id);
            if (given_[static_cast<size_t>(id)]) {
                problem("graph.cover",
                        fmt::format("operation '{}' writes '{}', an input or a constant", operation.name, tensor.name));
            }
            if (!outputs.insert(id).second)
                problem("graph.cover",
                        fmt::format("operation '{}' has output '{}' twice", operation.name, tensor.name));
            if (tensor.producer < 0 || static_cast<size_t>(tensor.producer) < position) {
                problem("graph.reference",
                        fmt::format("tensor '{}' does not name its producer '{}'", tensor.name, operation.name));
            }
        }
        return problems_.size() == before;
    }

    // The extended index and the projections over it agree in their ranks.
    void check_index(const Operation& operation) {
        size_t axes = 0;
        for (const IndexAxis& axis : operation.index) {
            axes += !axis.extends();
            if (axis.extent < 0)
                problem("graph.limit",
                        fmt::format("axis '{}' of operation '{}' has a negative extent", axis.name, operation.name));
        }
        auto check = [&](const std::vector<IndexProjection>& projections, const std::vector<TensorId>& tensors) {
            if (projections.empty()) return;  // an operation that was not made by a template has none
            if (projections.size() != tensors.size()) {
                problem("graph.arity",
                        fmt::format("operation '{}' has another number of projections than tensors", operation.name),
                        std::to_string(tensors.size()), std::to_string(projections.size()));
                return;
            }
            for (size_t i = 0; i < projections.size(); i++) {
                const IndexProjection& p = projections[i];
                size_t rank = graph_.tensor(tensors[i]).type.shape.size();
                bool fits = p.projection.size() == rank && p.offset.size() == rank && p.shape.size() == rank &&
                            (p.whole.empty() || p.whole.size() == rank) &&
                            (rank == 0 || p.projection.columns() == axes);
                if (!fits) {
                    problem("graph.arity",
                            fmt::format("a projection of operation '{}' does not fit tensor '{}'", operation.name,
                                        graph_.tensor(tensors[i]).name),
                            fmt::format("{} rows of {} columns", rank, axes));
                }
            }
        };
        check(operation.input_projections, operation.inputs);
        check(operation.output_projections, operation.outputs);
    }

    void check_body(const Operation& operation) {
        if (!operation.body) {
            for (size_t i = 0; i < operation.outputs.size(); i++) {
                opaque_[operation.outputs[i]]++;
                if (i < operation.output_projections.size())
                    declared_[operation.outputs[i]].push_back(declared_box(operation, i));
            }
            return;
        }
        auto types = [&](const std::vector<TensorId>& ids) {
            std::vector<TensorType> list;
            for (TensorId id : ids) list.push_back(graph_.tensor(id).type);
            return list;
        };
        auto checked = verify(*operation.body, types(operation.inputs), types(operation.outputs));
        if (!checked) {
            for (Diagnostic& diagnostic : checked.error()) {
                diagnostic.params.emplace_back("operation", operation.name);
                diagnostic.summary = fmt::format("operation '{}': {}", operation.name, diagnostic.summary);
                problems_.push_back(std::move(diagnostic));
            }
            return;
        }
        for (WrittenBox& written : written_boxes(*operation.body)) {
            boxes_[operation.outputs[static_cast<size_t>(written.output)]].push_back(std::move(written.box));
        }
        for (TensorId id : operation.outputs) boxes_[id];
    }

    void check_coverage() {
        for (auto& [id, boxes] : boxes_) {
            const Tensor& tensor = graph_.tensor(id);
            if (opaque_.contains(id)) {
                problem("graph.cover",
                        fmt::format("'{}' is written by an opaque operation and by others", tensor.name));
                continue;
            }
            if (boxes.size() > maximum_boxes) {
                problem("graph.limit", fmt::format("too many equations write '{}'", tensor.name));
                continue;
            }
            const Size written = total_volume(boxes);
            if (written != tensor.type.elements()) {
                problem("graph.cover", fmt::format("not every element of '{}' is written once", tensor.name),
                        fmt::format("{} elements", tensor.type.elements().number()), fmt::format("{} written", written.number()));
            } else if (overlapping(boxes)) {
                problem("graph.cover", fmt::format("two equations write the same elements of '{}'", tensor.name));
            }
        }
        for (auto [id, count] : opaque_) {
            if (count <= 1) continue;
            const std::vector<Box>& boxes = declared_[id];
            const bool apart = boxes.size() == static_cast<size_t>(count) && !overlapping(boxes) &&
                               total_volume(boxes) == graph_.tensor(id).type.elements();
            if (!apart)
                problem("graph.cover", fmt::format("two opaque operations write '{}', and their declared projections do "
                                                   "not share it out",
                                                   graph_.tensor(id).name));
        }
    }

    // What an opaque operation writes, as its projection says it.
    Box declared_box(const Operation& operation, size_t output) const {
        const IndexProjection& projection = operation.output_projections[output];
        const auto extents = numbers_of(graph_.tensor(operation.outputs[output]).type.shape);
        Box box;
        for (size_t d = 0; d < extents.size(); d++) {
            int64_t low = projection.offset[d], high = low;
            size_t column = 0;
            for (const IndexAxis& axis : operation.index) {
                if (axis.extends()) continue;
                const int64_t reach = projection.projection[d][column++] * std::max<int64_t>(axis.extent.number() - 1, 0);
                (reach < 0 ? low : high) += reach;
            }
            const bool whole = !projection.whole.empty() && projection.whole[d];
            box.start.push_back(whole ? 0 : std::max<int64_t>(low, 0));
            box.end.push_back(whole ? extents[d] : std::min(high + projection.shape[d], extents[d]));
        }
        return box;
    }

    const Graph& graph_;
    std::vector<bool> given_;    // inputs and constants
    std::vector<bool> defined_;  // complete at this point of the list of operations
    std::map<TensorId, std::vector<Box>> boxes_;
    std::map<TensorId, int> opaque_;
    std::map<TensorId, std::vector<Box>> declared_;  // what opaque operations write
    Diagnostics problems_;
};

}  // namespace

Result<void> verify(const Graph& graph) { return GraphVerifier(graph).run(); }

}  // namespace heddle
