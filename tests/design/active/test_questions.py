"""Questions: ask and tell, the held-out error, files, and errors."""

import threading

import numpy as np
import pytest

from nearer import Comparisons
from nearer.datasets import make_gaussian
from nearer.design import Questions
from nearer.design.active import questions
from nearer.design.active.errors import held_out_probabilities
from nearer.design.active.posterior import update_posterior
from nearer.embedding import STE
from nearer.embedding.storage import load_model, save_model
from nearer.sampling.summaries import predictive_probability

POINTS = make_gaussian(10, 2, random_state=0)

pytestmark = pytest.mark.usefixtures("quick")


def answers_to(rows, rng, flipped=0.1, points=POINTS):
    """Return rows as (anchor, near, far), some of them wrong."""
    rows = np.asarray(rows)
    near, far = (((points[rows[:, 0]] - points[rows[:, place]]) ** 2).sum(axis=1) for place in (1, 2))
    right = (near < far) ^ (rng.random(len(rows)) < flipped)
    return np.where(right[:, None], rows, rows[:, [0, 2, 1]])


def ask_and_tell(asking, k, rng, annotator=None):
    asked = asking.ask(k, annotator)
    asking.tell(answers_to(asked, rng), annotator=annotator)
    return asked


def with_answers():
    """Return questions with 120 answers."""
    asking, rng = Questions(10, random_state=0, test_share=0.3), np.random.default_rng(0)
    for _ in range(4):
        ask_and_tell(asking, 30, rng)
        asking.update()
    return asking


@pytest.fixture
def active():
    return with_answers()


@pytest.fixture(scope="module")
def answered(quick):
    """Return questions that no test changes."""
    return with_answers()


def test_a_simulation_takes_ten_lines(answered):
    assert answered.comparisons_.rows.shape == (120, 3)
    assert answered.comparisons_.n_objects == 10
    purposes = answered.purposes_
    assert set(purposes) <= {"start", "information", "test", "repeat"}
    assert 36 <= (purposes == "test").sum() <= 50  # the first 30, and then as many as are due
    assert (purposes == "start").sum() <= 6 < 60 < (purposes == "information").sum()
    assert answered.model_.embedding_.shape == (10, 2)
    assert answered.model_ is answered.model_
    new = answers_to(answered.pool.draw(300, np.random.default_rng(5)), np.random.default_rng(6), flipped=0.0)
    assert answered.model_.score(new) > 0.75


def test_rows_come_with_their_purposes_and_labels(rng):
    asking = Questions(list("abcdefgh"), random_state=0)
    asked = asking.ask(7)
    assert len(asked) == len(asked.purposes) == len(asked.rows) == 7
    assert np.asarray(asked).shape == (7, 3)
    assert set(asked.rows.ravel().tolist()) <= set("abcdefgh")
    assert all(len(set(row.tolist())) == 3 for row in asked)


def test_no_annotator_gets_a_question_twice(rng):
    asking = Questions(5, random_state=0, test_share=0, repeat_share=0)
    first = asking.ask(30, annotator="ann")
    assert len(set(asking.form.keys(first.rows))) == 30
    with pytest.raises(ValueError, match="0 questions left to ask, not 1"):
        asking.ask(1, annotator="ann")
    asking.tell(answers_to(first, rng, points=POINTS[:5]), annotator="ann")
    asking.update()
    with pytest.raises(ValueError, match="0 questions left"):
        asking.ask(1, annotator="ann")
    assert set(asking.form.keys(asking.ask(30, annotator="bob").rows)) == set(asking.form.keys(first.rows))


def test_without_annotators_an_answered_question_may_come_again(rng):
    asking = Questions(5, random_state=0)
    asked = asking.ask(30)
    with pytest.raises(ValueError, match="ask for fewer"):
        asking.ask(1)
    asking.tell(answers_to(asked, rng, points=POINTS[:5]))
    assert len(asking.ask(30)) == 30


def test_each_allowed_question_is_asked_once(rng):
    allowed = [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 0]]
    asking = Questions(5, allowed=allowed, random_state=0)
    asked = asking.ask(4)
    assert set(asking.form.keys(asked.rows)) == {(0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 0, 4)}
    asking.tell(answers_to(asked, rng, points=POINTS[:5]))
    with pytest.raises(ValueError, match="0 questions left to ask, not 1"):
        asking.ask(1)


