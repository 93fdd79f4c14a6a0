"""A map brought up to date: fitted anew with the answers that came later, or with new objects placed on it.

**Update.** A stored model has its comparisons, with people, trials and weights; they are joined with the new ones, and
the run is repeated with the same settings. The new map is rotated, and reflected, onto the old one, which changes no
distance, so that readers find every object where it was. How far objects have moved is measured once the new map is
also scaled onto the old one, in units of its typical (root mean square) distance between two objects.

**Placement.** The objects of the run stay where they are, with their ellipses, and all figures of the run are still
those of the map before. Where a new object may lie is found by placing it again by answers with random weights (the
Bayesian bootstrap, as in `nearer.evaluation`), a weight for each trial, while the others are held fixed,

    C_new = mean over resamples of (x* - x) (x* - x)^T  +  mean over the objects of the run of C_i.

The second part is the uncertainty of the objects that it is placed by: a new object is known no better than they are.
With fewer than ten trials an object gets the spread of the whole map. A `PosteriorEmbedding` has draws of new objects
given each of its maps, and needs none of this.
"""

from __future__ import annotations

import copy
import shutil
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from nearer._common.arrays import FloatArray
from nearer._common.formatting import percent, pluralize
from nearer._common.json_files import plain_values
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons
from nearer.data.groups import trial_indices
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.storage import save_model
from nearer.evaluation.held_out import judge, read_judged
from nearer.evaluation.uncertainty import mean_squares
from nearer.geometry import align, rotation
from nearer.io import Answers, Catches, Kind, ReadingReport
from nearer.io.answers import LeftOut
from nearer.io.labels import match_labels
from nearer.study.figures import draw_placed
from nearer.study.folder import LOG, new_run, read_results, write_distances, write_map
from nearer.study.results import share_known
from nearer.study.settings import RunSettings

_SAID_TWICE, _SAID_BY_OTHERS = 0.05, 0.5  # shares of comparisons that may well be there by chance
_FEWEST = 3  # objects on both maps that one can be laid onto the other by


@dataclass(frozen=True, eq=False)
class Earlier:
    """A map that was made before: its model, its results, and where it lies.

    Attributes
    ----------
    model : estimator
        Fitted.
    results : dict
    folder : Path
    """

    model: OrdinalEmbedding
    results: Mapping[str, Any]
    folder: Path

    @property
    def settings(self) -> RunSettings:
        """The settings of its run."""
        run = (self.results["settings"] or {}).get("run") or {}
        known = {each.name for each in fields(RunSettings)}
        if not run or not set(run) <= known or "method" not in run:
            raise ValueError(f"{self.folder} does not say how its map was made; make it again with `nearer fit`")
        if run.get("weigh_annotators"):
            raise ValueError(
                f"the answers of {self.folder} are stored as people were weighed, which further answers may change; "
                "fit all files at once: nearer fit OLD NEW --weigh-annotators"
            )
        return RunSettings(**run)

    @property
    def lots(self) -> list[dict[str, Any]]:
        """What is known of the answers that it was made from, a lot for each time that some were added."""
        source, placed = self.results["source"] or {}, self.results["placed"] or {}
        lots = list(source.get("lots") or [])
        if not lots:
            own = {"file": source.get("file") or "answers", "sha256": source.get("sha256")}
            lots = [own | {"n_answers": source.get("n_answers"), "command": self.results["command"]}]
        if placed:
            command = "; ".join(placed.get("commands") or []) or None
            lots.append({"file": "objects placed later", "n_answers": placed.get("n_answers"), "command": command})
        return [{key: value for key, value in lot.items() if value is not None} for lot in lots]


