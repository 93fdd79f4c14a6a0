"""Odd files, closed streams, a full disk, odd settings and Ctrl-C: each ends with a sentence, and nothing is lost."""

import json
import os
import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from nearer.cli.main import main
from nearer.datasets import make_gaussian, sample_triplets

ROWS = sample_triplets(make_gaussian(10, 2, random_state=0), 200, random_state=0).rows.astype(np.int64)
QUICK = ["--quick", "--method", "STE", "--dimensions", "2"]
PROGRAM = ["-m", "nearer.cli"]


def write(path):
    path.write_text("anchor,near,far\n" + "".join(f"o{a},o{b},o{c}\n" for a, b, c in ROWS.tolist()))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("machine")
    assert main(["fit", str(write(folder / "answers.csv")), "-o", str(folder / "map"), *QUICK]) == 0
    return folder


@pytest.fixture
def ended(forks):
    """Return a function that runs the program in a process of its own."""
    return partial(forks.run, *PROGRAM)


def started_anew(*arguments, cwd, **environment):
    """Run the program in a new Python, where something has to be seen before anything is imported."""
    return subprocess.run(
        [sys.executable, *PROGRAM, *arguments], cwd=cwd, env=os.environ | environment,
        capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip


def run(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    return status, *capsys.readouterr()


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def alarm():
    """What hangs for a minute is ended."""

    def ring(number, frame):
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, ring)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


# Indices


@pytest.mark.parametrize("wrong", [-1, 2**62])
@pytest.mark.parametrize("name", ["rows.npz", "rows.npy", "columns.npz"])
def test_what_is_no_index_is_refused_by_its_row(wrong, name, tmp_path, capsys):
    rows = ROWS.copy()
    rows[17, 1], rows[40, 2] = wrong, wrong
    if name == "rows.npy":
        np.save(tmp_path / name, rows)
    elif name == "rows.npz":
        np.savez(tmp_path / name, triplets=rows)
    else:
        np.savez(tmp_path / name, **dict(zip(("anchor", "near", "far"), rows.T, strict=True)))
    status, out, err = run(capsys, "check", tmp_path / name)
    assert (status, out) == (2, "")
    assert f"{name}:18: the near '{wrong}' is no index of an object" in err
    assert f"{name}:41: the far '{wrong}' is no index of an object" in err
    status, out, _ = run(capsys, "check", tmp_path / name, "--skip-bad")
    assert status == 0
    assert "198 answers about 10 objects" in out


# Files that are none


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.usefixtures("alarm")
def test_a_pipe_or_a_device_is_refused_and_does_not_hang(folder, tmp_path, capsys):
    pipe = tmp_path / "answers.fifo"
    os.mkfifo(pipe)
    answers, made = folder / "answers.csv", folder / "map"
    for arguments in (
        ["check", pipe], ["check", "/dev/zero"], ["fit", pipe, "-o", tmp_path / "map"], ["score", made, "/dev/zero"],
        ["check", answers, pipe], ["check", answers, "--exclude-from", pipe], ["report", made, "--attributes", pipe],
        ["compare", made, "--with", pipe], ["ask", "--objects", pipe, "-n", "5", "-o", tmp_path / "questions.csv"],
    ):  # fmt: skip
        signal.alarm(60)
        status, _, err = run(capsys, *arguments)
        assert status == 2, arguments
        assert f"is a {'device' if '/dev/zero' in arguments else 'pipe'}, not a file" in err, arguments
        assert len(err.splitlines()) == 1
    assert not (tmp_path / "map").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text here")
def test_a_name_that_is_no_text(folder, tmp_path, ended):
    name, out = os.fsdecode(b"b\xe4ren.csv"), os.fsdecode(b"k\xe4rte")
    write(tmp_path / name)
    done = ended("fit", name, "-o", out, *QUICK, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / out / "results.json").read_text(encoding="utf-8"))
    assert results["source"]["file"] == r"b\xe4ren.csv"
    assert r"b\xe4ren.csv" in (tmp_path / out / "log.txt").read_text(encoding="utf-8")
    done = ended("report", out, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert r"b\xe4ren" in (tmp_path / out / "report.html").read_text(encoding="utf-8")
    done = ended("check", name, folder / "answers.csv", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    done = ended("check", os.fsdecode(b"fehlt\xe4.csv"), cwd=tmp_path)
    assert done.returncode == 2
    assert "does not exist" in done.stderr


# Streams


@pytest.mark.skipif(os.name != "posix", reason="streams are closed otherwise here")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&-"])
def test_closed_streams_end_nothing(closed, folder, ended):
    numbers = {">&-": [1], "2>&-": [2], "<&-": [0], ">&- 2>&-": [1, 2]}[closed]
    done = ended("check", "answers.csv", cwd=folder, closed=numbers)
    assert (done.returncode, done.stderr) == (0, "")
    assert ended("check", "missing.csv", cwd=folder, closed=numbers).returncode == 2
    command = f'"{sys.executable}" -m nearer.cli fit missing.csv --dimensions 0 {closed}'
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=False, timeout=200)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


@pytest.mark.skipif(os.name != "posix", reason="there are no pipes of this kind here")
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_reader_that_is_gone_ends_the_program_quietly(stream, folder, tmp_path, ended):
    reading, writing = os.pipe()
    os.close(reading)
    arguments = ["check", "answers.csv"] if stream == "stdout" else ["fit", "answers.csv", "-o", tmp_path / "m", *QUICK]
    done = ended(*arguments, cwd=folder, **{stream: writing})
    os.close(writing)
    assert done.returncode == 141
    assert not (done.stderr if stream == "stdout" else done.stdout)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_output_that_finds_no_room(folder, ended):
    with open("/dev/full", "w") as full:
        done = ended("check", "answers.csv", cwd=folder, stdout=full.fileno())
    assert (done.returncode, done.stderr) == (
        2,
        "nearer: the standard output cannot be used: no space left on device\n",
    )
    with open("/dev/full", "w") as full:
        done = ended("check", "missing.csv", cwd=folder, stderr=full.fileno())
    assert (done.returncode, done.stdout) == (2, "")


# A full disk: a limit on the size of files ends a write in the middle, as one does


@pytest.mark.skipif(sys.platform != "linux", reason="no limit on the size of files")
def test_a_full_disk_leaves_no_half_results(folder, tmp_path, ended):
    new, earlier = tmp_path / "new", folder / "map"
    done = ended("fit", "answers.csv", "-o", new, *QUICK, cwd=folder, limit=3000)
    assert done.returncode == 2
    assert done.stderr.endswith(f"{new}/model.npz cannot be used: file too large; choose another folder with --out\n")
    assert not new.exists()
    before = contents(earlier)
    for arguments, limit in (
        (["fit", "answers.csv", "-o", "map", *QUICK, "--seed", "3"], 3000),
        (["report", "map"], 16384),
        (["figure", "map", "-o", "map/map.png"], 16384),
        (["axes", "map", "--varimax", "-o", "map"], 3000),
    ):
        done = ended(*arguments, cwd=folder, limit=limit)
        assert done.returncode == 2, arguments
        assert "Traceback" not in done.stderr
        assert contents(earlier) == before, arguments


@pytest.mark.skipif(sys.platform != "linux", reason="no limit on the size of files")
def test_a_full_disk_keeps_no_loop_from_running(tmp_path, forks):
    """What is compiled is kept for the next process, if there is room for it."""
    code = (
        "import sys; from numba.core.config import reload_config\n"
        "reload_config()\n"
        "sys.path.insert(0, '')\n"
        "from twice import twice\n"
        "print(twice(4))"
    )
    (tmp_path / "twice.py").write_text(
        "from nearer.optimize.kernels.compiling import loop\n\n@loop\ndef twice(number):\n    return 2 * number\n"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = forks.run("-c", code, cwd=tmp_path, env=environment, limit=100)
    assert (done.returncode, done.stdout) == (0, "8\n"), done.stderr
    assert not list((tmp_path / "cache").rglob("*.nb*"))
    assert forks.run("-c", code, cwd=tmp_path, env=environment).stdout == "8\n"
    assert list((tmp_path / "cache").rglob("*.nb*"))


# Settings of the environment


@pytest.mark.parametrize("threads", ["abc", "0", ""])
def test_a_number_of_threads_that_is_none(threads, folder):
    done = started_anew("check", "answers.csv", cwd=folder, NUMBA_NUM_THREADS=threads)
    assert done.returncode == 2
    assert done.stderr == (
        f"nearer: the environment variable NUMBA_NUM_THREADS is {threads!r}; it must be a number of threads, 1 or "
        "more, or not be set\n"
    )


def test_loops_are_compiled_whatever_the_environment_says(folder):
    disabled = {"NUMBA_DISABLE_JIT": "1"}
    done = started_anew("score", "map", "answers.csv", cwd=folder, **disabled)
    assert done.returncode == 0
    assert "NUMBA_DISABLE_JIT was ignored" in done.stderr
    done = subprocess.run(
        [sys.executable, "-c", "import nearer.optimize.kernels"],
        env={**os.environ, **disabled}, capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert "NUMBA_DISABLE_JIT is set in the environment" in done.stderr.splitlines()[-1]


# What a command reads


@pytest.mark.parametrize("name", ["results.json", "model.npz", "model.json", "embedding.csv", "log.txt"])
def test_a_report_takes_the_place_of_no_result(name, folder, capsys):
    before = contents(folder / "map")
    status, _, err = run(capsys, "report", folder / "map", "-o", folder / "map" / name)
    assert status == 2
    assert f"{name} is a file that this command reads, and would be lost" in err
    assert contents(folder / "map") == before


def test_a_report_takes_the_place_of_no_attributes(folder, tmp_path, capsys):
    table = tmp_path / "things.csv"
    table.write_text("object,size\no1,3\n")
    status, _, err = run(capsys, "report", folder / "map", "--attributes", table, "-o", table)
    assert status == 2
    assert "would be lost" in err
    assert table.read_text() == "object,size\no1,3\n"


def test_a_report_takes_the_place_of_no_table(folder, tmp_path, capsys):
    table = tmp_path / "answers.csv"
    table.write_text("anchor,near,far\na,b,c\n")
    status, _, err = run(capsys, "report", folder / "map", "-o", table)
    assert status == 2
    assert "give the file this ending" in err
    assert table.read_text() == "anchor,near,far\na,b,c\n"


# Ctrl-C while files are written

INTERRUPTED = """
import signal, sys
import numpy as np

times, save = int(sys.argv.pop(1)), np.savez_compressed

def press(*arguments, **options):
    global times
    save(*arguments, **options)
    if times > 0:
        times -= 1
        signal.raise_signal(signal.SIGINT)

np.savez_compressed = press
from nearer.cli.main import main
sys.exit(main())
"""


@pytest.fixture
def interrupted(forks):
    """Return a function that runs the program; Ctrl-C is pressed once a model is written, so many times."""
    return partial(forks.run, "-c", INTERRUPTED)


def test_ctrl_c_while_the_model_is_written_keeps_the_map(folder, tmp_path, capsys, interrupted):
    done = interrupted(1, "fit", "answers.csv", "-o", tmp_path / "map", *QUICK, cwd=folder)
    assert done.returncode == 130, done.stderr
    assert done.stderr == "nearer: map ...\n"
    assert "the run was stopped before its end" in done.stdout
    assert json.loads((tmp_path / "map" / "results.json").read_text())["interrupted"]
    assert run(capsys, "score", tmp_path / "map", folder / "answers.csv")[0] == 0
    assert not [path.name for path in (tmp_path / "map").iterdir() if path.name.startswith(".")]


def test_ctrl_c_twice_leaves_what_was_there(folder, tmp_path, interrupted):
    done = interrupted(2, "fit", "answers.csv", "-o", tmp_path / "map", *QUICK, cwd=folder)
    assert (done.returncode, done.stderr) == (130, "nearer: map ...\nnearer: stopped; no map was written\n")
    assert not (tmp_path / "map").exists()
    before = contents(folder / "map")
    done = interrupted(2, "fit", "answers.csv", "-o", "map", *QUICK, cwd=folder)
    assert done.stderr.endswith("stopped; no map was written, and map holds that of an earlier run\n")
    assert contents(folder / "map") == before
