"""A study brought up to date: fitted anew with further answers, with new objects placed on its map, or rotated.

The new map is rotated, and reflected, onto the old one, which changes no distance, so that readers find every object
where it was; how far objects have moved is measured once it is also scaled. A placed object moves no other, and its
ellipse is that of placing it by answers with random weights (the Bayesian bootstrap, a weight a trial), plus the mean
of those of the objects that it is placed by: it is known no better than they are.
"""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from nearer._common.arrays import FloatArray
from nearer._common.formatting import decimals, percent, pluralize, quote, quote_all
from nearer._common.randomness import RandomState, stream
from nearer._common.results import Result
from nearer.data.comparisons import Comparisons
from nearer.data.features import Features
from nearer.data.groups import trial_indices
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.posterior_embedding import PosteriorEmbedding
from nearer.embedding.storage import load_model
from nearer.evaluation.distances import DISTANCES_FILE, SPREAD_FILE
from nearer.evaluation.held_out import evaluate, read_weighted
from nearer.evaluation.uncertainty import mean_squares
from nearer.geometry import align, rotation
from nearer.io import Answers, Catches, Kind, ReadingReport
from nearer.io.answers import LeftOut
from nearer.io.features import FeatureFile
from nearer.io.labels import match_labels
from nearer.study.figures import FIGURES, read_attributes
from nearer.study.folder import LOG, has_study, run_study, write_run
from nearer.study.results import CatchRecord, Lot, PlacedRecord, StudyResults, read_results
from nearer.study.settings import RunSettings
from nearer.study.study import Provenance, Study

# Shares of comparisons that may be in both sets by chance: of the same person, and of anybody.
_MAX_KNOWN_OF_PERSON, _MAX_KNOWN = 0.05, 0.5
_MIN_SHARED = 3  # objects on both maps by which one is rotated onto the other
_MAX_LISTED = 5
_N_RESAMPLES = 50
_MIN_TRIALS = 10  # of an object whose place is more than a guess
_SPREAD_COLUMN = re.compile(r"sd\d+")  # of embedding.csv, which holds no coordinates


