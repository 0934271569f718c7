#include "inference/kept_program.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include "cache/folder.h"
#include "cache/hash.h"
#include "cache/identity.h"
#include "inference/byte_stream.h"
#include "support/descriptor.h"
#include "support/memory_source.h"
#include "support/tensor_data.h"

namespace heddle::inference {
namespace {

using plan::Buffer;
using plan::Plan;

// What a file of kind `program` is.
enum class Content : uint64_t {
    program = 1,
    deciding = 2,  // which inputs' values the program depends on: with these it is found under another key
};
constexpr int most_steps = 8;  // from one of these to the next

// How a constant, or a prepared buffer, is kept.
enum class Place : uint64_t {
    nowhere = 0,  // only `prepare` reads it
    here = 1,
    weights = 2,  // in a file of its own, which other programs may share and which is mapped
};
constexpr int64_t largest_here = 64 << 10;

// Empty where the backend has no config: then nothing is kept.
std::string base_key(const ProgramSource& source, const Engine& engine, const plan::PlanOptions& options) {
    const CompileRequest request{.target = engine.target, .program = {}, .derivation = {}};
    const auto config = compile_config_for(engine.kernels->backend(), request);
    if (!config) return {};
    std::string wanted;
    if (options.grow) wanted += " grows";
    for (const plan::Donation& donation : options.donations)
        wanted += fmt::format(" {} in {}", donation.output, donation.input);
    for (const equations::StoringChoice& choice : options.storing)
        wanted += fmt::format(" {} as {}", choice.tensor, static_cast<int>(choice.storing));
    return fmt::format("{}\n{}\n{}\nfused {}{}\n{}", cache::identity(), canonical_bytes(*config), print(engine.target),
                       options.fuse, wanted, source.key);
}

// Prepared memory of a device is not kept.
bool can_keep(const ProgramSource& source, const Engine& engine) {
    return !source.key.empty() && !engine.kernels->device();
}

std::span<const std::byte> bytes_of(const TensorData& data) {
    return {data.data(), static_cast<size_t>(data.byte_size())};
}

// The key of what holds for this value of an input.
std::string with_value(const std::string& key, const std::string& name, const TensorData& value) {
    return fmt::format("{}\n{} {}[{}] {}", key, name, heddle::name(value.dtype()), fmt::join(value.shape(), ","),
                       cache::digest(bytes_of(value)));
}

// ---- constants

struct NamedConstant {
    const TensorData* data = nullptr;  // without memory where it is not used
    bool used = false;                 // by `run`
};

// By the names under which a plan's text finds them; nothing if two have one name.
std::optional<std::map<std::string, NamedConstant>> constants_of(const Plan& plan) {
    std::map<std::string, NamedConstant> constants;
    auto add = [&](const std::string& name, const TensorData& data, bool used) {
        auto [place, added] = constants.emplace(name, NamedConstant{&data, used});
        NamedConstant& known = place->second;
        const bool alike = known.data->dtype() == data.dtype() && known.data->shape() == data.shape();
        const bool same = alike && (!used || !known.used || std::ranges::equal(bytes_of(*known.data), bytes_of(data)));
        if (used) known = {&data, true};
        return added || same;
    };
    for (const Buffer& buffer : plan.buffers) {
        if (buffer.kind == Buffer::Kind::constant && !add(buffer.name, *buffer.constant, buffer.first >= 0))
            return std::nullopt;
    }
    for (const auto& [input, value] : plan.decided) {
        if (!add(plan.input_names[static_cast<size_t>(input)], value, true)) return std::nullopt;
    }
    return constants;
}

// What was kept, by its contents, among what programs of this process have prepared.
std::string store_key(int64_t size, const std::string& digest) { return fmt::format("kept {} bytes {}", size, digest); }

// Under a digest of its contents; what is there already is not written again.
std::string keep_weights(std::span<const std::byte> bytes, const std::string& label, cache::Folder& folder) {
    std::string digest = cache::digest(bytes);
    if (!folder.has(cache::Kind::weights, digest)) folder.store(cache::Kind::weights, digest, label, bytes);
    return digest;
}

// The key in the engine's store; empty for what is kept with the program itself.
std::string write_bytes(ByteWriter& writer, std::span<const std::byte> bytes, const std::string& label,
                        cache::Folder& folder) {
    const Place place = static_cast<int64_t>(bytes.size()) <= largest_here ? Place::here : Place::weights;
    writer.number(static_cast<uint64_t>(place));
    if (place == Place::here) {
        writer.bytes(bytes);
        return {};
    }
    const std::string digest = keep_weights(bytes, label, folder);
    writer.text(digest);
    return store_key(static_cast<int64_t>(bytes.size()), digest);
}

void write_constant(ByteWriter& writer, const std::string& name, const NamedConstant& constant,
                    const std::string& label, cache::Folder& folder) {
    const TensorData& data = *constant.data;
    writer.text(name);
    writer.text(heddle::name(data.dtype()));
    writer.numbers(data.shape());
    if (!constant.used) return writer.number(static_cast<uint64_t>(Place::nowhere));
    write_bytes(writer, bytes_of(data), label + ", " + name, folder);
    give_back_pages(data.lender(), bytes_of(data));  // runs may read few of them
}

runtime::Block copy_of(std::span<const std::byte> bytes) {
    auto block = allocate_buffer(bytes.size());
    if (block && !bytes.empty()) std::memcpy(block.get(), bytes.data(), bytes.size());
    return block;
}

// What write_bytes has written, aligned and with slack behind. Programs that keep the same weights have them once.
// Null: it is not of `size` bytes, or not there any more.
runtime::Block read_bytes(ByteReader& reader, Place place, int64_t size, Engine& engine, cache::Folder& folder) {
    if (place == Place::here) {
        const auto bytes = reader.bytes();
        if (!reader.fine() || static_cast<int64_t>(bytes.size()) != size) return nullptr;
        return copy_of(bytes);
    }
    const std::string digest = reader.text();
    if (!reader.fine() || place != Place::weights) return nullptr;
    const std::string key = store_key(size, digest);
    if (auto block = engine.prepared->find(key)) return block;
    const auto file = folder.find(cache::Kind::weights, digest);
    if (!file || static_cast<int64_t>(file->bytes.size()) != size) return nullptr;
    // Who brings memory of their own has all of it there.
    if (memory_source()) {
        runtime::Block copy = copy_of(file->bytes);
        return copy ? engine.prepared->add(key, std::move(copy)) : nullptr;
    }
    return engine.prepared->add(key,
                                {file->owner, const_cast<std::byte*>(file->bytes.data())});  // only read from now on
}

// Whether a tensor may have this shape: its bytes can be counted.
bool possible(const std::vector<int64_t>& shape) {
    int64_t elements = int64_t{1} << 16;  // of more bytes than any
    return std::ranges::all_of(shape, [&](int64_t extent) {
        return extent >= 0 && !__builtin_mul_overflow(elements, std::max<int64_t>(extent, 1), &elements);
    });
}

// False: it is not what was written, or its weights are not there any more.
bool read_constant(ByteReader& reader, plan::Constants& constants, Engine& engine, cache::Folder& folder) {
    const std::string name = reader.text();
    const auto dtype = dtype_named(reader.text());
    std::vector<int64_t> shape = reader.numbers();
    const auto place = static_cast<Place>(reader.number());
    if (!reader.fine() || !dtype || !possible(shape)) return false;
    TensorData data(*dtype, std::move(shape), nullptr, nullptr);
    if (place == Place::here) {
        data = TensorData(*dtype, data.shape());
        const auto bytes = reader.bytes();
        if (!reader.fine() || static_cast<int64_t>(bytes.size()) != data.byte_size()) return false;
        if (!bytes.empty()) std::memcpy(data.mutable_data(), bytes.data(), bytes.size());
    } else if (place != Place::nowhere) {
        const runtime::Block block = read_bytes(reader, place, data.byte_size(), engine, folder);
        if (!block) return false;
        data = TensorData(*dtype, data.shape(), block, block.get());
        give_back_pages(data.lender(), bytes_of(data));  // they were checked; runs may read few of them
    }
    constants.insert_or_assign(name, std::move(data));
    return true;
}

// ---- programs

// Of what `prepare` makes, what runs read.
bool is_kept(const Buffer& buffer) { return buffer.kind == Buffer::Kind::prepared && buffer.first >= 0; }

std::string bytes_of(const KeptProgram& program, const std::map<std::string, NamedConstant>& constants,
                     const std::string& label, cache::Folder& folder, runtime::PreparedStore& store,
                     std::vector<runtime::Block>& blocks) {
    ByteWriter writer;
    writer.number(static_cast<uint64_t>(Content::program));
    writer.texts(program.input_names);
    writer.texts(program.output_names);
    writer.number(std::bit_cast<uint64_t>(program.work));
    writer.number(constants.size());
    for (const auto& [name, constant] : constants) write_constant(writer, name, constant, label, folder);
    const Plan& plan = program.executable->plan();
    writer.text(print(plan));
    for (size_t b = 0; b < plan.buffers.size(); b++) {
        const Buffer& buffer = plan.buffers[b];
        if (!is_kept(buffer)) continue;
        const auto index = static_cast<int32_t>(b);
        const std::string key =
            write_bytes(writer, program.executable->prepared(index), label + ", " + buffer.name, folder);
        if (!key.empty()) blocks[b] = store.add(key, program.executable->block(index));
    }
    return writer.take();
}

// By buffer; nothing if some are not what was written, or not there any more.
std::optional<std::vector<runtime::Block>> read_prepared(ByteReader& reader, const Plan& plan, Engine& engine,
                                                         cache::Folder& folder) {
    std::vector<runtime::Block> prepared(plan.buffers.size());
    for (size_t b = 0; b < prepared.size(); b++) {
        const Buffer& buffer = plan.buffers[b];
        if (!is_kept(buffer)) continue;
        const auto place = static_cast<Place>(reader.number());
        prepared[b] = read_bytes(reader, place, buffer.bytes, engine, folder);
        if (!prepared[b]) return std::nullopt;
    }
    return prepared;
}

std::optional<KeptProgram> read_program(ByteReader& reader, cache::Folder& folder, Engine& engine) {
    KeptProgram program;
    program.input_names = reader.texts();
    program.output_names = reader.texts();
    program.work = std::bit_cast<double>(reader.number());
    plan::Constants constants;
    const uint64_t count = reader.number();
    for (uint64_t i = 0; i < count; i++) {
        if (!read_constant(reader, constants, engine, folder)) return std::nullopt;
    }
    auto text = std::make_shared<SourceText>("kept program", reader.text());
    if (!reader.fine()) return std::nullopt;
    auto plan = plan::parse_plan(std::move(text), constants);
    if (!plan) return std::nullopt;
    const bool fits = plan->input_names.size() == program.input_names.size() &&
                      plan->output_names.size() == program.output_names.size();
    engine.kernels->make_way(*plan);
    auto prepared = read_prepared(reader, *plan, engine, folder);
    if (!fits || !prepared || !reader.fine() || !reader.at_end()) return std::nullopt;
    auto executable = runtime::Executable::make_prepared(std::move(*plan), *engine.kernels, *engine.pool,
                                                         std::move(*prepared), *engine.prepared);
    if (!executable) return std::nullopt;
    program.executable = std::move(*executable);
    return program;
}

// ---- which inputs decide

struct Deciding {
    size_t place = 0;
    std::string name;
};

std::optional<std::vector<Deciding>> read_deciding(ByteReader& reader) {
    std::vector<Deciding> inputs;
    const uint64_t count = reader.number();
    for (uint64_t i = 0; i < count && reader.fine(); i++) {
        const size_t place = reader.number();
        inputs.push_back({place, reader.text()});
    }
    if (!reader.fine() || !reader.at_end()) return std::nullopt;
    return inputs;
}

std::string bytes_of(const std::vector<Deciding>& inputs) {
    ByteWriter writer;
    writer.number(static_cast<uint64_t>(Content::deciding));
    writer.number(inputs.size());
    for (const Deciding& input : inputs) {
        writer.number(input.place);
        writer.text(input.name);
    }
    return writer.take();
}

// Nothing if a value is not known.
std::optional<std::string> with_values(std::string key, const std::vector<Deciding>& inputs, const ValueOf& value_of) {
    for (const Deciding& input : inputs) {
        const TensorData* value = value_of(input.place, input.name);
        if (!value) return std::nullopt;
        key = with_value(key, input.name, *value);
    }
    return key;
}

// The inputs that a file under this key names, if it is one that names some.
std::optional<std::vector<Deciding>> deciding_at(const std::string& key, cache::Folder& folder) {
    const auto file = folder.find(cache::Kind::program, key);
    if (!file) return std::nullopt;
    ByteReader reader(file->bytes);
    if (reader.number() != static_cast<uint64_t>(Content::deciding)) return std::nullopt;
    return read_deciding(reader);
}

}  // namespace

std::optional<KeptProgram> find_program(const ProgramSource& source, const ValueOf& value_of, Engine& engine,
                                        const plan::PlanOptions& options) {
    const auto folder = engine.kernels->folder();
    if (!folder || !can_keep(source, engine)) return std::nullopt;
    std::string key = base_key(source, engine, options);
    if (key.empty()) return std::nullopt;
    for (int step = 0; step < most_steps; step++) {
        const auto file = folder->find(cache::Kind::program, key);
        if (!file) return std::nullopt;
        ByteReader reader(file->bytes);
        if (reader.number() == static_cast<uint64_t>(Content::program)) return read_program(reader, *folder, engine);
        const auto inputs = read_deciding(reader);
        auto next = inputs ? with_values(std::move(key), *inputs, value_of) : std::nullopt;
        if (!next) return std::nullopt;
        key = std::move(*next);
    }
    return std::nullopt;
}

std::vector<runtime::Block> keep_program(const ProgramSource& source, const ValueOf& value_of,
                                         const KeptProgram& program, Engine& engine, const plan::PlanOptions& options) {
    const auto folder = engine.kernels->folder();
    const Plan& plan = program.executable->plan();
    if (!folder || !can_keep(source, engine) || !plan.notes.empty()) return {};
    const auto constants = constants_of(plan);
    if (!constants) return {};
    std::string key = base_key(source, engine, options);
    if (key.empty()) return {};
    std::vector<Deciding> left;
    for (const auto& [input, value] : plan.decided)
        left.push_back({static_cast<size_t>(input), program.input_names[static_cast<size_t>(input)]});
    for (int step = 0; step < most_steps && !left.empty(); step++) {
        auto inputs = deciding_at(key, *folder);
        if (!inputs) {
            inputs = left;
            const std::string bytes = bytes_of(left);
            folder->store(cache::Kind::program, key, source.label + ", by values", std::as_bytes(std::span(bytes)));
        }
        auto next = with_values(std::move(key), *inputs, value_of);
        if (!next) return {};
        key = std::move(*next);
        std::erase_if(left, [&](const Deciding& input) {
            return std::ranges::find(*inputs, input.place, &Deciding::place) != inputs->end();
        });
    }
    std::vector<runtime::Block> blocks(plan.buffers.size());
    const std::string bytes = bytes_of(program, *constants, source.label, *folder, *engine.prepared, blocks);
    if (left.empty()) folder->store(cache::Kind::program, key, source.label, std::as_bytes(std::span(bytes)));
    return blocks;
}

// ---- digests

namespace {

// What has just been written may be written again without another time.
bool settled(const struct stat& status) {
    return std::max(status.st_mtim.tv_sec, status.st_ctim.tv_sec) + 2 < std::time(nullptr);
}

}  // namespace

std::optional<std::string> digest_of_file(const std::string& path, cache::Folder& folder) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status = {}, after = {};
    if (!file.open() || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0)
        return std::nullopt;
    if (status.st_size > folder.limit()) return std::nullopt;
    const std::string stamp = stamp_of(status);
    if (const auto known = folder.find(cache::Kind::model, stamp))
        return std::string(reinterpret_cast<const char*>(known->bytes.data()), known->bytes.size());
    const auto size = static_cast<size_t>(status.st_size);
    const auto memory = map_read_only(file, size, false);
    if (!memory) return std::nullopt;
    std::string digest = cache::digest({static_cast<const std::byte*>(memory.get()), size}, memory);
    if (::fstat(file.number(), &after) != 0 || stamp_of(after) != stamp) return std::nullopt;
    if (settled(after)) folder.store(cache::Kind::model, stamp, path, std::as_bytes(std::span(digest)));
    return digest;
}

std::string digest_of(const Library& library) {
    std::string all;
    for (const auto& source : library.sources())
        all +=
            fmt::format("{} {} {}\n{}", source->name().size(), source->text().size(), source->name(), source->text());
    return cache::digest(all);
}

}  // namespace heddle::inference
