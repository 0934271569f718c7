#include "random/isolation.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace heddle::random {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr size_t batch = 100;  // programs of one process: it keeps kernels, and memory grows

double processor_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Where a process is, for the one that watches it.
struct Place {
    size_t number = 0;
    char stage[32] = {};
};

struct Worker {
    pid_t process = -1;
    int results = -1, errors = -1;  // a pipe; what it writes to standard error
    Place* place = nullptr;
    size_t next = 0, end = 0;  // programs that have no outcome yet
    std::string partial;       // of a line
    Clock::time_point since;   // of the last outcome
};

void write_line(int file, const std::string& line) {
    for (size_t at = 0; at < line.size();) {
        const ssize_t written = write(file, line.data() + at, line.size() - at);
        if (written <= 0) _exit(1);
        at += static_cast<size_t>(written);
    }
}

Json to_json(size_t number, const Verdict& verdict, double seconds) {
    return {{"number", number},
            {"kind", static_cast<int>(verdict.kind)},
            {"stage", verdict.stage},
            {"code", verdict.code},
            {"detail", verdict.detail},
            {"elements", verdict.elements},
            {"undecided", verdict.undecided},
            {"seconds", seconds}};
}

void limit(int resource, int64_t soft, int64_t hard) {
    const rlimit limits{static_cast<rlim_t>(soft), static_cast<rlim_t>(hard)};
    setrlimit(resource, &limits);
}

[[noreturn]] void work(const Worker& worker, const Limits& limits, Library& library, const Subject& subject) {
#ifndef HEDDLE_SANITIZED  // whose shadow is all of the address space
    limit(RLIMIT_AS, limits.memory_bytes, limits.memory_bytes);
#endif
    limit(RLIMIT_CORE, 0, 0);
    dup2(worker.errors, STDERR_FILENO);
    Trial trial(library, limits.runs);
    for (size_t number = worker.next; number < worker.end; number++) {
        const double begin = processor_seconds();
        // Beyond this SIGXCPU ends the process.
        limit(RLIMIT_CPU, static_cast<int64_t>(begin) + limits.seconds, RLIM_INFINITY);
        [[maybe_unused]] const int cut = ftruncate(worker.errors, 0);
        lseek(worker.errors, 0, SEEK_SET);
        worker.place->number = number;
        const Verdict verdict = trial.run(subject(number), [&](const char* stage) {
            std::strncpy(worker.place->stage, stage, sizeof(worker.place->stage) - 1);
        });
        // Texts may hold anything.
        write_line(
            worker.results,
            to_json(number, verdict, processor_seconds() - begin).dump(-1, ' ', false, Json::error_handler_t::replace) +
                "\n");
    }
    _exit(0);
}

Outcome parse(const Json& record) {
    Outcome outcome;
    outcome.kind = static_cast<Outcome::Kind>(record["kind"].get<int>());
    outcome.stage = record["stage"];
    outcome.code = record["code"];
    outcome.detail = record["detail"];
    outcome.elements = record["elements"];
    outcome.undecided = record["undecided"];
    outcome.seconds = record["seconds"];
    return outcome;
}

std::string contents(int file) {
    std::string text(4096, '\0');
    const ssize_t count = pread(file, text.data(), text.size(), 0);
    text.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
    return text;
}

class Watch {
public:
    Watch(size_t count, int jobs, const Limits& limits, Library& library, const Subject& subject,
          const std::function<void(size_t, const Outcome&)>& done)
        : count_(count),
          limits_(limits),
          library_(library),
          subject_(subject),
          done_(done),
          workers_(static_cast<size_t>(jobs)) {}

