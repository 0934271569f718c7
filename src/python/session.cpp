#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cache/folder.h"
#include "evaluate/work.h"
#include "inference/model.h"
#include "inference/places.h"
#include "python/progress.h"

namespace heddle::python {
namespace {

std::string type_text(const Session::Port& port) {
    if (port.shape.is_none()) return port.dtype;
    std::vector<std::string> shape;
    for (nb::handle extent : port.shape) shape.emplace_back(extent.is_none() ? "?" : nb::str(extent).c_str());
    return fmt::format("{}[{}]", port.dtype, fmt::join(shape, ", "));
}

std::vector<std::string> names_of(const std::vector<Session::Port>& ports) {
    std::vector<std::string> names;
    for (const Session::Port& port : ports) names.push_back(port.name);
    return names;
}

std::vector<size_t> positions(const std::vector<Session::Port>& outputs, const std::vector<std::string>& wanted) {
    auto names = names_of(outputs);
    std::vector<size_t> result;
    Diagnostics problems;
    for (const std::string& name : wanted) {
        auto found = std::ranges::find(names, name);
        if (found != names.end()) {
            result.push_back(static_cast<size_t>(found - names.begin()));
            continue;
        }
        std::string near = nearest_name(name, names);
        problems.push_back({.code = "python.unknown_output",
                            .summary = fmt::format("there is no output '{}'", name),
                            .expected = fmt::format("{}", fmt::join(names, ", ")),
                            .remedy = near.empty() ? "" : fmt::format("did you mean '{}'?", near)});
    }
    if (!problems.empty()) raise(problems);
    return result;
}

// Of all engines; in the user's folder from the first engine on, if no other was chosen.
struct Kernels {
    std::shared_ptr<runtime::KernelCache> cache = inference::make_kernel_cache();
    std::shared_ptr<runtime::PreparedStore> prepared = std::make_shared<runtime::PreparedStore>();
    std::atomic<bool> chosen = false;
    // Who has the interpreter has these.
    double work = default_work;
    std::vector<std::weak_ptr<inference::Engine>> engines;
};

Kernels& kernels() {
    static auto& shared = *new Kernels;  // never destroyed: threads may run its code while a process ends
    return shared;
}

// (name, kernel, layout, begin, duration): microseconds, by the clock of time.monotonic.
nb::tuple time_of(const runtime::LaunchTime& launch) {
    const std::chrono::duration<double, std::micro> begin = launch.begin.time_since_epoch();
    return nb::make_tuple(launch.name, launch.tree, launch.layout, begin.count(), launch.microseconds);
}

}  // namespace

std::shared_ptr<cache::Folder> kept_folder() { return kernels().cache->folder(); }

std::shared_ptr<inference::Engine> engine_of(int threads) {
    Kernels& shared = kernels();
    if (!shared.chosen.exchange(true)) {
        Diagnostics notes;
        shared.cache->use_folder(cache::open_folder({}, notes));
        warn(notes);
    }
    auto engine = inference::make_engine(threads, shared.cache, shared.prepared);
    engine->work = {shared.work, "heddle.limit_work with"};
    std::erase_if(shared.engines, [](const auto& known) { return known.expired(); });
    shared.engines.push_back(engine);
    return engine;
}

void limit_work(double operations) {
    kernels().work = operations;
    std::vector<std::shared_ptr<inference::Engine>> engines;
    for (const auto& known : kernels().engines)
        if (auto engine = known.lock()) engines.push_back(std::move(engine));
    nb::gil_scoped_release others_run;  // who compiles meanwhile may need the interpreter
    for (const auto& engine : engines) {
        std::lock_guard lock(engine->running);
        engine->work.operations = operations;
    }
}

void use_cache(const std::optional<std::string>& path) {
    std::shared_ptr<cache::Folder> folder;
    if (path) folder = value_or_raise(cache::Folder::open(*path));
    kernels().chosen = true;
    kernels().cache->use_folder(std::move(folder));
}

namespace {

// One program for all of it.
Session::Run plain_run(const inference::Specialise& specialise) {
    return [&](inference::ProgramCache& programs, const std::vector<inference::Value>& inputs,
               const inference::RunWatch& watch) {
        return programs.run(inputs, false, specialise, watch.progress, watch.profile);
    };
}

nb::object object_of(inference::Value& value) {
    if (value.tensor) return to_python(std::move(*value.tensor));
    if (value.growing) return to_python(*value.growing);
    if (value.spread) return to_python(std::move(value.spread));
    if (!value.list) return nb::none();
    nb::list elements;
    for (inference::Value element : *value.list) elements.append(object_of(element));
    return elements;
}

}  // namespace

Session::Session(std::vector<Port> in, std::vector<Port> out, inference::Specialise specialise, int threads,
                 inference::ProgramSource source, std::vector<plan::Donation> donations, Run run)
    : inputs(std::move(in)),
      outputs(std::move(out)),
      specialise_(std::move(specialise)),
      run_(run ? std::move(run) : plain_run(specialise_)),
      donations_(std::move(donations)),
      programs_(engine_of(threads), std::move(source), inference::default_program_bytes, donations_) {}

Session::Given Session::given(const nb::dict& feeds, bool may_be_spread) const {
    Given given;
    std::map<std::string, TensorData> by_name;  // of a list nothing
    std::map<std::string, inference::Value> lists;
    std::map<std::string, runtime::Growing> growing;
    std::map<std::string, std::shared_ptr<const inference::SpreadTensor>> spread;
    for (auto [key, value] : feeds) {
        std::string name = nb::cast<std::string>(nb::str(key));
        given.objects.insert_or_assign(name, nb::borrow(value));
        const bool is_list = std::ranges::any_of(inputs, [&](const Port& port) {
            return port.name == name && (port.dtype.starts_with("sequence") || port.dtype.starts_with("optional"));
        });
        TensorData& tensor = by_name[name];
        if (is_list && (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value))) {
            std::vector<inference::Value> elements;
            for (nb::handle element : value) {
                given.arrays.push_back(array_of(element, name));
                elements.push_back(inference::Value::of(given.arrays.back().tensor));
            }
            lists.insert_or_assign(name, inference::Value::of_list(std::move(elements)));
        } else if (is_list && value.is_none()) {
            lists.insert_or_assign(name, inference::Value());
        } else if (auto lies = may_be_spread ? spread_of(value) : nullptr) {
            tensor = TensorData(lies->dtype, lies->shape, nullptr, nullptr);
            spread.insert_or_assign(name, std::move(lies));
        } else if (auto known = donations_.empty() ? growing_of(value) : std::nullopt) {
            tensor = TensorData(known->dtype(), known->shape(), nullptr, nullptr);
            growing.insert_or_assign(name, *known);
        } else {
            given.arrays.push_back(array_of(value, name));
            tensor = given.arrays.back().tensor;
        }
    }
    auto arranged = value_or_raise(inference::arrange(names_of(inputs), by_name));
    Diagnostics missing;
    for (size_t i = 0; i < inputs.size(); i++) {
        if (!inputs[i].is_read) continue;
        const auto list = lists.find(inputs[i].name);
        if (list != lists.end()) {
            given.values.push_back(list->second);
        } else if (!arranged[i]) {
            missing.push_back(inference::missing_input(inputs[i].name, type_text(inputs[i])));
            missing.back().remedy = fmt::format("add {{'{}': array}} to what run is given", inputs[i].name);
        } else if (const auto known = growing.find(inputs[i].name); known != growing.end()) {
            given.values.push_back(inference::Value::of_growing(known->second));
        } else if (const auto lies = spread.find(inputs[i].name); lies != spread.end()) {
            given.values.push_back(inference::Value::of_spread(lies->second));
        } else {
            given.values.push_back(inference::Value::of(*arranged[i]));
        }
    }
    if (!missing.empty()) raise(missing);
    return given;
}

