"""Odd one out, in a table.

People see three things and say which is the odd one. Each such answer says two things at once: both others are nearer
to each other than to the odd one. `read_answers` takes a data frame (pandas, polars, pyarrow), a dict of columns or a
file, finds the columns by their names, and makes two comparisons of each answer. They share a trial, and weigh half
each, so that one answer counts once.

Here twelve words are judged. The answers are made up from what kind of thing each word names.
"""

import numpy as np

from nearer.embedding import CKL
from nearer.io import read_answers
from nearer.plotting import plot_map, save_figure

kinds = {"cat": (0.2, 0.1), "dog": (0.3, 0.4), "cow": (0.8, 0), "horse": (1.1, 0.3), "sparrow": (0.1, 1.7)}
kinds |= {"owl": (0.5, 1.5), "car": (2.1, 0), "bus": (2.5, 0.2), "train": (2.7, 0.6), "plane": (2, 1.7)}
kinds |= {"kite": (1.3, 1.8), "boat": (2.2, 0.8)}
words, places = list(kinds), np.array(list(kinds.values()))

rng = np.random.default_rng(0)
table: dict[str, list[str]] = {"item_1": [], "item_2": [], "item_3": [], "odd": [], "person": []}
for number in range(600):
    shown = rng.choice(12, 3, replace=False)
    seen = places[shown] + 0.2 * rng.normal(size=(3, 2))  # nobody sees alike twice
    from_others = [np.sum((seen - one) ** 2) for one in seen]
    for column, item in zip(table, [*shown, shown[np.argmax(from_others)]], strict=False):
        table[column].append(words[item])
    table["person"].append(f"p{number % 10}")

answers = read_answers(table)  # or a pandas or polars frame, or the name of a CSV file
print(answers.kind, "-", answers.comparisons)

model = CKL(n_components=2, random_state=0).fit(answers.comparisons)
save_figure(plot_map(model.embedding_, model.objects_), "odd_one_out.png")
