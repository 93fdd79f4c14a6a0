"""Comparing people: gains by the same held-out answers, files, and the command."""

import csv
import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from helpers.people import planted_weights

from nearer import Comparisons
from nearer.cli.main import main
from nearer.comparing import compare_people
from nearer.comparing.people import HeldOutLoss
from nearer.embedding import PosteriorEmbedding
from nearer.plotting import plot_weights


@pytest.fixture(scope="module")
def planted():
    steps = np.where(np.arange(12) % 2 == 0, 1.0, -1.0)
    return planted_weights(np.column_stack([steps, -steps]), 80, n_objects=10)


@pytest.fixture(scope="module")
def found(planted):
    return compare_people(planted.comparisons, 2, n_splits=2, random_state=0)


def test_people_who_weigh_axes_differently_are_predicted_better_by_their_weights(found):
    assert found.differ
    assert found.weighted.gain == pytest.approx(found.noise.log_loss - found.weighted.log_loss)
    assert found.own_maps.gain == pytest.approx(found.weighted.log_loss - found.own_maps.log_loss)
    assert found.weighted.low < found.weighted.gain < found.weighted.high
    assert found.weighted.error < found.noise.error - 0.02
    assert found.noise.gain == 0
    assert found.axes_identified
    assert "12 people weigh the axes differently" in str(found)
    assert "2 latent classes of people: 6 with weights" in str(found)


def test_people_who_do_not_differ_lose_nothing():
    alike = planted_weights(np.zeros((10, 2)), 50, n_objects=10).comparisons
    found = compare_people(alike, 2, n_splits=2, random_state=0)
    assert not found.differ
    assert found.weighted.gain > -0.02
    assert found.own_maps.gain > -0.02
    assert "There is no clear evidence that these 10 people differ in more than noise" in str(found)
    assert "The axes are not identified" in str(found)
    assert "One latent class of people." in str(found)


def test_a_gain_has_the_interval_of_means_of_people(found, planted):
    """Everybody has as many answers: the interval is Student's, of their mean gains."""
    for loss in (found.weighted, found.own_maps):
        assert loss.high - loss.gain == pytest.approx(loss.gain - loss.low)
        assert loss.high > loss.low


def test_gains_that_are_not_significant_are_called_so(found):
    unsure = HeldOutLoss(0.2, 0.49, 0.01, -0.01, 0.03)
    assert not replace(found, weighted=unsure, own_maps=unsure).differ
    sure = HeldOutLoss(0.2, 0.4, 0.09, 0.05, 0.13)
    maps = replace(found, weighted=unsure, own_maps=sure, departure_spread=(0.3, 0.2, 0.4))
    assert str(maps).startswith("12 people have maps of their own: that predicts")
    # Nor is a gain over weights that predict worse than one map.
    assert not replace(maps, noise=HeldOutLoss(0.2, 0.39, 0.0, 0.0, 0.0)).differ_in_maps
    # A gain that chance makes significant is not enough where the maps hardly depart.
    assert not replace(maps, departure_spread=(0.05, 0.01, 0.1)).differ
    assert not replace(found, weight_spread=(0.1, 0.02, 0.2), own_maps=unsure).differ


def test_the_files_hold_the_weights(found, tmp_path):
    pytest.importorskip("matplotlib")
    names = found.write(tmp_path)
    assert names == [
        "comparison.json", "weights.csv", "departures.csv", "embedding.csv", "people.png", "people.pdf",
    ]  # fmt: skip
    assert all((tmp_path / name).stat().st_size for name in names)
    rows = list(csv.DictReader((tmp_path / "weights.csv").open(newline="")))
    assert len(rows) == 24
    for row in rows:
        number = found.people.tolist().index(row["person"])
        weight = found.weights[number, int(row["axis"]) - 1]
        assert float(row["weight"]) == weight
        assert float(row["low"]) < weight < float(row["high"])
    away = list(csv.DictReader((tmp_path / "departures.csv").open(newline="")))
    assert [float(row["departure"]) for row in away] == found.departures.tolist()
    figures = json.loads((tmp_path / "comparison.json").read_text())
    assert figures["differ"] is True
    assert len(figures["kind_weights"]) == 2
    assert len(figures["people"]) == figures["n_people"] == 12


def test_the_figure_has_a_dot_for_each_person(found):
    pytest.importorskip("matplotlib")
    ax = plot_weights(found.model)
    dots = np.concatenate([line.get_xdata() for line in ax.lines if line.get_marker() == "o"])
    np.testing.assert_allclose(np.sort(dots), np.sort(found.weights[:, 0]))
    shown = [text.get_text() for text in ax.get_yticklabels()]
    assert shown == found.people[np.argsort(found.weights[:, 0])].tolist()
    with pytest.raises(ValueError, match="none of the 2 axes"):
        plot_weights(found, axis=2)
    with pytest.raises(ValueError, match="there are no weights to draw"):
        plot_weights(PosteriorEmbedding())


def test_people_who_are_held_out_as_a_whole_are_too_few():
    rows = [[0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 1]] * 3
    answers = Comparisons.from_triplets(rows, annotators=["ann"] * 11 + ["bob"])
    with pytest.raises(ValueError, match="one person alone is left"):
        compare_people(answers, 2, random_state=0)


def test_the_command(planted, tmp_path, capsys, monkeypatch):
    import nearer.comparing

    path = tmp_path / "answers.csv"
    lines = [
        f"{name},{','.join(f'object {k}' for k in row)}"
        for name, row in zip(planted.comparisons.annotators, planted.comparisons.oriented[:, [0, 1, 3]], strict=True)
    ]
    path.write_text("\n".join(["person,anchor,near,far", *lines]))
    quick = partial(nearer.comparing.compare_people, n_splits=2)
    monkeypatch.setattr(nearer.comparing, "compare_people", quick)
    assert main(["compare", str(path), "--people", "--json", "-o", str(tmp_path / "out")]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["n_people"] == 12
    assert "weights.csv" in figures["files"]
    assert (tmp_path / "out" / "weights.csv").exists()


def test_the_command_needs_people(tmp_path, capsys):
    path = tmp_path / "answers.csv"
    path.write_text("anchor,near,far\na,b,c\nb,c,d\nc,d,a\n")
    assert main(["compare", str(path), "--people"]) == 2
    assert "do not say who answered" in capsys.readouterr().err
