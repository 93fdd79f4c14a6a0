"""The methods that make a map: their names, and what a paper that shows such a map should cite."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

_LATEX_ESCAPES = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\^{}"}
_LATEX_ESCAPES |= {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}"}


@dataclass(frozen=True)
class Work:
    """A work that can be cited; a name without a comma is that of a group.

    >>> work = Work("kruskal1964", ("Kruskal, J. B.",), "Nonmetric scaling", 1964, journal="Psychometrika", volume="29")
    >>> work.sentence
    'Kruskal, J. B. (1964). Nonmetric scaling. Psychometrika 29.'
    >>> print(work.bibtex)
    @article{kruskal1964,
      author = {Kruskal, J. B.},
      title = {Nonmetric scaling},
      journal = {Psychometrika},
      volume = {29},
      year = {1964}
    }
    """

    key: str
    authors: tuple[str, ...]
    title: str
    year: int | None = None
    journal: str = ""
    book: str = ""
    volume: str = ""
    pages: str = ""
    doi: str = ""
    note: str = ""

    @property
    def sentence(self) -> str:
        """The work as a list of references shows it, without its DOI."""
        *others, last = self.authors
        names = f"{', '.join(others)} and {last}" if others else last
        who = f"{names} ({self.year})." if self.year else f"{names}."
        what = ", ".join(filter(None, [self.title, self.note and self.note[0].lower() + self.note[1:]]))
        where = ", ".join(filter(None, [f"{self.journal or self.book} {self.volume}".strip(), self.pages]))
        return " ".join([who, f"{what}.", *([f"{where}."] if where else [])])

    @property
    def bibtex(self) -> str:
        """The work as an entry of a file for BibTeX, or for biber."""
        fields = {
            "author": " and ".join(
                _tex(name) if "," in name or name == "others" else f"{{{_tex(name)}}}" for name in self.authors
            ),
            "title": _title(self.title),
            "journal": _tex(self.journal),
            "booktitle": _tex(self.book),
            "volume": _tex(self.volume),
            "pages": _tex(self.pages).replace("-", "--"),
            "year": str(self.year or ""),
            "note": _tex(self.note),
            "doi": self.doi,
        }
        kind = "article" if self.journal else "inproceedings" if self.book else "misc"
        lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
        return f"@{kind}{{{self.key},\n" + ",\n".join(lines) + "\n}"


def _tex(text: str) -> str:
    return "".join(_LATEX_ESCAPES.get(character, character) for character in text)


def _title(text: str) -> str:
    r"""Return a title in which names keep their capitals, as styles make small letters of the others.

    >>> _title("Microcanonical Hamiltonian sampling: IEEE & others")
    'Microcanonical {Hamiltonian} sampling: {IEEE} \\& others'
    """
    first, *others = _tex(text).split(" ")
    return " ".join([first, *(re.sub(r"^\w*[A-Z]\w*", r"{\g<0>}", word) for word in others)])


class Method(NamedTuple):
    """A method: what a paper calls it, the work that introduced it, and others that it builds on."""

    title: str
    source: Work | None = None
    further: tuple[Work, ...] = ()


_ICML = "Proceedings of ICML"
_STE = Work(
    "vandermaaten2012stochastic", ("van der Maaten, L.", "Weinberger, K."), "Stochastic triplet embedding", 2012,
    book="IEEE International Workshop on Machine Learning for Signal Processing", doi="10.1109/MLSP.2012.6349720",
)  # fmt: skip
_SOE = Work(
    "terada2014local", ("Terada, Y.", "von Luxburg, U."), "Local ordinal embedding", 2014, book=_ICML, pages="847-855"
)
_CONVERGENCE = Work(
    "vehtari2021rank", ("Vehtari, A.", "Gelman, A.", "Simpson, D.", "Carpenter, B.", "Bürkner, P.-C."),
    "Rank-normalization, folding, and localization: an improved R-hat for assessing convergence of MCMC", 2021,
    journal="Bayesian Analysis", volume="16", pages="667-718", doi="10.1214/20-BA1221",
)  # fmt: skip
#: By the names of their classes, in the order in which the command line lists them.
METHODS = {
    "DMOE": Method(
        "distributional margin based ordinal embedding",
        Work(
            "ma2019less", ("Ma, K.", "Xu, Q.", "Yang, Z.", "Cao, X."),
            "Less but better: generalization enhancement of ordinal embedding via distributional margin", 2019,
            book="Proceedings of the AAAI Conference on Artificial Intelligence", volume="33",
            doi="10.48550/arXiv.1812.01939",
        ),
    ),
    "GNMDS": Method(
        "generalized non-metric multidimensional scaling",
        Work(
            "agarwal2007generalized",
            ("Agarwal, S.", "Wills, J.", "Cayton, L.", "Lanckriet, G.", "Kriegman, D.", "Belongie, S."),
            "Generalized non-metric multidimensional scaling", 2007, book="Proceedings of AISTATS", pages="11-18",
        ),
    ),
    "SOE": Method("soft ordinal embedding", _SOE),
    "STE": Method("stochastic triplet embedding", _STE),
    "TSTE": Method("t-distributed stochastic triplet embedding", _STE),
    "CKL": Method(
        "crowd kernel learning",
        Work(
            "tamuz2011adaptively", ("Tamuz, O.", "Liu, C.", "Belongie, S.", "Shamir, O.", "Kalai, A. T."),
            "Adaptively learning the crowd kernel", 2011, book=_ICML, pages="673-680",
        ),
    ),
    "MVTE": Method(
        "multi-view triplet embedding",
        Work(
            "amid2015multiview", ("Amid, E.", "Ukkonen, A."),
            "Multiview triplet embedding: learning attributes in multiple maps", 2015, book=_ICML,
        ),
    ),
    "NonmetricMDS": Method(
        "nonmetric multidimensional scaling",
        Work(
            "kruskal1964nonmetric", ("Kruskal, J. B.",), "Nonmetric multidimensional scaling: a numerical method", 1964,
            journal="Psychometrika", volume="29", doi="10.1007/BF02289694",
        ),
    ),
    "LOE": Method("local ordinal embedding", _SOE),
    "SPE": Method(
        "structure preserving embedding",
        Work("shaw2009structure", ("Shaw, B.", "Jebara, T."), "Structure preserving embedding", 2009, book=_ICML),
    ),
    "LORE": Method(
        "low-rank ordinal embedding",
        Work(
            "anand2026lore", ("Anand, V.", "others"),
            "LORE: jointly learning the intrinsic dimensionality and relative similarity structure from ordinal data",
            2026, book="International Conference on Learning Representations", doi="10.48550/arXiv.2602.04192",
        ),
    ),
    "FORTE": Method(
        "ordinal embedding by projected descent over Gram matrices",
        Work(
            "jain2016finite", ("Jain, L.", "Jamieson, K.", "Nowak, R."),
            "Finite sample prediction and recovery bounds for ordinal embedding", 2016,
            book="Advances in Neural Information Processing Systems", volume="29",
        ),
    ),
    "MLDS": Method(
        "maximum-likelihood difference scaling",
        Work(
            "maloney2003maximum", ("Maloney, L. T.", "Yang, J. N."), "Maximum likelihood difference scaling", 2003,
            journal="Journal of Vision", volume="3", pages="573-585", doi="10.1167/3.8.5",
        ),
    ),
    "SPoSE": Method(
        "sparse positive similarity embedding",
        Work(
            "zheng2019revealing", ("Zheng, C. Y.", "Pereira, F.", "Baker, C. I.", "Hebart, M. N."),
            "Revealing interpretable object representations from human behavior", 2019,
            book="International Conference on Learning Representations", doi="10.48550/arXiv.1901.02915",
        ),
        (
            Work(
                "hebart2020revealing", ("Hebart, M. N.", "Zheng, C. Y.", "Pereira, F.", "Baker, C. I."),
                "Revealing the multidimensional mental representations of natural objects underlying human similarity "
                "judgements", 2020, journal="Nature Human Behaviour", volume="4", pages="1173-1185",
                doi="10.1038/s41562-020-00951-3",
            ),
            Work(
                "muttenthaler2022vice",
                ("Muttenthaler, L.", "Zheng, C. Y.", "McClure, P.", "Vandermeulen, R. A.", "Hebart, M. N.",
                 "Pereira, F."),
                "VICE: variational interpretable concept embeddings", 2022,
                book="Advances in Neural Information Processing Systems", volume="35",
            ),
        ),
    ),
    "PosteriorEmbedding": Method(
        "draws from the posterior distribution of maps",
        Work(
            "robnik2023microcanonical", ("Robnik, J.", "De Luca, G. B.", "Silverstein, E.", "Seljak, U."),
            "Microcanonical Hamiltonian Monte Carlo", 2023, journal="Journal of Machine Learning Research", volume="24",
        ),
        (_CONVERGENCE,),
    ),
    "BestOf": Method("the best of several methods"),
}  # fmt: skip
_OTHER_NAMES = {"auto": "PosteriorEmbedding", "posterior": "PosteriorEmbedding", "best": "BestOf"}
#: Names on the command line -> classes of `nearer.embedding`.
METHOD_CLASSES = _OTHER_NAMES | {name: name for name in METHODS if name not in _OTHER_NAMES.values()}


def method_title(class_name: str) -> str:
    """Return a method as a paper names it: in words, and by its class."""
    return f"{METHODS[class_name].title} ({class_name})" if class_name in METHODS else class_name


def citations(method: str, version: str) -> list[dict[str, Any]]:
    """Return what a paper that shows a map should cite: the program, and the method's source where it has one."""
    known = METHODS.get(method)
    sources = () if known is None else (known.source, *known.further)
    program = Work(
        "nearer", ("The nearer developers",), "nearer: ordinal embedding from similarity judgments",
        note=f"Version {version}",
    )  # fmt: skip
    return [
        {"text": work.sentence, "doi": work.doi or None, "bibtex": work.bibtex}
        for work in (program, *sources)
        if work is not None
    ]
