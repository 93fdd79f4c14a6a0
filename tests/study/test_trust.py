"""What a run says of trust: in its results, its figures, its findings and on the terminal."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.few import few_draws
from sklearn.exceptions import ConvergenceWarning

from nearer.checking import message_of
from nearer.checking.sample_size import CURVE_CODES
from nearer.cli.main import main
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import posterior_embedding
from nearer.evaluation import LearningCurve, SplitHalf
from nearer.io import read_answers
from nearer.report.charts import learning_chart
from nearer.report.sections import learning
from nearer.sampling import Microcanonical
from nearer.study import RunSettings, fit_study
from nearer.study import study as study_module
from nearer.study.figures import draw_curve
from nearer.study.folder import results_of
from nearer.study.results import NOT_CONVERGED
from nearer.study.study import Provenance

pytestmark = pytest.mark.usefixtures("one_start")
ABOUT = Provenance("t", "a.csv", "0", command="c")


def file_of(path, n_objects, m, flipped):
    rows = sample_triplets(make_gaussian(n_objects, 2, random_state=0), m, flipped=flipped, random_state=1).rows
    path.write_text("\n".join(["anchor,near,far", *(",".join(f"o{k}" for k in row) for row in rows)]) + "\n")
    return path


def fit(path, folder, capsys, *more):
    options = ["--method", "STE", "--set", "trace=0.03", "--dimensions", "2", "--resamples", "10"]
    assert main(["fit", str(path), "-o", str(folder), *options, *more]) == 0
    return capsys.readouterr().out, json.loads((folder / "results.json").read_text())


def test_a_good_map_is_reported_in_figures_and_words(tmp_path, capsys):
    told, results = fit(file_of(tmp_path / "a.csv", 14, 900, 0.05), tmp_path / "map", capsys)
    found = results["reproducibility"]
    assert found["reliability"] > 0.9
    assert found["n_splits"] == 5
    assert 0 < results["ellipse_size"] < 0.4
    assert f"reliability {found['reliability']:.2f}" in told
    assert "a typical object is known to lie within" in told
    assert "Predictions are good: " in told
    assert "Next: find out who gave which answers; then you can trust this map.\n" in told
    assert main(["report", str(tmp_path / "map")]) == 0
    page = (tmp_path / "map" / "report.html").read_text()
    assert f"have a reliability of {found['reliability']:.2f} (" in page
    assert "then you can trust this map.</li>" in page


def test_a_map_of_few_answers_is_not_trusted(tmp_path, capsys):
    told, results = fit(file_of(tmp_path / "a.csv", 25, 130, 0.1), tmp_path / "map", capsys, "--quick")
    assert results["reproducibility"]["reliability"] < 0.6
    assert "you can trust" not in told
    assert "warning: Distances on a 2-D map by STE would come out quite differently" in told


def test_where_it_cannot_be_reported_the_notes_say_why(tmp_path, capsys):
    told, results = fit(file_of(tmp_path / "a.csv", 25, 80, 0.1), tmp_path / "map", capsys, "--quick")
    assert results["reproducibility"] is None
    assert "note: no reproducibility of distances: 80 comparisons of" in told


@pytest.mark.parametrize(("errors", "code"), [([0.3, 0.15], "still-learning"), ([0.151, 0.15], "learned")])
def test_the_map_s_own_curve_and_halves_replace_those_of_the_quick_map(tmp_path, monkeypatch, errors, code):
    curve = LearningCurve(np.array([200, 400]), np.array(errors), np.array(errors) - 0.01, np.array(errors) + 0.01)
    halves = SplitHalf(0.5, 0.67, 0.6, 0.7, 5, 14, "trials")
    made = {"curve": lambda study, seed: curve, "distances": lambda study, seed: halves}
    monkeypatch.setattr(
        study_module,
        "ANALYSES",
        [replace(part, compute=made.get(part.name, part.compute)) for part in study_module.ANALYSES],
    )
    answers = read_answers(file_of(tmp_path / "a.csv", 14, 500, 0.1))
    settings = RunSettings(method="STE", n_components=2, n_resamples=0, parameters={"trace": 0.03})
    study = fit_study(answers, settings)
    assert [finding.code for finding in study.findings if finding.code in CURVE_CODES] == [code]
    told = [finding for finding in study.findings if finding.code.startswith("distances")]
    assert [finding.code for finding in told] == ["distances-roughly"]
    assert "0.67" in message_of(told[0]).title
    # One curve, one scale: the sizes and the heights on the page are those of the picture.
    ax = draw_curve(study)
    drawn = learning_chart(results_of(study, ABOUT).learning_curve, None)
    for label in (ax.get_xlabel(), ax.get_ylabel(), *(tick.get_text() for tick in ax.get_xticklabels())):
        assert f">{label}</text>" in drawn
    assert ax.get_xscale() == "log"
    _same_places(ax, drawn, curve)


def test_page_and_findings_answer_alike_whatever_the_level_of_intervals(monkeypatch):
    """Whether more answers help hangs on the best possible error, whose interval is of the level that was asked for."""
    rows = np.repeat(sample_triplets(make_gaussian(10, 2, random_state=0), 60, random_state=1).rows, 6, axis=0)
    flip = np.random.default_rng(0).random(len(rows)) < 0.15
    rows[flip] = rows[flip][:, [0, 2, 1]]
    curve = LearningCurve(*np.array([[150, 300], [0.2, 0.155], [0.19, 0.145], [0.21, 0.165]]))
    made = {"curve": lambda study, seed: curve}
    kept = [
        replace(part, compute=made.get(part.name, part.compute))
        for part in study_module.ANALYSES
        if part.name != "distances"
    ]
    monkeypatch.setattr(study_module, "ANALYSES", kept)
    answers = read_answers({"anchor": rows[:, 0], "near": rows[:, 1], "far": rows[:, 2]})
    study = fit_study(answers, RunSettings("CKL", 2, n_resamples=0, level=0.5))
    (told,) = [message_of(finding).text for finding in study.findings if finding.code in CURVE_CODES]
    results = results_of(study, ABOUT)
    sentence = results.trend.sentence
    assert told.removesuffix(" Distances take more.") == sentence
    assert learning(results)["paragraphs"][0].startswith(sentence)
    assert study.ceiling.interval_text in sentence


def _same_places(ax, drawn, curve):
    """The dots of the page lie on a straight line against those of the figure, in both directions."""
    dots = np.array(re.findall(r'<circle class="accent" cx="([\d.]+)" cy="([\d.]+)"', drawn), dtype=float)
    pixels = ax.transData.transform(np.column_stack([curve.sizes, curve.errors]))
    frame = ax.transAxes.inverted().transform(pixels)
    assert len(dots) == len(frame) == 2
    across = (dots[:, 0] - 60) / (440 - 60 - 14)
    up = (250 - 46 - dots[:, 1]) / (250 - 46 - 14)
    np.testing.assert_allclose(np.column_stack([across, up]), frame, atol=0.005)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_run_tells_that_answers_leave_two_maps_open(tmp_path, monkeypatch):
    few_draws(monkeypatch)
    answers = read_answers(file_of(tmp_path / "a.csv", 9, 240, 0.1))
    settings = RunSettings("posterior", n_components=2, quick=True)
    plain = fit_study(answers, settings)
    assert not any("two maps" in note for note in plain.notes)
    monkeypatch.setattr(posterior_embedding, "bimodal_objects", lambda maps, embedding: np.array([1, 3]))
    study = fit_study(answers, settings)
    names = [str(study.chosen.objects_[k]) for k in (1, 3)]
    told = f"two maps explain the answers alike: '{names[0]}', '{names[1]}' may lie in either of two places"
    assert any(note.startswith(told) for note in study.notes)
    assert any(note.startswith(told) for note in results_of(study, ABOUT).notes)


def test_chains_that_disagree_are_a_warning_of_the_study(tmp_path):
    answers = read_answers(file_of(tmp_path / "a.csv", 14, 500, 0.2))
    short = {"solver": Microcanonical(n_chains=2, n_warmup=100, n_steps=80, n_starts=1, n_climb=10)}
    with pytest.warns(ConvergenceWarning, match="--set solver=thorough"):
        study = fit_study(answers, RunSettings(method="posterior", parameters=short, quick=True))
    (found,) = [finding for finding in study.findings if finding.code == NOT_CONVERGED]
    assert found.severity == "warning"
    assert "R-hat" in message_of(found).title
    assert not study.chosen.converged_
