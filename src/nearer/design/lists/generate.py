"""The next lists of a study, from the answers so far, and a summary of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nearer._common.formatting import decimals, format_interval, intcomma, pluralize, quote_all
from nearer._common.randomness import stream
from nearer.data.features import Features, described_objects
from nearer.data.groups import seen_objects
from nearer.design.active.errors import HeldOutError
from nearer.design.active.pool import form_of
from nearer.design.active.questions import Questions
from nearer.design.lists.inputs import ASKABLE_KINDS, answered_questions, check_names, read_allowed
from nearer.design.lists.lists import add_catch_trials, empty_lists, generate_catch_trials, make_lists
from nearer.design.lists.sheets import Trial
from nearer.design.mix import CATCH, INFORMATION, OTHER, PURPOSES, REPEAT, START, TEST, QuestionMix
from nearer.io.answers import Answers
from nearer.io.labels import match_labels

_PURPOSE_LABELS = {
    START: "to start with",
    INFORMATION: "chosen for information",
    TEST: "random",
    REPEAT: "repeated",
    CATCH: "catch trials",
}


@dataclass(frozen=True)
class StudyHistory:
    """Answers so far, with the purpose of each; without catch trials."""

    answers: Answers
    purposes: np.ndarray  # (a,): "other" if not known
    last_trial: int = 0  # the largest number of a trial in the file, or 0

    @classmethod
    def of(cls, answers: Answers, purpose: str | None, trial: str | None) -> StudyHistory:
        """Return answers without catch trials, by further columns with purposes and trials, if there are any."""
        given = [OTHER] * len(answers) if purpose is None else answers.also[purpose].tolist()
        purposes = np.array([each if each in (*PURPOSES, CATCH) else OTHER for each in given])
        numbers = [] if trial is None else [int(each) for each in answers.also[trial].tolist() if each.isdecimal()]
        kept = purposes != CATCH
        if not kept.any():
            raise ValueError(f"{answers.source}: all answers are to catch trials; there is nothing to learn from")
        if not kept.all():
            comparisons = (answers := answers[kept]).comparisons
            answers = replace(answers, comparisons=comparisons.reindex(comparisons.objects[seen_objects(comparisons)]))
        return cls(answers, purposes[kept], max(numbers, default=0))


@dataclass(frozen=True)
class ListRequest:
    """What is to be asked, of whom."""

    n_questions: int  # of each participant, without catch trials
    objects: Sequence[str] = ()  # in addition to those of the answers
    kind: str | None = None  # that of the answers, or triplets, if left out
    n_components: int | None = None
    participants: int | Sequence[str] | None = None  # how many, or their names; one list for anybody if left out
    mix: QuestionMix = field(default_factory=QuestionMix)
    catches: int | Answers | None = None  # catch trials of each list: how many, or which, with their right answers
    focus: Sequence[str] = ()  # objects whose distances from each other matter; or "neighbors"
    apart: Sequence[Sequence[str]] = ()
    allowed: Path | None = None  # file of the only questions that may be asked
    features: Sequence[Features] = ()  # whose objects are asked about, too, where none are listed
    seed: int = 0


@dataclass(frozen=True)
class GeneratedLists:
    """Lists, what they were generated from, and notes about them."""

    trials: list[Trial]
    questions: Questions
    history: StudyHistory | None
    new_objects: tuple[str, ...]
    notes: tuple[str, ...]
    error: HeldOutError | None = None  # so far, on random questions
    outlook: str | None = None  # what the answers to these questions would bring

    @property
    def kind(self) -> str:
        """How people are asked."""
        return self.questions.form.name

    @property
    def n_by_purpose(self) -> Counter[str]:
        """The number of trials of each purpose."""
        return Counter(each.purpose for each in self.trials)

    @property
    def participants(self) -> list[str]:
        """The names of those who get a list."""
        return list(dict.fromkeys(each.participant for each in self.trials if each.participant is not None))

    def to_dict(self, files: Sequence[Path]) -> dict[str, Any]:
        """Return all about the lists and their files in plain types, for JSON."""
        counts, error = self.n_by_purpose, self.error
        return {
            "files": [str(path) for path in files],
            "kind": self.kind,
            "n_objects": len(self.questions.objects_),
            "new_objects": list(self.new_objects),
            "n_answers": 0 if self.history is None else len(self.history.answers),
            "n_trials": len(self.trials),
            "participants": self.participants,
            "purposes": {purpose: counts[purpose] for purpose in _PURPOSE_LABELS},
            "error": None if error is None else float(error),
            "error_low": None if error is None else error.low,
            "error_high": None if error is None else error.high,
            "n_random_answers": 0 if error is None else error.n_answers,
            "outlook": self.outlook,
            "notes": list(self.notes),
        }


def generate_lists(
    request: ListRequest, history: StudyHistory | None, log_step: Callable[[str], None] = lambda step: None
) -> GeneratedLists:
    """Return the next lists of questions; without answers so far, those of a new study."""
    if history is not None and request.objects:  # labels are text or integers, as the further objects are
        comparisons = match_labels(history.answers.comparisons, np.array(list(request.objects)))
        history = replace(history, answers=replace(history.answers, comparisons=comparisons))
    old = [] if history is None else history.answers.comparisons.objects.tolist()
    listed = list(request.objects) or described_objects(request.features, old)
    new = [each for each in listed if each not in set(old)]
    kind, notes = _kind(request, history)
    questions = _questions(request, kind, [*old, *new])
    answered = [] if history is None else answered_questions(history.answers, history.purposes)
    lists = empty_lists(questions, request.n_questions, _participants(request, history), answered)
    if history is not None:
        log_step(f"learning from {pluralize(len(history.answers), 'answer')} about {pluralize(len(old), 'object')}")
        comparisons, answer_of = history.answers.comparisons, history.answers.answer_of
        if not np.allclose(np.bincount(answer_of, comparisons.sample_weight), 1):
            notes.append("weights of answers are not used to choose questions: each answer counts as one")
        counts = comparisons.sample_weight > 0
        unweighted = replace(comparisons, weights=None)[counts]
        questions.tell(unweighted, purposes=history.purposes[answer_of[counts]], learn=False)
        questions.update()
    rng = stream(request.seed, "questions").spawn(1)[0]
    if isinstance(request.catches, Answers):
        rows = answered_questions(request.catches)
        check_names([each for row in rows for each in row.shown], questions.objects_.tolist(), request.catches.source)
        add_catch_trials(questions, lists, rows)
    elif request.catches and history is None:
        raise ValueError(
            "catch trials are generated from answers: without any, no question is known to be obvious. "
            "Write some down with their right answers, and give the file with --catch-trials FILE"
        )
    elif request.catches:
        generate_catch_trials(questions, lists, request.catches, rng)
    first = 1 if history is None else history.last_trial + 1
    trials = make_lists(questions, lists, request.n_questions, request.mix, rng, answered, first)
    due = sum(counts[REPEAT] for counts in request.mix.counts_by_list(request.n_questions, len(lists)))
    if due and not any(each.purpose == REPEAT for each in trials):
        notes.append("there are no repeats: nobody else has been asked anything that could be repeated")
    return GeneratedLists(trials, questions, history, tuple(map(str, new)) if old else (), tuple(notes))


def with_forecast(lists: GeneratedLists, log_step: Callable[[str], None] = lambda step: None) -> GeneratedLists:
    """Return lists with the error so far, if random questions were answered, and their outlook: a fit."""
    if lists.history is None:
        return lists
    log_step("the error so far, and what these questions would bring")
    error = lists.questions.held_out_error() if (lists.history.purposes == TEST).any() else None
    n_more = sum(trial.purpose != CATCH for trial in lists.trials)
    return replace(lists, error=error, outlook=str(lists.questions.outlook(n_more)))


def _questions(request: ListRequest, kind: str, objects: Sequence[Any]) -> Questions:
    """Return questions about the objects, with all settings of the request checked."""
    if not objects:
        raise ValueError(
            "there are no objects to ask about; name them with --objects FILE, or give answers or features"
        )
    focus: Any = list(request.focus) or None
    if focus == ["neighbors"] and "neighbors" not in objects:  # of each object, whichever they are
        focus = "neighbors"
    else:
        check_names(request.focus, objects, "--focus")
    check_names([each for group in request.apart for each in group], objects, "--apart")
    allowed = None
    if request.allowed is not None:
        allowed = np.array(read_allowed(request.allowed, kind, form_of(kind).width))
        check_names([each for row in allowed.tolist() for each in row], objects, request.allowed.name)
    return Questions(
        objects,
        request.n_components,
        kind,
        allowed=allowed,
        apart=request.apart,
        focus=focus,
        test_share=0,
        repeat_share=0,
        features=list(request.features) or None,
        random_state=request.seed,
    )


def _kind(request: ListRequest, history: StudyHistory | None) -> tuple[str, list[str]]:
    """Return how people are asked, as requested or as they mostly were, and a note if that cannot be chosen."""
    kind = request.kind or ("triplet" if history is None else history.answers.kind)
    if kind == "grid":
        if history is None:
            raise ValueError("a grid needs its size: pass --kind '2 of 8' if two of eight are to be chosen")
        known = [each for each in answered_questions(history.answers) if each.named]
        sizes = Counter(f"{len(each.named)} of {len(each.shown) - 1}" for each in known)
        return max(sizes, key=sizes.__getitem__, default="2 of 8"), []
    if kind in ASKABLE_KINDS or " of " in kind:
        return kind, []
    return "triplet", [f"questions of kind {kind!r} cannot be chosen; triplets are asked instead"]


def _participants(request: ListRequest, history: StudyHistory | None) -> Sequence[str]:
    """Return the names of those who get a list; new ones if only their number is given."""
    if request.participants is None:
        return ()
    if not isinstance(request.participants, int):
        repeated = [each for each, count in Counter(request.participants).items() if count > 1]
        if repeated:
            raise ValueError(f"participants are named twice: {quote_all(repeated, 10)}")
        return request.participants
    known = None if history is None else history.answers.annotators
    return new_names(request.participants, set() if known is None else {str(each) for each in known.tolist()})


def new_names(n: int, taken: Collection[str]) -> list[str]:
    """Return names for n participants that nobody else has."""
    digits = max(2, len(str(n + len(taken))))
    return [each for number in range(1, n + len(taken) + 1) if (each := f"p{number:0{digits}}") not in taken][:n]


def format_summary(lists: GeneratedLists, files: Sequence[Path]) -> str:
    """Return what was generated, for people."""
    lines = []
    if lists.error is not None:
        lines.append(
            f"error so far, on {pluralize(lists.error.n_answers, 'random question')}: {decimals(lists.error)} (95% "
            f"interval {format_interval(lists.error.low, lists.error.high)}); chance is 0.5"
        )
    if lists.outlook is not None:
        lines.append(lists.outlook)
    if lists.new_objects:
        lines.append(f"{pluralize(len(lists.new_objects), 'new object')}: {quote_all(lists.new_objects, 10)}")
    counts, n_lists = lists.n_by_purpose, max(len(lists.participants), 1)
    each = pluralize((len(lists.trials) - counts[CATCH]) // n_lists, "question")
    if counts[CATCH]:
        each += f" and {pluralize(counts[CATCH] // n_lists, 'catch trial')}"
    if lists.participants:
        each = f"{pluralize(n_lists, 'participant')}, {each}{' each' * (n_lists > 1)},"
    lines.append(f"{each} about {pluralize(len(lists.questions.objects_), 'object')} ({lists.kind})")
    parts = [f"{intcomma(counts[purpose])} {label}" for purpose, label in _PURPOSE_LABELS.items() if counts[purpose]]
    lines.append(f"of {pluralize(len(lists.trials), 'trial')}: {', '.join(parts)}")
    if counts[TEST]:
        harder = "chosen questions are harder than random ones, and an error over them is too large; "
        verb = "gives" if counts[TEST] == 1 else "give"
        lines.append(
            f"{harder if counts[INFORMATION] else ''}{pluralize(counts[TEST], 'random question')} {verb} an unbiased "
            "error: keep the column purpose with the answers"
        )
    else:
        lines.append("none of them is random: there will be no unbiased error (--test-share)")
    return "\n".join([*lines, f"written: {', '.join(map(str, files))}"])
