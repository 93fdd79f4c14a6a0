"""Attributes as arrows.

A map can be turned any way; only what is known about its objects can give its directions a meaning. `fit_properties`
looks for the direction in which an attribute grows. R2 says how much of it the map explains, and a p-value how often
chance explains as much; both are the same however the map is turned.

Nobody told this map how red or how yellow a colour is, and yet both grow along a direction of it. Lightness does so
less clearly, as most of it would take a third dimension: an arrow is as long as its R2 is large. The number of letters
in the name of a colour has no direction, and no arrow. The program does the same: `nearer axes MAP --attributes FILE`.
"""

from nearer.comparing import fit_properties
from nearer.datasets import draw_questions, load_colors, simulate_answers
from nearer.embedding import STE
from nearer.plotting import plot_properties, save_figure

colors = load_colors()
names, lab, rgb = colors.names[::2], colors.lab[::2], colors.rgb[::2]
answers = simulate_answers(lab / 40, draw_questions(len(lab), 1500, random_state=0), slope=2, random_state=0)
model = STE(n_components=2, random_state=0).fit(answers)

attributes = {
    "lightness": lab[:, 0],
    "green to red": lab[:, 1],
    "blue to yellow": lab[:, 2],
    "letters": [len(name) for name in names],
}
fits = fit_properties(model.embedding_, attributes, random_state=0)
print(fits)
shown = [fit for fit in fits if fit.p_holm < 0.05]
save_figure(plot_properties(model.embedding_, shown, colors=rgb), "attributes_as_arrows.png")