def test_objects_kept_apart_are_in_no_question_together(rng):
    asking = Questions(10, apart=[[0, 1, 2, 3]], random_state=0)
    for _ in range(3):
        asked = ask_and_tell(asking, 30, rng)
        assert (np.isin(asked.rows, [0, 1, 2, 3]).sum(axis=1) <= 1).all()
        asking.update()


def test_repeats_are_random_questions_of_others(rng):
    asking = Questions(10, test_share=0.4, repeat_share=0.3, random_state=0)
    assert "repeat" not in ask_and_tell(asking, 40, rng, annotator="ann").purposes
    asking.update()
    second = asking.ask(40, annotator="bob")
    again = [row for row, purpose in zip(second.rows, second.purposes, strict=True) if purpose == "repeat"]
    random = asking.comparisons_.rows[asking.purposes_ == "test"]
    assert 10 <= len(again) <= 24  # 0.3 of all 80, as far as there are any
    assert set(asking.form.keys(np.array(again))) <= set(asking.form.keys(random))


def test_new_objects_are_asked_about_at_once(active, rng):
    active.add(["new"])
    asked = active.ask(3)
    assert (asked.rows == "new").any(axis=1).sum() >= 1
    with pytest.raises(ValueError, match="different names"):
        active.add(["new"])


def test_a_batch_is_spread_and_its_chosen_questions_are_uncertain(active):
    """Spread over heads and over objects, and no question comes twice."""
    asked = active.ask(40)
    assert len(set(active.form.keys(asked.rows))) == 40
    assert np.bincount(asked.rows[:, 0]).max() <= 12
    assert len(np.unique(asked.rows)) == 10
    chosen = asked.rows[np.array(asked.purposes) == "information"]
    chances = active.model_.predict_proba(chosen)[:, 1]
    usual = active.model_.predict_proba(active.pool.draw(300, np.random.default_rng(1)))[:, 1]
    assert np.abs(chances - 0.5).mean() < np.abs(usual - 0.5).mean()


@pytest.mark.parametrize("focus", [[0, 1, 2, 3], "neighbors"])
def test_focus(focus, rng):
    asking = Questions(10, focus=focus, test_share=0, repeat_share=0, random_state=0)
    plain = Questions(10, test_share=0, repeat_share=0, random_state=0)
    for each in (asking, plain):
        for _ in range(2):
            ask_and_tell(each, 50, np.random.default_rng(3))
            each.update()
    rows, other = asking.ask(30).rows, plain.ask(30).rows
    if focus == "neighbors":
        distances = np.linalg.norm(POINTS[:, None] - POINTS, axis=2)
        size = lambda of: distances[of[:, [0, 0]], of[:, 1:]].mean()  # noqa: E731
        assert size(rows) < 1.1 * size(other)
    else:
        assert np.isin(rows, focus).mean() > np.isin(other, focus).mean()


@pytest.mark.parametrize("kind", ["odd-one-out", "most-central", "2 of 4"])
def test_other_forms(kind):
    asking = Questions(10, kind=kind, random_state=0)
    for _ in range(2):
        asked = asking.ask(15)
        named = [row[1:3].tolist() if kind == "2 of 4" else row[0] for row in asked.rows]
        asking.tell(asked.rows, named)
        asking.update()
    assert len(np.unique(asking.comparisons_.trials)) == 30
    assert len(asking.purposes_) == len(asking.comparisons_) == 30 * asking.form.rows.shape[1]
    assert len(asking.ask(5)) == 5


def test_answers_by_the_object_that_they_name():
    asking = Questions(list("abcd"), random_state=0)
    asking.tell([["a", "b", "c"], ["d", "b", "c"]], ["c", "b"])
    assert asking.comparisons_.objects[asking.comparisons_.rows].tolist() == [["a", "c", "b"], ["d", "b", "c"]]


def test_comparisons_from_elsewhere(rng):
    rows = answers_to(Questions(10, random_state=1).pool.draw(40, rng), rng)
    given = Comparisons.from_triplets(rows, annotators=["ann"] * 20 + ["bob"] * 20)
    asking = Questions(10, random_state=0)
    asking.tell(given, purposes=["test"] * 10 + ["other"] * 30)
    np.testing.assert_array_equal(asking.comparisons_.rows, rows)
    assert asking.held_out_error().n_answers == 10
    had = asking.form.keys(rows[:20])
    assert not set(had) & set(asking.form.keys(asking.ask(60, annotator="ann").rows))


