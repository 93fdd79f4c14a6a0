"""An answer "can't tell" is kept as what it is, counted, and never read as an answer."""

import pytest
from helpers.browsing import DESK, PHONE, errors_in, overflow, violations
from helpers.visiting import Visitor

from nearer.io import read_answers
from nearer.survey.engine import Engine
from nearer.survey.exporting import answer_columns, answers_of
from nearer.survey.researcher import live_state, look_up_codes
from nearer.survey.store import Database
from nearer.survey.study import database_url

ANSWER = {"triplet": "answer", "odd-one-out": "odd", "most-central": "central", "2 of 5": "chosen"}
QUESTIONS = {"per_person": 6, "practice": 0, "cant_tell": True}


def answer_some(person):
    """Answer everything; of every other question say that one cannot tell."""
    for number in range(100):
        state = person.state()
        if state["phase"] == "done":
            return
        question = state["next"][0]
        assert person.answer(question, range(question["n_chosen"]) if number % 2 else ()).status_code == 200
    raise AssertionError("it never ends")


@pytest.mark.parametrize("kind", ANSWER)
def test_it_is_a_row_that_is_no_answer(serve, kind):
    served = serve(kind=kind, questions=QUESTIONS)
    for _ in range(3):
        answer_some(served.person())
    with served.writer.database.reading() as connection:
        columns, answers = answer_columns(connection, served.study), answers_of(connection, served.study)
        live = live_state(connection, served.study, "")
        code = look_up_codes(connection, served.study.settings, [served.people()[0].code])[0]
    assert sorted(row.chosen == "" for row in served.rows()) == 9 * [False] + 9 * [True]
    assert [cell == "can't tell" for cell in columns[ANSWER[kind]]] == [row.chosen == "" for row in served.rows()]
    assert (len(answers), answers.report.n_undecided) == (9, 9)
    assert answers.report.undecided == {person.name: 3 for person in served.people()}
    assert (live["n_answers"], live["n_undecided"], live["n_done"]) == (9, 9, 3)
    assert {(row["n_answers"], row["n_undecided"], row["median_seconds"]) for row in live["people"]} == {(3, 3, 1.5)}
    assert live["over_time"][-1][1] == 9
    assert (code.valid, code.n_answers, code.n_undecided) == (True, 3, 3)
    assert '3 answers and 3 "can\'t tell"' in code.text


def test_the_engine_learns_nothing_from_it(serve):
    served = serve(questions=QUESTIONS)
    answer_some(served.person())
    engine = Engine(served.study, Database(database_url(served.folder, served.study.settings)))
    engine.update()
    assert engine.n_learned == 3
    served.person().answer(served.person().state()["next"][0], ())
    engine.update()
    assert engine.n_learned == 3
    engine.database.close()


def test_it_needs_the_setting(serve):
    served = serve(questions=QUESTIONS | {"cant_tell": False})
    person = served.person()
    assert person.answer(person.state()["next"][0], ()).status_code == 400
    assert served.rows() == []


def test_an_answer_that_was_sent_first_stays(serve):
    """The same question answered at two places: the first counts, whichever says what."""
    served = serve(questions=QUESTIONS)
    for first, second in (((0,), ()), ((), (0,))):
        person = served.person()
        question = person.state()["next"][0]
        for chosen in (first, second):
            assert person.answer(question, chosen).status_code == 200
        assert served.rows()[-1].chosen == ",".join(map(str, first))


def test_somebody_who_cannot_tell_fails_a_catch_question(serve):
    served = serve(questions={"per_person": 2, "practice": 0, "catch": 2, "cant_tell": True})
    served.person().finish(lambda _: ())
    with served.writer.database.reading() as connection:
        from nearer.survey.exporting import catch_results

        found = catch_results(connection, served.study)
    assert (found.n_asked, found.n_right) == ((2,), (0,))


def test_an_object_of_that_name_is_refused(make_study):
    from nearer.survey.study import open_study

    folder = make_study(objects=("a", "b", "c", "can't tell"), questions=QUESTIONS)
    with pytest.raises(ValueError, match="is called"):
        open_study(folder)


def test_counts_of_each_person_are_found_in_any_file():
    columns = {
        "anchor": ["cat"] * 4,
        "left": ["dog", "dog", "cow", "cow"],
        "right": ["cow", "cow", "dog", "dog"],
        "answer": ["dog", "can't tell", "?", "dog"],
    }
    alone = read_answers(columns).report
    assert (alone.n_undecided, alone.undecided) == (2, {})
    known = read_answers(columns | {"person": ["x", "x", "y", "y"]}).report
    assert (known.n_undecided, known.undecided) == (2, {"x": 1, "y": 1})


@pytest.mark.parametrize(("kind", "size", "by"), [("triplet", PHONE, "touch"), ("2 of 5", DESK, "keys")], ids=str)
def test_the_button(browser, at_port, kind, size, by):
    served = at_port(kind=kind, questions={"per_person": 2, "practice": 0, "cant_tell": True})
    visitor = Visitor(browser, served, size, by)
    visitor.open()
    here = visitor.begin()
    assert violations(browser) == []
    assert overflow(browser) == 0
    (button,), (page,) = visitor.find(".undecided"), visitor.find(".asking")
    middle = button.rect["x"] + button.rect["width"] / 2
    assert abs(middle - (page.rect["x"] + page.rect["width"] / 2)) < 1  # as far from one side as from the other
    if by == "keys":
        from helpers.browsing import press

        press(browser, "0")
    else:
        visitor.use(button)
    visitor.where(other_than=here)
    visitor.answer(range(2) if kind == "2 of 5" else (0,))
    assert [row.chosen == "" for row in served.rows()] == [True, False]
    assert errors_in(browser) == []
