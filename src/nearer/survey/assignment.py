"""Which condition and which list of questions a participant gets, and what is asked of them by it.

Conditions are assigned when people agree, by permuted blocks: a block has as many places of each condition as its share
says, and the next person gets one of those that are left, at random. The block is not stored but follows from how many
people there are of each condition: those who are done, and those who answered recently. A person who leaves therefore
gives the place back, and the next person gets it. The count and the assignment are in one transaction, in which no
other server admits anybody (``places`` of `nearer.survey.store.Writer.submit`).
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from sqlalchemy import Connection, exists, or_, select

from nearer._common.formatting import quote_all
from nearer.design.lists.inputs import check_names
from nearer.design.lists.sheets import Trial, read_sheet
from nearer.survey.stimuli import label_of
from nearer.survey.store import answers, people

if TYPE_CHECKING:
    from nearer.survey.study import Study

#: Lists of questions by name: that of the participant in the file, "" where it names none.
QuestionLists: TypeAlias = Mapping[str, Sequence[Trial]]

_LEFT_SECONDS = 1800.0  # without an answer, after which somebody who is not done has left


@dataclass(frozen=True)
class Plan:
    """What is asked of a participant after practice: the questions of a list, in order, and then others."""

    listed: tuple[Trial, ...]
    n_others: int


def read_lists(path: Path, kind: str, width: int, labels: Sequence[str]) -> QuestionLists:
    """Return the lists of questions in a file; ValueError says what is wrong with it."""
    if not path.is_file():
        raise ValueError(f"there is no file {path.name} in this folder; put it there")
    lists: dict[str, list[Trial]] = {}
    for trial in read_sheet(path, kind, width):
        shown, right = (tuple(map(label_of, each)) for each in (trial.shown, trial.right))
        check_names(shown, labels, path.name)
        name = label_of(trial.participant) if trial.participant else ""
        lists.setdefault(name, []).append(Trial(name, trial.number, shown, trial.purpose, right))
    if len(lists) > 1 and "" in lists:
        raise ValueError(f"{path.name}: some rows name no participant; name one in each, or in none")
    return lists


def draw_balanced(shares: Mapping[str, int], counts: Mapping[str, int], rng: np.random.Generator) -> str:
    """Return the group that the next person gets, by shares and by how many people there are in each group."""
    n_blocks = min(counts.get(name, 0) // share for name, share in shares.items())
    free = [max((n_blocks + 1) * share - counts.get(name, 0), 0) for name, share in shares.items()]
    return list(shares)[int(rng.choice(len(free), p=np.array(free) / sum(free)))]


def assign(connection: Connection, study: Study, rng: np.random.Generator) -> dict[str, str]:
    """Return the condition and the list of questions of somebody who agrees now, as the database has them."""
    conditions = {each.name: each.share for each in study.settings.conditions}
    if not conditions and not any(map(len, study.lists.values())):
        return {}
    recent = time.time() - _LEFT_SECONDS
    is_here = exists().where(answers.c.person == people.c.id, answers.c.received > recent)
    rows = connection.execute(
        select(people.c.condition, people.c.question_list)
        .where(people.c.consented.is_not(None), people.c.left_out.is_(False))
        .where(or_(people.c.completed.is_not(None), people.c.consented > recent, is_here))
    ).all()
    condition = draw_balanced(conditions, Counter(row.condition for row in rows), rng) if conditions else ""
    lists = dict.fromkeys(study.lists.get(condition, {}), 1)
    counts = Counter(row.question_list for row in rows if row.condition == condition)
    return {"condition": condition, "question_list": draw_balanced(lists, counts, rng) if lists else ""}


def plan_of(study: Study, condition: str, question_list: str, person: str) -> Plan:
    """Return what is asked of a participant, given by name: the order of their list is the same whenever asked for."""
    settings = study.settings
    listed = tuple(study.lists.get(condition, {}).get(question_list, ()))
    n_others = settings.per_person + study.mix.n_catch
    if not listed:
        return Plan((), n_others)
    if settings.list_order == "random":
        seed = int.from_bytes(hashlib.sha256(person.encode()).digest()[:8], "big")
        listed = tuple(listed[at] for at in np.random.default_rng(seed).permutation(len(listed)).tolist())
    return Plan(listed, 0 if settings.after_list == "end" else n_others)


def lost_conditions(connection: Connection, known: Sequence[str]) -> str:
    """Return an error that names the conditions people are in that are gone; "" if all are there."""
    found = connection.execute(select(people.c.condition).distinct()).scalars()
    gone = sorted({each for each in found if each} - set(known))
    return f"people are in the condition {quote_all(gone)}, which is gone; put it back into study.toml" if gone else ""
