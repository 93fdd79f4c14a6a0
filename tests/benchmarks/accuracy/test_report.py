import csv
import json
import re

import numpy as np
import pytest
from scipy.stats import rankdata

from benchmarks.__main__ import main
from benchmarks.accuracy import METHODS, entries
from benchmarks.accuracy.entries import ENTRIES
from benchmarks.accuracy.figures import plot_error_curves, plot_limit, plot_ranks
from benchmarks.accuracy.report import TUNED_PEERS, accuracy_text, chosen_data, chosen_methods, contests
from benchmarks.accuracy.summary import Ranking, calibration_rows, critical_difference, rank_methods, summary_rows
from nearer.plotting import new_figure


def record(data="flips", size=50, trial=0, method="STE", error=0.3, **more):
    figures = {"error_map": error, "error_given": error, "log_loss": None, "ece": None, "reliability": None}
    return {
        "data": data, "size": size, "trial": trial, "method": method, "error": error, "seconds": 1.0, "n_warnings": 0,
        **figures, **more,
    }  # fmt: skip


def test_rows_hold_medians_and_quartiles_and_count_what_is_missing():
    (row,) = summary_rows([record(trial=trial, error=error) for trial, error in enumerate([0.1, 0.2, 0.6, None])])
    assert (row["trials"], row["n_without_map"]) == (4, 1)
    assert (row["lower_quartile"], row["median"], row["upper_quartile"]) == pytest.approx((0.15, 0.2, 0.4))


def test_the_limit_is_the_one_that_was_run(monkeypatch):
    monkeypatch.setattr("benchmarks.accuracy.summary.METHODS", (*METHODS, "limit"))
    rows = summary_rows([record("synthetic", 200), record("synthetic", 200, method="limit", error=0.37)])
    assert {row["limit"] for row in rows} == {0.37}
    assert summary_rows([record("synthetic", 200)])[0]["limit"] == 0.379
    assert "limit" not in rank_methods([record(), record(method="CKL"), record(method="limit", error=0.1)]).methods


def test_ranks_are_those_of_paired_medians():
    rng = np.random.default_rng(0)
    methods = ["DMOE", "STE", "CKL"]
    errors = rng.random((4, 3, 5))  # blocks, methods, trials
    errors[0, :2] = 0.5  # a tie
    records = [
        record(size=size, method=method, trial=trial, error=errors[size, place, trial])
        for size in range(4)
        for place, method in enumerate(methods)
        for trial in range(5)
    ]
    # A trial of one method alone must not count, nor a block without one of the methods.
    records += [record(size=1, method="DMOE", trial=9, error=0.0), record(size=7, method="DMOE")]
    ranking = rank_methods(records)
    expected = rankdata(np.median(errors, axis=2), axis=1).mean(axis=0)
    assert dict(zip(ranking.methods, ranking.mean_ranks, strict=True)) == dict(zip(methods, expected, strict=True))
    assert (ranking.n_blocks, ranking.n_left_out) == (4, 1)
    assert list(ranking.mean_ranks) == sorted(ranking.mean_ranks)


def test_a_fit_that_never_ended_is_the_worst():
    ranking = rank_methods([record(error=None), record(method="CKL", error=0.6), record(method="SOE", error=0.7)])
    assert ranking.methods == ("CKL", "SOE", "STE")


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_has_the_published_constants(k, q):
    # Demsar (2006), table 5(a).
    assert critical_difference(k, 20) == pytest.approx(q * np.sqrt(k * (k + 1) / 120), abs=2e-3)


def ranking(ranks, width):
    return Ranking(tuple(METHODS[: len(ranks)]), tuple(ranks), (0,) * len(ranks), 9, 0, 0.01, width)


def test_groups_are_the_largest_runs_within_one_difference():
    assert ranking([1.0, 1.5, 2.2, 4.0], 1.0).groups() == [(0, 1), (1, 2)]
    assert ranking([1.0, 1.2, 1.9, 4.0], 1.0).groups() == [(0, 2)]
    assert ranking([1.0, 3.0], 1.0).groups() == []


def test_the_diagram_names_every_method_and_has_a_bar_for_each_group():
    shown = ranking([1.0, 1.5, 2.2, 4.0], 1.0)
    ax = plot_ranks(shown, new_figure(8, 3).add_subplot())
    words = " ".join(text.get_text() for text in ax.texts)
    assert all(method in words for method in shown.methods)
    bars = [line for line in ax.lines if line.get_linewidth() > 3]
    assert len(bars) == 2
    assert bars[0].get_xdata()[0] == pytest.approx(1.0, abs=0.1)


def test_the_line_of_the_best_possible_breaks_where_it_is_not_known():
    ax = new_figure(4, 3).add_subplot()
    plot_limit(summary_rows([record("synthetic", size) for size in (1000, 2000, 10000)]), ax)
    (line,) = ax.lines
    np.testing.assert_array_equal(line.get_ydata(), [0.279, np.nan, 0.040])
    plot_limit(summary_rows([record("d5")]), ax)
    assert len(ax.lines) == 1


def test_a_panel_has_a_line_and_a_band_for_each_method():
    methods = {"STE": "-", "cblearn-STE": "--", "cblearn-STE-cv": "--"}
    rows = summary_rows([record(method=name, size=size) for name in methods for size in (50, 100)])
    ax = plot_error_curves(rows, new_figure(4, 3).add_subplot())
    assert {line.get_label(): line.get_linestyle() for line in ax.lines} == methods
    assert len(ax.collections) == 3
    assert len({line.get_color() for line in ax.lines}) == 1
    assert ax.get_xscale() == "log"


