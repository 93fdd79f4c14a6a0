"""How many dimensions.

Each added dimension lets the map fit the answers at hand better, and at some point it fits their noise. What counts is
the error on answers that were held out. `choose_dimension` tries 1, 2, 3, ... dimensions by cross-validation, and takes
the smallest one that cannot be told apart from the best: the *one-standard-error rule*.

The truth here has three dimensions, and one answer in ten is wrong. So the error cannot fall below 0.1, and from three
dimensions on it stays where it is.
"""

from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL
from nearer.evaluation import choose_dimension
from nearer.plotting import PALETTE, despine, new_figure, save_figure

points = make_gaussian(30, 3, random_state=1)
answers = sample_triplets(points, 3000, flipped=0.1, random_state=0)

choice = choose_dimension(CKL(random_state=0), answers, (1, 2, 3, 4, 5), random_state=0)
print(choice)

ax = despine(new_figure(6, 3.6).add_subplot())
ax.errorbar(choice.candidates, choice.errors, choice.standard_errors, color=PALETTE["GNMDS"], marker="o", capsize=3)
ax.plot(choice.chosen, choice.errors[choice.candidates == choice.chosen], "o", color=PALETTE["DMOE"], markersize=9)
ax.axhline(0.1, linestyle=":", color="#9a9a9a")
ax.set(xlabel="dimensions of the map", ylabel="held-out error", xticks=choice.candidates, ylim=(0, None))
save_figure(ax, "how_many_dimensions.png")
