"""What the answers leave possible."""

from dataclasses import replace

import numpy as np
import pytest

from nearer.datasets import make_gaussian, sample_triplets
from nearer.design.active import posterior
from nearer.design.active.posterior import update_posterior
from nearer.sampling.summaries import predictive_probability

POINTS = make_gaussian(12, 2, random_state=0)
ANSWERS = sample_triplets(POINTS, 300, flipped=0.1, random_state=0)
ASKED = sample_triplets(POINTS).rows


@pytest.fixture(scope="module")
def first():
    return update_posterior(ANSWERS[:250], 2, seed=0)


def test_a_continued_posterior_matches_a_new_one(first):
    """The chances of answers are those of a posterior that was drawn from nothing."""
    later = update_posterior(ANSWERS, 2, seed=1, before=first)
    anew = update_posterior(ANSWERS, 2, seed=2)
    assert (first.n_answers_at_restart, later.n_answers_at_restart, anew.n_answers_at_restart) == (250, 250, 300)
    one, other = (predictive_probability(each.draws, ASKED) for each in (later, anew))
    assert np.abs(one - other).mean() < 0.025
    assert np.abs(one - other).mean() < 0.5 * np.abs(predictive_probability(first.draws, ASKED) - other).mean() + 0.01


def test_chains_restart_after_a_third_more_answers(monkeypatch):
    begun = []
    for name in ("INITIAL_SETTINGS", "REFRESH_SETTINGS"):  # rough ones: what counts is where they begin
        few = replace(getattr(posterior, name), n_chains=2, n_warmup=100, n_steps=100)
        monkeypatch.setattr(posterior, name, few)
    plain = posterior.sample_until_converged
    monkeypatch.setattr(
        posterior,
        "sample_until_converged",
        lambda *given, **more: (begun.append(more.get("pace")), plain(*given, **more))[1],
    )
    few = update_posterior(ANSWERS[:150], 2, seed=0)
    update_posterior(ANSWERS[:190], 2, seed=1, before=few)
    update_posterior(ANSWERS[:210], 2, seed=1, before=few)
    assert [pace is None for pace in begun] == [True, False, True]


def test_unseen_objects_come_from_the_prior():
    answers = ANSWERS[(ANSWERS.rows < 10).all(axis=1)]
    draws = update_posterior(answers, 2, seed=0).draws
    assert draws.points.shape[1] == 12
    known, unknown = (draws.points[:, some].var(axis=0).mean() for some in (slice(0, 10), slice(10, 12)))
    assert unknown > 0.5 * draws.points.var()
    assert np.isfinite(known)


def test_annotators_may_be_added_later(first):
    told = replace(ANSWERS, annotators=np.where(np.arange(300) % 3, "ann", "bob"))
    with_people = update_posterior(told[:250], 2, seed=0)
    later = update_posterior(told, 2, seed=1, before=with_people)
    after = update_posterior(told, 2, seed=1, before=first)
    assert later.draws.points.shape == after.draws.points.shape
    assert np.abs(predictive_probability(later.draws, ASKED) - predictive_probability(after.draws, ASKED)).mean() < 0.04
