"""The table of outlooks that came true: its parts on a small world."""

import pytest
from helpers.few import few_draws

from benchmarks import stopping


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("chosen", [False, True])
def test_a_run(monkeypatch, chosen):
    few_draws(monkeypatch)
    monkeypatch.setattr(stopping, "_TESTED", 2000)
    monkeypatch.setitem(stopping.WORLDS, "small", stopping.World(stopping.WORLDS["line"].points, 2, {"noise": None}))
    found = stopping.looked_ahead(stopping.WORLDS["small"], 0, chosen=chosen, sizes=(2,))
    assert [(each.outlook.n_answers_now, each.outlook.n_answers_more) for each in found] == [(60, 12)]
    assert found[0].outlook.chosen == chosen
    assert found[0].gain == pytest.approx(found[0].truth_gain, abs=0.02)  # without noise answers are the truth
    line = stopping._line("small", chosen, found)
    assert line.split()[:3] == ["small", "chosen" if chosen else "random", "60"]
