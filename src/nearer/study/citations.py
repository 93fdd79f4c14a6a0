"""What to cite, for each method."""

from __future__ import annotations

from typing import Any

_WORKS = {
    "DMOE": (
        "Ma, K., Xu, Q., Yang, Z. and Cao, X. (2019). Less but better: generalization enhancement of ordinal embedding "
        "via distributional margin. Proceedings of the AAAI Conference on Artificial Intelligence 33.",
        "10.48550/arXiv.1812.01939",
    ),
    "GNMDS": (
        "Agarwal, S., Wills, J., Cayton, L., Lanckriet, G., Kriegman, D. and Belongie, S. (2007). Generalized "
        "non-metric multidimensional scaling. Proceedings of AISTATS, 11-18.",
        None,
    ),
    "STE": (
        "van der Maaten, L. and Weinberger, K. (2012). Stochastic triplet embedding. IEEE International Workshop on "
        "Machine Learning for Signal Processing.",
        "10.1109/MLSP.2012.6349720",
    ),
    "CKL": (
        "Tamuz, O., Liu, C., Belongie, S., Shamir, O. and Kalai, A. T. (2011). Adaptively learning the crowd kernel. "
        "Proceedings of ICML, 673-680.",
        None,
    ),
    "SOE": (
        "Terada, Y. and von Luxburg, U. (2014). Local ordinal embedding. Proceedings of ICML, 847-855.",
        None,
    ),
    "MVTE": (
        "Amid, E. and Ukkonen, A. (2015). Multiview triplet embedding: learning attributes in multiple maps. "
        "Proceedings of ICML.",
        None,
    ),
    "NonmetricMDS": (
        "Kruskal, J. B. (1964). Nonmetric multidimensional scaling: a numerical method. Psychometrika 29.",
        "10.1007/BF02289694",
    ),
    "SPE": ("Shaw, B. and Jebara, T. (2009). Structure preserving embedding. Proceedings of ICML.", None),
}
_WORKS["TSTE"], _WORKS["LOE"] = _WORKS["STE"], _WORKS["SOE"]


def citations(method: str, version: str) -> list[dict[str, Any]]:
    """Return what a paper that shows a map should cite: the program, and the method's source where it has one.

    Examples
    --------
    >>> [work["text"][:20] for work in citations("CKL", "0.1.0")]
    ['The nearer developer', 'Tamuz, O., Liu, C., ']
    """
    program = f"The nearer developers. nearer: ordinal embedding from similarity judgments, version {version}."
    works = [(program, None), *([_WORKS[method]] if method in _WORKS else [])]
    return [{"text": text, "doi": doi} for text, doi in works]
