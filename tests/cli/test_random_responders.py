"""Who answers at chance is named by `nearer check`, by `nearer fit` and on the page."""

import csv
import json
import re

import numpy as np
import pytest

from nearer.cli.main import main
from nearer.datasets import make_gaussian, sample_triplets

COINS = ("coin a", "coin b")
POINTS = make_gaussian(14, 2, random_state=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Six people with 150 answers each, and two coins with 300."""
    folder = tmp_path_factory.mktemp("study")
    rng = np.random.default_rng(7)
    with open(folder / "answers.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["annotator", "anchor", "near", "far"])
        for number in range(6):
            table.writerows(
                [f"p{number}", *row] for row in sample_triplets(POINTS, 150, flipped=0.1, random_state=number).rows
            )
        for coin in COINS:
            table.writerows([coin, *rng.choice(14, 3, replace=False)] for _ in range(300))
    return folder


def test_check_fit_and_page_name_them(folder, capsys):
    assert main(["check", str(folder / "answers.csv")]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "WARNING 2 people answer at chance" in out
    assert re.search(r"About \d+ answers of each person suffice to detect 90% of random responders", out)
    assert all(f"- '{coin}': " in out for coin in COINS)

    options = ["--method", "STE", "--dimensions", "2", "--resamples", "0"]
    assert main(["fit", str(folder / "answers.csv"), "-o", str(folder / "map"), *options]) == 0
    out = capsys.readouterr().out
    assert "warning: 2 people answer at chance: 'coin a', 'coin b'. " in out
    assert re.search(r"About \d+ answers of each person suffice to detect 90% of random responders", out)
    results = json.loads((folder / "map" / "results.json").read_text(encoding="utf-8"))
    flags = {person["name"]: person["flags"] for person in results["annotators"]}
    assert {person for person, said in flags.items() if said == ["answers at chance"]} == set(COINS)

    assert main(["report", str(folder / "map")]) == 0
    page = (folder / "map" / "report.html").read_text(encoding="utf-8")
    assert "2 people are flagged." in page
    assert "Nobody is flagged." not in page
