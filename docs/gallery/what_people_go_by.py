"""What people go by.

People may share a map, and still weigh its axes differently. Of these 12 people eight judge colours by their hue first,
from blue to yellow, and four by how light they are. `compare_people` fits one map with weights for each person, and
says whether that predicts held-out answers better. The axes need not be known: they are the directions in which people
differ, and are found along with the weights.

On the left the common map, on the right what its first axis counts for each person, with intervals. The program does
the same: `nearer compare answers.csv --people -o out`.
"""

import numpy as np

from nearer import Comparisons
from nearer.comparing import compare_people
from nearer.datasets import draw_questions, load_colors, simulate_answers
from nearer.plotting import new_figure, plot_map, plot_weights, save_figure

colors = load_colors()
chosen = np.arange(0, 68, 3)
points = colors.lab[chosen][:, [2, 0]] / 40  # from blue to yellow, and lightness
rng = np.random.default_rng(0)
parts = []
for person in range(12):
    leaning = rng.normal(-1.2 if person < 4 else 1.0, 0.15)
    stretched = points * np.exp([leaning / 4, -leaning / 4])  # distances are squared, and weights their factors
    questions = draw_questions(len(chosen), 150, random_state=person)
    said = simulate_answers(stretched, questions, slope=2, random_state=person)
    parts.append(Comparisons.from_triplets(said.rows, said.answers, annotators=[f"p{person + 1:02}"] * 150))

found = compare_people(Comparisons.concatenate(parts), n_splits=2, random_state=0)
print(found)

left, right = new_figure(10, 4.4).subplots(1, 2, width_ratios=(1.3, 1))
axes = [("axis 1", (1.0, 0.0)), ("axis 2", (0.0, 1.0))]
plot_map(found.model.embedding_, None, colors.rgb[chosen[found.model.objects_]], left, arrows=axes)
save_figure(plot_weights(found.model, ax=right), "what_people_go_by.png")