@dataclass(frozen=True, eq=False)
class StoredStudy:
    """A study in a folder, with its fitted model."""

    model: OrdinalEmbedding
    results: StudyResults
    folder: Path

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the study in a folder, whose model and results must be about the same objects."""
        model, results = load_model(folder), read_results(folder)
        if results.dissimilarities is not None:
            raise ValueError(
                f"{folder} holds a map of dissimilarities; fit all files at once: nearer fit OLD NEW -o {folder}"
            )
        if list(results.objects) != [str(label) for label in model.objects_.tolist()]:
            raise ValueError(f"{folder}: model and results are about different objects; run `nearer fit` again")
        return cls(model, results, folder)

    @property
    def settings(self) -> RunSettings:
        """The settings of its run."""
        run = self.results.settings.run
        known = {each.name for each in fields(RunSettings)}
        if not run or not set(run) <= known or "method" not in run:
            raise ValueError(f"{self.folder} does not say how its map was made; make it again with `nearer fit`")
        if run.get("weigh_annotators"):
            raise ValueError(
                f"the answers of {self.folder} are stored as people were weighted, which further answers may change; "
                "fit all files at once: nearer fit OLD NEW --weigh-annotators"
            )
        stored = getattr(self.model, "features_", ())
        if run.get("features") and not stored:
            raise ValueError(
                f"the features of {self.folder} are not stored with its model; make it again with `nearer fit`"
            )
        return RunSettings(**{**run, "features": stored})

    @property
    def feature_files(self) -> tuple[FeatureFile, ...]:
        """The feature sets, and the files that they were read from."""
        files = {each.name: each for each in self.results.features or () if each.file is not None}
        return tuple(
            FeatureFile(each, files[each.name].file or "", files[each.name].sha256 or "")
            for each in getattr(self.model, "features_", ())
            if each.name in files
        )

    @property
    def lots(self) -> tuple[Lot, ...]:
        """The answers that it was made from, a lot for each time that some were added."""
        source, placed = self.results.source, self.results.placed
        own = Lot(source.file or "answers", source.sha256, source.n_answers, self.results.command)
        lots = source.lots or (own,)
        if placed is not None:
            command = "; ".join(placed.commands) or None
            lots += (Lot("objects placed later", n_answers=placed.n_answers, command=command),)
        return lots

    def refuse_again(self, lot: Provenance) -> None:
        """Refuse the very answers that the map was made from."""
        if any(each.sha256 == lot.sha256 for each in self.lots):
            raise ValueError(
                f"the map of {self.folder} was made from {lot.file}: its answers would count double; name the file "
                "of those that came later"
            )


@dataclass(frozen=True)
class Changes(Result):
    """What further answers have changed; errors are of held-out answers."""

    n_added: int
    new_objects: tuple[str, ...]
    error_before: float | None
    error_after: float | None
    error_of_old_map_on_new_answers: float | None  # as far as they are about its objects
    moved: dict[str, float]  # of objects on both maps, in typical distances between two of them; most first

    def summary(self) -> str:
        """Return the changes, a line each."""
        lines = [f"what the {pluralize(self.n_added, 'new answer')} changed:"]
        if self.error_of_old_map_on_new_answers is not None:
            of_old = decimals(self.error_of_old_map_on_new_answers)
            lines.append(f"  the map before predicted them with an error of {of_old}")
        if self.error_before is not None and self.error_after is not None:
            lines.append(f"  held-out error {decimals(self.error_before)} before, {decimals(self.error_after)} now")
        if self.new_objects:
            lines.append(f"  {pluralize(len(self.new_objects), 'new object')}: {quote_all(self.new_objects, 10)}")
        if self.moved:
            most = ", ".join(f"{quote(label)} {percent(away)}" for label, away in [*self.moved.items()][:_MAX_LISTED])
            lines.append(f"  moved most, in typical distances between two objects: {most}")
        return "\n".join(lines)


def update_study(
    earlier: StoredStudy,
    new: Answers,
    folder: Path,
    lot: Provenance | None = None,
    *,
    features: Sequence[FeatureFile] = (),
    despite_errors: bool = False,
    log_step: Callable[[str], None] = lambda step: None,
    log_note: Callable[[str], None] = lambda note: None,
) -> tuple[Study, Changes]:
    """Fit a map anew with further answers, rotate it onto the one before, and write the study.

    Arguments are those of `run_study`, with a stored study and the provenance ``lot`` of the new answers; ``log_note``
    is called with each remark on how the answers fit together. Features stay; rows of those given are added to sets of
    their names, and sets of other names to the rest. The folder of the earlier study is left as it was until
    the new one is complete.
    """
    files = updated_features(earlier.feature_files, features)
    sets = {each.name: each for each in earlier.settings.features} | {
        each.features.name: each.features for each in files
    }
    settings = replace(earlier.settings, features=tuple(sets.values()))
    lot = lot or Provenance(file=new.source)
    answers, notes = joined(earlier, new)
    for note in notes:
        log_note(note)
    study = run_study(
        answers,
        settings,
        folder,
        replace(_provenance(earlier, lot, len(new)), features=files),
        notes=(*notes, f"{len(new)} answers of {new.source} were added to those of {earlier.folder}"),
        despite_errors=despite_errors,
        keep_earlier=folder.resolve() == earlier.folder.resolve(),
        earlier=earlier.results,
        transform=lambda model: rotated_onto(model, earlier.model),
        log_step=log_step,
    )
    known, before = set(earlier.model.objects_.tolist()), earlier.results.error
    return study, Changes(
        n_added=len(new),
        new_objects=tuple(str(label) for label in study.model.objects_.tolist() if label not in known),
        error_before=None if before is None else before.held_out,
        error_after=None if study.error is None else study.error.error,
        error_of_old_map_on_new_answers=error_on_new(earlier.model, new),
        moved=displacements(study.model, earlier.model),
    )


def updated_features(before: Sequence[FeatureFile], new: Sequence[FeatureFile]) -> tuple[FeatureFile, ...]:
    """Return feature sets with rows that came later; where there is one set, they are of that, whatever their name."""
    found = {each.features.name: each for each in before}
    for each in new:
        name = next(iter(found)) if len(before) == len(new) == 1 else each.features.name
        old = found.get(name)
        if old is None:
            found[name] = each
            continue
        digest = sha256(f"{old.sha256} {each.sha256}".encode()).hexdigest()
        found[name] = FeatureFile(old.features.updated(each.features), f"{old.file}, then {each.file}", digest)
    return tuple(found.values())


def _provenance(earlier: StoredStudy, lot: Provenance, n_new: int) -> Provenance:
    """Return the provenance of answers that came in several lots."""
    results = earlier.results
    lots = (*earlier.lots, Lot(lot.file or "answers", lot.sha256, n_new, lot.command))
    lines = sorted(f"{each.file} {each.sha256 or ''}\n" for each in lots)
    n_answers = [each.n_answers for each in lots]
    return Provenance(
        title=(results.placed.title if results.placed is not None else None) or results.title or lot.title,
        file=", then ".join(each.file for each in lots),
        sha256=sha256("".join(lines).encode()).hexdigest(),
        n_files=(results.source.n_files or 1) + (lot.n_files or 1),
        n_answers=None if None in n_answers else sum(each or 0 for each in n_answers),
        lots=lots,
        command=lot.command,
        date=lot.date,
    )


def joined(earlier: StoredStudy, new: Answers) -> tuple[Answers, tuple[str, ...]]:
    """Return the answers of an earlier map and new ones, and remarks on them.

    Trials of the two are never one trial; a person of the same name is one person. Response times, confidences and
    places on the screen are not stored with a map, so that they are left out here.
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
            f"{earlier.folder} does not know who answered, so that people are not distinguished in {new.source} either"
        )
        added = replace(added, annotators=None)
    notes += _missing_rules(earlier, new)
    before = np.arange(len(old)) if old.trials is None else trial_indices(old)
    numbers = np.concatenate([before, new.trial_of + before.max() + 1])
    trials = numbers if old.trials is not None or added.trials is not None else None
    bare = [
        replace(each, trials=None, annotators=None if each.annotators is None else _texts(each.annotators))
        for each in (old, added)
    ]
    comparisons = replace(Comparisons.concatenate(bare), trials=trials)
    known, most = _share_repeated(added.reindex(comparisons.objects), old)
    if known > most:
        same = "answers of the same people" if comparisons.annotators is not None else "comparisons"
        notes.append(
            f"{percent(known)} of the {same} in {new.source} are in {earlier.folder} already; if they were not asked "
            "twice, these count double now"
        )
    return _answers(earlier, new, comparisons, numbers), tuple(notes)