// Who has one would see what is written to the other: also by an array that this one is a part of.
static void set_read_only(nb::object array) {
    const nb::object numpy_array = nb::module_::import_("numpy").attr("ndarray");
    for (; nb::isinstance(array, numpy_array); array = array.attr("base")) array.attr("flags").attr("writeable") = false;
}

// The memory of what was given that results lie in, too.
std::set<const void*> Session::Given::continued_by(const std::vector<inference::Value>& results) const {
    std::set<const void*> given, both;
    for (const inference::Value& value : values)
        if (value.growing) given.insert(value.growing->memory.get());
    for (const inference::Value& result : results)
        if (result.growing && given.contains(result.growing->memory.get())) both.insert(result.growing->memory.get());
    return both;
}

nb::list Session::run(const std::optional<std::vector<std::string>>& names, const nb::dict& feeds, nb::object progress,
                      nb::object profile) {
    auto output_names = names_of(outputs);
    auto wanted = positions(outputs, names ? *names : output_names);
    const Given given = this->given(feeds, programs_.has_places());
    std::map<size_t, nb::object> overwritten;  // by output
    for (const auto& [output, input] : donations_) {
        if (programs_.has_places()) break;  // these have memory of their own, where results stay
        const std::string& name = inputs[static_cast<size_t>(input)].name;
        const nb::object& object = given.objects.at(name);
        check_writable(object, *given.values[static_cast<size_t>(input)].tensor, name);
        overwritten.emplace(static_cast<size_t>(output), object);
    }
    std::vector<runtime::LaunchTime> launches;
    auto* timed = profile.is_none() ? nullptr : &launches;
    auto results = watched(std::move(progress), calls_,
                           [&](Progress& told) { return run_(programs_, given.values, {&told, timed}); });
    if (!results) raise(results.error());
    for (const runtime::LaunchTime& launch : launches) profile.attr("append")(time_of(launch));
    warn(notes_of(programs_));
    std::set<const void*> continued = given.continued_by(*results);
    for (size_t i = 0, read = 0; i < inputs.size(); i++) {
        if (!inputs[i].is_read) continue;
        const auto& growing = given.values[read++].growing;
        if (growing && continued.contains(growing->memory.get())) set_read_only(given.objects.at(inputs[i].name));
    }
    nb::list answer;
    for (size_t output : wanted) {
        const auto found = overwritten.find(output);
        const auto& growing = (*results)[output].growing;
        answer.append(found != overwritten.end() ? found->second : object_of((*results)[output]));
        if (growing && continued.contains(growing->memory.get())) set_read_only(answer[answer.size() - 1]);
    }
    return answer;
}

