"""Every layout is read as its definition says, in any order of rows, columns and options, or refused in a sentence."""

import re
import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from helpers import layouts

from nearer.io import read_answers

LAYOUTS = layouts.LAYOUTS


def shuffled(layout, rng):
    """Return trials in another order, with the options of each in another order.

    All places that were chosen still are, and no others: what tells a coding stays told.
    """
    trials = [layout.trials[at] for at in rng.permutation(len(layout.trials))]
    if layout.kind == "ranking":
        return trials
    chosen = {trial.place for trial in layout.trials}
    while True:
        orders = [rng.permutation(len(trial.shown)) for trial in trials]
        turned = [
            replace(trial, shown=tuple(trial.shown[place] for place in order))
            for trial, order in zip(trials, orders, strict=True)
        ]
        if {trial.place for trial in turned} == chosen:
            return turned


def by_answer(answers):
    """Return what every answer says, as a set of comparisons, and check that it counts once."""
    comparisons = answers.comparisons
    rows = comparisons.objects[comparisons.oriented].astype(str)
    weights = np.ones(len(rows)) if comparisons.weights is None else comparisons.weights
    np.testing.assert_allclose(np.bincount(answers.answer_of, weights), 1)
    said = [set() for _ in range(len(answers))]
    for answer, row in zip(answers.answer_of.tolist(), rows.tolist(), strict=True):
        said[answer].add(tuple(row))
    return Counter(map(frozenset, said))


def expected(layout, trials):
    return Counter(
        frozenset(tuple(layout.label(each) for each in row) for row in trial.says(layout.kind)) for trial in trials
    )


def test_there_are_enough_layouts():
    assert len(LAYOUTS) >= 40
    assert len({layout.name for layout in LAYOUTS}) == len(LAYOUTS)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_layout(layout, tmp_path):
    orders = [(layout.trials, None)]
    for seed in range(2):
        rng = np.random.default_rng(seed)
        orders.append((shuffled(layout, rng), rng))
    for trials, rng in orders:
        source = layouts.table(layout, trials, tmp_path, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            if layout.refused is not None:
                with pytest.raises(ValueError, match=layout.refused):
                    read_answers(source, **layout.options)
                continue
            answers = read_answers(source, **layout.options)
        assert by_answer(answers) == expected(layout, trials)
        assert answers.kind == layout.kind
        assert len(answers.report.notes) == len(layout.notes), answers.report.notes
        assert all(re.search(note, said) for note, said in zip(layout.notes, answers.report.notes, strict=True)), (
            answers.report.notes
        )
        assert not layout.places or rng is not None or answers.places is None or answers.places[0] == trials[0].place
