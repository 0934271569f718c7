// Programs over several places: threads of this process, or processes that MPI or TCP connects.
#include <memory>

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

std::shared_ptr<inference::Places> places_of(const std::vector<std::string>& cuts, const Machines* machines,
                                             int threads) {
    auto said = value_or_raise(placing::parse_cuts(cuts));
    return running::make_places({.said = std::move(said),
                                 .transport = machines ? machines->transport : nullptr,
                                 .threads = threads,
                                 .folder = kept_folder(),
                                 .target = engine_of(threads)->target});
}

}  // namespace

void bind_places(nb::module_& module) {
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
    module.def(
        "shard",
        [](Session& session, const std::vector<std::string>& cuts, const Machines* machines, int threads) {
            session.use_places(places_of(cuts, machines, threads));
        },
        nb::arg("session"), nb::arg("cuts"), nb::arg("machines").none(), nb::arg("threads"));
}

}  // namespace heddle::python