    void run() {
        for (Worker& worker : workers_) prepare(worker), take(worker);
        while (std::ranges::any_of(workers_, [](const Worker& worker) { return worker.process > 0; })) {
            std::vector<pollfd> waiting;
            for (const Worker& worker : workers_)
                waiting.push_back({worker.process > 0 ? worker.results : -1, POLLIN, 0});
            poll(waiting.data(), waiting.size(), 500);
            for (size_t i = 0; i < workers_.size(); i++) {
                Worker& worker = workers_[i];
                if (worker.process <= 0) continue;
                if (waiting[i].revents) {
                    listen(worker);
                } else if (Clock::now() - worker.since > std::chrono::seconds(20 * limits_.seconds)) {
                    kill(worker.process, SIGKILL);  // it waits for what will not come
                }
            }
        }
        for (Worker& worker : workers_) {
            munmap(worker.place, sizeof(Place));
            close(worker.errors);
        }
    }

private:
    static void prepare(Worker& worker) {
        void* shared = mmap(nullptr, sizeof(Place), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        worker.place = new (shared) Place;
        worker.errors = memfd_create("errors", 0);
    }
    void take(Worker& worker) {
        worker.next = next_;
        worker.end = next_ =
            std::min(count_, next_ + std::min(batch, std::max<size_t>(1, count_ / (4 * workers_.size()))));
        start(worker);
    }
    void start(Worker& worker) {
        worker.process = -1;
        if (worker.next >= worker.end) return;
        int ends[2];
        if (pipe(ends) != 0) return;
        worker.partial.clear();
        worker.since = Clock::now();
        fflush(nullptr);
        worker.process = fork();
        if (worker.process == 0) {
            close(ends[0]);
            worker.results = ends[1];
            work(worker, limits_, library_, subject_);
        }
        close(ends[1]);
        worker.results = ends[0];
    }
    void listen(Worker& worker) {
        char bytes[65536];
        const ssize_t count = read(worker.results, bytes, sizeof(bytes));
        if (count <= 0) return finish(worker);
        worker.since = Clock::now();
        worker.partial.append(bytes, static_cast<size_t>(count));
        for (size_t end; (end = worker.partial.find('\n')) != std::string::npos; worker.partial.erase(0, end + 1)) {
            const Json record = Json::parse(worker.partial.substr(0, end));
            worker.next = record["number"].get<size_t>() + 1;
            done_(worker.next - 1, parse(record));
        }
    }
    // The process has ended: all is done, or its last program has ended it.
    void finish(Worker& worker) {
        int status = 0;
        waitpid(worker.process, &status, 0);
        close(worker.results);
        if (worker.next >= worker.end) return take(worker);
        Outcome outcome;
        const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        outcome.kind = signal == SIGXCPU || signal == SIGKILL ? Outcome::Kind::time : Outcome::Kind::abort;
        outcome.stage = worker.place->stage;
        outcome.code = signal ? strsignal(signal) : fmt::format("exit status {}", WEXITSTATUS(status));
        outcome.detail = contents(worker.errors);
        outcome.seconds = outcome.kind == Outcome::Kind::time ? limits_.seconds : 0;
        done_(worker.next++, outcome);
        start(worker);
        if (worker.process <= 0) take(worker);
    }

    size_t count_, next_ = 0;
    Limits limits_;
    Library& library_;
    const Subject& subject_;
    const std::function<void(size_t, const Outcome&)>& done_;
    std::vector<Worker> workers_;
};

}  // namespace

const char* name(Outcome::Kind kind) {
    static const char* const names[] = {"equal", "different", "refused", "exception", "abort", "time"};
    return names[static_cast<size_t>(kind)];
}

std::string Outcome::signature() const {
    std::string words;
    const std::string line = kind == Kind::different ? "" : detail.substr(0, detail.find('\n'));
    // A diagnostic's place is not its cause.
    const size_t begin = line.find("]: ") == std::string::npos ? 0 : line.find("]: ") + 3;
    for (size_t i = begin; i < line.size(); i++) {
        if (line[i] == '\'') {
            const size_t end = line.find('\'', i + 1);
            words += "'...'";
            i = end == std::string::npos ? line.size() : end;
        } else if (std::isdigit(static_cast<unsigned char>(line[i]))) {
            if (words.empty() || words.back() != '#') words += '#';
        } else {
            words += line[i];
        }
    }
    return fmt::format("{} | {} | {} | {}", name(kind), stage, code, words.substr(0, 160));
}

void run_isolated(size_t count, int jobs, const Limits& limits, Library& library, const Subject& subject,
                  const std::function<void(size_t, const Outcome&)>& done) {
    Watch(count, jobs, limits, library, subject, done).run();
}

}  // namespace heddle::random
