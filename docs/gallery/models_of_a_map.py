"""A map beside its models.

What do people go by when they compare colours? Each idea is a *model*: a distance for every pair. `compare_matrices`
sets models beside the distances that people's answers have led to. Intervals over objects speak of other colours. The
grey band is the noise ceiling: as well as the true distances would do, judging by how noisy the answers are. A model
whose interval ends below it leaves something unexplained.

These answers were made from CIELAB distances, and so that model reaches the ceiling. The program does the same:
`nearer compare MAP --with model.csv`.
"""

from scipy.spatial.distance import pdist, squareform

from nearer.comparing import compare_matrices, full_posterior, matrix_noise
from nearer.datasets import draw_questions, load_colors, simulate_answers
from nearer.embedding import STE
from nearer.plotting import new_figure, plot_map, save_figure

colors = load_colors()
lab, rgb = colors.lab[::2], colors.rgb[::2]
answers = simulate_answers(lab / 40, draw_questions(len(lab), 1500, random_state=0), random_state=0)
people = STE(n_components=3, random_state=0).fit(answers)

ideas = {
    "CIELAB": lab,
    "red, green, blue": rgb,
    "hue alone": lab[:, 1:],
    "lightness alone": lab[:, :1],
}
models = {name: squareform(pdist(values)) for name, values in ideas.items()}
full = full_posterior(people, random_state=0)  # all dimensions, whatever a map shows
found = compare_matrices(full, models, noise=matrix_noise(full, random_state=0), random_state=0)
print(found)

left, right = new_figure(10, 3.4).subplots(1, 2, width_ratios=(1, 1.3))
plot_map(people.embedding_, None, rgb, left)
save_figure(found.plot(right), "models_of_a_map.png")
