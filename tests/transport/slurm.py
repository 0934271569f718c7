"""`heddle run` under Slurm: a cluster of this machine alone, started in a folder; Open MPI by PMIx, MPICH by PMI 2, TCP.

slurm.py HEDDLE. Exits with 77 where Slurm is not installed, or cannot be started: it needs root.
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.argv[2:] = ["slurm"]
from machines import HEDDLE, MANY, PROGRAM, alone, floats, run_all

RANKS = 4
TOOLS = ("munged", "slurmctld", "slurmd", "srun", "sbatch")
MPI = {"openmpi": "pmix", "mpich": "pmi2"}  # what helps it to start

CONFIGURATION = """ClusterName=heddle
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES State=UP
"""


class Slurm:
    """Its daemons, as long as it is entered."""

    def __init__(self, folder):
        self.folder, self.processes = folder, []
        self.environment = dict(os.environ, SLURM_CONF=f"{folder}/slurm.conf")

    def start(self, name, *words):
        log = open(f"{self.folder}/{name}.out", "w", encoding="utf-8")
        self.processes.append(subprocess.Popen([shutil.which(name), *words], stdout=log, stderr=log, env=self.environment))

    def __enter__(self):
        with open(f"{self.folder}/key", "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(f"{self.folder}/key", 0o400)
        for name in ("state", "spool"):
            os.mkdir(f"{self.folder}/{name}")
        sockets = [socket.socket() for _ in range(2)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        text = CONFIGURATION.format(host=socket.gethostname().split(".")[0], folder=self.folder, cores=4 * RANKS,
                                    ports=[each.getsockname()[1] for each in sockets])
        for each in sockets:
            each.close()
        with open(f"{self.folder}/slurm.conf", "w", encoding="utf-8") as file:
            file.write(text)
        files = [f"--{what}={self.folder}/{name}" for what, name in (("socket", "munge"), ("key-file", "key"), ("pid-file", "munge.pid"),
                                                                     ("log-file", "munge.log"), ("seed-file", "munge.seed"))]
        self.start("munged", "--foreground", "--force", *files)
        self.start("slurmctld", "-D")
        self.start("slurmd", "-D")
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def is_up(self):
        """Whether it has come to run something."""
        end = time.monotonic() + 30
        while time.monotonic() < end and all(process.poll() is None for process in self.processes):
            told = subprocess.run(["sinfo", "--noheader", "--format=%T"], env=self.environment, capture_output=True, text=True)
            if told.stdout.strip() == "idle":
                return True
            time.sleep(0.2)
        return False

    def run(self, mpi, words, before=()):
        """srun's process; what all ranks print goes to a file, its second part."""
        file = tempfile.TemporaryFile(mode="w+", errors="replace")
        command = ["srun", "--quiet", "--kill-on-bad-exit", "-n", str(RANKS), f"--mpi={mpi}", *before, *words]
        return subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=self.environment), file

    def end(self, process, file):
        """Its status, and all that was printed."""
        try:
            status = process.wait(MANY)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            status = None
        file.seek(0)
        text = file.read()
        assert status is not None, f"it hangs: {text}"
        return status, text

    def rank(self, number, step_name):
        """The process of a rank of a job, when it is there."""
        end = time.monotonic() + MANY
        while time.monotonic() < end:
            for entry in filter(str.isdigit, os.listdir("/proc")):
                try:
                    environment = open(f"/proc/{entry}/environ", encoding="utf-8", errors="replace").read().split("\0")
                    name = open(f"/proc/{entry}/comm", encoding="utf-8").read().strip()
                except OSError:
                    continue
                if name == "heddle" and {f"SLURM_PROCID={number}", f"SLURM_JOB_NAME={step_name}"} <= set(environment):
                    return int(entry)
            time.sleep(0.1)
        raise AssertionError("the rank is not there")


def heddle(*words, timeout=20):
    return [HEDDLE, "run", "--threads", "1", "--no-cache", "--timeout", str(timeout), *PROGRAM, *words]


def has_results_of_one_process(slurm, mpi):
    def test(folder):
        expected = alone(folder, PROGRAM + ["--bind", "batch=12"])
        for shards in (["--shard", "batch=4"], []):
            path = os.path.join(folder, "y.npy")
            status, text = slurm.end(*slurm.run(mpi, heddle("--bind", "batch=12", "--output", path, "--format", "json", *shards)))
            assert status == 0, text
            found = floats(path)
            assert len(found) == len(expected) and max(abs(a - b) for a, b in zip(found, expected)) < 1e-5
            links = json.loads(text[text.index("{"):text.rindex("}") + 1])["shards"]["links"]
            assert (links or not shards) and all(link["bytes"] == link["sent_bytes"] for link in links), links
            os.remove(path)
    test.__name__ = f"has_results_of_one_process_by_{mpi}"
    return test