def _missing_rules(earlier: StoredStudy, new: Answers) -> list[str]:
    """Return a note on rules that left rows out of the earlier answers alone; people are others."""
    people = ("person", *new.report.columns.get("annotator", ()))
    given = {left._replace(n_rows=0) for left in new.report.left_out}
    rules = dict.fromkeys(left._replace(n_rows=0) for left in _left_out(earlier))
    missing = [rule.where for rule in rules if rule not in given and rule.column not in people]
    if not missing:
        return []
    return [
        f"{earlier.folder} was made without rows where {', '.join(missing[:5])}; nothing of the kind was left out of "
        f"{new.source}. If it has such rows, give the same --keep, --exclude, --where or --catch again"
    ]


def _left_out(earlier: StoredStudy) -> list[LeftOut]:
    """Return what was left out of the earlier answers."""
    return [LeftOut(left.n_rows, left.column, left.sign, left.values) for left in earlier.results.source.left_out]


def share_known(judged: Comparisons, fitted: Comparisons) -> float:
    """Return the share of comparisons that are, as they were answered, among others over the same objects."""
    known = {row.tobytes() for row in np.ascontiguousarray(fitted.reindex(judged.objects).oriented, dtype=np.int64)}
    rows = np.ascontiguousarray(judged.oriented, dtype=np.int64)
    return float(np.mean([row.tobytes() in known for row in rows]))


