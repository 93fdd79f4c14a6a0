"""The results of a study, which `nearer.study` writes and `nearer.report` reads: what each key holds.

`FORMAT` grows with each change that a reader has to know of.

Results are files, and files get damaged and edited. All that a report is made of is looked at once, here, and trusted
from then on.
"""

from __future__ import annotations

import itertools
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nearer._common.arrays import FloatArray
from nearer._common.findings import SEVERITIES
from nearer._common.formatting import pluralize
from nearer.study.schema_checks import (
    HINT,
    LARGEST,
    Check,
    boolean,
    both,
    list_of,
    mapping_of,
    maybe,
    number,
    one_of,
    plain,
    record,
    scalar,
    string,
    whole,
)

FORMAT = 2
#: The code of the finding that the chains of a posterior disagree.
NOT_CONVERGED = "not-converged"
#: What of the summary of the comparisons is kept.
SUMMARY_COUNTS = (
    "n_objects", "n_comparisons", "n_annotators", "n_trials", "n_unseen", "n_triads", "n_possible_triads"
)  # fmt: skip

_share, _amount, _number = number(0, 1), number(0), number()
_ends = {"low": _number, "high": _number}
_method = record({"name": string}, {"parameters": mapping_of(plain)})

_catches = record(
    {"people": list_of(string), "n_asked": list_of(whole()), "n_right": list_of(whole())},
    {"column": string, "by": one_of("expected", "majority")},
)

_lot = record({"file": string}, {"sha256": string, "n_answers": whole(), "command": string})

#: What every key holds beside format and the two that are read as arrays, embedding and covariances.
SCHEMA: dict[str, Check] = {
    "title": maybe(string),
    "source": maybe(
        record(
            {},
            {"file": string, "sha256": string, "kind": string}
            | {
                "left_out": list_of(
                    record(
                        {
                            "n_rows": whole(),
                            "column": string,
                            "sign": string,
                            "values": list_of(string),
                            "where": string,
                        }
                    )
                )
            }
            | {"catches": _catches, "lots": list_of(_lot)}
            | dict.fromkeys(("n_answers", "n_bad", "n_undecided", "n_files"), whole()),
        )
    ),
    "summary": maybe(record({}, dict.fromkeys(SUMMARY_COUNTS, whole()))),
    "objects": list_of(string, least=1),
    "attributes": maybe(mapping_of(list_of(scalar))),
    "scree": maybe(list_of(_amount)),
    "level": maybe(_share),
    "scales": maybe(list_of(_amount)),
    "regions": maybe(
        record(
            {"kind": one_of("confidence", "credible")},
            {"n_resamples": whole(), "unit": string, "n_dimensions": whole(1)},
        )
    ),
    "error": maybe(
        record(
            {},
            dict.fromkeys(("held_out", "map", "ceiling", "ceiling_at_most", "chance"), _share)
            | dict.fromkeys(("low", "high", "map_low", "map_high", "ceiling_low", "ceiling_high"), _number)
            | {"n_folds": whole(), "unit": string},
        )
    ),
    "margins": maybe(
        record({"edges": list_of(_number), "counts": list_of(_amount, least=1)}, {"share_negative": _share})
    ),
    "learning_curve": maybe(
        list_of(record({"n_comparisons": _amount, "error": _share}, _ends | {"falls_by": _amount}))
    ),
    "trend": maybe(record({"kind": one_of("guessing", "unknown", "falls", "settled"), "sentence": string})),
    "dimension": maybe(
        record(
            {"candidates": list_of(whole(1), least=1), "errors": list_of(_share), "chosen": maybe(whole(1))},
            {"standard_errors": list_of(maybe(_amount)), "rule": string, "method": _method}
            | {"reliabilities": list_of(_share)},
        )
    ),
    "annotators": maybe(
        list_of(
            record(
                {"name": string},
                {"n_answers": whole(), "error": _share, "median_seconds": _amount, "flags": list_of(string)} | _ends,
            )
        )
    ),
    "findings": maybe(
        list_of(
            record(
                {"severity": one_of(*SEVERITIES), "title": string, "text": string},
                {
                    "code": string,
                    "examples": list_of(string),
                    "numbers": mapping_of(plain),
                    "concerned": list_of(plain),
                },
            )
        )
    ),
    "settings": maybe(
        record(
            {},
            {
                "method": string,
                "parameters": mapping_of(plain),
                "chosen": both(
                    mapping_of(plain), record({}, {"method": _method, "dimension_evidence": list_of(_share, least=1)})
                ),
                "run": record({}, {"n_resamples": whole(), "by": string, "weigh_annotators": boolean}),
                "weighed": boolean,
            },
        )
    ),
    "versions": maybe(mapping_of(scalar)),
    "seed": maybe(whole()),
    "command": maybe(string),
    "date": maybe(string),
    "seconds": maybe(_amount),
    "citations": maybe(list_of(record({"text": string}, {"doi": string, "bibtex": string}))),
    "notes": maybe(list_of(string)),
    "missing": maybe(list_of(string)),
    "interrupted": maybe(boolean),
    "ellipse_size": maybe(_amount),
    "reproducibility": maybe(
        record(
            {"reliability": _share},
            {
                "half": number(-1, 1),
                "low": _share,
                "high": _share,
                "n_splits": whole(1),
                "n_objects": whole(),
                "unit": string,
                "validity": _share,
            },
        )
    ),
    "placed": maybe(
        record(
            {"objects": list_of(string, least=1)},
            {"n_answers": whole(), "title": string, "commands": list_of(string), "n_unsure": whole()},
        )
    ),
}
#: All keys; each must be there, and most may be null.
KEYS = ("format", "embedding", "covariances", *SCHEMA)


