"""Pictures, sounds and films in a real browser: loaded ahead, shown, played, and what happens when one is broken."""

import base64
import io
import wave

import numpy as np
import pytest
from helpers.browsing import DESK, PHONE, errors_in, eventually, overflow, press, violations
from helpers.visiting import Visitor
from sqlalchemy import select

from nearer.survey.stimuli import slug_of
from nearer.survey.store import UNSEEN, questions
from nearer.survey.study import split_labels, split_numbers

SHORT = {"per_person": 3, "practice": 0}


def picture(hue, size=(320, 240)):
    """Return a picture of one colour."""
    from PIL import Image

    target = io.BytesIO()
    Image.new("HSV", size, (hue, 160, 200)).convert("RGB").save(target, "PNG")
    return target.getvalue()


def sound(pitch):
    """Return a fifth of a second of a tone."""
    target = io.BytesIO()
    tone = (8000 * np.sin(2 * np.pi * pitch * np.arange(1600) / 8000)).astype("<i2")
    with wave.open(target, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(tone.tobytes())
    return target.getvalue()


FILM = """
const [done, canvas] = [arguments[0], document.createElement("canvas")];
const paint = canvas.getContext("2d");
const recorder = new MediaRecorder(canvas.captureStream(20), { mimeType: "video/webm" });
const parts = [];
recorder.ondataavailable = (event) => parts.push(event.data);
recorder.onstop = async () => {
  const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
  done(btoa(String.fromCharCode(...bytes)));
};
recorder.start();
let frames = 0;
const timer = setInterval(() => {
  paint.fillStyle = `hsl(${30 * frames} 60% 50%)`;
  paint.fillRect(0, 0, canvas.width, canvas.height);
  frames += 1;
  if (frames < 12) return;
  clearInterval(timer);
  recorder.stop();
}, 50);
"""


@pytest.fixture
def files(browser):
    """Return a function that makes files of a kind."""

    def make(kind):
        if kind == "image":
            return {f"{name}.png": picture(40 * at) for at, name in enumerate("abcdef")}
        if kind == "audio":
            return {f"{name}.wav": sound(300 + 60 * at) for at, name in enumerate("abcdef")}
        browser.get("about:blank")
        film = base64.b64decode(browser.execute_async_script(FILM))
        return {f"{name}.webm": film for name in "abcdef"}

    return make


@pytest.mark.parametrize("size", [PHONE, DESK], ids=str)
@pytest.mark.parametrize("kind", ["image", "audio", "video"])
def test_a_study_of(browser, at_port, files, kind, size):
    served = at_port(objects=(), files=files(kind), questions=SHORT)
    visitor = Visitor(browser, served, size, "touch" if size == PHONE else "mouse")
    visitor.open()
    visitor.begin()
    assert violations(browser) == []
    assert overflow(browser) == 0
    shown = {"image": "img", "audio": "audio", "video": "video"}[kind]
    assert len(visitor.find(shown)) == 3
    if kind == "image":
        widths = browser.execute_script("return [...document.images].map((image) => image.naturalWidth)")
        assert widths == [320, 320, 320]
    else:
        played_one_at_a_time(browser, shown)
    visitor.finish((1,))
    assert [split_numbers(row.chosen) for row in served.rows()] == 3 * [(1,)]
    assert errors_in(browser) == []


def played_one_at_a_time(browser, shown):
    playing = f"return [...document.querySelectorAll('{shown}')].map((media) => !media.paused)"
    for place in (0, 2):
        browser.execute_script(
            "const media = document.querySelectorAll(arguments[0])[arguments[1]];"
            "media.muted = media.loop = true; media.play()", shown, place,
        )  # fmt: skip
        eventually(lambda place=place: browser.execute_script(playing) == [at == place for at in range(3)])


@pytest.mark.parametrize("size", [PHONE, (844, 390), (320, 568)], ids=str)
@pytest.mark.parametrize("kind", ["triplet", "2 of 5"])
def test_every_player_has_room_for_its_button(browser, at_port, files, kind, size):
    served = at_port(kind=kind, objects=(), files=files("audio"), questions=SHORT)
    visitor = Visitor(browser, served, size)
    visitor.open()
    visitor.begin()
    assert min(player.size["width"] for player in visitor.find("audio")) >= 120
    assert overflow(browser) == 0


def test_a_key_in_a_player_is_for_the_player(browser, at_port, files):
    served = at_port(objects=(), files=files("audio"), questions=SHORT)
    visitor = Visitor(browser, served, DESK, "keys")
    visitor.open()
    visitor.begin()
    browser.execute_script("document.querySelector('.option audio').focus()")
    press(browser, "\ue012")  # left arrow: winds back
    assert served.rows() == []
    visitor.answer((1,))
    assert split_numbers(served.rows()[0].chosen) == (1,)


def test_the_next_questions_are_loaded_ahead(browser, at_port, files):
    served = at_port(objects=(), files=files("image"), questions=SHORT)
    visitor = Visitor(browser, served)
    visitor.open()
    visitor.begin()
    with served.writer.database.engine.connect() as connection:
        shown = connection.execute(select(questions.c.shown)).scalars().all()
    wanted = {f"/stimuli/{slug_of(label)}" for row in shown for label in split_labels(row)}
    eventually(lambda: wanted <= set(requests(browser)))
    served.stop()
    for _ in range(2):
        visitor.answer((0,))
        assert all(browser.execute_script("return [...document.images].map((image) => image.naturalWidth > 0)"))
    served.start()
    eventually(lambda: len(served.rows()) == 2, 40)


def requests(browser):
    """Return the paths of all that the page has loaded."""
    return browser.execute_script(
        "return performance.getEntriesByType('resource').map((entry) => new URL(entry.name).pathname)"
    )


@pytest.fixture
def broken(at_port):
    """Return a study in which one picture of six cannot be read, by name."""
    files = {f"{name}.png": picture(40 * at) for at, name in enumerate("abcde")} | {"broken.png": b"no picture"}
    return at_port(objects=(), files=files, questions={"per_person": 4, "practice": 1})


def test_nobody_is_stuck_at_a_broken_picture_and_nobody_is_asked_about_it(impatient, broken, caplog):
    visitor = Visitor(impatient, broken)
    visitor.open()
    here, n_left = visitor.begin(), 0
    while here != ("sheet", "Thank you!"):
        if here[0] == "question":
            here = visitor.answer((0,))
        elif here[0] == "sheet":
            here = visitor.go_on()
        else:
            assert violations(impatient) == []
            visitor.use(visitor.find("button.second")[0])
            here = visitor.where(other_than=here)
            n_left += 1
    assert n_left >= 1
    with broken.writer.database.engine.connect() as connection:
        asked = {row.id: row for row in connection.execute(select(questions))}
    answered = [asked[row.question] for row in broken.rows()]
    assert not any("broken" in split_labels(row.shown) for row in answered)
    assert sum(row.purpose == UNSEEN for row in asked.values()) == n_left
    assert sum(row.purpose not in (UNSEEN, "practice") for row in answered) == 4
    assert "could not load broken" in caplog.text


def test_a_file_that_is_mended_is_shown_when_it_is_tried_again(browser, impatient, broken):
    visitor = Visitor(browser, broken)
    visitor.open()
    here = visitor.begin()
    while here[0] != "unseen":
        here = visitor.answer() if here[0] == "question" else visitor.go_on()
    visitor.says("Part of this question could not be loaded")
    (broken.folder / "stimuli" / "broken.png").write_bytes(picture(200))
    browser.execute_cdp_cmd("Network.clearBrowserCache", {})
    assert visitor.go_on()[0] == "question"
    assert browser.execute_script("return [...document.images].every((image) => image.naturalWidth > 0)")
