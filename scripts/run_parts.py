"""Long commands in parts: a part that fails does not keep the others from running, and the end says which did."""
import subprocess
import time


def run_parts(commands):
    """`commands` by name, each with its arguments; the exit status: 1 where one failed."""
    failed = []
    for part, command in commands.items():
        print(f"==== {part}", flush=True)
        begin = time.monotonic()
        try:
            status = subprocess.run([str(word) for word in command], check=False).returncode
        except OSError as problem:
            print(f"{part}: {problem}")
            status = 1
        print(f"==== {part}: {'done' if status == 0 else f'failed with status {status}'}, "
              f"{time.monotonic() - begin:.0f} s", flush=True)
        failed += [part] if status else []
    print(f"{len(failed)} parts failed: {', '.join(failed)}" if failed else "all parts done")
    return int(bool(failed))
