"""A model over the partitions of a table, by the worker processes of a Dask cluster.

    .venv/bin/pip install distributed
    .venv/bin/python examples/dask_batches.py [--workers 2] [--partitions 16]

The session is pickled to the workers. Each makes it once, and compiles it once, whatever number of partitions it gets.
"""
import argparse
import os
import tempfile

import numpy as np
from dask.distributed import Client, LocalCluster

import heddle
from own_domain import own_domain_model

ROWS, SIZE = 500, 256
LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "my.yaml")


def partition(number):
    """Rows, as a worker reads them from its part of the table."""
    return np.random.default_rng(number).standard_normal((ROWS, SIZE), np.float32)


def predicted(session, rows):
    """What one task does. Beside the results: who did it, and the session's address there, which is one a worker."""
    (result,) = session.run(None, {"x": rows})
    return result, (os.getpid(), id(session))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--partitions", type=int, default=16)
    options = parser.parse_args()

    session = heddle.InferenceSession(own_domain_model().SerializeToString(), library=heddle.load_library(LIBRARY), threads=1)
    with tempfile.TemporaryDirectory() as folder, \
            LocalCluster(n_workers=options.workers, threads_per_worker=1, processes=True, dashboard_address=None,
                         local_directory=folder) as cluster, Client(cluster) as client:
        tables = client.map(partition, range(options.partitions))
        answers = client.gather(client.map(predicted, [session] * options.partitions, tables, pure=False))

    for number, (result, _) in enumerate(answers):
        (alone,) = session.run(None, {"x": partition(number)})
        assert np.array_equal(result, alone), f"partition {number} differs"
    sessions = {where for _, where in answers}
    workers = {process for process, _ in sessions}
    assert os.getpid() not in workers and len(sessions) == len(workers), sessions
    print(f"{len(answers)} partitions of {ROWS} rows, {len(workers)} workers, a session each: the results equal those of one process")


if __name__ == "__main__":
    main()
