"""A first map.

Nobody told the program what these colours look like. It only got answers to questions such as "is *coral* more like
*salmon* or more like *navy*?", and one answer in nine was wrong. `DMOE` places the colours so that as many answers as
possible come out right. The dots are painted afterwards: neighbours have similar colours, so the map makes sense.

Two errors are printed. Guessing has an error of 0.5. The true colours have one, too: that is the share of wrong
answers, and no method can be expected to get below it.
"""

from nearer.datasets import load_colors, sample_triplets
from nearer.embedding import DMOE
from nearer.evaluation import comparison_error
from nearer.plotting import plot_map, save_figure

colors = load_colors()
answers = sample_triplets(colors.lab / 50, 2000, logistic_slope=2.0, random_state=0)
train, test = answers.split(0.2, random_state=0)  # a fifth is kept to judge the map by

model = DMOE(n_components=2).fit(train)

print(f"error of the map on new answers: {comparison_error(test, model.embedding_):.3f}")
print(f"error of the true colours:       {comparison_error(test, colors.lab):.3f}")
save_figure(plot_map(model.embedding_, colors.names, colors.rgb), "first_map.png")
