// Random programs through the whole compiler: each is equal to the interpreter within the bound of each element, or a
// finding. Exit status 1 if there are findings.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "helpers/source_folder.h"
#include "random/cut_programs.h"
#include "random/determinism.h"
#include "random/fused_counts.h"
#include "random/shrink.h"

namespace heddle::random {
namespace {

struct Options {
    uint64_t seed = 1;
    size_t count = 1000;
    int jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    int attempts = 150;
    size_t examples = 3;
    std::string folder, file;
    bool print = false, same = false, digests = false, plans = false, fused = false, cut = false;
};

// Codes that may be refused with, each with its reason: "CODE: reason".
std::map<std::string, std::string> allowed_refusals() {
    std::map<std::string, std::string> allowed;
    std::ifstream file(in_source("tests/random/allowed.txt"));
    for (std::string line; std::getline(file, line);) {
        const size_t colon = line.find(": ");
        if (colon != std::string::npos && !line.starts_with("#"))
            allowed[line.substr(0, colon)] = line.substr(colon + 2);
    }
    return allowed;
}

struct Finding {
    std::vector<uint64_t> seeds;
    Outcome first;
};

class Campaign {
public:
    Campaign(const Options& options, Library& library)
        : options_(options), library_(library), allowed_(allowed_refusals()), begin_(std::chrono::steady_clock::now()) {
        limits_.runs = !options.plans;
    }

    int run() {
        auto subject = [&](size_t number) {
            Choices choices(options_.seed + number);
            return random_program(choices);
        };
        run_isolated(options_.count, options_.jobs, limits_, library_, subject,
                     [&](size_t number, const Outcome& outcome) { take(options_.seed + number, outcome); });
        summarise();
        for (auto& [signature, finding] : findings_) report(signature, finding);
        return findings_.empty() ? 0 : 1;
    }

private:
    void take(uint64_t seed, const Outcome& outcome) {
        done_++;
        processor_seconds_ += outcome.seconds;
        elements_ += outcome.elements;
        undecided_ += outcome.undecided;
        if (outcome.kind == Outcome::Kind::refused && allowed_.contains(outcome.code)) {
            refused_[outcome.code]++;
        } else if (outcome.is_finding()) {
            Finding& finding = findings_[outcome.signature()];
            if (finding.seeds.empty()) {
                finding.first = outcome;
                fmt::print("seed {}: {}\n", seed, outcome.signature());
            }
            finding.seeds.push_back(seed);
            failed_++;
        } else {
            equal_++;
        }
        if (done_ % 500 == 0 && done_ < options_.count) {
            fmt::print("{} of {} programs, {:.1f} a second; {} findings of {} kinds\n", done_, options_.count, rate(),
                       failed_, findings_.size());
        }
        std::fflush(stdout);
    }
    double rate() const {
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
        return static_cast<double>(done_) / std::max(passed.count(), 1e-3);
    }
    void summarise() const {
        fmt::print(
            "{} programs from seed {}: {} equal, {} findings of {} kinds; {:.1f} a second, {:.0f} ms of processor time "
            "each\n",
            done_, options_.seed, equal_, failed_, findings_.size(), rate(),
            1e3 * processor_seconds_ / static_cast<double>(std::max<size_t>(done_, 1)));
        fmt::print("{} elements compared, {:.1f} % undecided\n", elements_,
                   100.0 * static_cast<double>(undecided_) / static_cast<double>(std::max<int64_t>(elements_, 1)));
        for (const auto& [code, count] : refused_)
            fmt::print("{} refused as allowed: {} ({})\n", count, code, allowed_.at(code));
    }
    // Differences of one kind may have many causes: several of their seeds are made small.
    void report(const std::string& signature, const Finding& finding) {
        fmt::print("\n{} programs: {}\n", finding.seeds.size(), signature);
        const bool several =
            finding.first.kind == Outcome::Kind::different || finding.first.kind == Outcome::Kind::abort;
        const size_t examples = several ? options_.examples : 1;
        for (size_t i = 0; i < std::min(examples, finding.seeds.size()); i++) {
            const uint64_t seed = finding.seeds[i];
            Choices choices(seed);
            Shrunk small{random_program(choices), finding.first, 0};
            if (finding.first.kind != Outcome::Kind::time && options_.attempts > 0)
                small = shrink(choices.made(), finding.first, options_.attempts, limits_, library_);
            std::string text = fmt::format("# {}\n# found {} times, by seeds", signature, finding.seeds.size());
            for (size_t s = 0; s < std::min<size_t>(finding.seeds.size(), 8); s++)
                text += fmt::format(" {}", finding.seeds[s]);
            text += fmt::format("\n# this is seed {}, made small in {} attempts\n", seed, small.attempts);
            std::istringstream lines(small.outcome.detail);
            for (std::string line; std::getline(lines, line);) text += "#   " + line + "\n";
            text += print(small.program);
            if (options_.folder.empty()) {
                fmt::print("{}", text);
                continue;
            }
            std::filesystem::create_directories(options_.folder);
            std::string file = fmt::format("{}-{}-{}", name(finding.first.kind), finding.first.code, seed);
            for (char& c : file) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
            file = fmt::format("{}/{}.txt", options_.folder, file);
            std::ofstream(file) << text;
            fmt::print("  {}\n", file);
        }
        std::fflush(stdout);
    }

