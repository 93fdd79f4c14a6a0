"""Reloads, lost connections, two tabs, Back, a closed browser, a pause: nothing is lost, and nothing there twice."""

import json

import pytest
from helpers.browsing import eventually, start_browser
from helpers.visiting import Visitor

from nearer.survey.store import STATUS, write_fact
from nearer.survey.study import split_numbers

SHORT = {"per_person": 6, "practice": 0}


@pytest.fixture
def visit(browser, at_port):
    """Return a function that serves a study, and lets somebody begin it."""

    def begin(**settings):
        settings.setdefault("questions", SHORT)
        visitor = Visitor(browser, at_port(**settings))
        visitor.open()
        visitor.begin()
        return visitor

    yield begin
    browser.execute_cdp_cmd("Network.disable", {})


def answered_once(served, chosen):
    """Say that there is one answer to each question, in order, and each came under an id of its own."""
    rows = sorted(served.rows(), key=lambda row: row.question)
    assert [split_numbers(row.chosen) for row in rows] == [(place,) for place in chosen]
    assert len({row.sent_as for row in rows}) == len(rows)


def n_waiting(browser):
    """Return how many answers wait in the browser."""
    return browser.execute_script(
        "return Object.keys(localStorage).filter((key) => key.startsWith('nearer answer')).length"
    )


def test_reloading_in_the_middle(browser, visit):
    visitor = visit()
    visitor.answer((1,))
    here = visitor.answer((0,))
    browser.refresh()
    assert visitor.where() == here
    assert "2 of 6" in visitor.find(".progress")[0].text
    visitor.finish((1,))
    answered_once(visitor.served, (1, 0, 1, 1, 1, 1))


def test_a_server_that_is_away_for_a_while(browser, visit):
    visitor = visit()
    served = visitor.served
    visitor.answer((0,))
    eventually(lambda: len(served.rows()) == 1 and not n_waiting(browser))
    served.stop()
    visitor.answer((1,))  # of what was loaded ahead
    visitor.answer((1,))
    visitor.says("No connection. You can continue")
    visitor.choose((0,))  # the last one
    visitor.says("This page will continue once the connection is back.")
    assert (len(served.rows()), n_waiting(browser)) == (1, 3)
    served.start()
    eventually(lambda: len(served.rows()) == 4, 40)
    visitor.where()
    visitor.finish((1,))
    answered_once(served, (0, 1, 1, 0, 1, 1))
    assert n_waiting(browser) == 0


def test_a_telephone_in_a_tunnel(browser, visit):
    visitor = visit()
    browser.execute_cdp_cmd("Network.enable", {})

    def tunnel(offline):
        speed = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        browser.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": offline, **speed})

    tunnel(True)
    visitor.answer((1,))
    visitor.says("No connection.")
    tunnel(False)
    visitor.says("The connection is back.")
    visitor.finish((0,))
    answered_once(visitor.served, (1, 0, 0, 0, 0, 0))


def test_who_leaves_without_a_connection_has_lost_nothing(browser, visit):
    visitor = visit()
    visitor.served.stop()
    visitor.answer((1,))
    browser.get("about:blank")
    visitor.served.start()
    visitor.open()
    eventually(visitor.served.rows)
    visitor.finish((0,))
    answered_once(visitor.served, (1, 0, 0, 0, 0, 0))


def test_an_answer_that_arrived_unheard_counts_once(browser, visit):
    visitor = visit()
    # The server hears the answer, and the browser does not hear that it did.
    browser.execute_script(
        "const send = window.fetch; window.sent = [];"
        "window.fetch = async (path, options = {}) => {"
        "  const reply = await send(path, options);"
        "  if (options.body) window.sent.push(JSON.parse(options.body).answers[0].id);"
        "  if (window.sent.length === 1) throw new TypeError('lost');"
        "  return reply; }"
    )
    visitor.answer((1,))
    eventually(lambda: browser.execute_script("return window.sent.length") >= 2)
    first, second = browser.execute_script("return window.sent.slice(0, 2)")
    assert first == second
    visitor.finish((0,))
    answered_once(visitor.served, (1, 0, 0, 0, 0, 0))


def test_two_tabs(browser, visit):
    visitor = visit()
    one = browser.current_window_handle
    browser.switch_to.new_window("tab")
    try:
        other = browser.current_window_handle
        assert visitor.open()[0] == "question"
        visitor.answer((0,))  # the first question, which the first tab shows still
        visitor.answer((0,))
        browser.switch_to.window(one)
        for _ in range(2):
            visitor.answer((1,))  # answered there already: that one counts
        browser.switch_to.window(other)
        visitor.answer((0,))
        browser.switch_to.window(one)
        assert visitor.finish((1,)) == ["Thank you!"]
        browser.switch_to.window(other)
        visitor.choose((0,))
        visitor.says("Thank you!")
        browser.close()
    finally:
        browser.switch_to.window(one)
    rows = sorted(visitor.served.rows(), key=lambda row: row.question)
    assert [row.chosen for row in rows][:2] == ["0", "0"]
    assert len(rows) == len({row.question for row in rows}) == 6


def test_back_and_forward(browser, visit):
    visitor = visit()
    visitor.answer((1,))
    here = visitor.answer((1,))
    browser.back()
    eventually(lambda: not browser.current_url.startswith("http"))
    browser.forward()
    assert visitor.where() == here
    visitor.finish((0,))
    browser.back()
    browser.forward()
    visitor.says("Thank you!")
    answered_once(visitor.served, (1, 1, 0, 0, 0, 0))


def test_a_browser_that_is_closed_and_opened_again(at_port, tmp_path):
    served = at_port(questions={"per_person": 3, "practice": 0})
    first = start_browser(tmp_path / "profile")
    try:
        visitor = Visitor(first, served)
        visitor.open()
        visitor.begin()
        here = visitor.answer((1,))
        eventually(served.rows)
    finally:
        first.quit()
    second = start_browser(tmp_path / "profile")
    try:
        visitor = Visitor(second, served)
        assert visitor.open() == here
        visitor.finish((0,))
    finally:
        second.quit()
    answered_once(served, (1, 0, 0))


def test_a_pause_ends_by_itself_and_a_closed_study_says_so(impatient, visit):
    visitor = visit()

    def set_status(status):
        visitor.served.writer.run(lambda connection: write_fact(connection, STATUS, status))

    set_status("paused")
    assert visitor.answer((1,)) == ("sheet", "The study is paused")
    set_status("open")
    here = visitor.where(other_than=("sheet", "The study is paused"))
    assert here[0] == "question"
    set_status("closed")
    visitor.choose((0,))
    visitor.says("The study is closed")
    answered_once(visitor.served, (1,))
    set_status("open")  # what was answered while it was closed waits, and is sent
    visitor.where(other_than=("sheet", "The study is closed"))
    visitor.finish((1,))
    answered_once(visitor.served, (1, 0, 1, 1, 1, 1))


def test_what_is_kept_in_the_browser(browser, visit):
    visitor = visit()
    (cookie,) = browser.get_cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Lax")
    visitor.served.stop()
    visitor.answer((1,))
    (kept,) = browser.execute_script("return Object.values(localStorage)")
    assert set(json.loads(kept)) == {"id", "question", "chosen", "seconds", "content", "at"}
    visitor.served.start()
    eventually(lambda: not n_waiting(browser))
