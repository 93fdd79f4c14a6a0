"""The doctor on real answers: what it says of them is known to be so."""

import os
from pathlib import Path

import numpy as np
import pytest

from nearer import Comparisons
from nearer.checking import check, message_of
from nearer.io.answers import Answers


def load(name):
    folders = [os.environ.get("NEARER_DATA"), Path(__file__).parents[3] / "shared" / "data"]
    for folder in folders:
        if folder is not None and (path := Path(folder) / f"{name}.npz").exists():
            return np.load(path)
    pytest.skip(f"no real data: neither $NEARER_DATA nor ../shared/data holds {name}.npz")


def test_cars_have_people_who_took_most_central_for_least():
    data = load("cars")
    _, first, answer_of = np.unique(data["trial"], return_index=True, return_inverse=True)
    comparisons = Comparisons.from_triplets(data["triplets"], trials=answer_of, annotators=data["worker"])
    people = data["worker"][first]
    findings = check(
        Answers(comparisons, answer_of, "most-central", "cars", first + 2, annotators=people), random_state=0
    )
    assert findings.worst == "warning"
    named = next(finding for finding in findings if finding.code == "reversed")
    assert any(example.startswith("22: ") for example in message_of(named).examples)
    assert findings.counts["n_contradicted"] == comparisons.summary().n_contradicted


def test_music_has_artists_hardly_anybody_was_asked_about():
    data = load("music")
    comparisons = Comparisons.from_triplets(data["names"][data["triplets"]], objects=data["names"])
    numbers = np.arange(len(comparisons))
    findings = check(Answers(comparisons, numbers, "triplet", "music", numbers + 2), random_state=0)
    # 9000 answers about 400 artists do not fix the distances of a map in two dimensions, either.
    grave = [finding.code for finding in findings if finding.severity in ("error", "warning")]
    assert grave == ["undersampled-objects", "distances-differ"]
    assert message_of(findings[0]).examples[0] == "'aaron_carter': 1"
