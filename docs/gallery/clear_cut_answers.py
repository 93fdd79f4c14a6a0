"""Clear-cut answers and close calls.

Shepard's diagram for comparisons. Where a map has both distances alike, people can only guess; the more they differ,
the more answers agree. Dots are the share of them with an interval, the line is what the model expects, and bars are
how many answers there are.

These people do not look at one question in five. `STE` expects everybody to get the clear ones right, and its line
leaves the dots. `PosteriorEmbedding` learns how often people lapse. Both are judged by answers that were held out.
"""

from nearer.datasets import draw_questions, make_gaussian, simulate_answers
from nearer.embedding import STE, PosteriorEmbedding
from nearer.plotting import new_figure, plot_shepard, save_figure
from nearer.sampling import Microcanonical

points = make_gaussian(20, 2, variance=1, random_state=0)
questions = draw_questions(20, 3000, random_state=0)
train, test = simulate_answers(points, questions, slope=3, lapses=0.2, random_state=0).split(0.6, random_state=0)

few_draws = Microcanonical(2, n_warmup=300, n_steps=1000)  # to be quick
figure = new_figure(9, 3.8)
for number, model in enumerate([STE(2, random_state=0), PosteriorEmbedding(2, solver=few_draws, random_state=0)], 1):
    name = type(model).__name__
    model.fit(train)
    print(f"{name}: {model.score(test):.3f} of the held-out answers agree")
    ax = plot_shepard(model, test, figure.add_subplot(1, 2, number), by="difference", n_bins=9)
    ax.set_title(name, fontsize=11)
save_figure(ax, "clear_cut_answers.png")