def test_calibration_pools_only_where_answers_can_be_wrong():
    counts = [[4.0] + [0.0] * 14, [2.4] + [0.0] * 14, [2.0] + [0.0] * 14]
    some = {"ece": 0.1, "log_loss": 0.6, "reliability": counts}
    rows = calibration_rows([record(**some), record("d5", **{**some, "ece": 0.9}), record(method="cblearn-STE")])
    assert [(row["method"], row["ece"]) for row in rows] == [("STE", 0.1)]


def test_maps_are_compared_with_the_best_tuned_peer_over_the_trials_of_both():
    peers = [
        record(size=size, method=peer, trial=trial, error=0.3 + 0.01 * place)
        for size in (50, 100)
        for place, peer in enumerate(TUNED_PEERS)
        for trial in range(3)
    ]
    ours = [record(size=50, trial=trial, error=0.5, error_map=error) for trial, error in enumerate([0.1, 0.2, 0.25, 9])]
    ours += [record(size=100, trial=1, error=0.1, error_map=0.305), record(size=200, error=0.1)]
    default = record(size=50, method="cblearn-STE", error=0.01)
    found = contests([*peers, *ours, default])
    assert [(each.size, each.error, each.peer, each.peer_error) for each in found] == [
        (50, 0.2, TUNED_PEERS[0], 0.3),
        (100, 0.305, TUNED_PEERS[0], 0.3),
    ]
    assert [each.is_won for each in found] == [True, False]
    text = accuracy_text(summary_rows(ours), None, found, [], [])
    assert re.search(r"\| STE +\| +1 \| +2 \|", text)
    assert f"that of STE has not: flips 100 (0.305 against 0.300 of {TUNED_PEERS[0]})." in text


def test_the_table_marks_the_best_and_can_be_pasted():
    rows = summary_rows([record(method="DMOE", error=0.25), record(), record(method="cblearn-STE", error=None)])
    text = accuracy_text(rows, None, [], [], ["a note"])
    assert re.search(r"\| DMOE +\| \*\*0\.250\*\* \|", text)
    assert re.search(r"\| STE +\| +0\.300 \|", text)
    assert re.search(r"\| cblearn-STE +\| +- \|", text)
    assert "over 1 trial," in text
    assert text.endswith("- a note\n")
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(line) for line in table}) == 1


def test_names_are_found_in_any_case_and_groups_too(monkeypatch):
    assert chosen_methods(["CBLEARN-ste-CV", "dmoe"])[0] == ["DMOE", "cblearn-STE-cv"]
    assert len(chosen_methods(["peers"])[0]) == 10
    assert not any(name.startswith("cblearn") for name in chosen_methods([], with_peers=False)[0])
    monkeypatch.setitem(ENTRIES, "Posterior", ENTRIES["Posterior"].__class__(print, needs="NoSuchEstimator"))
    methods, notes = chosen_methods(["own"])
    assert "Posterior" not in methods
    assert notes == ["Posterior is left out: nearer.embedding has no NoSuchEstimator yet"]
    with pytest.raises(ValueError, match="method MDS is not known; choose from own, peers, DMOE"):
        chosen_methods(["MDS"])


def test_data_sets_that_are_missing_are_named_and_the_rest_goes_on(no_data):
    found, notes = chosen_data(["d2", "cars", "zappos"])
    assert [data.name for data in found] == ["d2"]
    assert "no data for cars, zappos: put cars.npz, zappos.npz into" in notes[0]
    with pytest.raises(ValueError, match="no data for cars"):
        chosen_data(["cars"])
    with pytest.raises(ValueError, match="data set birds is not known"):
        chosen_data(["birds"])


def test_the_command_writes_tables_and_figures(judgments, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(entries, "wide_grid", lambda *_: [{"trace": 0.01}, {"trace": 0.1}])
    folder = tmp_path / "out"
    options = ["--data", "cars,food", "--methods", "STE,CKL", "--trials", "1", "--jobs", "1", "--out", str(folder)]
    arguments = ["accuracy", *options, "--sizes", "12,99999", "--json"]
    assert main(arguments) == 0
    printed = capsys.readouterr()
    figures = json.loads(printed.out)
    assert "no data for food" in printed.err
    assert "cars: 99999 comparisons and more are lowered to 800" in printed.err
    assert figures["figures"] == ["cars.png", "ranks.png", "reliability.png"]
    assert all((folder / name).read_bytes().startswith(b"\x89PNG") for name in figures["figures"])
    with (folder / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["size"], row["method"]) for row in rows] == [(m, k) for m in ("12", "800") for k in ("STE", "CKL")]
    assert float(rows[-1]["median"]) < 0.1
    # Everything is on file now: a report needs no fit, and says the same.
    assert main([*arguments, "--report"]) == 0
    assert json.loads(capsys.readouterr().out)["table"] == figures["table"]


def test_a_report_of_nothing_says_so(tmp_path, capsys):
    assert main(["accuracy", "--data", "d2", "--report", "--out", str(tmp_path)]) == 2
    assert "there are no records" in capsys.readouterr().err
