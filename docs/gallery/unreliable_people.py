"""Weighing unreliable people.

In most studies some people click at random. `annotator_reliability` judges each person by a map fitted without their
answers: who is right about as often as a coin has an error near 0.5. `reliability_weights` turns these errors into
weights: people at chance count nothing, careful ones count most.

Of twelve people here, four guess half of the time and two always. Judge the weighted map by answers without weights, or
by new ones, as is done here: the held-out error under the weights would flatter it.
"""

import numpy as np

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import STE
from nearer.evaluation import annotator_reliability, comparison_error, reliability_weights
from nearer.plotting import PALETTE, despine, new_figure, save_figure

points = make_gaussian(25, 2, random_state=0)
wrong = [0.05] * 6 + [0.25] * 4 + [0.5] * 2
parts = []
for person, share in enumerate(wrong):
    rows = sample_triplets(points, 80, flipped=share, random_state=person).rows
    parts.append(Comparisons.from_triplets(rows, annotators=[f"p{person:02}"] * 80, n_objects=25))
answers = Comparisons.concatenate(parts)

method = STE(n_components=2, trace=0.03, random_state=0)
found = annotator_reliability(method, answers, n_groups=12, random_state=0)
weights = reliability_weights(found, answers)

truth = sample_triplets(points)  # all questions, answered rightly
for name, weight in [("all alike", None), ("weighted", weights)]:
    error = comparison_error(truth, method.fit(answers, sample_weight=weight).embedding_)
    print(f"{name}: error of the map {error:.3f}")

ax = despine(new_figure(6.4, 3.6).add_subplot())
whiskers = np.abs(np.array([found.lows, found.highs]) - found.errors)
ax.errorbar(found.names.tolist(), found.errors, whiskers, fmt="o", color=PALETTE["GNMDS"], capsize=3)
ax.axhline(0.5, linestyle=":", color="#9a9a9a")
ax.set(ylabel="error against the map of the others", ylim=(0, None))
save_figure(ax, "unreliable_people.png")
