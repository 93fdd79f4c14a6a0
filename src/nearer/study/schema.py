"""The results of a study, which `nearer.study` writes and `nearer.report` reads: what each key holds.

`FORMAT` grows with each change that a reader has to know of. Older formats are read too, see `nearer.study.checked`.

    format 2    methods are records of name and parameters; ``missing`` and ``interrupted`` say what is not there,
                ``regions`` what the ellipses are, and ``trend`` where the learning curve leads
    format 1    methods were told by their repr, what is not there by the notes alone, and the rest left to the report
"""

from __future__ import annotations

from nearer.study.schema_checks import (
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

_share, _amount, _number = number(0, 1), number(0), number()
_ends = {"low": _number, "high": _number}
_method = record({"name": string}, {"parameters": mapping_of(plain)})

#: What every key holds beside format and the two that are read as arrays, embedding and covariances.
SCHEMA: dict[str, Check] = {
    "title": maybe(string),
    "source": maybe(
        record(
            {},
            {"file": string, "sha256": string, "kind": string}
            | dict.fromkeys(("n_answers", "n_bad", "n_undecided"), whole()),
        )
    ),
    "summary": maybe(
        record({}, dict.fromkeys(("n_objects", "n_comparisons", "n_annotators", "n_trials", "n_unseen"), whole()))
    ),
    "objects": list_of(string, least=1),
    "attributes": maybe(mapping_of(list_of(scalar))),
    "scree": maybe(list_of(_amount)),
    "level": maybe(_share),
    "scales": maybe(list_of(_amount)),
    "regions": maybe(record({"kind": one_of("confidence", "credible")}, {"n_resamples": whole(), "unit": string})),
    "error": maybe(
        record(
            {},
            dict.fromkeys(("held_out", "map", "ceiling", "chance"), _share)
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
            {"candidates": list_of(whole(1), least=1), "errors": list_of(_share), "chosen": whole(1)},
            {"standard_errors": list_of(maybe(_amount)), "rule": string, "method": _method}
            | {"reliabilities": list_of(_share)},
        )
    ),
    "dimension_evidence": maybe(list_of(_share, least=1)),
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
                {"level": one_of("error", "warning", "note", "good"), "title": string, "text": string},
                {"code": string, "examples": list_of(string)},
            )
        )
    ),
    "settings": maybe(
        record(
            {},
            {
                "method": string,
                "parameters": mapping_of(plain),
                "chosen": both(mapping_of(plain), record({}, {"method": _method})),
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
    "citations": maybe(list_of(record({"text": string}, {"doi": string}))),
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
