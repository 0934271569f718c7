"""`heddle run` on four processes over TCP or MPI: the results of one process, and what becomes of it where one of them fails.

machines.py HEDDLE tcp|openmpi|mpich. Exits with 77 where that MPI is not there.
"""
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HEDDLE, WAY = sys.argv[1:3]
RANKS = 4
MANY = 120  # seconds after which a test is said to hang

PROGRAM = ["--call", "h = relu(matmul(x, w)); y = softmax(matmul(h, v), axis: 1)", "--input-type", "x=float32[batch, 96]",
           "--input-type", "w=float32[96, 128]", "--input-type", "v=float32[128, 64]", "--random", "1"]


class Run:
    """RANKS processes; `arguments`, by rank where it is a function."""

    def __init__(self, folder, arguments, timeout=20):
        of = arguments if callable(arguments) else lambda rank: arguments
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        common = [HEDDLE, "run", "--threads", "1", "--timeout", str(timeout), "--no-cache"]
        if WAY == "tcp":
            hosts = os.path.join(folder, "hosts")
            address = "127.%d.%d.%d" % tuple(random.randrange(1, 250) for _ in range(3))
            with open(hosts, "w", encoding="utf-8") as file:
                file.writelines(f"{address}:{22000 + rank}\n" for rank in range(RANKS))
            commands = [common + of(rank) + ["--hosts", hosts, "--rank", str(rank)] for rank in range(RANKS)]
        else:
            commands = [[f"mpirun.{WAY}"] + (["--oversubscribe"] if WAY == "openmpi" else [])]
            for rank in range(RANKS):
                commands[0] += ([":"] if rank else []) + ["-n", "1"] + common + of(rank)
        self.files = [tempfile.TemporaryFile(mode="w+", errors="replace") for _ in commands]
        self.processes = [subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=environment)
                          for command, file in zip(commands, self.files)]

    def ranks(self):
        """The processes of the ranks, when all are there, in the order of their numbers."""
        if WAY == "tcp":
            return [process.pid for process in self.processes]
        for _ in range(MANY * 20):
            found = []
            for entry in os.listdir("/proc"):
                try:
                    status = open(f"/proc/{entry}/stat", encoding="utf-8").read() if entry.isdigit() else ""
                    environ = open(f"/proc/{entry}/environ", encoding="utf-8").read() if "(heddle)" in status else ""
                except OSError:
                    continue
                rank = re.search(r"(?:OMPI_COMM_WORLD_RANK|PMI_RANK)=(\d+)", environ)
                if rank and self.is_mine(entry):
                    found.append((int(rank[1]), int(entry)))
            if len(found) == RANKS:
                return [process for _, process in sorted(found)]
            time.sleep(0.05)
        raise AssertionError("the ranks are not there")

    def is_mine(self, process):
        while process not in ("0", "1"):
            if int(process) == self.processes[0].pid:
                return True
            try:
                process = open(f"/proc/{process}/stat", encoding="utf-8").read().rpartition(")")[2].split()[1]
            except OSError:
                return False
        return False

    def end(self, but=()):
        """Exit codes and all that was printed. `but`: these processes do not end by themselves."""
        end, codes = time.monotonic() + MANY, []
        for number, process in enumerate(self.processes):
            if number in but:
                continue
            try:
                codes.append(process.wait(max(0.1, end - time.monotonic())))
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError(f"it hangs:\n{self.text()}") from None
        self.kill()
        return codes, self.text()

    def kill(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()

    def text(self):
        text = ""
        for file in self.files:
            file.seek(0)
            text += file.read()
        return text


def floats(path):
    data = open(path, "rb").read()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])


def alone(folder, arguments):
    path = os.path.join(folder, "alone.npy")
    subprocess.run([HEDDLE, "run", "--no-cache"] + arguments + ["--output", path], check=True, stdout=subprocess.DEVNULL)
    return floats(path)


def has_results_of_one_process(folder):
    for cuts in (["batch=4"], ["in_row=2,k=2"], ["k=4"], ["4"], []):
        program = PROGRAM + ["--bind", "batch=12"]
        expected = alone(folder, program)
        path = os.path.join(folder, "cut.npy")
        shards = [word for cut in cuts for word in ("--shard", cut)]
        codes, text = Run(folder, program + shards + ["--output", path, "--format", "json"]).end()
        assert not any(codes), text
        found = floats(path)
        assert len(found) == len(expected) and max(abs(a - b) for a, b in zip(found, expected)) < 1e-5, cuts
        report = json.loads(text[text.index("{"):text.rindex("}") + 1])["shards"]
        assert report["run"][0]["sent_bytes"] == report["places"][0]["sends"], report
        os.remove(path)


