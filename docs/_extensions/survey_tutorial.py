"""The tutorial of the survey, done again: `python docs/_extensions/survey_tutorial.py` takes three minutes.

All that docs/survey-tutorial.md tells is carried out in a new folder: its pictures are drawn, its settings written, its
commands run, and what they print is written below them. While the study is served at port 8000, simulated people
answer, and the tests' browser takes the pictures of the page: docs/survey-*.png.
"""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
from screenshot import lighter, photograph
from transcripts import rewritten, run_command

from nearer.survey.stimuli import slug_of

DOCS = Path(__file__).parents[1]
sys.path.insert(0, str(DOCS.parent / "tests"))
PAGE = DOCS / "survey-tutorial.md"
LINK = "http://127.0.0.1:8000/"
_SERVE = "nearer survey run leaves"
_N_PEOPLE, _CARELESS = 20, (2,)  # the one of them who does not look
_SHARPNESS, _LAPSES = 4.0, 0.03
_SEED = 5
_MYSELF = "myself"


class Tutorial:
    """The folder in which the tutorial happens, and how each command is carried out there."""

    def __init__(self, folder: Path, text: str) -> None:
        self.folder, self.text = folder, text

    def run(self, command: str) -> str:
        """Carry out a command of the page, with what comes before it in the text, and return what it prints."""
        if command.startswith("nearer survey check"):
            self.prepare()
        if command == _SERVE:
            return self.serve()
        printed = run_command(command, self.folder)
        if command.startswith("nearer report"):
            photograph(self.folder / "results" / "report.html", DOCS / "survey-report.png")
            lighter(DOCS / "survey-report.png")
        return printed

    def prepare(self) -> None:
        """Draw the pictures and write the settings, as the page shows them."""
        subprocess.run([sys.executable, "-c", _block("python", self.text)], cwd=self.folder, check=True)
        (self.folder / "leaves" / "study.toml").write_text(_block("toml", self.text), encoding="utf-8")

    def serve(self) -> str:
        """Take part, as the page advises, and delete that; then let people answer. Return what was printed first."""
        with self.served() as printed, browsing(self.folder / "profile") as browser:
            photograph_participant(browser)
        run_command(f"nearer survey forget leaves {_MYSELF}", self.folder)
        secret = re.search(r"key=(\S+)", printed)
        assert secret is not None, printed
        with self.served(), browsing(self.folder / "profile") as browser:
            answer_all(sorted(path.stem for path in (self.folder / "leaves" / "stimuli").glob("*.svg")))
            photograph_researcher(browser, secret[1])
        return printed.replace(secret[1], "...")

    @contextmanager
    def served(self) -> Iterator[str]:
        """Serve the study, and hand out what the program prints."""
        command = [sys.executable, "-m", "nearer.cli.main", *_SERVE.split()[1:]]
        with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                printed = "".join(server.stdout.readline() for _ in range(4))
                _wait_for_server()
                yield printed
            finally:
                server.send_signal(signal.SIGINT)


def places_of(labels: list[str]) -> np.ndarray:
    """Return where people see the leaves: by their widths and by their colors."""
    widths, colors = (
        ("needle", "slim", "narrow", "oval", "broad", "round"),
        ("red", "orange", "yellow", "green", "blue"),
    )
    return np.array(
        [(widths.index(shape), colors.index(hue)) for shape, hue in (each.split("-") for each in labels)], float
    )


def answer_all(labels: list[str]) -> None:
    """Let people take part, each answering a question in turn."""
    rng = np.random.default_rng(_SEED)
    places = dict(zip(map(slug_of, labels), places_of(labels), strict=True))
    people = [httpx.Client(base_url=LINK, headers={"x-nearer": "1"}) for _ in range(_N_PEOPLE)]
    states = [_begin(client, f"p{at:02}") for at, client in enumerate(people)]
    while any(state["phase"] == "asking" for state in states):
        for at, client in enumerate(people):
            if states[at]["phase"] == "asking":
                states[at] = _answer(client, states[at]["next"][0], places, rng, at in _CARELESS)
        time.sleep(0.1)  # people think, and meanwhile the engine learns