def _share_repeated(added: Comparisons, old: Comparisons) -> tuple[float, float]:
    """Return the share of comparisons that are there already, of the same person if that is known; and the usual one.

    Of few objects, other people answer the same questions alike all the time.
    """
    if old.annotators is None or added.annotators is None:
        return share_known(added, old), _MAX_KNOWN
    asked = zip(_texts(old.annotators).tolist(), old.reindex(added.objects).oriented.tolist(), strict=True)
    there = {(person, *row) for person, row in asked}
    rows = zip(_texts(added.annotators).tolist(), added.oriented.tolist(), strict=True)
    return float(np.mean([(person, *row) in there for person, row in rows])), _MAX_KNOWN_OF_PERSON


def _texts(labels: NDArray[Any]) -> NDArray[np.str_]:
    """Return annotators as text: a file writes 7 where another has a number."""
    return np.array([str(label) for label in labels.tolist()])


def _answers(earlier: StoredStudy, new: Answers, comparisons: Comparisons, numbers: NDArray[np.intp]) -> Answers:
    """Return the joined comparisons as answers, with what was left out of either lot."""
    _, first, answer_of = np.unique(numbers, return_index=True, return_inverse=True)
    source, of_new = earlier.results.source, new.report
    mixed: Kind = "triplet" if comparisons.is_triplets else "quadruplet"
    return Answers(
        comparisons=comparisons,
        answer_of=answer_of,
        kind=new.kind if source.kind == new.kind else mixed,
        source=f"{source.file or earlier.folder.name}, then {new.source}",
        lines=np.arange(1, len(first) + 1),
        annotators=None if comparisons.annotators is None else comparisons.annotators[first],
        report=ReadingReport(
            findings=of_new.findings,
            bad_rows=of_new.bad_rows,
            n_bad=(source.n_bad or 0) + of_new.n_bad,
            n_undecided=(source.n_undecided or 0) + of_new.n_undecided,
            left_out=(*_left_out(earlier), *of_new.left_out),
            catches=_catches(source.catches, of_new.catches),
        ),
    )


def _catches(old: CatchRecord | None, new: Catches | None) -> Catches | None:
    """Return how people did on the catch questions of either lot."""
    if old is None:
        return new
    lots = [Catches(old.column, old.by, old.people, old.n_asked, old.n_right), *([] if new is None else [new])]
    counts: dict[str, list[int]] = {}
    for lot in lots:
        for person, asked, right in zip(lot.people, lot.n_asked, lot.n_right, strict=True):
            total = counts.setdefault(person, [0, 0])
            total[0], total[1] = total[0] + asked, total[1] + right
    n_asked, n_right = (tuple(each[at] for each in counts.values()) for at in (0, 1))
    return Catches(lots[-1].column, lots[-1].by, tuple(counts), n_asked, n_right)


def rotated_onto(model: OrdinalEmbedding, earlier: OrdinalEmbedding) -> OrdinalEmbedding:
    """Return a model whose map is rotated such that the objects on both lie where they were, as well as that can be."""
    mine, theirs = _shared(model, earlier)
    if len(mine) < _MIN_SHARED or not model._chosen._has_distances:
        return model
    points, onto = model.embedding_[mine], earlier.embedding_[theirs]
    padded = np.zeros_like(points)  # axes that one of the two lacks are orthogonal to the others
    p = min(points.shape[1], onto.shape[1])
    padded[:, :p] = (onto - onto.mean(axis=0))[:, :p]
    return model.rotated(rotation(points - points.mean(axis=0), padded)[0])