def checked(results: Any) -> Mapping[str, Any]:
    """Return results as they are, or say what is wrong with them."""
    if not isinstance(results, Mapping):
        raise ValueError(f"the results must be a JSON object; got {type(results).__name__}{HINT}")
    if results.get("format") != FORMAT:
        raise ValueError(
            f"the results have the format {reprlib.repr(results.get('format'))}, and this version of nearer reads "
            f"format {FORMAT}{HINT}"
        )
    missing = [key for key in KEYS if key not in results]
    if missing:
        raise ValueError(f"the results lack {', '.join(missing)}{HINT}")
    for key, check in SCHEMA.items():
        check(results[key], key)
    _check_map(results)
    _check_charts(results)
    return results


def _check_map(results: Mapping[str, Any]) -> None:
    """Check that there is a place, and a value of each column, for each object."""
    n = len(results["objects"])
    p = _matrix(results["embedding"], "embedding", (n, None)).shape[1]
    if results["covariances"] is not None:
        variances = np.diagonal(_matrix(results["covariances"], "covariances", (n, p, p)), axis1=1, axis2=2)
        if variances.min() < 0:
            row = int(np.argwhere(variances < 0)[0, 0])
            raise ValueError(f"covariances: row {row} holds a variance below zero{HINT}")
        if len(results["scales"] or []) < min(p, 3):
            raise ValueError(f"scales must hold a number for each of 1, 2 and 3 dimensions shown{HINT}")
    for name, column in (results["attributes"] or {}).items():
        if len(column) != n:
            raise ValueError(
                f"attributes: the column {name!r} has {pluralize(len(column), 'value')} for {pluralize(n, 'object')}; "
                "give one for each"
            )
    if results["scree"] is not None:
        _check_length("scree", results["scree"], p)
    later = (results["placed"] or {}).get("objects") or []
    if later and (len(later) >= n or list(results["objects"][-len(later) :]) != list(later)):
        raise ValueError(f"placed.objects must be the last of the objects{HINT}")


def _check_charts(results: Mapping[str, Any]) -> None:
    """Check that lists which are drawn together are equally long."""
    margins, choice = results["margins"], results["dimension"]
    if margins is not None:
        _check_length("margins.edges", margins["edges"], len(margins["counts"]) + 1)
        if any(right < left for left, right in itertools.pairwise(margins["edges"])):
            raise ValueError(f"margins.edges must ascend{HINT}")
    if choice is not None:
        for name in ("errors", "standard_errors"):
            if choice.get(name) is not None:
                _check_length(f"dimension.{name}", choice[name], len(choice["candidates"]))


def _check_length(place: str, values: Sequence[Any], wanted: int) -> None:
    if len(values) != wanted:
        raise ValueError(f"{place} must hold {pluralize(wanted, 'number')}; got {len(values)}{HINT}")


def _matrix(values: Any, name: str, shape: tuple[int | None, ...]) -> FloatArray:
    """Return numbers of a given shape, None meaning at least one."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be rows of numbers of one length{HINT}") from None
    fits = array.ndim == len(shape) and all(
        have == want if want is not None else have >= 1 for have, want in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("p" if size is None else str(size) for size in shape)
        raise ValueError(f"{name} must have the shape ({wanted}); got {array.shape}, and objects go by rows{HINT}")
    finite = np.abs(array) <= LARGEST
    if not finite.all():
        row = int(np.argwhere(~finite)[0, 0])
        raise ValueError(f"{name}: row {row} holds a value that is not a finite number{HINT}")
    return array
