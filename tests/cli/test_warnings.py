"""What Python would print as a warning is a sentence of the program, or is not there."""

import csv
import warnings

import numpy as np
import pytest

from nearer.cli.arguments import sentence
from nearer.cli.main import main
from nearer.cli.process import show_warnings
from nearer.datasets import make_gaussian, sample_triplets
from nearer.io import read_answers

pytestmark = pytest.mark.usefixtures("few_repeats")
ROWS = sample_triplets(make_gaussian(8, 2, random_state=0), 120, random_state=0).rows
CONTRADICTORY = np.concatenate([ROWS, ROWS[:, [0, 2, 1]]])
FIT = ["fit", "-o", "map", "--quick", "--method", "STE", "--dimensions", "2"]


def write_csv(path, rows, extra="", value=None):
    header = ["anchor", "near", "far", *([extra] if extra else [])]
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *([*row, *([value] if extra else [])] for row in rows.tolist())])


def write(name):
    """Write one of the odd files."""
    nothing = np.full(len(ROWS), np.nan)
    arrays = {
        "float16.npz": {"triplets": ROWS.astype(np.float16)},
        "columns16.npz": dict(zip(("anchor", "near", "far"), ROWS.T.astype(np.float16), strict=True)),
        "answers16.npz": {"triplets": ROWS, "y": np.ones(len(ROWS), np.float16)},
        "weights16.npz": {"triplets": ROWS, "weight": np.full(len(ROWS), 6e4, np.float16)},
        "labels.npz": {"triplets": ROWS, "objects": np.full(8, np.nan)},
        "nothing.npz": {
            "triplets": ROWS,
            "rt": nothing,
            "confidence": nothing,
            "participant": np.arange(len(ROWS)) % 3,
        },
    }
    if name in arrays:
        np.savez(name, **arrays[name])
    elif name == "contradictory.csv":
        write_csv(name, CONTRADICTORY)
    else:
        write_csv(name, ROWS, "rt", 1e308)
    return name


NAMES = [
    "float16.npz", "columns16.npz", "answers16.npz", "weights16.npz", "labels.npz", "nothing.npz", "contradictory.csv",
    "times.csv",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", [["check"], FIT], ids=["check", "fit"])
def test_no_warning_of_python_reaches_the_terminal(command, name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings(record=True) as raw:
        warnings.simplefilter("always")
        assert main([command[0], write(name), *command[1:]]) in (0, 1)
    err = capsys.readouterr().err
    assert [str(each.message) for each in raw if not issubclass(each.category, DeprecationWarning)] == []
    assert all(line.startswith("nearer: ") for line in err.splitlines())
    assert "while computing" not in err  # the causes are mended, too
    assert ("cancel each other out" in err) == (command is FIT and name == "contradictory.csv")


def test_narrow_numbers_are_read_as_far_as_they_are_exact(tmp_path):
    np.savez(tmp_path / "half.npz", triplets=ROWS.astype(np.float16))
    assert read_answers(tmp_path / "half.npz").comparisons.rows.tolist() == ROWS.tolist()
    np.savez(tmp_path / "half.npz", triplets=ROWS.astype(np.float16) + 2045)
    with pytest.raises(ValueError, match="float16, which rounds indices from 2048 on; save integers"):
        read_answers(tmp_path / "half.npz")
    np.savez(tmp_path / "half.npz", triplets=ROWS + 0.5)
    with pytest.raises(ValueError, match="it must hold indices"):
        read_answers(tmp_path / "half.npz")


def test_a_warning_is_reported_once_and_without_its_place(capsys):
    with show_warnings():
        for _ in range(3):
            np.log(np.zeros(1))
            warnings.warn("few\n  answers", UserWarning, stacklevel=1)
            warnings.warn("old name", FutureWarning, stacklevel=1)
    printed = capsys.readouterr().err.splitlines()
    assert [line for line in printed if line.startswith("nearer: few answers")] == ["nearer: few answers"]
    assert len(printed) == 2
    assert "while computing: divide by zero" in printed[0]


@pytest.mark.parametrize(("package", "wanted"), [("pyarrow.parquet", "pyarrow"), ("cblearn", "cblearn")])
def test_what_is_not_installed_is_named(package, wanted):
    error = ModuleNotFoundError(f"No module named {package!r}", name=package)
    assert sentence(error) == f"this needs {package.split('.')[0]}; install it with: pip install {wanted}"