def displacements(model: OrdinalEmbedding, earlier: OrdinalEmbedding) -> dict[str, float]:
    """Return how far each object on both maps has moved, in typical distances between two of them; most first."""
    mine, theirs = _shared(model, earlier)
    if (
        not model._chosen._has_distances
        or len(mine) < _MIN_SHARED
        or model.embedding_.shape[1] != earlier.embedding_.shape[1]
    ):
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
    judged = read_weighted(comparisons[rows].reindex(earlier.objects_))
    wrong, _ = evaluate(earlier, judged)
    return float(np.average(wrong, weights=judged.sample_weight))


@dataclass(frozen=True, eq=False)
class Placed:
    """Objects that were placed on a map; covariances are None where the run has none."""

    objects: tuple[str, ...]
    points: FloatArray
    covariances: FloatArray | None
    n_answers: int  # that mention one of them
    n_unsure: int = 0  # how many have too few answers to know where they lie


def place_objects(
    model: OrdinalEmbedding,
    answers: Answers | None,
    covariances: FloatArray | None,
    *,
    features: Sequence[Features] = (),
    random_state: RandomState = None,
) -> Placed:
    """Place the objects that a model lacks on its map, and find out where else they may lie.

    The model gets them. Without covariances of the objects on the map the new ones get none.
    """
    before, untouched = model.n_objects_, copy.deepcopy(model)
    comparisons = None if answers is None else match_labels(answers.comparisons, model.objects_, answers.paths)
    points = _place_by_features(model, comparisons, features) if features else model.place(comparisons)
    labels = tuple(str(label) for label in model.objects_[before:].tolist())
    if answers is None or comparisons is None:
        draws = model._map_draws(1, 0)
        known = covariances is not None and draws is not None
        return Placed(labels, points, draws.covariances[before:] if known and draws else None, 0)
    rows = comparisons.reindex(model.objects_).rows
    n_answers = len(np.unique(answers.answer_of[(rows >= before).any(axis=1)]))
    trials = answers.trial_of
    n_trials = np.array([len(np.unique(trials[(rows == new).any(axis=1)])) for new in range(before, model.n_objects_)])
    unsure = n_trials < _MIN_TRIALS
    n_unsure = int(unsure.sum())
    if covariances is None:
        return Placed(labels, points, None, n_answers, n_unsure)
    draws = model._map_draws(1, 0)
    if draws is not None:
        return Placed(labels, points, draws.covariances[before:], n_answers)
    rng = stream(random_state, "split")
    maps = np.array([_placed_again(untouched, comparisons, trials, rng) for _ in range(_N_RESAMPLES)])
    wide = mean_squares(maps - points) + covariances.mean(axis=0)
    wide[unsure] = np.cov(untouched.embedding_.T).reshape(points.shape[1], -1)
    return Placed(labels, points, wide, n_answers, n_unsure)


def _place_by_features(
    model: OrdinalEmbedding, comparisons: Comparisons | None, features: Sequence[Features]
) -> FloatArray:
    """Place new objects by features, and answers if there are any; return their points."""
    if not isinstance(model, PosteriorEmbedding) or model.features is None:
        raise ValueError(
            "the map was made without features, so that they say nothing of where new objects lie on it; make it again "
            "with nearer fit --features, or place them by answers"
        )
    return model.place(comparisons, features=list(features))


def _placed_again(
    model: OrdinalEmbedding, comparisons: Comparisons, trials: Any, rng: np.random.Generator
) -> FloatArray:
    """Return where new objects lie by answers with random weights, (k, p)."""
    drawn = rng.standard_exponential(int(trials.max()) + 1)
    weights = comparisons.sample_weight * (drawn / drawn.mean())[trials]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of maps that nobody sees
        return copy.deepcopy(model).place(replace(comparisons, weights=weights))


