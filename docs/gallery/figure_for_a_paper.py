"""A figure for a paper.

A journal wants 85 millimetres, letters of 7 points, and a file in which text is text. `Paper` says how large, and
`save_paper` writes it as PDF, SVG or PNG. Labels lie on no other label and on no dot. Families have colours that the
colour-blind tell apart and a shape each, so that the figure can be read in black and white.

The program does the same without a line of code: `nearer figure MAP --attributes attributes.csv --color-by family
--shape-by family -o map.pdf`.
"""

from nearer.datasets import load_example
from nearer.embedding import PosteriorEmbedding
from nearer.plotting import Paper, plot_map, save_paper
from nearer.sampling import Microcanonical

study = load_example()
family = ("family", study.attributes["family"])
# Fewer draws than the default, to be quick.
model = PosteriorEmbedding(2, solver=Microcanonical(2, n_warmup=300, n_steps=1000), random_state=0)
model.fit(study.answers.comparisons)

ax = plot_map(
    model.embedding_,
    study.objects,
    color_by=family,
    shape_by=family,
    ellipses=model.ellipses(0.95),
    paper=Paper(width=85, font_size=7),
)
print(*save_paper(ax, "figure_for_a_paper.pdf", "figure_for_a_paper.png"))
