"""Conditions and lists of questions: who gets which, and what is asked then."""

import time
from collections import Counter

import numpy as np
import pytest
from sqlalchemy import select

from nearer.io import read_answers
from nearer.survey.assignment import draw_balanced
from nearer.survey.engine import Engine
from nearer.survey.exporting import answer_columns, catch_results
from nearer.survey.researcher import live_state
from nearer.survey.session import set_left_out
from nearer.survey.store import Database, people, questions
from nearer.survey.study import database_url, open_study

ROWS = [
    ("cat", "dog", "cow"),
    ("car", "bus", "van"),
    ("dog", "cat", "bike"),
    ("bus", "tram", "cow"),
    ("cow", "cat", "van"),
]
NO_PRACTICE = {"per_person": 3, "practice": 0}


def write_list(folder, rows, name="list.csv", header="anchor,left,right"):
    (folder / name).write_text("\n".join([header, *map(",".join, rows)]) + "\n")


def with_list(make_study, rows=ROWS, header="anchor,left,right", **settings):
    """Return the folder of a study with a list of questions."""
    settings["questions"] = {**NO_PRACTICE, "question_list": "list.csv", **settings.get("questions", {})}
    folder = make_study(**settings)
    write_list(folder, rows, header=header)
    return folder


def asked(served, person):
    """Return what somebody was asked, in order, by labels, with purposes."""
    with served.writer.database.reading() as connection:
        found = connection.execute(
            select(questions.c.shown, questions.c.purpose)
            .join(people, people.c.id == questions.c.person)
            .where(people.c.name == person)
            .order_by(questions.c.place)
        ).all()
    return [(tuple(row.shown.split("\t")), row.purpose) for row in found]


def conditions_of(served):
    with served.writer.database.reading() as connection:
        return [row.condition for row in connection.execute(select(people.c.condition).order_by(people.c.id))]


