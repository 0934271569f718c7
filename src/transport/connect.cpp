#include "transport/connect.h"

#include <algorithm>

#include "support/file.h"
#include "transport/in_process.h"
#include "transport/mpi.h"
#include "transport/tcp.h"

namespace heddle::transport {

constexpr int64_t most_hosts_bytes = 1 << 20;

Result<std::shared_ptr<Transport>> connect(const ConnectOptions& options) {
    const std::chrono::milliseconds timeout(static_cast<int64_t>(options.timeout * 1e3));
    Result<std::unique_ptr<Transport>> made;
    if (options.hosts.empty() && options.library.empty() && !launched_ranks()) {
        made = std::move(make_in_process(1, timeout).front());
    } else if (options.hosts.empty()) {
        // A machine that is busy starts MPI slowly, however soon people want to hear of a process.
        made = connect_mpi({.timeout = timeout,
                            .start = std::max<std::chrono::milliseconds>(timeout, std::chrono::seconds(30)),
                            .library = options.library});
    } else {
        auto text = read_file(options.hosts, most_hosts_bytes);
        if (!text) return heddle::fail(std::move(text.error()));
        const auto hosts = read_hosts(std::make_shared<SourceText>(options.hosts, std::move(*text)));
        if (!hosts) return heddle::fail(hosts.error());
        const auto launched = launched_ranks();
        made = connect_tcp(*hosts, options.rank < 0 && launched ? launched->rank : options.rank, {timeout, timeout});
    }
    if (!made) return heddle::fail(std::move(made.error()));
    return std::shared_ptr<Transport>(std::move(*made));
}

}  // namespace heddle::transport