def _begin(client: httpx.Client, name: str) -> dict[str, Any]:
    client.get("/", params={"PROLIFIC_PID": name})
    return client.post("/api/consent", json={}).json()


def _answer(
    client: httpx.Client,
    question: dict[str, Any],
    places: dict[str, np.ndarray],
    rng: np.random.Generator,
    careless: bool,
) -> dict[str, Any]:
    head = places[question["head"]["object"]]
    distances = [float(((places[option["object"]] - head) ** 2).sum()) for option in question["options"]]
    first = _SHARPNESS * np.log((1 + distances[1]) / (1 + distances[0]))
    is_first = rng.random() < _LAPSES / 2 + (1 - _LAPSES) / (1 + np.exp(-first))
    seconds = 0.3 if careless else float(rng.lognormal(0.8, 0.4))
    chosen = [0] if careless or is_first else [1]
    given = {"question": question["id"], "chosen": chosen, "seconds": seconds, "id": str(uuid.uuid4())}
    return client.post("/api/answers", json={"answers": [given]}).json()


def photograph_participant(browser: Any) -> None:
    """Take part on a phone, and write three of its screens beside one another."""
    from helpers.visiting import Visitor
    from PIL import Image

    visitor = Visitor(browser, SimpleNamespace(link=LINK), (390, 760))
    visitor.open(f"?PROLIFIC_PID={_MYSELF}")
    screens = [_screen(browser)]
    visitor.begin()
    visitor.answer()
    visitor.answer()
    visitor.go_on()
    for _ in range(7):
        visitor.answer()
    screens.append(_screen(browser))
    visitor.finish()
    screens.append(_screen(browser))
    gap = 16
    width, height = screens[0].size
    sheet = Image.new("RGB", (3 * width + 4 * gap, height + 2 * gap), "#c9c9c9")
    for at, screen in enumerate(screens):
        sheet.paste(screen, (gap + at * (width + gap), gap))
    sheet.save(DOCS / "survey-participant.png")
    lighter(DOCS / "survey-participant.png")


def photograph_researcher(browser: Any, secret: str) -> None:
    """Write what the researcher sees when everybody has answered and the engine knows it."""
    from helpers.browsing import eventually, sized

    sized(browser, (1200, 900))
    browser.get(f"{LINK}researcher?key={secret}")
    told = "return fetch('/researcher/api/state').then((reply) => reply.text())"

    def is_done() -> bool:
        state = json.loads(browser.execute_script(told))
        engine = state["engine"]  # the map is fitted anew when there is a tenth more, and not for each answer
        return bool(state["map"]) and engine["state"] == "ready" and engine["n_known"] >= 0.85 * state["n_answers"]

    eventually(is_done, 150)
    time.sleep(3)  # the page asks every two seconds
    height = browser.execute_script("return document.querySelector('#h-people').getBoundingClientRect().top + 330")
    sized(browser, (1200, int(height)))
    time.sleep(1)
    browser.save_screenshot(str(DOCS / "survey-researcher.png"))
    lighter(DOCS / "survey-researcher.png")


def _screen(browser: Any) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")


def _wait_for_server() -> None:
    for _ in range(100):
        try:
            httpx.get(LINK + "static/icon.svg")
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the server never answered")


@contextmanager
def browsing(profile: Path) -> Iterator[Any]:
    """Open the tests' browser."""
    from helpers.browsing import start_browser

    browser = start_browser(profile)
    try:
        yield browser
    finally:
        browser.quit()


def _block(language: str, text: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    if found is None:
        raise ValueError(f"the page has no block of {language}")
    return found[1]


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        told = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(rewritten(told, Tutorial(Path(place), told).run), encoding="utf-8")