def joined(earlier: Earlier, new: Answers) -> tuple[Answers, tuple[str, ...]]:
    """Return the answers of an earlier map and new ones, and what is to be said of that.

    Trials of the two are never one trial; a person of the same name is one person. Response times, confidences and
    places on the screen are not stored with a map, so that nothing is said of them here.
    """
    if not isinstance(earlier.model.comparisons_, Comparisons):
        raise ValueError(f"the answers of {earlier.folder} are not stored with it; fit all files at once")
    old, added = earlier.model.comparisons_, match_labels(new.comparisons, earlier.model.objects_, new.paths)
    notes = []
    if old.annotators is not None and added.annotators is None:
        raise ValueError(
            f"{earlier.folder} knows who answered, and {new.source} does not say; name the column with --columns "
            "annotator=NAME"
        )
    if old.annotators is None and added.annotators is not None:
        notes.append(
            f"{earlier.folder} does not know who answered, so that nobody is told apart in {new.source} either"
        )
        added = replace(added, annotators=None)
    notes += _without_rules(earlier, new)
    before, after = _numbered(old), new.trial_of
    numbers = np.concatenate([before, after + before.max() + 1])
    trials = numbers if old.trials is not None or added.trials is not None else None
    bare = [
        replace(each, trials=None, annotators=None if each.annotators is None else _texts(each.annotators))
        for each in (old, added)
    ]
    comparisons = replace(Comparisons.concatenate(bare), trials=trials)
    known, most = _known(added.reindex(comparisons.objects), old)
    if known > most:
        same = "answers of the same people" if comparisons.annotators is not None else "comparisons"
        notes.append(
            f"{percent(known)} of the {same} in {new.source} are in {earlier.folder} already; if they were not asked "
            "twice, these count double now"
        )
    return _answers(earlier, new, comparisons, numbers), tuple(notes)


def _without_rules(earlier: Earlier, new: Answers) -> list[str]:
    """Return a note on rules that left rows out of the earlier answers and were not said again; people are others."""
    people = ("person", *new.report.columns.get("annotator", ()))
    again = {left._replace(n_rows=0) for left in new.report.left_out}
    rules = dict.fromkeys(left._replace(n_rows=0) for left in _left_out(earlier))
    missing = [rule.where for rule in rules if rule not in again and rule.column not in people]
    if not missing:
        return []
    return [
        f"{earlier.folder} was made without rows where {', '.join(missing[:5])}; nothing of the kind was left out of "
        f"{new.source}. If it has such rows, say the same --keep, --exclude, --where or --catch again"
    ]


def _left_out(earlier: Earlier) -> list[LeftOut]:
    """Return what was left out of the earlier answers."""
    source = earlier.results["source"] or {}
    return [
        LeftOut(each["n_rows"], each["column"], each["sign"], tuple(each["values"]))
        for each in source.get("left_out") or []
    ]


def _known(added: Comparisons, old: Comparisons) -> tuple[float, float]:
    """Return the share of comparisons that are there already, of the same person if that is known; and the usual one.

    Of few objects, other people say the same of the same questions all the time.
    """
    if old.annotators is None or added.annotators is None:
        return share_known(added, old), _SAID_BY_OTHERS
    asked = zip(_texts(old.annotators).tolist(), old.reindex(added.objects).oriented.tolist(), strict=True)
    there = {(person, *row) for person, row in asked}
    rows = zip(_texts(added.annotators).tolist(), added.oriented.tolist(), strict=True)
    return float(np.mean([(person, *row) in there for person, row in rows])), _SAID_TWICE


def _numbered(comparisons: Comparisons) -> NDArray[np.intp]:
    return np.arange(len(comparisons)) if comparisons.trials is None else trial_indices(comparisons)


def _texts(labels: NDArray[Any]) -> NDArray[np.str_]:
    """Return who answered as text: a file writes 7 where another has a number."""
    return np.array([str(label) for label in labels.tolist()])


def _answers(earlier: Earlier, new: Answers, comparisons: Comparisons, numbers: NDArray[np.intp]) -> Answers:
    """Return the joined comparisons as answers, with what was left out of either lot."""
    _, first, answer_of = np.unique(numbers, return_index=True, return_inverse=True)
    source = earlier.results["source"] or {}
    kind: Kind = (
        new.kind if source.get("kind") == new.kind else ("triplet" if comparisons.is_triplets else "quadruplet")
    )
    of_new = new.report
    return Answers(
        comparisons=comparisons,
        answer_of=answer_of,
        kind=new.kind if source.get("kind") == new.kind else kind,
        source=f"{source.get('file') or earlier.folder.name}, then {new.source}",
        lines=np.arange(1, len(first) + 1),
        annotators=None if comparisons.annotators is None else comparisons.annotators[first],
        report=ReadingReport(
            findings=of_new.findings,
            bad_rows=of_new.bad_rows,
            n_bad=(source.get("n_bad") or 0) + of_new.n_bad,
            n_undecided=(source.get("n_undecided") or 0) + of_new.n_undecided,
            left_out=(*_left_out(earlier), *of_new.left_out),
            catches=_catches(source.get("catches"), of_new.catches),
        ),
    )


