"""Every figure that `check`, `fit` and the page of a map all state is the same in each of them."""

import csv
import json
import re
from html import unescape

import numpy as np
import pytest

from nearer import Comparisons
from nearer.cli.main import main
from nearer.data.groups import GUESSING_LEVEL, guessing_p_value
from nearer.datasets import make_gaussian
from nearer.evaluation.dimension import NO_DIMENSION

pytestmark = pytest.mark.usefixtures("one_start", "few_folds")
N_OBJECTS = 12
# Learned from the map and not from the answers alone, where the dimension or the method is another one.
OF_MAPS = {
    "distances",
    "distances-roughly",
    "distances-differ",
    "learned",
    "still-learning",
    "weak-signal",
    "no-signal",
}


def write(path, seed, errors, per_person, n_questions=None):
    """Write triplets of people who err at their own rate, from a list of questions where there is one."""
    rng = np.random.default_rng(seed)
    points = make_gaussian(N_OBJECTS, 2, random_state=seed)
    asked = [rng.choice(N_OBJECTS, 3, replace=False) for _ in range(n_questions or len(errors) * per_person)]
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["participant", "anchor", "near", "far"])
        for person, error in enumerate(errors):
            for number in range(per_person):
                at = rng.integers(n_questions) if n_questions else person * per_person + number
                anchor, first, second = asked[at]
                right = np.linalg.norm(points[anchor] - points[first]) < np.linalg.norm(points[anchor] - points[second])
                near, far = (first, second) if right ^ (rng.random() < error) else (second, first)
                table.writerow([f"p{person}", *(f"object {k}" for k in (anchor, near, far))])
    return path


STUDIES = {
    "random responders": {"seed": 1, "errors": [0.1] * 7 + [0.5] * 2, "per_person": 120, "n_questions": 150},
    "few answers": {"seed": 2, "errors": [0.2] * 3, "per_person": 25},
    "guesses": {"seed": 3, "errors": [0.5] * 6, "per_person": 50},
    "copies": {"seed": 4, "errors": [0.15] * 6, "per_person": 80, "n_questions": 80},
}


def stated(findings):
    """Return level, title and text of each finding by its code."""
    return {each["code"]: (each["severity"], each["title"], each["text"], each["examples"]) for each in findings}


@pytest.mark.parametrize(
    "name",
    ["random responders", "guesses", *(pytest.param(n, marks=pytest.mark.slow) for n in ("few answers", "copies"))],
)
def test_check_fit_and_page_agree(name, tmp_path, capsys):
    file, folder = str(write(tmp_path / "answers.csv", **STUDIES[name])), str(tmp_path / "map")
    main(["check", file, "--json"])
    checked = json.loads(capsys.readouterr().out)
    assert main(["fit", file, "-o", folder, "--dimensions", "2", "--set", "budget=1", "--json"]) == 0
    fitted = json.loads(capsys.readouterr().out)
    results = json.loads((tmp_path / "map" / "results.json").read_text(encoding="utf-8"))
    assert main(["report", folder]) == 0
    page = " ".join(unescape((tmp_path / "map" / "report.html").read_text(encoding="utf-8")).split())

    # Findings, with all their figures and everybody whom they name.
    found = stated(results["findings"])
    found.pop("not-converged", None)  # of the chains, which check does not have
    assert found == stated(checked["findings"])
    for _, title, text, examples in found.values():
        assert all(words in page for words in (title, text, *examples))

    counts, error = checked["counts"], results["error"]
    assert (counts["ceiling"], counts.get("ceiling_low")) == (error["ceiling"], error["ceiling_low"])
    assert fitted["ceiling"] == error["ceiling"]
    if "split_half" in counts:
        assert fitted["reliability"] == pytest.approx(counts["split_half"]["reliability"])
        assert results["reproducibility"]["reliability"] == pytest.approx(fitted["reliability"])
    if "held_out" in counts:
        assert results["learning_curve"][-1]["error"] == pytest.approx(counts["held_out"])
        assert results["learning_curve"][-2]["error"] == pytest.approx(counts["held_out_half"])

    # Errors of people in the table are those of the findings.
    flagged = {person["name"] for person in results["annotators"] if person["flags"]}
    named = {who for *_, examples in found.values() for line in examples for who in re.findall(r"'(p\d)'", line)}
    assert flagged <= named
    for person in results["annotators"]:
        for line in found.get("at-chance", ((), (), (), ()))[3]:
            if line.startswith(f"'{person['name']}': "):
                assert line.startswith(
                    f"'{person['name']}': {100 * person['error']:.0f}% of {person['n_answers']} answers"
                )
    assert main(["report", folder]) == 0


def test_the_same_people_are_named_whatever_the_dimension(tmp_path, capsys):
    file = str(write(tmp_path / "answers.csv", **STUDIES["random responders"]))
    named = []
    for dimensions in ("1", "4"):
        main(["check", file, "--dimensions", dimensions, "--json"])
        found = stated(json.loads(capsys.readouterr().out)["findings"])
        named.append({code: found[code] for code in ("at-chance",) if code in found})
    assert named[0] == named[1]
    assert named[0]


def test_another_dimension_or_method_is_named_beside_its_figure(tmp_path, capsys):
    file, folder = str(write(tmp_path / "answers.csv", **STUDIES["random responders"])), str(tmp_path / "map")
    main(["check", file, "--json"])
    checked = stated(json.loads(capsys.readouterr().out)["findings"])
    assert main(["fit", file, "-o", folder, "--dimensions", "3", "--method", "STE", "--quick", "--json"]) == 0
    results = json.loads((tmp_path / "map" / "results.json").read_text(encoding="utf-8"))
    fitted = stated(results["findings"])
    title = next(found[1] for code, found in fitted.items() if code.startswith("distances"))
    assert title.startswith("Distances on a 3-D map by STE ")
    same = (checked.keys() & fitted.keys()) - OF_MAPS - {"enough", "rather-few", "too-few"}  # which have the dimension
    assert {code: fitted[code] for code in same} == {code: checked[code] for code in same}
    assert "at-chance" in same


@pytest.mark.parametrize("seed", [9, pytest.param(95, marks=pytest.mark.slow)])
def test_guesses_that_an_exact_test_takes_for_answers_have_no_dimension_anywhere(seed, tmp_path, capsys):
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(N_OBJECTS)[:3] for _ in range(150)])
    assert guessing_p_value(Comparisons.from_triplets(rows), np.random.default_rng(0)) <= GUESSING_LEVEL
    file, folder = tmp_path / "answers.csv", str(tmp_path / "map")
    file.write_text("anchor,near,far\n" + "".join(f"o{a},o{b},o{c}\n" for a, b, c in rows), encoding="utf-8")
    assert main(["fit", str(file), "-o", folder, "--set", "budget=1"]) == 0
    printed = capsys.readouterr().out
    assert main(["report", folder]) == 0
    page = " ".join(unescape((tmp_path / "map" / "report.html").read_text(encoding="utf-8")).split())
    results = json.loads((tmp_path / "map" / "results.json").read_text(encoding="utf-8"))
    assert f"note: {NO_DIMENSION}" in printed
    assert any(NO_DIMENSION in note for note in results["notes"])
    assert NO_DIMENSION[1:] in page
    assert "call for" not in page
    assert "called for" not in page
    assert "dimension evidence" not in page
