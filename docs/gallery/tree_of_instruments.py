"""A tree of instruments.

Not every question is about places. `ComparisonHC` makes a tree straight from the answers: the two groups that were
judged alike most often are joined first, then the next two, up to one tree of all. Cutting the tree gives clusters; how
many there are is found from the answers, too.

The 1909 answers are those of the example study, in which people named the odd one of three instruments.
"""

from nearer.datasets import load_example
from nearer.embedding.clustering import ComparisonHC
from nearer.plotting import plot_dendrogram, save_figure

study = load_example()
model = ComparisonHC(random_state=0).fit(study.answers.comparisons)

for cluster in range(model.n_clusters_):
    print(f"{cluster}: {', '.join(model.objects_[model.labels_ == cluster])}")
save_figure(plot_dendrogram(model), "tree_of_instruments.png")