void Session::use_places(std::shared_ptr<inference::Places> places, const std::map<std::string, std::string>& states) {
    std::vector<std::string> read;
    for (const Port& port : inputs)
        if (port.is_read) read.push_back(port.name);
    std::vector<std::string> kept;
    std::map<std::string, TensorData> fed;
    for (const auto& [output, input] : states) {
        kept.push_back(output);
        fed.emplace(input, TensorData());
    }
    value_or_raise(inference::arrange(read, fed));
    std::vector<plan::Donation> donations;
    for (size_t output : positions(outputs, kept)) {
        const auto input = std::ranges::find(read, states.at(outputs[output].name));
        donations.push_back({static_cast<int32_t>(output), static_cast<int32_t>(input - read.begin())});
    }
    nb::gil_scoped_release others_run;
    programs_.use_places(std::move(places), std::move(donations));
}

// Who makes a program meanwhile may need the interpreter.
std::map<uint64_t, int64_t> Session::memory() const {
    nb::gil_scoped_release others_run;
    std::map<uint64_t, int64_t> memory;
    for (const auto& [begin, bytes] : programs_.memory()) memory.emplace(reinterpret_cast<uint64_t>(begin), bytes);
    return memory;
}

void Session::set_program_cache_bytes(int64_t bytes) {
    nb::gil_scoped_release others_run;
    programs_.set_limit(bytes);
}

void bind_session(nb::module_& module) {
    nb::class_<Session::Port>(module, "Port")
        .def_ro("name", &Session::Port::name)
        .def_ro("dtype", &Session::Port::dtype)
        .def_ro("shape", &Session::Port::shape,
                nb::for_getter(nb::sig("def shape(self) -> list[int | str | None] | None")))
        .def_ro("is_read", &Session::Port::is_read);
    nb::class_<Session>(module, "Session")
        .def_ro("inputs", &Session::inputs)
        .def_ro("outputs", &Session::outputs)
        .def("run", &Session::run, nb::arg("names").none(), nb::arg("feeds"), nb::arg("progress").none(),
             nb::arg("profile").none())
        .def("compare", &Session::compare, nb::arg("feeds"), nb::arg("unfused"), nb::arg("work"), nb::arg("threads"),
             nb::arg("progress").none())
        .def("compare_outputs", &Session::compare_outputs)
        .def("cancel", &Session::cancel)
        .def("memory", &Session::memory)
        .def("set_program_cache_bytes", &Session::set_program_cache_bytes, nb::arg("bytes"));
    // Then no thread is at work in LLVM, either.
    nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
        nb::gil_scoped_release others_run;
        kernels().cache->settle();
    }));
    module.def("use_cache", &use_cache, nb::arg("folder").none());
    module.def("limit_work", &limit_work, nb::arg("operations"));
}

}  // namespace heddle::python
