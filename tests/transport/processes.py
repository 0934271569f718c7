"""Processes that send one another messages over TCP or MPI; some fail, are stopped or killed.

processes.py PROGRAM tcp|openmpi|mpich. Exits with 77 where that MPI is not there.
"""
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM, WAY = sys.argv[1:3]
RANKS = 4
MANY = 60  # seconds after which a test is said to hang


class Run:
    """RANKS processes of one scenario; what they print is read as it comes."""

    def __init__(self, scenario, timeout=1000, ranks=RANKS):
        self.text, self.lock, self.processes = "", threading.Lock(), []
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        if WAY == "tcp":
            self.folder = tempfile.TemporaryDirectory()
            hosts = os.path.join(self.folder.name, "hosts")
            address = "127.%d.%d.%d" % tuple(random.randrange(1, 250) for _ in range(3))
            with open(hosts, "w", encoding="utf-8") as file:
                file.writelines(f"{address}:{21000 + rank}  # rank {rank}\n" for rank in range(ranks))
            commands = [[PROGRAM, "tcp", str(timeout), scenario, hosts, str(rank)] for rank in range(ranks)]
        else:
            launcher = [f"mpirun.{WAY}", "-n", str(ranks)] + (["--oversubscribe"] if WAY == "openmpi" else [])
            commands = [launcher + [PROGRAM, "mpi", str(timeout), scenario, ""]]
        self.begin = time.monotonic()
        for command in commands:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                       env=environment, errors="replace")
            reader = threading.Thread(target=self.read, args=(process,), daemon=True)
            reader.start()
            self.processes.append((process, reader))

    def read(self, process):
        for line in process.stdout:
            with self.lock:
                self.text += line

    def until(self, pattern, count):
        """The first groups of so many matches, when they are there."""
        while time.monotonic() - self.begin < MANY:
            with self.lock:
                found = re.findall(pattern, self.text)
            if len(found) >= count:
                return found
            time.sleep(0.01)
        raise AssertionError(f"{pattern} is not printed {count} times:\n{self.text}")

    def end(self, but=()):
        """Exit codes, and all that was printed. `but`: these processes do not end by themselves."""
        codes = []
        for number, (process, reader) in enumerate(self.processes):
            if number in but:
                continue
            try:
                codes.append(process.wait(MANY - (time.monotonic() - self.begin)))
                reader.join(5)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError(f"it hangs:\n{self.text}") from None
        self.kill()
        return codes, self.text

    def kill(self):
        for process, _ in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()


def errors(text):
    """By rank: the code of its error and whom it names."""
    return {int(rank): (code, named) for rank, code, named in re.findall(r"rank (\d+): error (\S+) of (.*)", text)}


def all_end(scenario, timeout=20000):
    codes, text = Run(scenario, timeout).end()
    assert set(codes) == {0} and len(re.findall("ok", text)) == RANKS, text


def all_fail(scenario, expected, ranks=RANKS, timeout=20000):
    """Somebody says one of these, nobody says anything else, and nobody ends well."""
    codes, text = Run(scenario, timeout, ranks).end()
    said = errors(text)
    assert 0 not in codes, (codes, text)
    assert said and set(said.values()) <= set(expected) and expected[0] in said.values(), (said, text)
    return said, text


def test_messages_of_any_size_between_all():
    all_end("messages")


def test_who_is_busy_is_not_silent():
    all_end("busy", timeout=1000)


def test_a_failure_reaches_all():
    said, text = all_fail("failure", [("test.disk", "2"), ("transport.failed", "2")])
    assert len(said) == RANKS, text
    assert "the disk is full" in text


def test_messages_of_other_lengths_are_refused():
    all_fail("length", [("transport.length", "0"), ("transport.failed", "1"), ("transport.lost", "1")], ranks=2)


def test_waiting_for_one_another_ends():
    codes, text = Run("crossed", 1000, ranks=2).end()
    said = set(errors(text).values())
    assert 0 not in codes and said & {("transport.silent", "0"), ("transport.silent", "1")}, text
    assert {code for code, _ in said} <= {"transport.silent", "transport.failed"}, text


def test_who_leaves_is_lost():
    codes, text = Run("leave", 20000).end()
    said = errors(text)
    assert ("transport.lost", "1") in said.values(), text
    assert set(said.values()) <= {("transport.lost", "1"), *(("transport.failed", str(rank)) for rank in (0, 2, 3))}
    assert codes.count(0) <= 1


def test_another_program_is_refused():
    all_fail("other", [("transport.other_program", "2")])


def test_a_killed_process_ends_all():
    run = Run("hang", timeout=20000)
    pids = {int(rank): int(pid) for rank, pid in run.until(r"rank (\d+): pid (\d+)", RANKS)}
    begin = time.monotonic()
    os.kill(pids[1], signal.SIGKILL)
    codes, text = run.end()
    assert 0 not in codes, (codes, text)
    assert time.monotonic() - begin < 10, "at once, not by the timeout"
    if WAY == "tcp":
        said = errors(text)
        assert set(said) == {0, 2, 3} and ("transport.lost", "1") in said.values(), text
        assert set(said.values()) <= {("transport.lost", "1"), *(("transport.failed", str(rank)) for rank in (0, 2, 3))}
    elif WAY == "openmpi":
        assert re.search(r"rank 1 .*signal 9", text), text
    else:
        assert "signal 9" in text, text  # it names one of those that it has killed itself, by chance


def test_a_stopped_process_is_noticed():
    run = Run("hang", timeout=1500)
    pids = {int(rank): int(pid) for rank, pid in run.until(r"rank (\d+): pid (\d+)", RANKS)}
    os.kill(pids[1], signal.SIGSTOP)
    begin = time.monotonic()
    codes, text = run.end(but=[1] if WAY == "tcp" else [])
    took = time.monotonic() - begin
    said = errors(text)
    assert 0 not in codes and took < 15, (codes, took)
    assert ("transport.silent", "1") in said.values(), text
    assert set(said.values()) <= {("transport.silent", "1"), *(("transport.failed", str(rank)) for rank in (0, 2, 3))}
    print(f"    noticed and ended after {took:.1f} s of a timeout of 1.5 s")
    if WAY != "tcp":
        for pid in pids.values():  # the launcher has ended it, too
            assert not alive(pid), text


def alive(pid):
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return False
        except FileNotFoundError:
            return False
        time.sleep(0.05)
    return True


def main():
    if WAY != "tcp":
        library = os.path.join(os.path.dirname(PROGRAM), f"libheddle_mpi_{WAY}.so")
        if not os.path.exists(library) or subprocess.run(["which", f"mpirun.{WAY}"], stdout=subprocess.DEVNULL).returncode:
            print(f"skipped: there is no {WAY}: scripts/setup installs it")
            sys.exit(77)
    failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        begin = time.monotonic()
        try:
            test()
            print(f"ok {name} ({time.monotonic() - begin:.1f} s)", flush=True)
        except AssertionError as problem:
            failed += 1
            print(f"FAILED {name}: {problem}", flush=True)
    sys.exit(failed > 0)


main()
