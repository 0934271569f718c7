#include "target/compile_job.h"

#include <charconv>

#include <fmt/format.h>

namespace heddle {
namespace {

constexpr std::string_view config_title = "heddle compile config 1\n";
constexpr std::string_view job_title = "heddle compile job 1\n";
constexpr auto most_activity = static_cast<uint8_t>(Activity::overwritten);
constexpr auto most_mode = static_cast<uint8_t>(Derivation::Mode::combined);

// "NAME SIZE\nBYTES\n": whatever a field holds, it reads as itself alone.
void write(std::string& bytes, std::string_view name, std::string_view value) {
    bytes += fmt::format("{} {}\n{}\n", name, value.size(), value);
}

void write_fields(std::string& bytes, const CompileConfig& config) {
    write(bytes, "backend", config.backend);
    write(bytes, "target", config.target);
    write(bytes, "options", config.options);
    write(bytes, "version", config.version);
}

std::string digits_of(const std::vector<Activity>& activities) {
    std::string digits;
    for (Activity activity : activities) digits += static_cast<char>('0' + static_cast<int>(activity));
    return digits;
}

class Reader {
public:
    explicit Reader(std::string_view bytes) : left_(bytes) {}

    bool fine() const { return fine_; }
    bool at_end() const { return left_.empty(); }

    void title(std::string_view text) { take(text); }

    std::string text(std::string_view name) {
        take(name);
        take(" ");
        const auto size = number<size_t>();
        take("\n");
        if (!fine_ || size > left_.size()) return stop();
        std::string value(left_.substr(0, size));
        left_.remove_prefix(size);
        take("\n");
        return value;
    }

    template <typename Integer>
    Integer integer(std::string_view name) {
        const std::string digits = text(name);
        Integer value = 0;
        const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        // "+1" and "01" are the numbers of other bytes.
        if (problem != std::errc() || end != digits.data() + digits.size() || fmt::format("{}", value) != digits)
            stop();
        return value;
    }

    std::string stop() {
        fine_ = false;
        left_ = {};
        return {};
    }

private:
    void take(std::string_view expected) {
        if (!fine_ || !left_.starts_with(expected)) {
            stop();
            return;
        }
        left_.remove_prefix(expected.size());
    }

    template <typename Integer>
    Integer number() {
        Integer value = 0;
        const auto [end, problem] = std::from_chars(left_.data(), left_.data() + left_.size(), value);
        const auto length = static_cast<size_t>(end - left_.data());
        if (problem != std::errc() || fmt::format("{}", value) != left_.substr(0, length)) {
            stop();
            return 0;
        }
        left_.remove_prefix(length);
        return value;
    }

    std::string_view left_;
    bool fine_ = true;
};

CompileConfig read_config(Reader& reader) {
    CompileConfig config;
    config.backend = reader.text("backend");
    config.target = reader.text("target");
    config.options = reader.text("options");
    config.version = reader.text("version");
    return config;
}

std::vector<Activity> read_activities(Reader& reader) {
    std::vector<Activity> activities;
    for (char digit : reader.text("activities")) {
        if (digit < '0' || digit > static_cast<char>('0' + most_activity)) reader.stop();
        activities.push_back(static_cast<Activity>(digit - '0'));
    }
    return activities;
}

std::unexpected<Diagnostics> no_canonical_bytes(const char* of) {
    return fail({.code = "target.compile_job",
                 .summary = fmt::format("these are no bytes of a compile {}", of),
                 .reason = "they are damaged, or of another version of Heddle"});
}

uint64_t hash_of(std::string_view bytes) {
    uint64_t hash = 0xcbf29ce484222325;
    for (char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
    return hash;
}

}  // namespace

std::string canonical_bytes(const CompileConfig& config) {
    std::string bytes(config_title);
    write_fields(bytes, config);
    return bytes;
}

std::string canonical_bytes(const CompileJob& job) {
    std::string bytes(job_title);
    write_fields(bytes, job.config);
    write(bytes, "program", job.program);
    write(bytes, "mode", std::to_string(static_cast<int>(job.derivation.mode)));
    write(bytes, "width", std::to_string(job.derivation.width));
    write(bytes, "activities", digits_of(job.derivation.activities));
    write(bytes, "tape_policy", job.derivation.tape_policy);
    return bytes;
}

Result<CompileConfig> parse_compile_config(std::string_view bytes) {
    Reader reader(bytes);
    reader.title(config_title);
    CompileConfig config = read_config(reader);
    if (!reader.fine() || !reader.at_end()) return no_canonical_bytes("config");
    return config;
}

Result<CompileJob> parse_compile_job(std::string_view bytes) {
    Reader reader(bytes);
    reader.title(job_title);
    CompileJob job;
    job.config = read_config(reader);
    job.program = reader.text("program");
    const auto mode = reader.integer<uint8_t>("mode");
    if (mode > most_mode) reader.stop();
    job.derivation.mode = static_cast<Derivation::Mode>(mode);
    job.derivation.width = reader.integer<int32_t>("width");
    job.derivation.activities = read_activities(reader);
    job.derivation.tape_policy = reader.text("tape_policy");
    if (!reader.fine() || !reader.at_end()) return no_canonical_bytes("job");
    return job;
}

uint64_t hash_of(const CompileConfig& config) { return hash_of(std::string_view(canonical_bytes(config))); }
uint64_t hash_of(const CompileJob& job) { return hash_of(std::string_view(canonical_bytes(job))); }

Result<CompileConfig> ConfigSource::compile_config(const CompileRequest&) const {
    return fail({.code = "backends.no_compile_config",
                 .summary = fmt::format("the backend '{}' does not say what its code follows from", name()),
                 .expected = "the function compile_config, which gives a CompileConfig for a request",
                 .reason = "kernels are kept, and their derivatives planned, by that",
                 .remedy = "implement compile_config in the backend (docs/backends.md)",
                 .params = {{"backend", name()}, {"function", "compile_config"}}});
}

Result<CompileConfig> compile_config_for(const ConfigSource& backend, const CompileRequest& request) {
    auto config = backend.compile_config(request);
    if (!config) return config;
    if (config->backend.empty() || config->backend != backend.name()) {
        return fail({.code = "backends.wrong_compile_config",
                     .summary = fmt::format("the backend '{}' gives the config of another one", backend.name()),
                     .expected = backend.name(),
                     .found = config->backend,
                     .params = {{"backend", backend.name()}, {"function", "compile_config"}}});
    }
    return config;
}

Result<CompileJob> compile_job_for(const ConfigSource& backend, const CompileRequest& request) {
    auto config = compile_config_for(backend, request);
    if (!config) return fail(std::move(config.error()));
    return CompileJob{std::move(*config), request.program, request.derivation};
}

Result<void> check_same_config(const CompileConfig& queried, const CompileConfig& compiled) {
    struct Part {
        const char* name;
        const std::string &queried, &compiled;
    };
    for (const auto& [name, wanted, made] :
         {Part{"backend", queried.backend, compiled.backend}, Part{"target", queried.target, compiled.target},
          Part{"options", queried.options, compiled.options}, Part{"version", queried.version, compiled.version}}) {
        if (wanted == made) continue;
        return fail({.code = "backends.config_mismatch",
                     .summary = "the kernels were compiled under another config than was asked for",
                     .expected = fmt::format("{} {}", name, wanted),
                     .found = fmt::format("{} {}", name, made),
                     .reason = "what was planned by the config, as a tape's layout, may not hold for them",
                     .remedy = "compile the program again, or ask again",
                     .params = {{"backend", compiled.backend}, {"part", name}}});
    }
    return {};
}

}  // namespace heddle