    const Options& options_;
    Library& library_;
    Limits limits_;
    std::map<std::string, std::string> allowed_;
    std::chrono::steady_clock::time_point begin_;
    size_t done_ = 0, equal_ = 0, failed_ = 0;
    int64_t elements_ = 0, undecided_ = 0;
    double processor_seconds_ = 0;
    std::map<std::string, size_t> refused_;
    std::map<std::string, Finding> findings_;
};

int run_file(const std::string& path, Library& library) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    const auto program = parse_program(text.str());
    if (!file || !program) {
        fmt::print(stderr, "{}: {}\n", path, program ? "cannot be read" : render(program.error()));
        return 2;
    }
    Trial trial(library, true);
    const Verdict verdict = trial.run(*program, [](const char* stage) { fmt::print(stderr, "{}\n", stage); });
    static const char* const kinds[] = {"equal", "different", "refused", "exception"};
    fmt::print("{} {}: {}\n", kinds[static_cast<size_t>(verdict.kind)], verdict.stage, verdict.detail);
    return verdict.kind == Verdict::Kind::equal ? 0 : 1;
}

int run(int count, char** arguments) {
    Options options;
    CLI::App app("Random programs against the interpreter");
    app.add_option("--seed", options.seed, "the first program's; each has the next");
    app.add_option("--count", options.count, "programs");
    app.add_option("--jobs", options.jobs, "processes");
    app.add_option("--attempts", options.attempts, "to make a finding smaller");
    app.add_option("--examples", options.examples, "of a kind of difference or abort");
    app.add_option("--output", options.folder, "a folder for findings");
    app.add_option("--file", options.file, "runs the program of this file, in this process");
    app.add_flag("--print", options.print, "prints the program of the seed");
    app.add_flag("--plans", options.plans, "plans are made and checked, but not compiled and run: ten times as fast");
    app.add_flag("--fused", options.fused,
                 "programs of movement and elementwise operations alone: how many kernels they are, fused and not");
    app.add_flag("--cut", options.cut, "cut over several processes, and one in ten compiled and run as these");
    app.add_flag("--same", options.same,
                 "two processes, and two threads in each, compile the programs to the same bytes");
    app.add_flag("--digests", options.digests, "prints a number for what each program is compiled to and computes");
    CLI11_PARSE(app, count, arguments);
    if (options.print) {
        Choices choices(options.seed);
        fmt::print("{}", print(random_program(choices)));
        return 0;
    }
    if (options.same) return same_everywhere(arguments[0], options.seed, options.count);
    if (options.digests) return print_digests(options.seed, options.count);
    auto library = open_library(in_source("operators"));
    if (!library) {
        fmt::print(stderr, "{}\n", render(library.error()));
        return 2;
    }
    if (options.fused) return check_fused_counts(options.seed, options.count, *library);
    if (options.cut) return check_cut_programs(options.seed, options.count, 10, *library);
    return options.file.empty() ? Campaign(options, *library).run() : run_file(options.file, *library);
}

}  // namespace
}  // namespace heddle::random

int main(int count, char** arguments) { return heddle::random::run(count, arguments); }
