"""A whole study in a real browser, at the size of a phone and of a desk."""

import socket
import threading
import time

import pytest

from nearer.survey.store.tables import questions

PHONE, DESK = (390, 844), (1280, 800)


@pytest.fixture
def at_port(serve):
    """Return a function that serves a study at a port of this machine."""
    uvicorn = pytest.importorskip("uvicorn")
    servers = []

    def begin(**settings):
        served = serve(**settings)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            served.port = free.getsockname()[1]
        served.link = f"http://127.0.0.1:{served.port}/"

        def start():
            config = uvicorn.Config(served.app, host="127.0.0.1", port=served.port, log_level="error")
            server = uvicorn.Server(config)
            thread = threading.Thread(target=server.run, daemon=True)
            thread.start()
            while not server.started:
                time.sleep(0.02)
            servers.append((server, thread))

        def stop():
            server, thread = servers.pop()
            server.should_exit = server.force_exit = True
            thread.join(20)

        served.start, served.stop = start, stop
        start()
        return served

    yield begin
    for server, _ in servers:
        server.should_exit = server.force_exit = True


def sized(browser, size):
    width, height = size
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
    )


def eventually(found, seconds=20):
    """Return the first result that is not empty."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := found():
            return value
        time.sleep(0.05)
    raise AssertionError("it never happened")


def press(browser, key):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    ActionChains(browser).send_keys({"\t": Keys.TAB, "\n": Keys.ENTER}.get(key, key)).perform()


def click_main(browser):
    """Press the button that leads on."""
    button = eventually(lambda: browser.find_elements("css selector", "main button:not([disabled])"))[-1]
    button.click()


def n_answers(served):
    return len(served.rows())


def answer_all(browser, served, n_all, choose):
    """Answer until there are so many answers."""
    for at in range(n_all):
        eventually(lambda at=at: n_answers(served) >= at)
        eventually(lambda: browser.find_elements("css selector", "progress, main button"))
        time.sleep(0.3)  # the last answer is shown for a moment
        if not browser.find_elements("css selector", "progress"):
            press(browser, "\t")  # practice is over
            press(browser, "\n")
            eventually(lambda: browser.find_elements("css selector", "progress"))
        time.sleep(0.5)  # a tap right after a question appears is taken for a slip
        choose()
        eventually(lambda at=at: n_answers(served) > at)


def errors_in(browser):
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.mark.parametrize("size", [PHONE, DESK])
@pytest.mark.parametrize(("kind", "keys"), [("triplet", "1"), ("odd-one-out", "2"), ("2 of 5", "13\n")])
def test_a_study_by_keys_alone(browser, at_port, size, kind, keys):
    served = at_port(kind=kind, texts={"consent": "I agree.", "thanks": "Thank you!"})
    sized(browser, size)
    browser.get(served.link)
    box = eventually(lambda: browser.find_elements("css selector", "input[type=checkbox]"))[0]
    box.send_keys(" ")
    press(browser, "\t")
    press(browser, "\n")
    eventually(lambda: browser.find_elements("css selector", "progress"))
    answer_all(browser, served, 7, lambda: [press(browser, key) for key in keys])
    eventually(lambda: "Thank you!" in browser.page_source)
    with served.writer.database.engine.connect() as connection:
        assert len(connection.execute(questions.select()).all()) == 7
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert errors_in(browser) == []


def test_a_lost_connection_loses_nothing(browser, at_port):
    served = at_port(texts={"consent": ""}, questions={"per_person": 6, "practice": 0})
    sized(browser, PHONE)
    browser.get(served.link)
    click_main(browser)
    answer_all(browser, served, 2, lambda: press(browser, "1"))
    served.stop()
    for _ in range(2):  # of what was loaded ahead
        time.sleep(0.6)
        press(browser, "2")
    assert n_answers(served) == 2
    served.start()
    eventually(lambda: n_answers(served) == 4, 40)
    for at in (4, 5):
        eventually(lambda at=at: n_answers(served) == at)
        time.sleep(0.8)
        press(browser, "1")
    eventually(lambda: n_answers(served) == 6)
    assert [row.chosen for row in served.rows()][2:4] == ["1", "1"]
    assert n_answers(served) == 6


def test_reloading_in_the_middle(browser, at_port):
    served = at_port(texts={"consent": ""}, questions={"per_person": 5, "practice": 0})
    browser.get(served.link)
    click_main(browser)
    answer_all(browser, served, 2, lambda: press(browser, "1"))
    browser.refresh()
    eventually(lambda: browser.find_elements("css selector", "progress"))
    for _ in range(3):
        before = n_answers(served)
        time.sleep(0.6)
        press(browser, "2")
        eventually(lambda before=before: n_answers(served) > before)
    assert n_answers(served) == 5


def test_the_researchers_page(browser, at_port):
    served = at_port(objects=("<img src=x onerror=alert(1)>", "b", "c", "d"))
    served.person().finish()
    browser.get(f"{served.link}researcher?key={served.secret}")
    eventually(lambda: "6" in browser.find_element("tag name", "main").text)
    assert "key=" not in browser.current_url
    assert errors_in(browser) == []
