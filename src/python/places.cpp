// Programs over several places: threads of this process, or processes that MPI or TCP connects.
#include <memory>

#include "devices/places.h"
#include "python/python.h"
#include "support/file.h"
#include "transport/mpi.h"
#include "transport/tcp.h"

namespace heddle::python {
namespace {

constexpr int64_t most_hosts_bytes = 1 << 20;

struct Machines {
    std::shared_ptr<transport::Transport> transport;
};

std::chrono::milliseconds milliseconds(double seconds) {
    return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
}

Machines by_mpi(const std::string& library, double timeout) {
    nb::gil_scoped_release others_run;
    auto made = transport::connect_mpi({.timeout = milliseconds(timeout), .library = library});
    nb::gil_scoped_acquire python;
    return {value_or_raise(std::move(made))};
}

Machines by_hosts(const std::string& file, int rank, double timeout) {
    const auto text = value_or_raise(read_file(file, most_hosts_bytes));
    const auto hosts = value_or_raise(transport::read_hosts(std::make_shared<SourceText>(file, text)));
    auto made = [&] {
        nb::gil_scoped_release others_run;
        return transport::connect_tcp(hosts, rank, {milliseconds(timeout), milliseconds(timeout)});
    }();
    return {value_or_raise(std::move(made))};
}

std::shared_ptr<inference::Places> places_of(const std::vector<std::string>& cuts, const Machines* machines, int threads) {
    auto said = value_or_raise(placement::parse_cuts(cuts));
    if (machines && said.mesh.empty()) said.mesh = {machines->transport->size()};
    return devices::make_places({.said = std::move(said),
                                 .transport = machines ? machines->transport : nullptr,
                                 .threads = threads,
                                 .folder = kept_folder(),
                                 .target = engine_of(threads)->target});
}

}  // namespace

void bind_places(nb::module_& module) {
    nb::class_<Machines>(module, "Machines")
        .def_static("mpi", &by_mpi, nb::arg("library"), nb::arg("timeout"))
        .def_static("hosts", &by_hosts, nb::arg("file"), nb::arg("rank"), nb::arg("timeout"))
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
    module.def("launched_ranks", []() -> nb::object {
        const auto launched = transport::launched_ranks();
        return launched ? nb::object(nb::make_tuple(launched->rank, launched->size)) : nb::none();
    });
    module.def(
        "shard",
        [](Session& session, const std::vector<std::string>& cuts, const Machines* machines, int threads) {
            session.use_places(places_of(cuts, machines, threads));
        },
        nb::arg("session"), nb::arg("cuts"), nb::arg("machines").none(), nb::arg("threads"));
}

}  // namespace heddle::python
