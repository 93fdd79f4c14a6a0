"""A scale of greys.

How light do nine greys seem? Their order is known, from black to white; how far apart they seem is not. People are
asked whether the middle one of three greys is more like the darker or more like the lighter one. `MLDS` finds the scale
that makes these answers likeliest, with intervals from answers that are simulated on it.

The people here see lightness as the power 0.4 of the light, which is the dashed line. A scale that is straight would
lie on the dotted one: dark greys seem farther apart than light ones.
"""

import numpy as np

from nearer.embedding import MLDS
from nearer.plotting import FAINT, PALETTE, despine, new_figure, save_figure

light = np.linspace(0, 1, 9)
seen = light**0.4
rng = np.random.default_rng(0)
triads = np.sort([rng.choice(9, 3, replace=False) for _ in range(400)], axis=1)[:, [1, 0, 2]]
darker, lighter = (np.abs(seen[triads[:, 0]] - seen[triads[:, end]]) for end in (1, 2))
is_darker = lighter - darker + rng.normal(scale=0.15, size=400) > 0  # nobody sees alike twice

model = MLDS(random_state=0).fit(triads, is_darker)
found = model.intervals(n_resamples=200)
fits = model.goodness_of_fit(n_simulations=200)
print(f"noise of a judgment: {model.sigma_:.2f} of the way from black to white")
print(f"tests of fit: additivity p = {fits.additivity_p:.2f}, lapses p = {fits.lapse_p:.2f}")

ax = despine(new_figure(5.6, 4.2).add_subplot())
ax.plot(light, seen, "--", color=FAINT, label="how light they were seen")
ax.plot([0, 1], [0, 1], ":", color=FAINT)
whiskers = np.clip([model.scale_ - found.lower, found.upper - model.scale_], 0, None)
ax.errorbar(light, model.scale_, whiskers, fmt="o", color=PALETTE["DMOE"], capsize=3, label="scale, 95% intervals")
ax.set(xlabel="light", ylabel="how light it seems")
ax.legend(frameon=False, loc="lower right")
save_figure(ax, "scale_of_greys.png")
