"""Between graphs, dissimilarities and comparisons. The home of these names is `nearer.data.conversions`."""

from nearer.data.conversions import (
    comparisons_from_distances,
    comparisons_from_graph,
    count_triplets,
    graph_from_embedding,
)

__all__ = ["comparisons_from_distances", "comparisons_from_graph", "count_triplets", "graph_from_embedding"]