def _catches(old: Mapping[str, Any] | None, new: Catches | None) -> Catches | None:
    """Return how people did on the catch questions of either lot."""
    if not old:
        return new
    lots = [Catches(old.get("column", ""), old.get("by", "expected"), old["people"], old["n_asked"], old["n_right"])]
    lots += [new] if new is not None else []
    counts: dict[str, list[int]] = {}
    for lot in lots:
        for person, asked, right in zip(lot.people, lot.n_asked, lot.n_right, strict=True):
            total = counts.setdefault(person, [0, 0])
            total[0], total[1] = total[0] + asked, total[1] + right
    n_asked, n_right = (tuple(each[at] for each in counts.values()) for at in (0, 1))
    return Catches(lots[-1].column, lots[-1].by, tuple(counts), n_asked, n_right)


def about_lots(earlier: Earlier, lot: Mapping[str, Any], n_files: int) -> dict[str, Any]:
    """Return what the results say of answers that came in several lots."""
    lots = [*earlier.lots, dict(lot)]
    lines = sorted(f"{each['file']} {each.get('sha256', '')}\n" for each in lots)
    n_answers = [each.get("n_answers") for each in lots]
    source = earlier.results["source"] or {}
    known = {"n_answers": sum(number or 0 for number in n_answers)} if None not in n_answers else {}
    return {
        "file": ", then ".join(each["file"] for each in lots),
        "sha256": sha256("".join(lines).encode()).hexdigest(),
        "source": {"lots": lots, "n_files": (source.get("n_files") or 1) + n_files, **known},
    }


def turned_onto(model: OrdinalEmbedding, earlier: OrdinalEmbedding) -> OrdinalEmbedding:
    """Return a model whose map is turned such that the objects on both lie where they were, as well as that can be."""
    mine, theirs = _shared(model, earlier)
    if len(mine) < _FEWEST:
        return model
    points, onto = model.embedding_[mine], earlier.embedding_[theirs]
    wide = np.zeros_like(points)  # axes that one of the two lacks are beside the others
    p = min(points.shape[1], onto.shape[1])
    wide[:, :p] = (onto - onto.mean(axis=0))[:, :p]
    return model.turned(rotation(points - points.mean(axis=0), wide)[0])


def moved(model: OrdinalEmbedding, earlier: OrdinalEmbedding) -> dict[str, float]:
    """Return how far each object on both maps has moved, in typical distances between two of them; most first."""
    mine, theirs = _shared(model, earlier)
    if len(mine) < _FEWEST or model.embedding_.shape[1] != earlier.embedding_.shape[1]:
        return {}
    onto = earlier.embedding_[theirs]
    typical = float(np.sqrt(2 * onto.var(axis=0).sum()))
    if typical == 0:
        return {}
    away: FloatArray = np.linalg.norm(align(model.embedding_[mine], onto) - onto, axis=1) / typical
    order = np.argsort(-away, kind="stable")
    return {str(model.objects_[mine[at]]): float(away[at]) for at in order}


