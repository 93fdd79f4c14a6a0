"""Real clusters of processes on this machine, and work for them; tests are skipped where there is no dask."""

import multiprocessing
import os
import signal
import time
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest

from nearer.data import ComparisonsFile
from nearer.data.files import Block
from nearer.embedding import STE

LOADED = ["dask.array", "dask.dataframe", "nearer.data.cluster", "nearer.embedding", "nearer.optimize.kernels"]
SETTINGS = {
    "distributed.worker.multiprocessing-method": "forkserver" if hasattr(os, "fork") else "spawn",
    "distributed.worker.profile.enabled": False,  # 100 times a second, for as long as the tests take
    "distributed.admin.system-monitor.interval": "10s",
}


@contextmanager
def local_cluster(n_workers=2, **settings):
    """Start a cluster of processes with one thread each, and yield its client.

    It is not the current one: files that other tests fit would go to its workers. Workers, and those that take their
    place, are forks of a process that has loaded what they need.
    """
    pytest.importorskip("distributed", reason="needs dask.distributed: pip install 'dask[array,dataframe,distributed]'")
    import dask
    from distributed import Client, LocalCluster

    multiprocessing.set_forkserver_preload(["distributed", *LOADED])
    with (
        dask.config.set(SETTINGS),
        mock.patch("distributed.utils._forkserver_preload_set", True),
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", **settings) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def cluster_of_session():
    """Start one cluster for all tests of a process that only use it."""
    with local_cluster() as client:
        yield client


@pytest.fixture
def client(cluster_of_session):
    """Return a client of two workers, as the current one."""
    with cluster_of_session.as_current():
        yield cluster_of_session


# Here and not in tests: a worker imports the module of a function that it is sent.


def failing(blocks):
    return 1 / 0


def once(path):
    """Return a block of rows the first time, and another one later: a file that is changed meanwhile."""
    rows = np.array([[0, 1, 2], [1, 2, 0]])
    if path.exists():
        return [Block(rows[:1])]
    path.touch()
    return [Block(rows)]


def fit_inside(path):
    return STE(random_state=0).fit(ComparisonsFile(path)).embedding_


def slow(blocks):
    time.sleep(1)
    return 0


def dying(blocks=()):
    os.kill(os.getpid(), signal.SIGKILL)


def stay_dead(dask_worker):
    """Have a nanny start no worker in the place of one that has died."""

    async def start_nothing():
        pass

    dask_worker.instantiate = start_nothing
