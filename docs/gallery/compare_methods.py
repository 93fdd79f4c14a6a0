"""Comparing methods honestly.

Three rules make a comparison fair. Every method is judged by answers it has not seen. Rows of one answer stay on one
side of the split, or a method is rewarded for copying; `WholeKFold` sees to that. And differences are looked at next to
the scatter between splits: a smaller mean alone is no result.

Here 600 noisy answers about 30 objects leave the methods close together. The dashed line is the share of wrong answers,
which no method gets below except by luck.
"""

import numpy as np
from sklearn.model_selection import cross_val_score

from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL, DMOE, GNMDS, SOE, STE, TSTE
from nearer.evaluation import WholeKFold
from nearer.plotting import plot_errors, save_figure

points = make_gaussian(30, 2, random_state=0)
answers = sample_triplets(points, 600, flipped=0.1, random_state=0)

methods = {
    "DMOE": DMOE(),
    "GNMDS": GNMDS(trace=0.03),
    "SOE": SOE(trace=0.01),
    "STE": STE(trace=0.03),
    "TSTE": TSTE(trace=0.03),
    "CKL": CKL(trace=0.03),
}
folds = WholeKFold(5, random_state=0)  # the same folds for all
errors = {name: 1 - cross_val_score(method, answers, cv=folds) for name, method in methods.items()}
for name, found in errors.items():
    print(f"{name:6} {found.mean():.3f} +- {found.std() / np.sqrt(len(found)):.3f}")
save_figure(plot_errors(errors, limit=0.1), "compare_methods.png")