def write_placed(stored: StoredStudy, new: Placed, folder: Path, command: str | None = None) -> None:
    """Write a map that has got new objects, with the results of the one before brought up to date."""
    results, number = stored.results, len(new.objects)
    earlier = results.placed or PlacedRecord(new.objects)
    placed = PlacedRecord(
        objects=new.objects if results.placed is None else (*earlier.objects, *new.objects),
        n_answers=(earlier.n_answers or 0) + new.n_answers,
        n_unsure=(earlier.n_unsure or 0) + new.n_unsure,
        title=earlier.title or results.title or "Map",
        commands=(*earlier.commands, *([command] if command else [])),
    )
    known = results.covariances is not None and new.covariances is not None
    larger = replace(
        results,
        title=f"{placed.title}, with {pluralize(len(placed.objects), 'object')} placed on it",
        objects=tuple(str(label) for label in stored.model.objects_.tolist()),
        embedding=stored.model.embedding_,
        scree=None if results.scree is None else tuple(np.sort(stored.model.embedding_.var(axis=0))[::-1].tolist()),
        covariances=np.concatenate([results.covariances, new.covariances]) if known else None,
        attributes={name: [*column, *[None] * number] for name, column in results.attributes.items()},
        counts=replace(results.counts, n_objects=len(results.objects) + number),
        notes=(*results.notes, f"{pluralize(number, 'object')} placed on the map of {len(results.objects)}"),
        placed=placed,
    )
    is_same = folder.resolve() == stored.folder.resolve()
    write_run(stored.model, larger, folder, {LOG: folder / LOG} if is_same else {})


def read_coordinates(path: Path, objects: Sequence[str]) -> FloatArray:
    """Return where objects lie on another map, (n, q), NaN for those that are not on it.

    The map is the folder of a study, or a CSV with a column of labels and a column of numbers for each axis.
    """
    if path.is_dir():
        other = read_results(path)
        row_of = {label: row for row, label in enumerate(other.objects)}
        if not any(label in row_of for label in objects):
            raise ValueError(f"the maps have no object in common; {path} has {quote_all(other.objects)}")
        nowhere = np.full(other.n_components, np.nan)
        return np.array([other.embedding[row_of[label]] if label in row_of else nowhere for label in objects])
    columns = {name: of for name, of in read_attributes(path, objects).items() if not _SPREAD_COLUMN.fullmatch(name)}
    words = [name for name, column in columns.items() if any(isinstance(cell, str) for cell in column)]
    if words or not columns:
        raise ValueError(f"{path} must have numbers beside the labels, an axis a column; {quote_all(words)} has words")
    places = np.array(list(columns.values()), dtype=np.float64).T
    places[np.isnan(places).any(axis=1)] = np.nan
    return places


def objects_on_both(places: FloatArray, seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which objects have a place on another map, too, or raise an error if they are too few."""
    both = seen & np.isfinite(places).all(axis=1)
    if both.sum() < 2:
        raise ValueError(f"the maps have {pluralize(int(both.sum()), 'object')} in common, and two are needed at least")
    return both


def rotate_study(stored: StoredStudy, axes: FloatArray, folder: Path, note: str) -> StoredStudy:
    """Write a copy of a study with its map rotated, ``embedding @ axes``, and a note on how, and return it."""
    if has_study(folder) and folder.resolve() == stored.folder.resolve():
        raise ValueError(f"{folder} has the map that is to be rotated; choose another folder with --out")
    rotated = rotated_results(stored.results, axes)
    new = StoredStudy(stored.model.rotated(axes), replace(rotated, notes=(*rotated.notes, note)), folder)
    unchanged = {name: stored.folder / name for name in (*FIGURES, DISTANCES_FILE, SPREAD_FILE) if name != "map.png"}
    log = (stored.folder / LOG).read_text(encoding="utf-8") if (stored.folder / LOG).is_file() else ""
    write_run(new.model, new.results, folder, unchanged, f"{log}rotated: {note}\n")
    return new


def rotated_results(results: StudyResults, axes: FloatArray) -> StudyResults:
    """Return the results of a rotated map."""
    points, covariances = results.embedding @ axes + 0.0, results.covariances
    if covariances is not None:
        covariances = axes.T @ covariances @ axes
        diagonal = np.arange(len(axes))
        covariances[:, diagonal, diagonal] = covariances[:, diagonal, diagonal].clip(min=0)  # but for rounding
    return replace(results, embedding=points, covariances=covariances, scree=tuple(points.var(axis=0).tolist()))
