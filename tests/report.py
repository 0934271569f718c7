"""What the test programs written in Python print: a line a test, and at the end how many passed, failed and were skipped."""
import atexit
import collections
import os
import shutil
import tempfile

# Compiled code of these tests alone: what a user has is neither used nor filled.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="heddle-cache-")
atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)


class Report:
    def __init__(self, quiet=False):
        """`quiet` prints only what fails."""
        self.count = collections.Counter()
        self.quiet = quiet

    def add(self, status, title, detail=""):
        """`status` is PASS, FAIL or SKIP."""
        self.count[status] += 1
        if status == "FAIL" or not self.quiet:
            print(f"{status} {title}" + (f": {detail}" if detail else ""), flush=True)

    def check(self, title, problem):
        """Fails if there is a problem."""
        self.add("FAIL" if problem else "PASS", title, problem or "")

    def attempt(self, title, run, *arguments):
        """`run(*arguments)` answers whether all is fine, and a detail; what it cannot do is a RuntimeError."""
        try:
            fine, detail = run(*arguments)
        except RuntimeError as problem:
            fine, detail = False, str(problem)
        self.add("PASS" if fine else "FAIL", title, detail)

    def unavailable(self, title, problem, offline):
        """What the test needs cannot be fetched: a failure, but where the caller asked to be offline."""
        self.add("SKIP" if offline else "FAIL", title, f"{problem}" if offline else f"{problem} (--offline leaves it out)")

    def end(self):
        """Prints the closing line; the exit status of the program."""
        print(f"{self.count['PASS']} passed, {self.count['FAIL']} failed, {self.count['SKIP']} skipped")
        return int(self.count["FAIL"] > 0)
