"""Comparisons that stay where they are: in a file, or on the workers of a cluster.

The homes of these names are `nearer.data.file` and `nearer.data.cluster`.
"""

from nearer.data.cluster import ComparisonsOnCluster
from nearer.data.file import ComparisonsFile

__all__ = ["ComparisonsFile", "ComparisonsOnCluster"]
