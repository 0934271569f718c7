"""`heddle run` on two machines: network namespaces with a cable between them, two ranks in each, by Open MPI.

namespaces.py HEDDLE openmpi. Exits with 77 where the kernel does not allow it, or Open MPI is not there.
"""
import functools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from machines import HEDDLE, MANY, PROGRAM, WAY, alone, floats, run_all

MUCH = 100_000  # bytes: more than Open MPI sends before the program runs
TOOLS = ("ip", "unshare", f"mpirun.{WAY}")
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

# How soon mpirun itself notices that a daemon cannot be reached: by default after minutes.
ALIVE = [word for name in ("time", "intvl", "probes") for word in ("--mca", f"oob_tcp_keepalive_{name}", "1")]

# What Open MPI starts daemons on other machines by. A machine has a name of its own, by which Open MPI tells it from others.
AGENT = """#!/bin/sh
machine=$1
shift
exec ip netns exec {name}-$machine unshare --uts sh -c "hostname {name}-$machine; export PATH=$PATH; $*"
"""


def ip(*words):
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


class Cluster:
    """Two machines."""

    def __init__(self, folder):
        self.name = f"heddle{os.getpid()}"
        net = "10.%d.%d" % tuple(random.randrange(1, 250) for _ in range(2))
        self.addresses = [f"{net}.1", f"{net}.2"]
        self.net = f"{net}.0/24"
        self.machines = [f"{self.name}-{address}" for address in self.addresses]
        self.links = [f"hd{os.getpid()}{end}" for end in "ab"]
        self.process = None
        self.agent = os.path.join(folder, "agent")
        with open(self.agent, "w", encoding="utf-8") as file:
            file.write(AGENT.format(name=self.name))
        os.chmod(self.agent, 0o755)

    def __enter__(self):
        try:
            for machine in self.machines:
                ip("netns", "add", machine)
            ip("link", "add", self.links[0], "netns", self.machines[0], "type", "veth", "peer", "name", self.links[1], "netns", self.machines[1])
            for machine, link, address in zip(self.machines, self.links, self.addresses):
                ip("-n", machine, "address", "add", f"{address}/24", "dev", link)
                ip("-n", machine, "link", "set", link, "up")
                ip("-n", machine, "link", "set", "lo", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()
        for machine in self.machines:
            for process in self.processes(machine):
                try:
                    os.kill(process, signal.SIGKILL)
                except OSError:
                    pass
            wait_until(lambda: not self.processes(machine), 10)  # they hold the machine
            subprocess.run(["ip", "netns", "delete", machine], capture_output=True)  # and its end of the cable

    @staticmethod
    def processes(machine, named=""):
        """Its processes; of those of this name."""
        said = subprocess.run(["ip", "netns", "pids", machine], capture_output=True, text=True).stdout
        found = []
        for process in map(int, said.split()):
            try:
                with open(f"/proc/{process}/comm", encoding="utf-8") as file:
                    if not named or file.read().strip() == named:
                        found.append(process)
            except OSError:
                pass
        return found

    def ranks(self):
        return [process for machine in self.machines for process in self.processes(machine, "heddle")]

    def sent(self):
        """Bytes that have gone over the cable so far, from the first machine."""
        said = ip("-n", self.machines[0], "-statistics", "-json", "link", "show", "dev", self.links[0])
        return json.loads(said)[0]["stats64"]["tx"]["bytes"]

    def start(self, arguments, timeout=20, options=()):
        self.output = tempfile.TemporaryFile(mode="w+", errors="replace")
        words = [self.agent, self.addresses[0], f"mpirun.{WAY}", "--host", ",".join(f"{address}:2" for address in self.addresses),
                 "--mca", "plm_rsh_agent", self.agent, "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", self.net,
                 "--mca", "oob_tcp_if_include", self.net, *options, "-n", "4", HEDDLE, "run", "--threads", "1", "--timeout", str(timeout), "--no-cache",
                 *(f"'{word}'" for word in arguments)]
        self.process = subprocess.Popen(words, stdout=self.output, stderr=subprocess.STDOUT, env=ENVIRONMENT)

    def text(self):
        self.output.seek(0)
        return self.output.read()


def wait_until(what, seconds):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def has_results_of_one_process(cluster, folder):
    program = PROGRAM + ["--bind", "batch=12"]
    expected = alone(folder, program)
    for cut in ("batch=4", "in_row=2,k=2"):
        path = os.path.join(folder, "cut.npy")
        cluster.start(program + ["--shard", cut, "--output", path])
        assert wait_until(lambda: cluster.process.poll() is not None, MANY), f"it hangs:\n{cluster.text()}"
        assert cluster.process.returncode == 0, cluster.text()
        found = floats(path)
        assert len(found) == len(expected) and max(abs(a - b) for a, b in zip(found, expected)) < 1e-5, cut
        os.remove(path)


def cut_off(cluster, path, options=()):
    """The link goes down in the middle of a run: how long it takes until all ranks have ended."""
    cluster.start(PROGRAM + ["--bind", "batch=1200", "--repeat", "1000000", "--shard", "batch=2,k=2", "--output", path], timeout=5, options=options)
    assert wait_until(lambda: cluster.sent() > MUCH, MANY), f"nothing is sent:\n{cluster.text()}"
    assert [len(cluster.processes(machine, "heddle")) for machine in cluster.machines] == [2, 2], cluster.text()
    ip("-n", cluster.machines[1], "link", "set", cluster.links[1], "down")
    begin = time.monotonic()
    assert wait_until(lambda: not cluster.ranks(), 40), f"ranks are left: {cluster.ranks()}\n{cluster.text()}"
    print(f"  all ranks have ended {time.monotonic() - begin:.1f} s after the link went down")
    assert not os.path.exists(path), "something partial is left"


def link_goes_down(cluster, folder):
    cut_off(cluster, os.path.join(folder, "y.npy"))
    assert re.search(r"transport\.(silent|lost)\].* process [0-3]", cluster.text()), f"nothing is said of it:\n{cluster.text()}"
    # mpirun waits for the other machine's daemon, which cannot be reached, for minutes: ALIVE is about that.


def link_goes_down_and_mpirun_ends(cluster, folder):
    cut_off(cluster, os.path.join(folder, "y.npy"), ALIVE)
    assert wait_until(lambda: cluster.process.poll() is not None, 40), f"mpirun is left:\n{cluster.text()}"
    assert cluster.process.returncode, cluster.text()
    # Ours, or what mpirun says of a daemon that it has lost: while it runs, or as if it had not begun.
    said = ("lost communication", "transport.", "unable to reliably start one or more daemons")
    assert any(part in cluster.text() for part in said), cluster.text()


def on_a_cluster(test):
    @functools.wraps(test)
    def run(folder):
        with Cluster(folder) as cluster:
            test(cluster, folder)
    return run


def main():
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing or not os.path.exists(os.path.join(os.path.dirname(HEDDLE), f"libheddle_mpi_{WAY}.so")):
        print(f"skipped: {', '.join(missing) or 'the library of ' + WAY} is not there")
        return 77
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # which leaves nothing behind
    try:
        return run_all(*map(on_a_cluster, (has_results_of_one_process, link_goes_down, link_goes_down_and_mpirun_ends)))
    except subprocess.CalledProcessError as problem:
        print(f"skipped: `{' '.join(problem.cmd)}` is not allowed: {problem.stderr.strip()}")
        return 77


if __name__ == "__main__":
    sys.exit(main())