def test_trials_from_elsewhere_stay_whole():
    given = Comparisons.from_quadruplets(
        [[1, 2, 1, 0], [4, 5, 4, 3], [1, 2, 2, 0], [4, 5, 5, 3]], trials=[7, 8, 7, 8], n_objects=6
    )
    asking = Questions(6, kind="odd-one-out", random_state=0)
    asking.tell(given, purposes=["test", "other", "test", "other"])
    assert asking.comparisons_.trials.tolist() == [0, 0, 1, 1]
    assert asking.purposes_.tolist() == ["test", "test", "other", "other"]
    assert asking._record.keys == [(0, 1, 2), (3, 4, 5)]


# The held-out error.


def test_the_held_out_error_is_that_of_random_questions(answered):
    error = answered.held_out_error()
    assert error.n_answers == (answered.purposes_ == "test").sum()
    assert error.low <= error <= error.high
    assert 0.0 <= float(error) < 0.5


def test_the_held_out_error_matches_refits_without_the_question(rng):
    """The chances that it goes by are those of fits that have not seen the question."""
    asking = Questions(8, random_state=0, test_share=0.4)
    points = POINTS[:8]
    for _ in range(2):
        asking.tell(answers_to(asking.ask(25), rng, 0.25, points))
        asking.update()
    comparisons = asking.comparisons_
    tests = np.flatnonzero(asking.purposes_ == "test")[:8]
    keys = np.array(asking.form.keys(comparisons.rows))
    refitted, seen = [], []
    for number in tests:
        others = (keys != keys[number]).any(axis=1)
        draws = update_posterior(comparisons[others], 2, seed=number).draws
        refitted.append(predictive_probability(draws, comparisons.rows[[number]])[0])
        seen.append(predictive_probability(asking.model_.draws_, comparisons.rows[[number]])[0])
    found = [each[0] for each in held_out_probabilities(asking.model_.draws_, asking._record, tests)]
    assert np.abs(np.subtract(found, refitted)).mean() < 0.5 * np.abs(np.subtract(seen, refitted)).mean() + 0.02
    assert np.mean(seen) > np.mean(found)


def test_shares_hold_and_what_comes_first_counts(rng):
    asking = Questions(10, test_share=0.2, repeat_share=0.1, random_state=0)
    for _ in range(8):
        ask_and_tell(asking, 20, rng)
        asking.update()
    purposes = asking.purposes_
    assert (purposes[:20] == "test").all()
    assert (purposes == "test").sum() == 32
    np.testing.assert_array_equal(asking.comparisons_.chosen, purposes == "information")
    assert (purposes == "repeat").sum() == 16


def test_without_random_questions_there_is_no_held_out_error(rng):
    asking = Questions(10, test_share=0, random_state=0)
    ask_and_tell(asking, 20, rng)
    with pytest.raises(ValueError, match="no answers to random questions"):
        asking.held_out_error()


def test_the_outlook_is_that_of_its_own_answers(answered):
    found = answered.outlook(60)
    assert (found.n_answers_now, found.n_answers_more) == (120, 60)
    assert found.error_then < found.error_now
    assert "60 more answers" in str(found)


# In the background.


def test_tell_returns_at_once_and_ask_works_while_learning(active, rng, monkeypatch):
    begun, asked_meanwhile, found = threading.Event(), threading.Event(), []

    def waits(*arguments, **settings):
        begun.set()
        found.append(asked_meanwhile.wait(60))
        return update_posterior(*arguments, **settings)

    monkeypatch.setattr(questions, "update_posterior", waits)
    ask_and_tell(active, 5, rng)
    assert begun.wait(60)
    assert len(active.ask(10)) == 10
    asked_meanwhile.set()
    active.update()
    assert found
    assert all(found)  # asking did not wait until learning gave up


def test_questions_go_on_when_learning_fails(active, rng, monkeypatch, caplog):
    def fails(*arguments, **settings):
        raise FloatingPointError("no map")

    monkeypatch.setattr(questions, "update_posterior", fails)
    ask_and_tell(active, 5, rng)
    active.update()
    assert len(active.ask(10)) == 10
    assert "no map" in caplog.text
    fresh = Questions(10, random_state=0)
    ask_and_tell(fresh, 20, rng)
    fresh.update()
    assert len(fresh.ask(10)) == 10
    assert len(fresh.comparisons_) == 20


