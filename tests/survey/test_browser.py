"""A whole study of each kind in a real browser, at the size of a phone and of a desk: by touch, mouse and keys."""

import itertools

import pytest
from helpers.browsing import DESK, PHONE, errors_in, eventually, overflow, violations
from helpers.visiting import Visitor
from sqlalchemy import select

from nearer.survey.store import people, questions
from nearer.survey.study import split_numbers

KINDS = {"triplet": (1,), "odd-one-out": (2,), "most-central": (0,), "2 of 5": (0, 3)}
TEXTS = {"welcome": "Hello.", "consent": "I agree.", "thanks": "All is well."}


def all_of(served, table):
    with served.writer.database.engine.connect() as connection:
        return connection.execute(select(table)).all()


# To the page, the most central and the odd one are one task: only the words of the question differ.
@pytest.mark.parametrize(
    ("kind", "size", "ways"),
    [(kind, PHONE, ["touch"]) for kind in KINDS]
    + [(kind, DESK, ["mouse", "keys"]) for kind in KINDS if kind != "most-central"],
    ids=str,
)
def test_a_whole_study(browser, at_port, kind, size, ways):
    served = at_port(kind=kind, texts=TEXTS, questions={"per_person": 4, "practice": 1, "break_every": 2})
    visitor = Visitor(browser, served, size)
    looked_at, ways = set(), itertools.cycle(ways)

    def look(here):
        visitor.by = next(ways)
        page = here[1] if here[0] == "sheet" else bool(visitor.find(".practice"))
        if page not in looked_at:
            assert violations(browser) == []
            assert overflow(browser) == 0
        looked_at.add(page)

    visitor.open()
    look(visitor.where())
    visitor.begin()
    headings = visitor.finish(KINDS[kind], look)
    assert headings == ["Practice is over", "Time for a short break", "Thank you!"]
    visitor.says("All is well.")
    rows = served.rows()
    assert [split_numbers(row.chosen) for row in rows] == 5 * [KINDS[kind]]
    assert len({row.sent_as for row in rows}) == 5
    assert all(0.2 < row.seconds < 30 for row in rows)
    (person,) = all_of(served, people)
    assert person.consented < person.completed
    assert visitor.find(".code")[0].text == person.code
    assert errors_in(browser) == []


def test_nobody_begins_without_consent(browser, at_port):
    served = at_port(texts=TEXTS)
    visitor = Visitor(browser, served)
    visitor.open()
    visitor.use(visitor.find("button.main")[0])
    visitor.says("Please tick the box")
    assert violations(browser) == []
    assert all_of(served, people)[0].consented is None
    assert visitor.begin()[0] == "question"


def test_the_notice_comes_before_consent_and_instructions_after_it(browser, at_port):
    served = at_port(texts=TEXTS | {"instructions": "Look at shapes."}, data_protection={"notice": "We keep it all."})
    visitor = Visitor(browser, served)
    visitor.open()
    visitor.says("We keep it all.")
    (consent,) = visitor.find("#agree")
    (notice,) = visitor.find("section[aria-labelledby=notice-heading]")
    assert notice.rect["y"] < consent.rect["y"]
    assert violations(browser) == []
    assert overflow(browser) == 0
    assert visitor.begin() == ("sheet", "Instructions")
    visitor.says("Look at shapes.")
    assert violations(browser) == []
    browser.refresh()
    assert visitor.where() == ("sheet", "Instructions")
    assert visitor.go_on()[0] == "question"
    visitor.finish()
    assert len(served.rows()) == 7


def test_taking_back_a_choice_of_a_grid(browser, at_port):
    served = at_port(kind="2 of 5", questions={"per_person": 1, "practice": 0})
    visitor = Visitor(browser, served)
    visitor.open()
    visitor.begin()
    buttons, next_one = visitor.find("button.option"), visitor.find(".foot button")[0]
    assert not next_one.is_enabled()
    for place in (0, 1):
        visitor.use(buttons[place])
    visitor.use(buttons[4])
    visitor.says("You have already chosen 2.")
    visitor.use(buttons[0])
    visitor.use(buttons[4])
    assert [button.get_attribute("aria-pressed") == "true" for button in buttons] == [False, True, False, False, True]
    visitor.use(next_one)
    eventually(served.rows)
    assert served.rows()[0].chosen == "1,4"


def test_a_double_tap_answers_one_question(browser, at_port):
    served = at_port(questions={"per_person": 3, "practice": 0})
    visitor = Visitor(browser, served)
    visitor.open()
    first = visitor.begin()
    button = visitor.find("button.option")[0]
    browser.execute_script("arguments[0].click(); arguments[0].click()", button)
    visitor.where(other_than=first)
    assert len(served.rows()) == 1


def test_the_link_at_the_end_brings_the_code(browser, at_port):
    people_are_sent = {"completion_url": "http://127.0.0.1:9/done?cc={code}", "completion_code": "C0DE"}
    served = at_port(questions={"per_person": 1, "practice": 0}, people=people_are_sent)
    visitor = Visitor(browser, served)
    visitor.open("?PROLIFIC_PID=p1&STUDY_ID=s1&SESSION_ID=x1&other=left")
    visitor.begin()
    visitor.finish()
    assert visitor.find("a.main")[0].get_attribute("href") == "http://127.0.0.1:9/done?cc=C0DE"
    assert all_of(served, people)[0].external == '{"PROLIFIC_PID": "p1", "SESSION_ID": "x1", "STUDY_ID": "s1"}'
    assert len(all_of(served, questions)) == 1


def test_the_researchers_page(browser, at_port):
    served = at_port(objects=("<img src=x onerror=alert(1)>", "b", "c", "d"))
    served.person().finish()
    browser.get(f"{served.link}researcher?key={served.secret}")
    eventually(lambda: "6" in browser.find_element("tag name", "main").text)
    assert "key=" not in browser.current_url
    assert errors_in(browser) == []
