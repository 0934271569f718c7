// The C functions: what they are given checked for null pointers, exceptions and errors made statuses. All else is said by
// the classes behind them.
#include "api/heddle/c_api.h"

#include <cstring>
#include <exception>
#include <new>
#include <set>

#include <fmt/format.h>

#include "api/executable.h"
#include "api/model.h"
#include "api/runtime.h"
#include "api/tensors.h"
#include "running/places.h"
#include "inference/build_info.h"
#include "support/guarded.h"
#include "transport/connect.h"

using heddle::Diagnostic;
using heddle::Diagnostics;
using heddle::fail;
using heddle::Result;
namespace api = heddle::api;

struct heddle_error {
    std::string code, message, text, json;
};
struct heddle_runtime {
    std::shared_ptr<api::Runtime> runtime;
};
struct heddle_machines {
    std::shared_ptr<heddle::transport::Transport> transport;
};
struct heddle_model {
    std::shared_ptr<api::Model> model;
};
struct heddle_executable {
    std::shared_ptr<api::Executable> executable;
};

namespace {

heddle_error* new_error(const Diagnostics& problems) {
    return new heddle_error{problems.front().code, problems.front().summary, heddle::render(problems),
                            heddle::render_json(problems)};
}

heddle_status status_of(const Diagnostic& problem) {
    if (problem.code == "support.cancelled") return HEDDLE_CANCELLED;
    if (problem.code == "runtime.out_of_memory") return HEDDLE_OUT_OF_MEMORY;
    for (const char* mistake : {"inference.broken", "plan.broken", "backends.internal", "backends.link"})
        if (problem.code == mistake) return HEDDLE_INTERNAL;
    return HEDDLE_FAILED;
}

heddle_status refuse(Diagnostics problems, heddle_error** error) {
    if (error) *error = new_error(problems);
    return status_of(problems.front());
}

Diagnostics no_memory() {
    return {{.code = "runtime.out_of_memory", .summary = "there is not the memory that the call needs"}};
}

// What an allocator that errs made of it.
Diagnostics explained(Diagnostics problems, const api::CallerMemory* memory) {
    if (memory && memory->misaligned() && problems.front().code == "runtime.out_of_memory")
        problems.front() = api::misaligned_memory();
    return problems;
}

// Runs `work`, which answers a Result<void>, on the caller's memory.
template <typename Work>
heddle_status attempt(const std::shared_ptr<api::CallerMemory>& memory, heddle_error** error, Work work) noexcept {
    try {
        const heddle::MemorySourceScope scope(memory);
        Result<void> done;
        try {
            done = heddle::guarded("inference.broken", std::move(work));
        } catch (const std::bad_alloc&) {
            done = fail(no_memory());
        }
        return done ? HEDDLE_OK : refuse(explained(std::move(done.error()), memory.get()), error);
    } catch (...) {  // not even an error could be made
        if (error) *error = nullptr;
        return HEDDLE_OUT_OF_MEMORY;
    }
}

// An error for a null pointer where none may be.
Result<void> given(const char* argument, const void* pointer) {
    if (pointer) return {};
    return fail({.code = "api.argument",
                 .summary = fmt::format("argument '{}' is a null pointer", argument),
                 .params = {{"argument", argument}}});
}

struct Argument {
    const char* name;
    const void* pointer;
};
Result<void> all_given(std::initializer_list<Argument> arguments) {
    for (const auto& [name, pointer] : arguments)
        if (auto fine = given(name, pointer); !fine) return fine;
    return {};
}

std::shared_ptr<api::CallerMemory> memory_of(const heddle_runtime* runtime) {
    return runtime ? runtime->runtime->memory() : nullptr;
}
std::shared_ptr<api::CallerMemory> memory_of(const heddle_model* model) {
    return model ? model->model->runtime().memory() : nullptr;
}
std::shared_ptr<api::CallerMemory> memory_of(const heddle_executable* executable) {
    return executable ? executable->executable->runtime().memory() : nullptr;
}

Result<api::Bindings> bindings_of(const heddle_dimension* dimensions, size_t count) {
    if (count > 0 && !dimensions) return fail(given("dimensions", nullptr).error());
    api::Bindings bindings;
    for (size_t i = 0; i < count; i++) {
        if (!dimensions[i].name) return fail(given("dimensions.name", nullptr).error());
        bindings.insert_or_assign(dimensions[i].name, dimensions[i].size);
    }
    return bindings;
}

// Tells a function of the caller's, which may end the compile.
class CallerProgress : public heddle::Progress {
public:
    explicit CallerProgress(const heddle_progress& progress) : progress_(progress) {}

protected:
    void told(const State& state) override { tell(state); }
    void watch(const State& state) override { tell(state); }

private:
    void tell(const State& state) {
        const std::string stage(heddle::name(state.stage));
        if (progress_.told(progress_.owner, stage.c_str(), state.done, state.total, state.seconds) != 0) cancel();
    }
    const heddle_progress progress_;
};

// Options of a program that was compiled with an older header: what it does not know has its default. `least`: the bytes of
// the first version.
template <typename Options>
Result<Options> options_of(const Options* options, size_t least, const char* name) {
    Options known = {};
    if (!options) return known;
    if (options->size < least || options->size > sizeof known) {
        return fail({.code = "api.version",
                     .summary = fmt::format("{} are of another version of the library", name),
                     .expected = fmt::format("size = sizeof({}), {} bytes", name, sizeof known),
                     .found = std::to_string(options->size),
                     .remedy = "set `size`; compile with the header of the library that runs, or of an older one"});
    }
    std::memcpy(&known, options, options->size);
    return known;
}

Result<void> hand_out(Result<std::shared_ptr<api::Model>> made, heddle_model** model) {
    if (!made) return fail(std::move(made.error()));
    *model = new heddle_model{std::move(*made)};
    return {};
}

}  // namespace