def _shared(model: OrdinalEmbedding, earlier: OrdinalEmbedding) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the positions on both maps of the objects that are on both."""
    place = {label: at for at, label in enumerate(earlier.objects_.tolist())}
    both = [(at, place[label]) for at, label in enumerate(model.objects_.tolist()) if label in place]
    mine, theirs = np.array(both, dtype=np.intp).reshape(-1, 2).T
    return mine, theirs


def error_on_new(earlier: OrdinalEmbedding, new: Answers) -> float | None:
    """Return the error of the map before on new answers, as far as they are about its objects; None if none are."""
    comparisons = match_labels(new.comparisons, earlier.objects_, new.paths)
    known = np.isin(comparisons.objects, earlier.objects_)
    rows = known[comparisons.rows].all(axis=1)
    if not rows.any():
        return None
    judged = read_judged(comparisons[rows].reindex(earlier.objects_))
    wrong, _ = judge(earlier, judged)
    return float(np.average(wrong, weights=judged.sample_weight))


_N_RESAMPLES = 50
_FEWEST_TRIALS = 10


@dataclass(frozen=True, eq=False)
class Placed:
    """Objects that were placed on a map.

    Attributes
    ----------
    objects : list of str
    points : ndarray, shape (k, p)
    covariances : ndarray, shape (k, p, p), or None
        None where the run has none.
    n_answers : int
        Answers that mention one of them.
    n_unsure : int
        How many of them have too few answers to know where they lie.
    """

    objects: list[str]
    points: FloatArray
    covariances: FloatArray | None
    n_answers: int
    n_unsure: int = 0


def results_for(model: OrdinalEmbedding, folder: Path) -> dict[str, Any]:
    """Return the results in a folder, if they are those of the model in it."""
    results = read_results(folder)
    if results["objects"] != [str(label) for label in model.objects_.tolist()]:
        raise ValueError(f"{folder}: model and results are about different objects; run `nearer fit` again")
    return results


def place_objects(
    model: OrdinalEmbedding, answers: Answers, covariances: FloatArray | None, *, random_state: RandomState = None
) -> Placed:
    """Place the objects that a model lacks on its map, and find out where else they may lie.

    Parameters
    ----------
    model : fitted estimator
        Gets the new objects.
    answers : Answers
        That compare them with those on the map.
    covariances : ndarray, shape (n, p, p), or None
        Of the objects on the map; without them the new ones get none.
    random_state : None, int, SeedSequence, Generator or RandomState
        For the weights.
    """
    before, untouched = model.n_objects_, copy.deepcopy(model)
    comparisons = match_labels(answers.comparisons, model.objects_, answers.paths)
    points = model.place(comparisons)
    labels = [str(label) for label in model.objects_[before:].tolist()]
    rows = comparisons.reindex(model.objects_).rows
    n_answers = len(np.unique(answers.answer_of[(rows >= before).any(axis=1)]))
    trials = answers.trial_of
    heard = np.array([len(np.unique(trials[(rows == new).any(axis=1)])) for new in range(before, model.n_objects_)])
    unsure = heard < _FEWEST_TRIALS
    n_unsure = int(unsure.sum())
    if covariances is None:
        return Placed(labels, points, None, n_answers, n_unsure)
    draws = model.map_draws(1, 0)
    if draws is not None:
        return Placed(labels, points, draws.covariances[before:], n_answers)
    rng = stream(random_state, "split")
    maps = np.array([_placed_again(untouched, comparisons, trials, rng) for _ in range(_N_RESAMPLES)])
    wide = mean_squares(maps - points) + covariances.mean(axis=0)
    wide[unsure] = np.cov(untouched.embedding_.T).reshape(points.shape[1], -1)
    return Placed(labels, points, wide, n_answers, n_unsure)


def _placed_again(
    model: OrdinalEmbedding, comparisons: Comparisons, trials: Any, rng: np.random.Generator
) -> FloatArray:
    """Return where new objects lie by answers with random weights, (k, p)."""
    drawn = rng.standard_exponential(int(trials.max()) + 1)
    weights = comparisons.sample_weight * (drawn / drawn.mean())[trials]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of maps that nobody sees
        return copy.deepcopy(model).place(replace(comparisons, weights=weights))


def write_placed(
    model: OrdinalEmbedding, results: dict[str, Any], new: Placed, folder: Path, command: str | None = None
) -> None:
    """Write a map that has got new objects, and the results of the old one brought up to date."""
    larger = {**results, **_larger(model, results, new, command)}
    with new_run(folder) as new_files:  # what shows the map without these objects goes
        save_model(model, new_files)
        write_map(model, larger, new_files)
        write_distances(model, new_files)
        draw_placed(larger, new_files)
        if (folder / LOG).is_file():
            shutil.copyfile(folder / LOG, new_files / LOG)


def _larger(model: OrdinalEmbedding, results: Mapping[str, Any], new: Placed, command: str | None) -> dict[str, Any]:
    """Return what is different in the results of the larger map."""
    before, number = len(results["objects"]), len(new.objects)
    earlier = results["placed"] or {}
    objects = [*earlier.get("objects", []), *new.objects]
    title = earlier.get("title", results["title"] or "Map")
    columns, old = (results["attributes"] or {}).items(), results["covariances"]
    both = None if old is None or new.covariances is None else [*old, *plain_values(new.covariances)]
    return {
        "title": f"{title}, with {pluralize(len(objects), 'object')} placed on it",
        "objects": [str(label) for label in model.objects_.tolist()],
        "embedding": plain_values(model.embedding_),
        "scree": plain_values(np.sort(model.embedding_.var(axis=0))[::-1]),
        "covariances": both,
        "attributes": {name: [*column, *[None] * number] for name, column in columns},
        "summary": {**(results["summary"] or {}), "n_objects": before + number},
        "notes": [*(results["notes"] or []), f"{pluralize(number, 'object')} placed on the map of {before}"],
        "placed": {
            "objects": objects,
            "n_answers": earlier.get("n_answers", 0) + new.n_answers,
            "n_unsure": earlier.get("n_unsure", 0) + new.n_unsure,
            "title": title,
            "commands": [*earlier.get("commands", []), *([command] if command else [])],
        },
    }