# Files.


@pytest.mark.parametrize("write", [save_model, Questions.save])
def test_loaded_questions_continue_as_before(active, rng, tmp_path, write):
    active.ask(3, annotator="ann")
    write(active, tmp_path / "kept")
    again = Questions.load(tmp_path / "kept")
    again.update()
    np.testing.assert_array_equal(again.comparisons_.rows, active.comparisons_.rows)
    assert again.purposes_.tolist() == active.purposes_.tolist()
    assert list(again._record.open) == list(active._record.open)
    assert isinstance(load_model(tmp_path / "kept"), Questions)
    assert again._rng.random() == Questions.load(tmp_path / "kept")._rng.random() == active._rng.random()
    assert len(again.ask(10)) == 10


def test_all_settings_are_kept(tmp_path):
    asking = Questions(
        list("abcdefg"), None, "odd-one-out", apart=[["a", "b"]], focus=["c", "d", "e"], test_share=0.2, random_state=0
    )
    asking.save(tmp_path)
    again = Questions.load(tmp_path)
    assert again.pool.size == asking.pool.size
    assert again._focus.tolist() == [2, 3, 4]
    assert (again.n_components, again.mix.test_share, again.form.name) == (None, 0.2, "odd-one-out")
    listed = Questions(5, allowed=[[0, 1, 2], [1, 2, 3]], focus="neighbors", random_state=0)
    listed.save(tmp_path)
    assert Questions.load(tmp_path).pool.size == 2


def test_a_folder_of_another_model_is_rejected(tmp_path, rng):
    save_model(STE(2, random_state=0).fit(answers_to(Questions(10).pool.draw(40, rng), rng)), tmp_path)
    with pytest.raises(ValueError, match="a model and no questions"):
        Questions.load(tmp_path)


# What goes wrong.


@pytest.mark.parametrize(
    ("rows", "answers", "message"),
    [
        ([["a", "b", "x"]], None, "'x' is none of the 5 objects"),
        ([["a", "b", "c"], ["a", "b", "b"]], None, "row 2 names an object twice"),
        ([["a", "b"]], None, "rows of 3 objects"),
        ([["a", "b", "c"]], ["d"], "'d' is no answer to a question about 'a', 'b', 'c'"),
        ([["a", "b", "c"]], ["a"], "no answer"),
        ([["a", "b", "c"]], ["b", "c"], "3 answers to 2 questions"),
    ],
)
def test_invalid_answers_change_nothing(rows, answers, message):
    asking = Questions(list("abcde"), random_state=0)
    asking.tell([["a", "b", "c"]])
    with pytest.raises(ValueError, match=message):
        asking.tell([["a", "b", "d"], *rows], None if answers is None else ["b", *answers])
    assert len(asking.comparisons_) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"objects": ["a", "b", "a", "c"]}, "different names: 'a'"),
        ({"objects": 2}, "no map of 2 dimensions|no question"),
        ({"objects": 5, "kind": "pairs"}, "kind='pairs'"),
        ({"objects": 5, "test_share": 0.7, "repeat_share": 0.4}, "more than 1 together"),
        ({"objects": 5, "test_share": 0.5, "repeat_share": 0.5}, "below 1 together"),
        ({"objects": 5, "test_share": -0.1}, "test_share"),
        ({"objects": 5, "focus": "all"}, "'neighbors' or a list"),
        ({"objects": 5, "focus": [0, 1]}, "three objects"),
        ({"objects": 5, "allowed": [[0, 1, 9]]}, "9 is none of the 5 objects"),
        ({"objects": 5, "apart": [[0, 9]]}, "9 is none"),
        ({"objects": 5, "n_components": 7}, "no map of 7 dimensions"),
    ],
)
def test_invalid_settings_are_rejected(arguments, message):
    with pytest.raises(ValueError, match=message):
        Questions(**arguments)


def test_before_any_answer():
    asking = Questions(5, random_state=0)
    for name in ("model_", "comparisons_"):
        with pytest.raises(AttributeError, match="no answers yet"):
            getattr(asking, name)
    with pytest.raises(ValueError, match="k must be"):
        asking.ask(0)
    with pytest.raises(ValueError, match="purposes are"):
        asking.tell([[0, 1, 2]], purposes=["fun"])
