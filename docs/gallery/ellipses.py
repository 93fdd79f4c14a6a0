"""Noisy answers and ellipses.

A map from few noisy answers could as well have come out a little differently. `PosteriorEmbedding` draws many maps,
each as likely as the answers make it, and an ellipse shows where each object lies in 95 of 100 of them. Two objects
whose ellipses overlap a lot should not be said to be in different places.

The last object, drawn in red, was asked about only ten times. Its ellipse is large: the map itself says what it does
not know. More answers about that object would help more than any other.
"""

import numpy as np

from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import PosteriorEmbedding
from nearer.plotting import plot_map, save_figure
from nearer.sampling import NUTS

points = make_gaussian(20, 2, random_state=3)
answers = sample_triplets(points, 900, flipped=0.1, random_state=0)  # one in ten is wrong
about_last = (answers.rows == 19).any(axis=1)
answers = answers[np.flatnonzero(~about_last | (np.cumsum(about_last) <= 10))]

# Fewer draws than the default, to be quick.
model = PosteriorEmbedding(2, solver=NUTS(n_chains=2, n_warmup=200, n_draws=400), random_state=0).fit(answers)

sizes = np.sqrt(np.linalg.det(model.covariances_))
print(f"area of the last ellipse: {sizes[-1] / np.median(sizes):.1f} times the usual one")
colors = ["#3d6a8a"] * 19 + ["#b5403a"]
ellipses = model.ellipses(0.95)
save_figure(plot_map(model.embedding_, range(20), colors, ellipses=ellipses), "ellipses.png")