def expect_failure(folder, run, words, but=(), files=(), once=False):
    """`once`: all ranks have the same to say, and one says it."""
    codes, text = run.end(but)
    assert all(codes), (codes, text)
    assert not once or len(re.findall(r"error\[", text)) == 1, f"not said once:\n{text}"
    for word in words:
        assert re.search(word, text), f"{word} is not said:\n{text}"
    assert not [file for file in files if os.path.exists(os.path.join(folder, file))], "something partial is left"


def another_program(folder):
    def of(rank):
        return (PROGRAM if rank != 2 else ["--call", "y = matmul(x, w)"] + PROGRAM[2:]) + ["--bind", "batch=12", "--output", os.path.join(folder, "y.npy")]
    expect_failure(folder, Run(folder, of), [r"transport\.other_program", r"rank 2|process 2"], files=["y.npy"], once=True)


def another_size(folder):
    def of(rank):
        return PROGRAM + ["--bind", f"batch={12 if rank != 1 else 16}", "--output", os.path.join(folder, "y.npy")]
    expect_failure(folder, Run(folder, of), [r"transport\.other_program", r"rank 1|process 1"], files=["y.npy"], once=True)


def another_model_file(folder):
    missing = os.path.join(folder, "missing.onnx")
    expect_failure(folder, Run(folder, lambda rank: PROGRAM + ["--bind", "batch=12"] if rank != 3 else [missing]),
                   [r"missing\.onnx", r"rank 3|process 3"])


def no_model_at_all(folder):
    expect_failure(folder, Run(folder, [os.path.join(folder, "missing.onnx")]), [r"missing\.onnx"], once=True)


def other_errors(folder):
    """Each of two has another."""
    def of(rank):
        return PROGRAM + ["--bind", "batch=12"] if rank % 2 == 0 else [os.path.join(folder, f"missing{rank}.onnx")]
    expect_failure(folder, Run(folder, of), [r"process 1.*\n.*missing1|process 1: .*missing1", r"process 3.*\n.*missing3|process 3: .*missing3"])


def other_number_of_places(folder):
    expect_failure(folder, Run(folder, PROGRAM + ["--bind", "batch=12", "--shard", "batch=3"]), ["transport.size"], once=True)


def full_disk(folder):
    expect_failure(folder, Run(folder, PROGRAM + ["--bind", "batch=12", "--output", "/dev/full"]), [r"/dev/full"], once=True)


def endless(folder, timeout):
    run = Run(folder, PROGRAM + ["--bind", "batch=1200", "--repeat", "1000000", "--output", os.path.join(folder, "y.npy")], timeout)
    ranks = run.ranks()
    time.sleep(3)
    return run, ranks


def killed(folder):
    run, ranks = endless(folder, 20)
    os.kill(ranks[1], signal.SIGKILL)
    expect_failure(folder, run, [r"rank 1|process 1|PROCESSES|EXIT CODE"], files=["y.npy"])


def stopped(folder):
    run, ranks = endless(folder, 3)
    os.kill(ranks[1], signal.SIGSTOP)
    begin = time.monotonic()
    try:
        expect_failure(folder, run, [r"transport\.silent", r"rank 1|process 1"], but=[1] if WAY == "tcp" else [], files=["y.npy"])
        assert time.monotonic() - begin < 30, "it took long"
    finally:
        try:
            os.kill(ranks[1], signal.SIGKILL)
        except OSError:
            pass


def run_all(*tests):
    """Each in a folder of its own. The exit status."""
    failures = 0
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            begin = time.monotonic()
            try:
                test(folder)
            except AssertionError as problem:
                failures += 1
                print(f"FAILED {test.__name__}: {problem}")
            else:
                print(f"passed {test.__name__} ({time.monotonic() - begin:.1f} s)")
    return 1 if failures else 0


def main():
    if WAY != "tcp" and not (shutil.which(f"mpirun.{WAY}") and os.path.exists(os.path.join(os.path.dirname(HEDDLE), f"libheddle_mpi_{WAY}.so"))):
        print(f"skipped: {WAY} is not there")
        return 77
    return run_all(has_results_of_one_process, another_program, another_size, another_model_file, no_model_at_all, other_errors,
                   other_number_of_places, full_disk, killed, stopped)


if __name__ == "__main__":
    sys.exit(main())
