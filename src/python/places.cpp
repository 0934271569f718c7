// Programs over several places: threads of this process, or processes that MPI or TCP connects.
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "inference/places.h"
#include "running/places.h"
#include "python/python.h"
#include "transport/connect.h"

namespace heddle::python {
namespace {

struct Machines {
    std::shared_ptr<transport::Transport> transport;
};

Machines connected(const std::string& hosts, int rank, const std::string& library, double timeout) {
    auto made = [&] {
        nb::gil_scoped_release others_run;
        return transport::connect({.hosts = hosts, .rank = rank, .library = library, .timeout = timeout});
    }();
    return {value_or_raise(std::move(made))};
}

// What a run has left at places.
struct SpreadArray {
    std::shared_ptr<const inference::SpreadTensor> tensor;

    nb::tuple shape() const {
        nb::list extents;
        for (int64_t extent : tensor->shape) extents.append(extent);
        return nb::tuple(extents);
    }
    nb::object gather() const {
        auto whole = [&] {
            nb::gil_scoped_release others_run;
            return tensor->places->gather(*tensor);
        }();
        return to_python(value_or_raise(std::move(whole)));
    }
    // (place, slices, array or None)
    nb::list parts() const {
        nb::list parts;
        for (const inference::SpreadTensor::Part& part : tensor->parts) {
            nb::list slices;
            for (size_t d = 0; d < part.box.rank(); d++)
                slices.append(nb::slice(part.box.start[d].number(), part.box.end[d].number()));
            nb::object here = part.here.data() ? to_python(part.here.clone()) : nb::none();
            parts.append(nb::make_tuple(part.place, nb::tuple(slices), here));
        }
        return parts;
    }
    std::string text() const {
        std::string boxes;
        for (const inference::SpreadTensor::Part& part : tensor->parts)
            boxes += fmt::format("{}{} at {}", boxes.empty() ? "" : ", ", heddle::text(part.box), part.place);
        return fmt::format("SpreadArray({}: {}[{}], {})", tensor->name, name(tensor->dtype),
                           fmt::join(tensor->shape, ", "), boxes);
    }
};

void bind_spread(nb::module_& module) {
    nb::class_<SpreadArray>(module, "SpreadArray")
        .def_prop_ro("shape", &SpreadArray::shape)
        .def_prop_ro("dtype", [](const SpreadArray& array) { return numpy_type_of(array.tensor->dtype); })
        .def_prop_ro("ndim", [](const SpreadArray& array) { return array.tensor->shape.size(); })
        .def_prop_ro("parts", &SpreadArray::parts)
        .def("gather", &SpreadArray::gather)
        .def(
            "__array__",
            [](const SpreadArray& array, nb::handle dtype, nb::handle) {
                const nb::object whole = to_python(whole_here(*array.tensor));
                return dtype.is_none() ? whole : whole.attr("astype")(dtype);
            },
            nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
        .def("__repr__", &SpreadArray::text);
}

std::shared_ptr<inference::Places> places_of(const std::vector<std::string>& cuts, const Machines* machines,
                                             int threads) {
    auto said = value_or_raise(placing::parse_cuts(cuts));
    const auto engine = engine_of(threads);
    return running::make_places({.said = std::move(said),
                                 .transport = machines ? machines->transport : nullptr,
                                 .threads = threads,
                                 .kernels = engine->kernels,
                                 .target = engine->target});
}

}  // namespace

std::shared_ptr<const inference::SpreadTensor> spread_of(nb::handle object) {
    return nb::isinstance<SpreadArray>(object) ? nb::cast<const SpreadArray&>(object).tensor : nullptr;
}

nb::object to_python(std::shared_ptr<const inference::SpreadTensor> tensor) {
    return nb::cast(SpreadArray{std::move(tensor)});
}

TensorData whole_here(const inference::SpreadTensor& tensor) {
    if (tensor.is_here()) return tensor.places->whole(tensor);
    raise({{.code = "python.spread",
            .summary = fmt::format("not all of '{}' is in this process", tensor.name),
            .reason = "the other parts come from other processes, which must send them at the same time",
            .remedy = "call its gather() in all processes",
            .params = {{"array", tensor.name}}}});
}

void bind_places(nb::module_& module) {
    bind_spread(module);
    nb::class_<Machines>(module, "Machines")
        .def_static("connect", &connected, nb::arg("hosts"), nb::arg("rank"), nb::arg("library"), nb::arg("timeout"))
        .def_prop_ro("rank", [](const Machines& machines) { return machines.transport->rank(); })
        .def_prop_ro("size", [](const Machines& machines) { return machines.transport->size(); })
        // By rank: messages and bytes that this process has sent there.
        .def("sent",
             [](const Machines& machines) {
                 nb::list list;
                 for (const transport::Sent& sent : machines.transport->sent())
                     list.append(nb::make_tuple(sent.messages, sent.bytes));
                 return list;
             })
        .def("fail", [](const Machines& machines, const std::string& why) {
            machines.transport->fail({{.code = "python.failed", .summary = why}});
        });
    // That a file of cuts names.
    module.def(
        "cut_rules",
        [](const std::vector<std::string>& cuts) { return value_or_raise(placing::parse_cuts(cuts)).rules; },
        nb::arg("cuts"));
    module.def(
        "shard",
        [](Session& session, const std::vector<std::string>& cuts, const Machines* machines, int threads,
           const std::map<std::string, std::string>& keep) {
            session.use_places(places_of(cuts, machines, threads), keep);
        },
        nb::arg("session"), nb::arg("cuts"), nb::arg("machines").none(), nb::arg("threads"), nb::arg("keep"));
}

}  // namespace heddle::python