extern "C" {

uint32_t heddle_api_version(void) { return HEDDLE_API_VERSION; }

int32_t heddle_api_serves(uint32_t version) {
    return version >> 16 == HEDDLE_API_MAJOR && (version & 0xffffu) <= HEDDLE_API_MINOR ? 1 : 0;
}

const char* heddle_version(void) { return heddle::inference::build_version; }

const char* heddle_error_code(const heddle_error* error) { return error ? error->code.c_str() : ""; }
const char* heddle_error_message(const heddle_error* error) { return error ? error->message.c_str() : ""; }
const char* heddle_error_text(const heddle_error* error) { return error ? error->text.c_str() : ""; }
const char* heddle_error_json(const heddle_error* error) { return error ? error->json.c_str() : "[]"; }
void heddle_error_free(heddle_error* error) { delete error; }

// ---- runtime

heddle_status heddle_runtime_create(const heddle_runtime_options* options, heddle_runtime** runtime,
                                    heddle_error** error) {
    return attempt(nullptr, error, [&]() -> Result<void> {
        if (auto fine = given("runtime", runtime); !fine) return fine;
        const auto known = options_of(options, offsetof(heddle_runtime_options, allocator) + sizeof options->allocator,
                                      "heddle_runtime_options");
        if (!known) return fail(known.error());
        auto made = api::Runtime::make(*known);
        if (!made) return fail(std::move(made.error()));
        *runtime = new heddle_runtime{std::move(*made)};
        return {};
    });
}

void heddle_runtime_release(heddle_runtime* runtime) { delete runtime; }

heddle_status heddle_runtime_add_operators(heddle_runtime* runtime, const char* path, const char* name,
                                           heddle_error** error) {
    return attempt(memory_of(runtime), error, [&]() -> Result<void> {
        if (auto fine = all_given({{"runtime", runtime}, {"path", path}}); !fine) return fine;
        return runtime->runtime->add_operators(path, name ? name : "");
    });
}

heddle_status heddle_runtime_add_operators_text(heddle_runtime* runtime, const char* name, const char* text,
                                                heddle_error** error) {
    return attempt(memory_of(runtime), error, [&]() -> Result<void> {
        if (auto fine = all_given({{"runtime", runtime}, {"name", name}, {"text", text}}); !fine) return fine;
        return runtime->runtime->add_operators_text(name, text);
    });
}

heddle_status heddle_machines_connect(const heddle_machines_options* options, heddle_machines** machines,
                                      heddle_error** error) {
    return attempt(nullptr, error, [&]() -> Result<void> {
        if (auto fine = all_given({{"machines", machines}}); !fine) return fine;
        constexpr size_t least = sizeof(heddle_machines_options);  // of version 1.2
        const auto known = options_of(options, least, "heddle_machines_options");
        if (!known) return fail(known.error());
        auto transport = heddle::transport::connect({.hosts = known->hosts ? known->hosts : "",
                                                     .rank = known->rank,
                                                     .library = known->library ? known->library : "",
                                                     .timeout = known->timeout > 0 ? known->timeout : 60});
        if (!transport) return fail(std::move(transport.error()));
        *machines = new heddle_machines{std::move(*transport)};
        return {};
    });
}
int32_t heddle_machines_rank(const heddle_machines* machines) { return machines ? machines->transport->rank() : 0; }
int32_t heddle_machines_size(const heddle_machines* machines) { return machines ? machines->transport->size() : 0; }
void heddle_machines_fail(heddle_machines* machines, const char* why) {
    attempt(nullptr, nullptr, [&]() -> Result<void> {
        if (machines) machines->transport->fail({{.code = "api.failed", .summary = why ? why : "it failed"}});
        return {};
    });
}
void heddle_machines_release(heddle_machines* machines) { delete machines; }

heddle_status heddle_runtime_shard(heddle_runtime* runtime, const char* const* cuts, size_t cut_count,
                                   heddle_machines* machines, heddle_error** error) {
    return attempt(memory_of(runtime), error, [&]() -> Result<void> {
        if (auto fine = all_given({{"runtime", runtime}}); !fine) return fine;
        std::vector<std::string> texts;
        for (size_t i = 0; i < cut_count; i++) {
            if (auto fine = all_given({{"cuts", cuts}, {"cuts", cuts ? cuts[i] : nullptr}}); !fine) return fine;
            texts.emplace_back(cuts[i]);
        }
        auto said = heddle::placing::parse_cuts(texts);
        if (!said) return fail(std::move(said.error()));
        runtime->runtime->shard(std::move(*said), machines ? machines->transport : nullptr);
        return {};
    });
}

heddle_error* heddle_runtime_take_notes(heddle_runtime* runtime) {
    try {
        const Diagnostics notes = runtime ? runtime->runtime->take_notes() : Diagnostics();
        return notes.empty() ? nullptr : new_error(notes);
    } catch (...) {  // memory
        return nullptr;
    }
}

// ---- models

heddle_status heddle_model_load(heddle_runtime* runtime, const char* path, const heddle_dimension* dimensions,
                                size_t dimension_count, heddle_model** model, heddle_error** error) {
    return attempt(memory_of(runtime), error, [&]() -> Result<void> {
        if (auto fine = all_given({{"runtime", runtime}, {"path", path}, {"model", model}}); !fine) return fine;
        auto bindings = bindings_of(dimensions, dimension_count);
        if (!bindings) return fail(std::move(bindings.error()));
        return hand_out(api::load_model(runtime->runtime, path, std::move(*bindings)), model);
    });
}

heddle_status heddle_model_parse(heddle_runtime* runtime, const void* bytes, size_t size, void (*release)(void* owner),
                                 void* owner, const heddle_dimension* dimensions, size_t dimension_count,
                                 heddle_model** model, heddle_error** error) {
    return attempt(memory_of(runtime), error, [&]() -> Result<void> {
        std::shared_ptr<const void> kept;
        if (release) kept = std::shared_ptr<const void>(bytes, [release, owner](const void*) { release(owner); });
        if (auto fine = all_given({{"runtime", runtime}, {"bytes", bytes}, {"model", model}}); !fine) return fine;
        auto bindings = bindings_of(dimensions, dimension_count);
        if (!bindings) return fail(std::move(bindings.error()));
        std::span<const std::byte> content(static_cast<const std::byte*>(bytes), size);
        if (!release) {
            const auto copy = heddle::allocate_buffer(size);
            if (!copy) return fail(no_memory());
            std::memcpy(copy.get(), bytes, size);
            content = {copy.get(), size};
            kept = copy;
        }
        return hand_out(api::parse_model(runtime->runtime, {std::move(kept), content}, std::move(*bindings)), model);
    });
}

heddle_status heddle_model_from_calls(heddle_runtime* runtime, const char* program, const char* const* inputs,
                                      size_t input_count, heddle_model** model, heddle_error** error) {
    return attempt(memory_of(runtime), error, [&]() -> Result<void> {
        if (auto fine = all_given({{"runtime", runtime}, {"program", program}, {"model", model}}); !fine) return fine;
        std::vector<std::string> names;
        for (size_t i = 0; i < input_count; i++) {
            if (auto fine = given("inputs", inputs ? inputs[i] : nullptr); !fine) return fine;
            names.emplace_back(inputs[i]);
        }
        return hand_out(api::model_from_calls(runtime->runtime, program, std::move(names)), model);
    });
}

void heddle_model_release(heddle_model* model) { delete model; }

size_t heddle_model_input_count(const heddle_model* model) { return model ? model->model->inputs().size() : 0; }
size_t heddle_model_output_count(const heddle_model* model) { return model ? model->model->outputs().size() : 0; }
const heddle_port* heddle_model_input(const heddle_model* model, size_t index) {
    return model ? model->model->inputs().at(index) : nullptr;
}
const heddle_port* heddle_model_output(const heddle_model* model, size_t index) {
    return model ? model->model->outputs().at(index) : nullptr;
}

size_t heddle_model_initializer_count(const heddle_model* model) {
    return model ? model->model->initializers().size() : 0;
}
const heddle_port* heddle_model_initializer(const heddle_model* model, size_t index) {
    return model ? model->model->initializers().at(index) : nullptr;
}

heddle_status heddle_model_with_initializers(const heddle_model* model, const char* const* names, size_t name_count,
                                             heddle_model** with, heddle_error** error) {
    return attempt(memory_of(model), error, [&]() -> Result<void> {
        if (auto fine = all_given({{"model", model}, {"with", with}}); !fine) return fine;
        std::set<std::string> wanted;
        for (size_t i = 0; i < name_count; i++) {
            if (auto fine = given("names", names ? names[i] : nullptr); !fine) return fine;
            wanted.insert(names[i]);
        }
        return hand_out(model->model->with_initializers(wanted), with);
    });
}

heddle_status heddle_model_compile(heddle_model* model, const heddle_tensor* inputs, size_t input_count,
                                   const heddle_progress* progress, heddle_executable** executable,
                                   heddle_error** error) {
    return attempt(memory_of(model), error, [&]() -> Result<void> {
        if (auto fine = all_given({{"model", model}, {"executable", executable}}); !fine) return fine;
        if (auto fine = given("inputs", input_count > 0 ? inputs : static_cast<const void*>(model)); !fine) return fine;
        std::optional<CallerProgress> told;
        if (progress && progress->told) told.emplace(*progress);
        auto made = model->model->compile({inputs, input_count}, told ? &*told : nullptr);
        if (!made) return fail(std::move(made.error()));
        *executable = new heddle_executable{std::move(*made)};
        return {};
    });
}

heddle_status heddle_model_run(heddle_model* model, const heddle_tensor* inputs, size_t input_count,
                               const heddle_progress* progress, heddle_managed_tensor** outputs, size_t output_count,
                               heddle_error** error) {
    return attempt(memory_of(model), error, [&]() -> Result<void> {
        if (auto fine = given("model", model); !fine) return fine;
        const void* const none = model;  // an empty list may be null
        if (auto fine = all_given(
                {{"inputs", input_count > 0 ? inputs : none}, {"outputs", output_count > 0 ? outputs : none}});
            !fine)
            return fine;
        std::optional<CallerProgress> told;
        if (progress && progress->told) told.emplace(*progress);
        auto results = model->model->run({inputs, input_count}, output_count, told ? &*told : nullptr);
        if (!results) return fail(std::move(results.error()));
        std::ranges::copy(*results, outputs);
        return {};
    });
}

heddle_status heddle_model_let_results_grow(heddle_model* model, heddle_error** error) {
    return attempt(memory_of(model), error, [&]() -> Result<void> {
        if (auto fine = given("model", model); !fine) return fine;
        model->model->let_grow();
        return {};
    });
}

// ---- executables

void heddle_executable_release(heddle_executable* executable) { delete executable; }

size_t heddle_executable_input_count(const heddle_executable* executable) {
    return executable ? executable->executable->inputs().size() : 0;
}
size_t heddle_executable_output_count(const heddle_executable* executable) {
    return executable ? executable->executable->outputs().size() : 0;
}
const heddle_port* heddle_executable_input(const heddle_executable* executable, size_t index) {
    return executable ? executable->executable->inputs().at(index) : nullptr;
}
const heddle_port* heddle_executable_output(const heddle_executable* executable, size_t index) {
    return executable ? executable->executable->outputs().at(index) : nullptr;
}
int64_t heddle_executable_workspace_bytes(const heddle_executable* executable) {
    return executable ? executable->executable->workspace_bytes() : 0;
}
int64_t heddle_executable_weight_bytes(const heddle_executable* executable) {
    return executable ? executable->executable->program().resident_bytes() : 0;
}

heddle_status heddle_executable_run(heddle_executable* executable, const heddle_tensor* inputs, size_t input_count,
                                    const heddle_tensor* outputs, size_t output_count, heddle_error** error) {
    return attempt(memory_of(executable), error, [&]() -> Result<void> {
        if (auto fine = given("executable", executable); !fine) return fine;
        const void* const none = executable;  // an empty list may be null
        if (auto fine = all_given(
                {{"inputs", input_count > 0 ? inputs : none}, {"outputs", output_count > 0 ? outputs : none}});
            !fine)
            return fine;
        return executable->executable->run({inputs, input_count}, {outputs, output_count});
    });
}

heddle_status heddle_executable_make_output(heddle_executable* executable, size_t index, heddle_managed_tensor** tensor,
                                            heddle_error** error) {
    return attempt(memory_of(executable), error, [&]() -> Result<void> {
        if (auto fine = all_given({{"executable", executable}, {"tensor", tensor}}); !fine) return fine;
        auto made = executable->executable->make_output(index);
        if (!made) return fail(std::move(made.error()));
        *tensor = *made;
        return {};
    });
}

}  // extern "C"
