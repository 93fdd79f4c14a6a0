"""What a run says that it is doing is what it does."""

import pytest

from nearer.datasets import make_gaussian, sample_triplets
from nearer.formats import read_answers
from nearer.runs import RunSettings, fit_study
from nearer.study.pipeline import _NAMES, _PARTS


@pytest.fixture
def answers(tmp_path):
    def write(people):
        rows = sample_triplets(make_gaussian(8, 2, random_state=0), 60, random_state=0).rows
        lines = [",".join([*map(str, row), f"p{k % 3}"][: 4 if people else 3]) for k, row in enumerate(rows)]
        (tmp_path / "answers.csv").write_text("\n".join(["anchor,near,far" + ",person" * people, *lines]))
        return read_answers(tmp_path / "answers.csv")

    return write


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("settings", [{"quick": True}, {"n_resamples": 0}, {"n_resamples": 10}])
def test_only_what_is_done_is_announced(answers, settings, people, monkeypatch):
    done, told = [], []
    for name in _PARTS:
        monkeypatch.setitem(_PARTS, name, lambda study, name=name: done.append(_NAMES[name]))
    fit_study(answers(people), RunSettings("STE", 2, **settings), tell=told.append)
    assert told == ["map", *done]
    assert done[:3] == ["held-out error", "noise ceiling", "findings"]
    assert ("ellipses" in done) == (settings.get("n_resamples", 100) > 0 and not settings.get("quick"))
    assert ("reliability of annotators" in done) == (people and not settings.get("quick"))
    assert ("learning curve" in done) == (not settings.get("quick"))
