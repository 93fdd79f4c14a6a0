"""Dimensions with a name.

What makes things alike? A map says how alike they are, and its axes mean nothing. `SPoSE` finds nonnegative dimensions
instead: an animal, made of metal, long and thin. Each thing has a weight on a few of them, and two things are alike as
far as they share dimensions. Two random halves of the trials show which dimensions are reproducible. Only these count,
and a person gives them names, after a look at the things with the largest weights.

Here sixty things are made up of five dimensions, and five thousand odd-one-out trials are drawn from them.
"""

from nearer.datasets import make_dimensions, sample_odd_one_out
from nearer.embedding import SPoSE
from nearer.geometry import match_dimensions
from nearer.plotting import Paper, plot_dimensions, save_figure

planted = make_dimensions(60, 5, scale=1, random_state=0)
model = SPoSE(random_state=0).fit(sample_odd_one_out(planted, 5000, random_state=0))
print("found again, by correlation:", match_dimensions(planted, model.embedding_).correlations.round(2))

things = [f"thing {number}" for number in range(60)]
names = ["alive", "made of metal", "long and thin", "food", "found at sea"]  # a person's, who has seen the things
notes = [f"reproducibility {value:.2f}" for value in model.reproducibility_]
ax = plot_dimensions(
    model.embedding_, things, names, notes=notes, intervals=model.weight_intervals_, paper=Paper(180, font_size=8)
)
save_figure(ax, "named_dimensions.png")
