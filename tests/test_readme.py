import csv
import re
from pathlib import Path

import numpy as np

from nearer.datasets import load_colors, sample_triplets

README = Path(__file__).parents[1] / "README.md"


SHORT, LONG, SURE, LARGE = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_short_example_prints_what_it_says(capsys):
    exec(compile(SHORT, "README.md", "exec"), {})
    map_line, prediction, chances, gap = capsys.readouterr().out.splitlines()
    assert map_line.startswith("{'bus': [")
    assert prediction == "[1]"
    assert chances.startswith("[[")
    assert float(gap) < 1e-3


def test_the_long_example_takes_a_table_to_a_map(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    colors = load_colors()
    judgments = sample_triplets(colors.lab[:15] / 50, 400, random_state=0)
    swap = np.random.default_rng(0).random(400) < 0.5
    with open("answers.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["anchor", "left", "right", "answer", "person", "trial"])
        for number, (anchor, near, far) in enumerate(colors.names[judgments.rows].tolist()):
            left, right, answer = (far, near, "right") if swap[number] else (near, far, "left")
            writer.writerow([anchor, left, right, answer, f"p{number // 100}", number % 100 // 2])
    exec(compile(LONG, "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert "400 answers" in out or "400 comparisons" in out
    assert "chosen" in out
    assert float(re.search(r"held-out error (0\.\d+)", out)[1]) < 0.25
    assert (tmp_path / "map.png").stat().st_size > 10_000


def test_the_sure_example_finds_two_dimensions(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(SURE, "README.md", "exec"), {})
    dimension, *_, deviations = capsys.readouterr().out.splitlines()
    assert dimension.startswith("2 [")
    assert deviations.endswith("(3, 25, 15)")
    assert (tmp_path / "ellipses.png").stat().st_size > 10_000


def test_the_large_example_places_continues_and_streams(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(LARGE, "README.md", "exec"), {})
    continued, careful, streamed = capsys.readouterr().out.splitlines()
    assert continued.startswith("(200, 3) ")
    assert float(continued.split()[-1]) > 0.95
    assert float(careful) > 0.95
    assert float(streamed) > 0.9


def test_everything_it_links_to_is_there():
    links = re.findall(r"\]\((?!http)([^)#]+)\)", README.read_text(encoding="utf-8"))
    assert "docs/colors.png" in links
    assert [link for link in links if not (README.parent / link).exists()] == []