def a_rank_of_another_size(slurm, mpi):
    def test(folder):
        lines = [f"{rank} " + " ".join(f"'{word}'" for word in heddle("--bind", f"batch={16 if rank == 2 else 12}")) for rank in range(RANKS)]
        with open(f"{folder}/ranks", "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        status, text = slurm.end(*slurm.run(mpi, ["--multi-prog", f"{folder}/ranks"]))
        assert status and text.count("transport.other_program") == 1 and "process 2 has another program" in text, text
    test.__name__ = f"a_rank_of_another_size_by_{mpi}"
    return test


def a_rank_that_is(slurm, mpi, how):
    def test(folder):
        name = f"heddle{os.getpid()}{mpi}{how.name}"
        process, file = slurm.run(mpi, heddle("--bind", "batch=1200", "--repeat", "1000000", timeout=3), [f"--job-name={name}"])
        rank = slurm.rank(1, name)
        time.sleep(3)
        os.kill(rank, how)
        try:
            status, text = slurm.end(process, file)
        finally:
            try:
                os.kill(rank, signal.SIGKILL)
            except OSError:
                pass
        # Open MPI has Slurm end them all, which says so itself.
        assert status and re.search(r"transport\.silent.*process 1|task 1: Killed|transport\.mpi_start", text), text
    test.__name__ = f"ends_with_a_rank_that_has_{how.name}_by_{mpi}"
    return test


def without_help_for_mpi(slurm):
    def test(_):
        status, text = slurm.end(*slurm.run("none", heddle("--bind", "batch=12")))
        assert status and "transport.mpi]" in text and "--mpi=pmix" in text, text
    test.__name__ = "says_what_mpi_needs"
    return test


def by_tcp(slurm):
    def test(folder):
        address = f"127.{os.getpid() % 200 + 1}.{os.getpid() // 200 % 250}.7"
        with open(f"{folder}/hosts", "w", encoding="utf-8") as file:
            file.writelines(f"{address}:{23000 + rank}\n" for rank in range(RANKS))
        path = f"{folder}/y.npy"
        status, text = slurm.end(*slurm.run("none", heddle("--bind", "batch=12", "--hosts", f"{folder}/hosts", "--output", path)))
        assert status == 0 and len(floats(path)) == 12 * 64, text
    test.__name__ = "takes_ranks_of_tcp_from_slurm"
    return test


def by_a_batch_script(slurm):
    """The one of docs/machines.md."""
    def test(folder):
        page = open(os.path.join(os.path.dirname(__file__), "../../docs/machines.md"), encoding="utf-8").read()
        script = re.search(r"```sh\n(#!/bin/sh\n#SBATCH.*?)```", page, re.DOTALL)[1]
        for option, value in (("nodes", 1), ("ntasks", RANKS), ("cpus-per-task", 1)):
            script = re.sub(rf"#SBATCH --{option}=.*", f"#SBATCH --{option}={value}", script)
        script = re.sub(r"heddle run .*", " ".join(f"'{word}'" for word in heddle("--bind", "batch=12", "--output", f"{folder}/y.npy")), script)
        with open(f"{folder}/job.sh", "w", encoding="utf-8") as file:
            file.write(script)
        done = subprocess.run(["sbatch", "--wait", f"--output={folder}/job.out", f"{folder}/job.sh"], env=slurm.environment,
                              capture_output=True, text=True, timeout=MANY)
        text = open(f"{folder}/job.out", encoding="utf-8").read() if os.path.exists(f"{folder}/job.out") else ""
        assert done.returncode == 0 and len(floats(f"{folder}/y.npy")) == 12 * 64, done.stderr + text
    test.__name__ = "runs_the_batch_script_of_the_page"
    return test


def skip(reason):
    print(f"SKIP {reason}")
    return 77


def main():
    missing = [tool for tool in TOOLS if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin")]
    if missing:
        return skip(f"Slurm is not installed: {', '.join(missing)}")
    if os.geteuid() != 0:
        return skip("Slurm is started by root alone")
    os.environ["PATH"] += ":/usr/sbin"
    with tempfile.TemporaryDirectory() as folder, Slurm(folder) as slurm:
        if not slurm.is_up():
            return skip("Slurm does not start here: " + " ".join(open(f"{folder}/{log}", encoding="utf-8").read()[-300:]
                                                               for log in ("munged.out", "slurmctld.log", "slurmd.log") if os.path.exists(f"{folder}/{log}")))
        known = subprocess.run(["srun", "--mpi=list"], env=slurm.environment, capture_output=True, text=True)
        tests = [without_help_for_mpi(slurm), by_tcp(slurm)]
        for library, mpi in MPI.items():
            if mpi not in known.stdout + known.stderr or not os.path.exists(os.path.join(os.path.dirname(HEDDLE), f"libheddle_mpi_{library}.so")):
                print(f"without {mpi}")
                continue
            tests += [has_results_of_one_process(slurm, mpi), a_rank_of_another_size(slurm, mpi),
                      a_rank_that_is(slurm, mpi, signal.SIGKILL), a_rank_that_is(slurm, mpi, signal.SIGSTOP)]
            if mpi == "pmix":
                tests.append(by_a_batch_script(slurm))
        return run_all(*tests)


if __name__ == "__main__":
    sys.exit(main())
