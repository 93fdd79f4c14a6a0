"""From pictures to a map, with 40 answers.

Thirty leaves, and forty answers to "which of two is more like a third?": too few for a map by themselves, as most
leaves come up only in four of them. But pictures say something beforehand. A small network turns each into a row of
numbers (`nearer features pictures -o features.csv` does the same), and the posterior learns from the answers how much
of what people see these numbers tell.

Answers are simulated: people here go by the number of lobes and by how deep they are, and err in one answer of ten.
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from PIL import Image, ImageDraw

from nearer.datasets import sample_triplets
from nearer.embedding import PosteriorEmbedding
from nearer.features import image_features
from nearer.geometry import align

rng = np.random.default_rng(0)
lobes, depths = rng.integers(2, 9, 30), rng.uniform(0.05, 0.55, 30)
folder = Path(tempfile.mkdtemp())
angles = np.linspace(0, 2 * np.pi, 400)
for number, (n_lobes, depth) in enumerate(zip(lobes, depths, strict=True)):
    radius = 180 * (1 - depth * (1 + np.cos(n_lobes * angles)) / 2)
    turned = angles + rng.uniform(0, 2 * np.pi)
    outline = np.column_stack([200 + radius * np.cos(turned), 200 + radius * np.sin(turned)])
    picture = Image.new("RGBA", (400, 400))  # transparent
    ImageDraw.Draw(picture).polygon([tuple(point) for point in outline], fill=(70, 120, 60, 255))
    picture.save(folder / f"leaf{number:02d}.png")

seen = np.column_stack([(lobes - lobes.mean()) / lobes.std(), (depths - depths.mean()) / depths.std()])
answers = sample_triplets(seen, 40, flipped=0.1, random_state=1)
new_answers = sample_triplets(seen, 2000, random_state=2)

features = image_features(folder).values  # in the order of the names, as the answers number the leaves
maps = {
    "40 answers": PosteriorEmbedding(2, random_state=0),
    "40 answers and the pictures": PosteriorEmbedding(2, features=features, random_state=0),
}
figure = Figure(figsize=(9, 4.6), layout="constrained")
for axes, (title, model) in zip(figure.subplots(1, 2), maps.items(), strict=True):
    error = 1 - model.fit(answers).score(new_answers)
    print(f"{title}: {error:.0%} of new answers wrong")
    places = align(model.embedding_, seen)
    axes.scatter(*places.T, alpha=0)
    for number, place in enumerate(places):
        leaf = Image.open(folder / f"leaf{number:02d}.png").resize((68, 68))
        axes.add_artist(AnnotationBbox(OffsetImage(leaf, zoom=0.5, alpha=0.85), place, frameon=False))
    axes.set_title(f"{title}: {error:.0%} wrong", fontsize=12)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.12)
    axes.axis("off")
print(f"share of the pictures: {model.feature_share_['features'].mean:.2f}")
figure.savefig("pictures_to_map.png", dpi=120)
