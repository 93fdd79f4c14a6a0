"""Large data.

A hundred thousand answers about two thousand objects are no reason to wait: the methods that move points take time in
proportion to the number of answers, and memory for little else. Rows that do not fit into memory come from files,
which `ComparisonsFile` reads a block at a time; `solver="svrg"` then needs few passes over them.

The curve shows how the error on new answers falls as answers come in, with three dimensions and no noise.
"""

from pathlib import Path

import numpy as np

from nearer import ComparisonsFile
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import SOE, STE
from nearer.plotting import PALETTE, despine, new_figure, save_figure

points = make_gaussian(2000, 3, random_state=0)
answers = sample_triplets(points, 120_000, random_state=0)
train, test = answers[np.arange(100_000)], answers[np.arange(100_000, 120_000)]

sizes = [6_000, 12_000, 25_000, 50_000, 100_000]
errors = [1 - SOE(3, random_state=0).fit(train[np.arange(size)]).score(test) for size in sizes]
print(f"SOE in memory, {sizes[-1]} answers: error {errors[-1]:.3f}")

Path("answers").mkdir(exist_ok=True)
for number, rows in enumerate(np.array_split(train.rows.astype(np.int32), 4)):
    np.save(f"answers/part-{number}.npy", rows)
streamed = STE(3, solver="svrg", random_state=0).fit(ComparisonsFile("answers"))  # or "answers/part-*.npy"
print(f"STE from four files: error {1 - streamed.score(test):.3f}")

ax = despine(new_figure(6, 3.6).add_subplot())
ax.plot(np.array(sizes) / 2000, errors, "o-", color=PALETTE["SOE"])
ax.set(xscale="log", xlabel="answers for each object", ylabel="error on new answers", ylim=(0, None))
ax.set_xticks(np.array(sizes) / 2000, [f"{size / 2000:g}" for size in sizes])
ax.minorticks_off()
save_figure(ax, "large_data.png")
