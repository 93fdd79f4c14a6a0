from .cluster import ComparisonsOnCluster as ComparisonsOnCluster
from .comparisons import Comparisons as Comparisons
from .conversions import comparisons_from_distances as comparisons_from_distances
from .conversions import comparisons_from_graph as comparisons_from_graph
from .conversions import count_triplets as count_triplets
from .conversions import graph_from_embedding as graph_from_embedding
from .features import Features as Features
from .streamed import ComparisonsFile as ComparisonsFile
