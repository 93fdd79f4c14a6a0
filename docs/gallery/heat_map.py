"""All distances at once.

A map of two dimensions shows only what fits on a sheet. A heat map has the distance of every pair, dark where objects
are alike, however many dimensions people use. Beside it stands the tree that average linkage makes of the distances;
rows are in its order, so that groups of objects are dark squares along the diagonal.

These are colours on a map of three dimensions, which are painted on the diagonal.
"""

import numpy as np

from nearer.datasets import draw_questions, load_colors, simulate_answers
from nearer.embedding import STE
from nearer.plotting import Paper, plot_heatmap, save_paper

colors = load_colors()
names, lab, rgb = colors.names[::2], colors.lab[::2], colors.rgb[::2]
answers = simulate_answers(lab / 40, draw_questions(len(lab), 3000, random_state=0), slope=2, random_state=0)
model = STE(n_components=3, random_state=0).fit(answers)
print(f"{len(answers)} answers, and the distances of {len(lab) * (len(lab) - 1) // 2} pairs")

ax = plot_heatmap(model.embedding_, names, paper=Paper(width=110, font_size=6))
diagonal = np.zeros((len(names), len(names), 4))
for row, text in enumerate(ax.get_yticklabels()):
    diagonal[row, row] = [*rgb[names == text.get_text()][0], 1]
ax.imshow(diagonal, aspect="auto")
save_paper(ax, "heat_map.png", dpi=200)
