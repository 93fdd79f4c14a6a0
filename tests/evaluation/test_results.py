"""Results of evaluations come back from JSON as they were."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import STE
from nearer.evaluation import (
    annotator_reliability,
    bootstrap,
    choose_dimension,
    distance_matrix,
    held_out_error,
    learning_curve,
    noise_ceiling,
    split_half,
)

pytestmark = pytest.mark.usefixtures("one_start")
ROWS = sample_triplets(make_gaussian(6, 2, random_state=0), random_state=0)
ANSWERS = replace(Comparisons.concatenate([ROWS, ROWS]), annotators=np.arange(2 * len(ROWS)) % 7)
METHOD = STE(2, random_state=0)


@pytest.mark.parametrize(
    "evaluate",
    [
        lambda: held_out_error(METHOD, ANSWERS, n_splits=2, random_state=0),
        lambda: learning_curve(METHOD, ANSWERS, [10, 60], n_repeats=2, random_state=0),
        lambda: choose_dimension(STE(random_state=0), ANSWERS, (1, 2), n_splits=2, random_state=0),
        lambda: split_half(METHOD, ANSWERS, n_splits=2, random_state=0),
        lambda: annotator_reliability(METHOD, ANSWERS, n_groups=2, random_state=0),
        lambda: noise_ceiling(ANSWERS),
        lambda: bootstrap(METHOD, ANSWERS, n_resamples=10, n_simulations=0, random_state=0),
        lambda: distance_matrix(METHOD.fit(ANSWERS)),
    ],
)
def test_a_result_comes_back_from_json(evaluate):
    found = evaluate()
    values = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    again = type(found).from_dict(values)
    assert str(again) == str(found)
    for each in fields(found):
        one, other = getattr(found, each.name), getattr(again, each.name)
        assert type(one) is type(other)
        np.testing.assert_array_equal(one, other)