class TestList:
    def test_everybody_is_asked_all_of_it_and_nothing_else(self, serve, make_study):
        served = serve(with_list(make_study, questions={"list_order": "given"}))
        for _ in range(2):
            state = served.person().finish()
            assert (state["n_all"], state["phase"]) == (5, "done")
        for person in served.people():
            assert asked(served, person.name) == [(row, "other") for row in ROWS]

    def test_a_random_order_is_another_for_each_person_and_the_same_at_each_request(self, serve, make_study):
        served = serve(with_list(make_study))
        for _ in range(6):
            served.person().finish()
        orders = [tuple(shown for shown, _ in asked(served, person.name)) for person in served.people()]
        assert all(sorted(order) == sorted(ROWS) for order in orders)
        assert len(set(orders)) > 3

    def test_practice_comes_before_and_other_questions_after_if_wanted(self, serve, make_study):
        wanted = {"list_order": "given", "after_list": "continue", "practice": 1, "catch": 2, "per_person": 4}
        served = serve(with_list(make_study, questions=wanted))
        assert served.person().finish()["n_all"] == 5 + 4 + 2
        found = asked(served, served.people()[0].name)
        assert (found[0][1], [shown for shown, _ in found[1:6]]) == ("practice", ROWS)
        assert Counter(purpose for _, purpose in found[6:])["catch"] == 2
        assert len(found) == 12

    def test_purposes_and_right_answers_come_from_the_file(self, serve, make_study):
        rows = [(*ROWS[0], "start", ""), (*ROWS[1], "catch", "van"), (*ROWS[2], "information", ""), (*ROWS[3], "x", "")]
        header = "anchor,left,right,purpose,catch"
        served = serve(with_list(make_study, rows, header, questions={"list_order": "given"}))
        for chosen in (1, 0):
            served.person().finish(lambda _, chosen=chosen: (chosen,))
        assert [purpose for _, purpose in asked(served, served.people()[0].name)] == [
            "start", "catch", "information", "other",
        ]  # fmt: skip
        with served.writer.database.reading() as connection:
            found, columns = catch_results(connection, served.study), answer_columns(connection, served.study)
        assert (found.n_asked, found.n_right) == ((1, 1), (1, 0))
        assert len(columns["trial"]) == 6
        assert read_answers(columns).comparisons.chosen.sum() == 2

    def test_lists_of_several_participants_are_given_in_turn(self, serve, make_study):
        rows = [("p1", *ROWS[0]), ("p1", *ROWS[1]), ("p2", *ROWS[2]), ("p3", *ROWS[3]), ("p3", *ROWS[4])]
        served = serve(with_list(make_study, rows, "participant,anchor,left,right"))
        for _ in range(6):
            served.person().finish()
        lengths = [len(asked(served, person.name)) for person in served.people()]
        firsts = Counter(frozenset(shown for shown, _ in asked(served, person.name)) for person in served.people())
        assert sorted(lengths) == [1, 1, 2, 2, 2, 2]
        assert set(firsts.values()) == {2}

    def test_the_engine_proposes_only_where_others_follow(self, serve, make_study):
        for after_list, expected in (("end", False), ("continue", True)):
            served = serve(with_list(make_study, sampling={"method": "active"}, questions={"after_list": after_list}))
            engine = Engine(served.study, Database(database_url(served.folder, served.study.settings)))
            assert engine.proposes == expected
            engine.database.close()

    def test_what_nearer_ask_writes_is_asked(self, serve, make_study, tmp_path):
        from nearer.cli.main import main

        names = tmp_path / "names.txt"
        names.write_text("\n".join(("cat", "dog", "cow", "car", "bus", "van")))
        folder = make_study(questions={**NO_PRACTICE, "question_list": "list.csv"})
        assert (
            main(["ask", "--objects", str(names), "-n", "5", "--participants", "2", "-o", str(folder / "list.csv")])
            == 0
        )
        served = serve(folder)
        served.person().finish()
        purposes = [purpose for _, purpose in asked(served, served.people()[0].name)]
        assert len(purposes) == 5
        assert set(purposes) <= {"start", "test", "repeat"}

    def test_a_question_that_cannot_be_shown_is_left_out(self, serve, make_study):
        served = serve(with_list(make_study))
        person = served.person()
        number = person.state()["next"][0]["id"]
        state = person.post("/api/unseen", {"question": number, "objects": []}).json()
        assert state["n_all"] == 4
        assert person.finish()["phase"] == "done"
        assert len(served.rows()) == 4

    @pytest.mark.parametrize(
        ("rows", "header", "message"),
        [
            ([("cat", "dog", "emu")], "anchor,left,right", "emu"),
            ([("cat", "dog", "dog")], "anchor,left,right", "different objects"),
            ([("cat", "dog", "cow", "catch", "")], "anchor,left,right,purpose,catch", "right answer"),
            ([("cat", "dog", "cow", "catch", "van")], "anchor,left,right,purpose,catch", "right answer"),
            (
                [("a", "cat", "dog", "cow"), ("", "cat", "dog", "cow")],
                "participant,anchor,left,right",
                "no participant",
            ),
        ],
    )
    def test_a_list_that_cannot_be_asked_is_refused(self, make_study, rows, header, message):
        from nearer.survey.checking import check_study

        folder = with_list(make_study, rows, header)
        with pytest.raises(ValueError, match=message):
            open_study(folder)
        assert message in next(each.message for each in check_study(folder) if each.file == "list.csv")

    def test_a_file_that_is_not_there(self, make_study):
        with pytest.raises(ValueError, match=r"there is no file list\.csv"):
            open_study(make_study(questions={**NO_PRACTICE, "question_list": "list.csv"}))


