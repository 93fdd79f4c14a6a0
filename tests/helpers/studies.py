"""Simulated studies of triplets, as columns that a test can spoil before they become answers."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from nearer import Comparisons
from nearer.io.answers import Answers


@dataclass(frozen=True)
class Columns:
    """One entry for each answer: what was shown, which place was chosen, by whom and how fast."""

    shown: np.ndarray  # (a, 3): anchor, left, right
    places: np.ndarray
    annotators: np.ndarray
    seconds: np.ndarray
    objects: np.ndarray

    def answers(self, **changes):
        """Return them as answers; ``changes`` replace what Answers would get."""
        numbers = np.arange(len(self.shown))
        chosen = self.shown[numbers, 1 + self.places]
        other = self.shown[numbers, 2 - self.places]
        rows = self.objects[np.column_stack([self.shown[:, 0], chosen, other])]
        columns = {
            "comparisons": Comparisons.from_triplets(
                rows, objects=self.objects, annotators=self.annotators, trials=numbers
            ),
            "answer_of": numbers,
            "kind": "triplet",
            "source": "study.csv",
            "lines": numbers + 2,
            "annotators": self.annotators,
            "seconds": self.seconds,
            "places": self.places,
        }
        return Answers(**(columns | changes))

    def __getitem__(self, index):
        parts = {name: getattr(self, name)[index] for name in ("shown", "places", "annotators", "seconds")}
        return replace(self, **parts)

    def with_rows(self, index, **changes):
        """Return the study with some entries of some columns changed."""
        new = {name: getattr(self, name).copy() for name in changes}
        for name, values in changes.items():
            new[name][index] = values
        return replace(self, **new)


def simulate(
    seed=0, n_objects=30, n_people=12, per_person=150, n_components=2, slope=1.0, repeated=0.1, lapse=0.03, labels=None
):
    """Simulate people of differing care, speed and side bias who answer random triplets, some of them asked again.

    ``lapse``, the share of answers that are tossed, may differ between people: shape (n_people,).
    """
    rng = np.random.default_rng([seed, 77])
    points = rng.normal(size=(n_objects, n_components))
    n_answers = n_people * per_person
    shown = np.array([rng.choice(n_objects, 3, replace=False) for _ in range(n_answers)])
    shared = shown[: max(1, int(repeated * per_person))]
    again = rng.random(n_answers) < repeated
    shown[again] = shared[rng.integers(len(shared), size=again.sum())]
    turned = rng.random(n_answers) < 0.5
    shown[turned] = shown[turned][:, [0, 2, 1]]
    people = rng.permutation(np.repeat(np.arange(n_people), per_person))
    care = slope * rng.lognormal(sigma=0.3, size=n_people)[people]
    bias = rng.normal(scale=0.15, size=n_people)[people]
    anchor, left, right = (points[shown[:, column]] for column in range(3))
    margin = ((anchor - right) ** 2).sum(axis=1) - ((anchor - left) ** 2).sum(axis=1)
    lapses = np.broadcast_to(lapse, n_people)[people]
    chance_left = (1 - lapses) * expit(care * margin + bias) + lapses / 2
    places = (rng.random(n_answers) >= chance_left).astype(np.int64)
    speed = rng.normal(np.log(2.5), 0.3, size=n_people)[people]
    seconds = np.round(np.exp(rng.normal(speed, 0.45)) + 0.3, 3)
    names = np.array([f"p{number:02d}" for number in range(n_people)])[people]
    objects = np.array([f"thing {number}" for number in range(n_objects)]) if labels is None else np.array(labels)
    return Columns(shown, places, names, seconds, objects)
