"""A whole study: simulated people, one of them in a real browser, chosen questions, and an end when it is advised."""

import asyncio
import itertools
import json
import re
import threading
import time
import urllib.request
import uuid
from http.cookiejar import CookieJar
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.visiting import Visitor

from benchmarks.survey.crowd import Browser
from benchmarks.survey.load import as_seen
from benchmarks.survey.serving import running
from nearer import Comparisons
from nearer.datasets import load_colors
from nearer.embedding import PosteriorEmbedding
from nearer.io import read_answers
from nearer.survey.exporting import study_table
from nearer.survey.scaffold import demo_study
from nearer.survey.server import researcher_secret
from nearer.survey.stimuli import slug_of
from nearer.survey.study import open_study

N_COLORS, N_PEOPLE, PER_PERSON = 16, 60, 30
AT_ONCE, PAUSE = 5, 0.1
FAR_BEHIND, PATIENCE = 100, 300.0  # answers that no map knows yet, and seconds until somebody is invited all the same


@pytest.fixture
def study(tmp_path):
    folder = demo_study(tmp_path / "colours", N_COLORS, per_person=PER_PERSON, dimensions=3, consent="")
    return SimpleNamespace(folder=folder, secret=researcher_secret(folder))


async def _over_http(port, secret, choose, n_people):
    """Let people take part, some at a time, each until the study has no more questions.

    They are invited as the map catches up: on a busy machine the engine, which comes last, would else know little.
    """
    seats = asyncio.Semaphore(AT_ONCE)
    live = Browser(port)
    await live.get(f"/researcher?key={secret}")

    async def map_is_far_behind():
        found = (await live.get("/researcher/api/state")).content
        return found["n_answers"] - found["engine"]["n_analyzed"] > FAR_BEHIND

    turn = asyncio.Lock()

    async def take_part():
        async with seats:
            async with turn:
                deadline = time.monotonic() + PATIENCE
                while await map_is_far_behind() and time.monotonic() < deadline:
                    await asyncio.sleep(0.5)
            browser = Browser(port)
            await browser.get("/")
            reply = await browser.post("/api/consent", {})
            while reply.status == 200 and reply.content["phase"] == "asking":
                await asyncio.sleep(PAUSE)
                question = reply.content["next"][0]
                sent = {
                    "question": question["id"],
                    "chosen": choose(question),
                    "seconds": PAUSE,
                    "id": uuid.uuid4().hex,
                }
                reply = await browser.post("/api/answers", {"answers": [sent]})
            browser.close()

    await asyncio.gather(*(take_part() for _ in range(n_people)))


def _in_the_browser(browser, link, choose):
    """Take part by touch, and return how many questions were answered."""
    visitor = Visitor(browser, SimpleNamespace(link=link))
    visitor.open()
    here = visitor.begin()
    n_answered = 0
    while here[0] == "question":
        shown = [re.search(r"/stimuli/(\w+)", each.get_attribute("src"))[1] for each in visitor.find(".stage img")]
        head, *options = ({"object": slug} for slug in shown)
        here = visitor.answer(choose({"head": head, "options": options}))
        n_answered += 1
        while here[0] == "sheet" and visitor.find("button.main"):
            here = visitor.go_on()
    return n_answered


class Researcher:
    """Whoever looks at the live page, and acts upon it."""

    def __init__(self, link, secret):
        self.link = link
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self.opener.open(f"{link}researcher?key={secret}", timeout=60).read()

    def ask(self, path, body=None):
        headers = {"x-nearer": "1", "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        return json.load(self.opener.open(urllib.request.Request(self.link + path, data, headers), timeout=60))

    def is_advised_to_stop(self):
        found = self.ask("researcher/api/state")
        return found["outlook"] is not None and found["outlook"]["recommendation"] == "stop"


def _true_points(labels):
    colors = load_colors()
    places = dict(zip(colors.names, colors.lab, strict=True))
    return np.array([places[label] for label in labels])


def _error(embedding, points):
    """Return the share of all triplets about which a map errs."""
    triples = np.array(list(itertools.permutations(range(len(points)), 3)))

    def nearer(places):
        apart = np.linalg.norm(places[:, None] - places[None], axis=2)
        return apart[triples[:, 0], triples[:, 1]] < apart[triples[:, 0], triples[:, 2]]

    return float((nearer(embedding) != nearer(points)).mean())


def _fitted(comparisons, labels):
    model = PosteriorEmbedding(3, random_state=0).fit(comparisons)
    return model.embedding_[[model.objects_.tolist().index(label) for label in labels]]


def _random_answers(labels, choose, n_answers):
    """Return as many answers of the same people to questions drawn at random."""
    rng = np.random.default_rng(11)
    rows = []
    for _ in range(n_answers):
        head, *options = rng.permutation(len(labels))[:3].tolist()
        slugs = [{"object": slug_of(labels[each])} for each in (head, *options)]
        place = choose({"head": slugs[0], "options": slugs[1:]})[0]
        rows.append([labels[each] for each in (head, options[place], options[1 - place])])
    return Comparisons.from_triplets(rows, objects=list(labels))


@pytest.mark.slow
def test_a_study_ends_when_it_is_advised_and_its_map_beats_random_questions(study, browser, tmp_path):
    choose = as_seen(0)
    with running(study.folder, tmp_path / "server.log") as server:
        link = f"http://127.0.0.1:{server.port}/"
        researcher = Researcher(link, study.secret)
        others = threading.Thread(
            target=lambda: asyncio.run(_over_http(server.port, study.secret, choose, N_PEOPLE - 1)),
            daemon=True,
        )
        others.start()
        n_seen = _in_the_browser(browser, link, as_seen(1))
        advised = False
        while others.is_alive() and not advised:
            time.sleep(0.5)
            advised = researcher.is_advised_to_stop()
        researcher.ask("researcher/api/status", {"status": "closed"})
        others.join(60)
        assert not others.is_alive()
    assert advised
    assert n_seen == PER_PERSON + 1  # with one for practice
    table = study_table(study.folder).columns
    with pytest.warns(UserWarning, match="chosen"):  # that their error is not that of random questions
        answers = read_answers(table)
    n_answers = len(table["participant"])
    assert 200 < n_answers < N_PEOPLE * PER_PERSON
    assert table["purpose"].count("information") > n_answers / 3
    opened, database = open_study(study.folder)
    database.close()
    labels = opened.labels
    points = _true_points(labels)
    chosen = _error(_fitted(answers.comparisons, labels), points)
    at_random = _error(_fitted(_random_answers(labels, choose, n_answers), labels), points)
    assert chosen < at_random