class TestBlocks:
    def test_whole_blocks_have_the_shares(self):
        rng, shares, counts = np.random.default_rng(0), {"a": 1, "b": 2, "c": 3}, Counter()
        for at in range(60):
            counts[draw_balanced(shares, counts, rng)] += 1
            if at % 6 == 5:
                assert counts == {name: (at + 1) // 6 * share for name, share in shares.items()}

    def test_all_orders_of_a_block_are_equally_frequent(self):
        rng, orders = np.random.default_rng(0), Counter()
        for _ in range(2400):
            counts = Counter()
            order = []
            for _ in range(3):
                order.append(draw_balanced({"a": 1, "b": 2}, counts, rng))
                counts[order[-1]] += 1
            orders["".join(order)] += 1
        assert set(orders) == {"abb", "bab", "bba"}
        assert all(abs(count - 800) < 100 for count in orders.values())  # more than four standard errors

    def test_a_place_that_is_given_back_is_given_to_the_next(self):
        rng = np.random.default_rng(0)
        assert {draw_balanced({"a": 1, "b": 1}, {"a": 5, "b": 2}, rng) for _ in range(50)} == {"b"}


CONDITIONS = {
    "conditions.color": {
        "question": "Which has its color?",
        "instructions": "Look at colors.\n\nOnly at them.",
    },
    "conditions.shape": {"share": 2, "question_list": "list.csv"},
}


class TestConditions:
    @pytest.fixture
    def folder(self, make_study):
        folder = make_study(questions=NO_PRACTICE, **CONDITIONS)
        write_list(folder, ROWS)
        return folder

    def test_each_has_its_question_instructions_and_list(self, serve, folder):
        served = serve(folder)
        states = [served.person().state() for _ in range(6)]
        by_condition = dict(zip(conditions_of(served), states, strict=True))
        color, shape = by_condition["color"], by_condition["shape"]
        assert (color["question"], shape["question"]) == ("Which has its color?", "Which is more like it?")
        assert (color["instructions"], shape["instructions"]) == (["Look at colors.", "Only at them."], [])
        assert (color["n_all"], shape["n_all"]) == (3, 5)
        assert Counter(conditions_of(served)) == {"color": 2, "shape": 4}

    def test_it_is_a_column_by_which_groups_are_compared(self, serve, folder):
        served = serve(folder)
        for _ in range(3):
            served.person().finish()
        served.person()
        with served.writer.database.reading() as connection:
            columns = answer_columns(connection, served.study)
            live = live_state(connection, served.study, "")
        assert Counter(columns["condition"]) == {"color": 3, "shape": 10}
        assert {each["name"]: each["n_done"] for each in live["conditions"]} == {"color": 1, "shape": 2}
        assert sum(each["n_agreed"] for each in live["conditions"]) == 4
        also = read_answers(columns, also=["condition"], separate_labels=True).also["condition"]
        assert also.tolist() == columns["condition"]

    def test_whoever_only_looks_gets_none_and_who_leaves_gives_the_place_back(self, serve, folder, monkeypatch):
        served = serve(folder)
        served.person(consent=False)
        assert conditions_of(served) == [""]
        done = [served.person() for _ in range(6)]
        for person in done[:5]:
            person.finish()
        gone = conditions_of(served)[6]
        later = time.time() + 3600
        monkeypatch.setattr(time, "time", lambda: later)
        served.person()
        assert conditions_of(served)[7] == gone

    def test_whoever_is_left_out_gives_the_place_back(self, serve, folder):
        served = serve(folder)
        for _ in range(3):
            served.person().finish()
        name, condition = served.people()[1].name, conditions_of(served)[1]
        served.writer.run(lambda connection: set_left_out(connection, name, True))
        served.person()
        assert conditions_of(served)[3] == condition

    def test_a_condition_that_people_are_in_must_stay(self, serve, folder):
        from nearer.survey.checking import check_study

        serve(folder).person()
        path = folder / "study.toml"
        path.write_text(path.read_text().replace("conditions.", "conditions.other_"))
        with pytest.raises(ValueError, match="which is gone"):
            open_study(folder)
        assert any("which is gone" in each.message for each in check_study(folder))
