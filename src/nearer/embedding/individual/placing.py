"""Who of a study gave which answer, and where new objects belong if these people say so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.groups import with_positive_weight
from nearer.data.labels import Labels, factorize
from nearer.embedding.individual.likelihood import Spread, Unknowns, WeightedModel
from nearer.embedding.placing import place_points
from nearer.model import CrowdKernel
from nearer.sampling.model import distinct_comparisons

_TRACE = 0.1  # of the start alone


def numbers_among(people: Labels, labels: Labels) -> NDArray[np.intp]:
    """Return the number that each label has among people; that after the last for somebody else.

    Examples
    --------
    >>> numbers_among(np.array(["ann", "bob"]), np.array(["bob", "eve"])).tolist()
    [1, 2]
    """
    known = {label: number for number, label in enumerate(people.tolist())}
    return np.array([known.get(label, len(known)) for label in labels.tolist()], dtype=np.intp)


def person_of_each(people: Labels, comparisons: Comparisons) -> NDArray[np.intp]:
    """Return the number of the person of each row, (m,); that after the last for nobody in particular."""
    if comparisons.annotators is None:
        return np.full(len(comparisons), len(people))
    labels, person = factorize(comparisons.annotators)
    return numbers_among(people, labels)[person]


def placed(
    points: FloatArray, traits: FloatArray, numbers: FloatArray, people: Labels, added: Comparisons
) -> FloatArray:
    """Return the points of all objects, the first of which, and everything about people, are given.

    Parameters
    ----------
    points : ndarray, shape (n, p)
    traits : ndarray, shape (s, p + 1)
        Of the people.
    numbers : ndarray, shape (3,)
    people : ndarray of labels, shape (s,)
    added : Comparisons
        Over all objects.
    """
    n, p = points.shape
    start = place_points(points, added, CrowdKernel(), _TRACE)
    if start.interrupted:
        raise KeyboardInterrupt
    answers, counting = distinct_comparisons(added), with_positive_weight(added)
    who = np.full(1, len(people))
    if counting.annotators is not None:
        who = numbers_among(people, factorize(counting.annotators)[0])
    everybody = np.vstack([traits, np.zeros(p + 1)])
    answers = replace(answers, annotators=who[answers.annotators].astype(np.int32), n_annotators=len(everybody))
    # What the spread is does not matter: people stay as they are.
    model = WeightedModel(answers, added.n_objects, p, Spread(1.0, 1.0))

    def loss(new: FloatArray) -> tuple[float, FloatArray]:
        everything = np.vstack([points, new.reshape(-1, p)])
        value, gradient = model.density(model.pack(Unknowns(everything, everybody, numbers)))
        return -value, -gradient[n * p : added.n_objects * p]

    ended = minimize(loss, start.value[n:].ravel(), jac=True, method="L-BFGS-B")
    return np.vstack([points, ended.x.reshape(-1, p)])
