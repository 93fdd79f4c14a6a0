"""The researcher's live page in a real browser."""

import json
import re
from importlib import resources

import pytest
from helpers.browsing import eventually

from nearer.survey.store import ANALYSIS, ENGINE_STATE, write_fact

SCRIPT = "<img src=x onerror=alert(1)>"


def known_of(served):
    """Return what an engine might know."""
    objects = list(served.study.labels)
    points = [[number, number % 3] for number in range(len(objects))]
    ellipses = [[*point, 1, 0.5, 30] for point in points]
    outlook = {
        "n_answers_more": 20, "error_now": 0.2, "error_then": 0.18, "gain_low": 0.01, "gain_high": 0.03, "floor": 0.1,
        "ellipse_now": 0.3, "ellipse_then": 0.25, "recommendation": "go on",
        "gain_of_a_fifth": 0.02, "min_gain": 0.005, "warning": None,
    }  # fmt: skip
    return {
        "n_answers": 24, "error": {"value": 0.2, "low": 0.15, "high": 0.25, "n": 90},
        "ceiling": {"value": 0.1, "low": 0.08, "high": 0.12, "n": 44, "vague": False}, "outlook": outlook,
        "map": {"objects": objects, "n_dimensions": 3, "points": points, "ellipses": ellipses},
        "findings": [
            {"severity": "warning", "code": "x", "title": f"1 person {SCRIPT}", "text": "Look.", "examples": ["first"]},
            {"severity": "good", "code": "y", "title": "All is well", "text": "", "examples": []},
        ],
        "people": {served.people()[0].name: ["too fast"]},
    }  # fmt: skip


@pytest.fixture
def live(at_port):
    """A study with answers and a map, at a port of this machine."""
    served = at_port(people={"pay": 3.0}, questions={"per_person": 12, "practice": 0})
    for _ in range(2):
        served.person().finish()
    facts = {ANALYSIS: known_of(served), ENGINE_STATE: {"state": "ready", "message": "", "n_learned": 24}}
    for name, value in facts.items():
        served.writer.run(lambda connection, name=name, value=value: write_fact(connection, name, json.dumps(value)))
    return served


def test_all_that_is_known_is_on_the_page(browser, live):
    browser.get(f"{live.link}researcher?key={live.secret}")
    text = lambda id: browser.execute_script(f"return document.getElementById('{id}').innerText")  # noqa: E731
    eventually(lambda: text("n-answers") == "24")
    assert (text("n-people"), text("cost"), text("error"), text("ceiling")) == ("2", "6.00", "20.0%", "10.0%")
    assert (text("advice"), text("more"), text("more-cost")) == ("Continue.", "20", "about 5.00 of pay")
    assert (
        text("reason")
        == "A fifth more answers would lower the error by 2.0 points, which is worth the effort (0.5 or more)."
    )
    assert text("then-now") == "20.0% expected now; lower by 1.0 to 3.0 points"
    assert "based on 24 answers" in text("engine")
    assert "3 dimensions" in text("map-note")
    assert f"1 person {SCRIPT}" in text("findings")  # as text
    assert browser.execute_script("return document.querySelectorAll('#findings img').length") == 0
    assert browser.execute_script("return document.querySelectorAll('#map ellipse').length") == 8
    assert browser.execute_script("return document.querySelector('#people .flag').innerText") == "too fast"
    assert not [line for line in browser.get_log("browser") if line["level"] == "SEVERE"]


def test_people_are_left_out_and_codes_looked_up(browser, live):
    browser.get(f"{live.link}researcher?key={live.secret}")
    button = "document.querySelector('#people tbody button')"
    eventually(lambda: browser.execute_script(f"return {button} !== null"))
    browser.execute_script(f"{button}.click()")
    eventually(lambda: browser.execute_script(f"return {button}.innerText") == "Include")
    code = live.people()[1].code
    browser.execute_script(
        "document.getElementById('code-text').value = arguments[0]; document.querySelector('#codes button').click()",
        f"{code.lower()}\nnonsense",
    )
    found = eventually(lambda: browser.execute_script("return document.getElementById('code-results').innerText"))
    assert live.people()[1].name in found
    assert "nonsense: there is no such code" in found


def test_what_the_script_writes_to_is_there():
    folder = resources.files("nearer.survey")
    script = (folder / "static" / "researcher.js").read_text(encoding="utf-8")
    page = (folder / "templates" / "researcher.html").read_text(encoding="utf-8")
    wanted = set(re.findall(r"(?:say|byId)\(\"([\w-]+)\"", script))
    assert len(wanted) > 30
    assert wanted <= set(re.findall(r'id="([\w-]+)"', page))
