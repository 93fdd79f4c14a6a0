"""Placing new objects.

The map is published, and then five more objects turn up. `place` puts them where a few answers about them say they
belong, and moves nothing else: figures that refer to the old map stay valid. `partial_fit` would go on and let all
objects move.

Grey dots are the map of 63 colours. The others were placed by 40 answers each.
"""

import numpy as np

from nearer import Comparisons
from nearer.datasets import load_colors, sample_triplets
from nearer.embedding import STE
from nearer.plotting import plot_map, save_figure

colors = load_colors()
names = colors.names
late = ["coral", "navy", "gold", "orchid", "teal"]
old = [name for name in names if name not in late]

rows = names[sample_triplets(colors.lab / 50, 40_000, logistic_slope=4.0, random_state=0).rows]
n_late = np.isin(rows, late).sum(axis=1)
model = STE(n_components=2, random_state=0).fit(Comparisons.from_triplets(rows[n_late == 0][:4000]))

about = [row for name in late for row in rows[(n_late == 1) & (rows == name).any(axis=1)][:40]]
placed = model.place(Comparisons.from_triplets(about))
print(f"{len(placed)} new objects; the map now has {model.n_objects_}")

where = {name: number for number, name in enumerate(names.tolist())}
order = [where[name] for name in model.objects_.tolist()]
shades = colors.rgb[order]
shades[: len(old)] = 0.85
labels = [name if name in late else "" for name in model.objects_.tolist()]
save_figure(plot_map(model.embedding_, labels, shades), "new_objects.png")
