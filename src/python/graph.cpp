// Graphs built by calls, as documents, as pictures, and as programs.
#include <algorithm>

#include <fmt/format.h>

#include "interchange/graph_builder.h"
#include "pictures/draw_parts.h"
#include "python/library.h"

namespace heddle::python {
namespace {

// A tensor of a graph.
struct Tensor {
    TensorId id = no_id;
    std::shared_ptr<const int> graph;  // which one: nothing else is told by it
    std::string name, dtype;
    std::vector<int64_t> shape;
};

std::unexpected<Diagnostics> wrong_shape(const std::string& name, const char* expected,
                                         const std::vector<int64_t>& found) {
    return fail({.code = "python.shape",
                 .summary = fmt::format("the range of tensor '{}' is not possible", name),
                 .expected = expected,
                 .found = StaticValue::of_integers(found).print(),
                 .params = {{"tensor", name}}});
}

Result<interchange::DocumentRange> range_of(const std::string& name, const std::vector<int64_t>& shape,
                                            const std::vector<int64_t>& start) {
    if (!start.empty() && start.size() != shape.size()) return wrong_shape(name, "one start a dimension", start);
    interchange::DocumentRange range{start.empty() ? std::vector<int64_t>(shape.size(), 0) : start, {}};
    int64_t elements = 1;
    for (size_t d = 0; d < shape.size(); d++) {
        int64_t end = 0;
        if (shape[d] < 0 || __builtin_mul_overflow(elements, std::max<int64_t>(shape[d], 1), &elements) ||
            __builtin_add_overflow(range.start[d], shape[d], &end))
            return wrong_shape(name, "sizes of at least 0, and fewer than 2^63 elements", shape);
        range.end.push_back(end);
    }
    return range;
}

class GraphOfCalls {
public:
    explicit GraphOfCalls(const Operators& operators) : library_(operators.library), builder_(*library_) {}

    Tensor tensor(const std::string& name, nb::handle dtype, const std::vector<int64_t>& shape,
                  const std::vector<int64_t>& start) {
        DType type = dtype_of(dtype);
        auto range = value_or_raise(range_of(name, shape, start));
        return at(builder_.tensor(name, type, range));
    }

    Tensor constant(const std::string& name, nb::handle value) {
        return at(builder_.constant(name, array_of(value, name).tensor.clone()));
    }

    // A tensor, or a tuple where the operator has several results.
    nb::object call(const std::string& name, const nb::tuple& inputs, const nb::dict& named, const std::string& label) {
        CallArguments given = arguments_of(*value_or_raise(library_->find(name)), inputs, named);
        std::vector<Argument> arguments;
        for (const auto& input : given.inputs) {
            Argument argument;
            argument.given = input.given;
            argument.list = input.list;
            for (nb::handle object : input.objects) argument.tensors.push_back(id_of(object, name));
            arguments.push_back(std::move(argument));
        }
        auto results = value_or_raise(builder_.apply(name, arguments, given.parameters, label));
        nb::list answer;
        for (TensorId id : results) answer.append(at(id));
        return results.size() == 1 ? nb::object(answer[0]) : nb::object(nb::tuple(answer));
    }

    std::string json() const { return interchange::print_graph_json(builder_.document()); }

    std::string svg(const std::string& title) const {
        pictures::Picture picture = pictures::draw_operations(title, builder_.graph());
        return picture.svg.finish(picture.width, picture.height);
    }

    // What is wrong, as JSON; an empty list if nothing is.
    std::string validate(const std::string& environment, const std::string& folder) const {
        auto dialect = value_or_raise(interchange::open_dialect(environment, folder));
        return render_json(
            interchange::validate(builder_.document(), {std::move(dialect), library_.get(), nullptr}).issues);
    }

    std::unique_ptr<Session> compile(const nb::list& outputs, int threads) const {
        Graph graph = builder_.graph();
        for (nb::handle output : outputs) graph.outputs.push_back(id_of(output, "compile"));
        if (graph.outputs.empty()) graph.outputs = unused(graph);
        graph = prune(graph);
        auto specialise = [graph](const std::vector<TensorData>&, Progress*) -> Result<Graph> { return graph; };
        return std::make_unique<Session>(ports_of(graph, graph.inputs), ports_of(graph, graph.outputs), specialise,
                                         threads);
    }

private:
    Tensor at(TensorId id) const {
        const auto& tensor = builder_.graph().tensor(id);
        return {id, identity_, tensor.name, std::string(name(tensor.type.dtype)), tensor.type.extents()};
    }

    TensorId id_of(nb::handle object, const std::string& user) const {
        Tensor tensor;
        bool ours = nb::try_cast(object, tensor) && tensor.graph == identity_;
        if (ours) return tensor.id;
        raise({{.code = "python.tensor",
                .summary = fmt::format("what {} is given is no tensor of this graph", user),
                .expected = "what tensor, constant or call of the same graph answered",
                .found = tensor.graph ? "a tensor of another graph" : nb::type_name(object.type()).c_str(),
                .remedy = "graph.constant(name, array) makes a tensor of an array"}});
    }

    // Results that no operation reads.
    static std::vector<TensorId> unused(const Graph& graph) {
        std::vector<bool> read(graph.tensors.size(), false);
        for (const Operation& operation : graph.operations) {
            for (TensorId id : operation.inputs) read[static_cast<size_t>(id)] = true;
        }
        std::vector<TensorId> result;
        for (size_t id = 0; id < graph.tensors.size(); id++) {
            if (graph.tensors[id].producer >= 0 && !read[id]) result.push_back(TensorId(id));
        }
        return result;
    }

    static std::vector<Session::Port> ports_of(const Graph& graph, const std::vector<TensorId>& ids) {
        std::vector<Session::Port> ports;
        for (TensorId id : ids) {
            const auto& tensor = graph.tensor(id);
            ports.push_back({tensor.name, std::string(name(tensor.type.dtype)), nb::cast(tensor.type.extents())});
        }
        return ports;
    }

    std::shared_ptr<const int> identity_ = std::make_shared<const int>(0);
    std::shared_ptr<Library> library_;
    interchange::GraphBuilder builder_;
};

}  // namespace

void bind_graph(nb::module_& module) {
    nb::class_<Tensor>(module, "Tensor")
        .def_ro("name", &Tensor::name)
        .def_ro("dtype", &Tensor::dtype)
        .def_ro("shape", &Tensor::shape);
    nb::class_<GraphOfCalls>(module, "Graph")
        .def(nb::init<const Operators&>())
        .def("tensor", &GraphOfCalls::tensor)
        .def("constant", &GraphOfCalls::constant)
        .def("call", &GraphOfCalls::call)
        .def("json", &GraphOfCalls::json)
        .def("svg", &GraphOfCalls::svg)
        .def("validate", &GraphOfCalls::validate)
        .def("compile", &GraphOfCalls::compile);
}

}  // namespace heddle::python
