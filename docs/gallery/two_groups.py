"""Two groups of people.

Do experts hear instruments as others do? `compare_groups` makes a map of each group and lays both onto each other.
Whether they differ at all is a score test over people, whose signs are flipped at random, thousands of times. Which
objects lie elsewhere is tested for all of them together, so that a red arrow is hardly ever luck alone.

For these simulated experts eight of 24 instruments lie elsewhere, and all are found. The cello is not among
the eight: comparisons only say where an object lies relative to others, and the double bass and the bassoon beside it
did move. The program does the same: `nearer compare answers.csv --by group -o out`.
"""

from dataclasses import replace

from nearer import Comparisons
from nearer.comparing import compare_groups
from nearer.datasets import draw_questions, load_example, simulate_answers
from nearer.datasets.lab_files import lab_positions
from nearer.plotting import new_figure, plot_arrows, save_figure

names = load_example().objects
parts = []
for seed, (group, points) in enumerate(lab_positions().items()):
    questions = draw_questions(24, 2000, random_state=seed)
    said = simulate_answers(points, questions, slope=2, lapses=0.1, people=20, random_state=seed)
    parts.append(replace(said, annotators=[f"{group}, {person}" for person in said.annotators], objects=names))
judgments = Comparisons.concatenate(parts)
groups = [person.split(",")[0] for person in judgments.annotators]

found = compare_groups(judgments, groups, n_components=2, random_state=0)
print(found)

novices, experts = (found.maps[found.groups.index(group)] for group in ("novice", "expert"))
ax = new_figure(6.4, 5.6, constrained=False).add_axes((0.02, 0.08, 0.96, 0.9))
plot_arrows(novices, experts, found.objects, found.pairs[0].is_displaced(), ax, names=("novices", "experts"))
save_figure(ax, "two_groups.png")
