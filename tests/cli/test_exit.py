"""A command that ends early ends with its sentence and status, not with a signal."""

from pathlib import Path

import pytest

from nearer.cli.main import main
from nearer.datasets import make_gaussian, sample_triplets

POINTS = make_gaussian(10, 2, random_state=0)
ROWS = sample_triplets(POINTS, 200, random_state=0).rows.tolist()


def write(path, rows):
    path.write_text("\n".join(",".join(map(str, row)) for row in [("anchor", "near", "far"), *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    write(folder / "good.csv", ROWS)
    write(folder / "others.csv", [[f"other {k}" for k in row] for row in ROWS])
    write(folder / "bad.csv", [*ROWS[:90], (1, 2), *ROWS[90:], (1, 2, 3, 4)])
    quick = ["--quick", "--method", "STE", "--dimensions", "2"]
    assert main(["fit", str(folder / "good.csv"), "-o", str(folder / "map"), *quick]) == 0
    return folder


COMMANDS = {
    "bad rows": ["check", "bad.csv"],
    "objects not on the map": ["score", "map", "others.csv"],
    "nobody to group by": ["fit", "good.csv", "-o", "new", "--hold-out", "annotators"],
}


@pytest.mark.parametrize("times", [20, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_that_end_early_never_abort(command, times, study, forks):
    """A reader whose threads outlived it killed one or two processes in a hundred: what it left behind is below."""
    ended = [forks.run("-m", "nearer.cli", *COMMANDS[command], cwd=study).returncode for _ in range(times)]
    assert ended == [2] * times


@pytest.fixture(scope="module")
def foreign_threads(study, forks):
    """How many threads that Python does not know are left behind by reading each file, one file after the other."""
    names = ["good.csv", "bad.csv"]
    try:
        from pyarrow import parquet, table
    except ModuleNotFoundError:
        pass
    else:
        columns = dict(zip(("anchor", "near", "far"), zip(*ROWS, strict=True), strict=True))
        parquet.write_table(table({key: list(values) for key, values in columns.items()}), study / "good.parquet")
        names.append("good.parquet")
    code = (
        "import os, sys, threading\n"
        "def foreign(): return len(os.listdir('/proc/self/task')) - threading.active_count()\n"
        "import scipy.sparse.csgraph, sklearn, nearer.io\n"
        "try: import pyarrow, pyarrow.parquet\n"
        "except ModuleNotFoundError: pass\n"
        "for name in sys.argv[1:]:\n"
        "    before = foreign()\n"
        "    nearer.io.read_answers(name, skip_bad=True)\n"
        "    print(foreign() - before)"
    )
    done = forks.run("-c", code, *names, cwd=study)
    assert done.returncode == 0, done.stderr
    return dict(zip(names, map(int, done.stdout.split()), strict=True))


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="the system does not list the threads of a process")
@pytest.mark.parametrize("name", ["good.csv", "bad.csv", "good.parquet"])
def test_reading_starts_no_thread_that_python_does_not_know(name, foreign_threads):
    """Such a thread may hold our objects when Python shuts down, and there is no way to wait for it."""
    if name not in foreign_threads:
        pytest.skip("pyarrow is not installed")
    assert foreign_threads[name] == 0
