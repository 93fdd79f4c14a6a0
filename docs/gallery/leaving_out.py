"""Leaving out test runs and hasty clicks.

Raw files hold more than answers that count: the experimenter's test runs, people who gave up and clicked through,
a practice block. `read_answers` leaves rows out by what a column holds (`exclude`, `keep`) or by a rule (`where`), and
says how many it was for each. The program does the same: `nearer fit FILE --exclude person=TEST --where 'rt > 0.2'`.

A third of these answers are clicks at random within 0.2 seconds. The map on the right is made without them, and is
judged by the same true answers as the one on the left.
"""

import numpy as np

from nearer.datasets import load_colors, sample_triplets
from nearer.embedding import STE
from nearer.evaluation import comparison_error
from nearer.geometry import align
from nearer.io import read_answers
from nearer.plotting import new_figure, plot_map, save_figure

colors = load_colors()
rng = np.random.default_rng(0)
rows = sample_triplets(colors.lab / 50, 2400, logistic_slope=4.0, random_state=0).rows.copy()
hasty = rng.random(2400) < 0.33
rows[hasty] = np.where(rng.random((hasty.sum(), 1)) < 0.5, rows[hasty], rows[hasty][:, [0, 2, 1]])
table = dict(zip(["anchor", "near", "far"], colors.names[rows].T, strict=True))
table["rt"] = np.where(hasty, rng.uniform(0.05, 0.2, 2400), rng.lognormal(0.4, 0.4, 2400)).round(3)
table["person"] = np.where(np.arange(2400) < 100, "TEST", "p" + (np.arange(2400) % 12).astype(str).astype(object))

truth = sample_triplets(colors.lab, 4000, random_state=1)
figure = new_figure(10, 4.6)
rules = {"all rows": {}, "without test runs and hasty clicks": {"exclude": {"person": "TEST"}, "where": "rt > 0.2"}}
for number, (title, rule) in enumerate(rules.items(), start=1):
    answers = read_answers(table, **rule)
    print(title, *answers.report.left_out, sep="\n  ")
    model = STE(n_components=2, random_state=0).fit(answers.comparisons)
    places = dict(zip(model.objects_.tolist(), model.embedding_, strict=True))
    points = align([places[name] for name in colors.names], colors.lab[:, [1, 2]])  # both the same way up
    ax = plot_map(points, None, colors.rgb, ax=figure.add_subplot(1, 2, number))
    ax.set_title(f"{title}: error {comparison_error(truth, points):.3f}", fontsize=11)
save_figure(ax, "leaving_out.png")
