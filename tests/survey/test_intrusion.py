"""What must not be possible: each is refused with the right status and logged, and nothing of it is kept."""

import logging
import uuid
from types import SimpleNamespace

import pytest

from nearer.survey import web
from nearer.survey.web import Guarded, RateLimit

SCRIPT = "<script>alert(1)</script>"
JSON = {"x-nearer": "1", "content-type": "application/json"}


@pytest.fixture
def served(serve):
    return serve(
        texts={"welcome": SCRIPT, "consent": SCRIPT, "thanks": SCRIPT}, title=SCRIPT, question=SCRIPT,
        people={"most": 100}, objects=(SCRIPT, "dog", "cow", "car"),
    )  # fmt: skip


@pytest.fixture
def refused(caplog):
    """Return a function that sees whether a request was refused with a status, and whether the log has a line of it."""

    def refused(response, status):
        assert response.status_code == status
        lines = log_of(caplog)
        assert any(line.startswith("refused: ") and f": {status}, " in line for line in lines), lines
        caplog.clear()
        return True

    caplog.set_level(logging.INFO)
    return refused


def log_of(caplog):
    return [record.getMessage() for record in caplog.records if record.name == "nearer.survey"]


def answer(question, /, **changes):
    return {"question": question, "chosen": [0], "seconds": 1.0, "id": str(uuid.uuid4())} | changes


NONSENSE = [
    3, "text", [], {}, {"answers": None}, {"answers": {}}, {"answers": "x"}, {"answers": [None]}, {"answers": [3]},
    {"answers": [{}]}, {"answers": [[]]}, {"answers": [answer(1)] * 101},
]  # fmt: skip
CHANGES = [
    {"question": None}, {"question": "1"}, {"question": -1}, {"question": 1.5}, {"question": True}, {"question": 2**63},
    {"chosen": None}, {"chosen": 0}, {"chosen": "0"}, {"chosen": []}, {"chosen": [0, 1]}, {"chosen": [0, 0]},
    {"chosen": [2]}, {"chosen": [-1]}, {"chosen": [True]}, {"chosen": ["0"]}, {"chosen": [0.0]}, {"chosen": [None]},
    {"id": None}, {"id": ""}, {"id": "x" * 41}, {"id": 5}, {"id": ["a"]}, {"id": "a\0b"},
    {"id": "a\n"}, {"id": "\u00e9"},
]  # fmt: skip


@pytest.mark.parametrize("body", NONSENSE)
def test_nonsense_is_refused(served, refused, body):
    assert refused(served.person().post("/api/answers", body), 400)
    assert served.rows() == []


@pytest.mark.parametrize("changes", CHANGES)
def test_answers_that_are_none_are_refused(served, refused, changes):
    person = served.person()
    question = person.state()["next"][0]
    assert refused(person.post("/api/answers", {"answers": [answer(question["id"], **changes)]}), 400)
    assert served.rows() == []
    assert person.answer(question).status_code == 200  # the person goes on


@pytest.mark.parametrize(
    "seconds", ["null", "-1", '"fast"', "Infinity", "NaN", "1e999", "true", "[1]", "1" + 400 * "0"]
)
def test_strange_times_lose_no_answer(served, seconds):
    person = served.person()
    number = person.state()["next"][0]["id"]
    sent = f'{{"answers": [{{"question": {number}, "chosen": [0], "id": "a", "seconds": {seconds}}}]}}'
    headers = {"x-nearer": "1", "content-type": "application/json"}
    assert person.client.post("/api/answers", content=sent, headers=headers).status_code == 200
    assert [row.seconds for row in served.rows()] == [None]


def test_another_persons_question_is_refused(served, refused):
    first, second = served.person(), served.person()
    question = first.state()["next"][0]
    assert refused(second.answer(question), 403)
    mixed = [answer(second.state()["next"][0]["id"]), answer(question["id"])]
    assert refused(second.post("/api/answers", {"answers": mixed}), 403)
    assert served.rows() == []  # nothing of a forged request is kept


def test_a_question_that_was_never_asked_is_refused(served, refused):
    assert refused(served.person().answer(999_999), 403)


def test_a_replayed_answer_changes_nothing(served, refused):
    person, other = served.person(), served.person()
    question = person.state()["next"][0]
    sent = {"answers": [answer(question["id"], chosen=[1])]}
    person.post("/api/answers", sent)
    before, state = served.rows(), person.state()
    forged = {"answers": [answer(question["id"], chosen=[0], id=sent["answers"][0]["id"], seconds=9.0)]}
    for body in (sent, sent, forged):
        assert person.post("/api/answers", body).status_code == 200
    assert (served.rows(), person.state()) == (before, state)
    assert refused(other.post("/api/answers", sent), 403)
    assert served.rows() == before


def test_answers_before_consent_and_after_the_end_of_the_study_are_refused(served, refused):
    person = served.person(consent=False)
    assert refused(person.answer(1), 403)
    person.post("/api/consent", {})
    question = person.state()["next"][0]
    researcher = served.client()
    researcher.get("/researcher", params={"key": served.secret})
    researcher.post("/researcher/api/status", json={"status": "closed"}, headers=JSON)
    assert refused(person.answer(question), 409)
    assert served.rows() == []


@pytest.mark.parametrize("token", ["", "x", "0" * 32, "' OR 1=1 --", "x" * 5000])
def test_a_made_up_session_is_refused(served, refused, token):
    client = served.client()
    client.cookies.set(served.session, token)
    assert refused(client.get("/api/state"), 401)
    assert refused(client.post("/api/answers", json={"answers": []}, headers=JSON), 401)


def test_nobody_is_made_to_use_a_session_that_others_know(served):
    client = served.client()
    client.cookies.set(served.session, "known-to-others")
    assert "known-to-others" not in client.get("/").headers["set-cookie"]


def test_the_hash_in_the_database_is_no_key(served, refused):
    from sqlalchemy import select

    from nearer.survey.store import people

    person = served.person()
    with served.writer.database.engine.connect() as connection:
        kept = connection.execute(select(people.c.session)).scalar_one()
    assert kept not in person.client.cookies.get(served.session)
    client = served.client()
    client.cookies.set(served.session, kept)
    assert refused(client.get("/api/state"), 401)


@pytest.mark.parametrize(
    "headers",
    [
        {"x-nearer": ""}, {"x-nearer": "0"}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"}, {"origin": "null"}, {"origin": "http://testserver.evil.example"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/api/answers", "/api/consent"])
def test_other_pages_can_send_nothing(served, refused, headers, path):
    person = served.person()
    body = {"answers": [answer(person.state()["next"][0]["id"])]}
    assert refused(person.post(path, body, **headers), 403)
    assert served.rows() == []


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data", ""])
def test_forms_can_send_nothing(served, refused, kind):
    person = served.person()
    content = b'{"answers": []}'
    sent = person.client.post("/api/answers", content=content, headers={"x-nearer": "1", "content-type": kind})
    assert refused(sent, 415)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 50_000])
def test_broken_json_is_refused(served, refused, content):
    assert refused(served.person().client.post("/api/answers", content=content, headers=JSON), 400)


@pytest.mark.parametrize("path", ["/", "/api/answers", "/api/consent", "/researcher/api/status"])
def test_large_bodies_are_refused(served, refused, path):
    assert refused(served.person().client.post(path, content=b"x" * 70_000, headers=JSON), 413)


def test_large_bodies_are_refused_also_where_their_length_is_not_reported(served, refused):
    def pieces():
        yield from (b"x" * 10_000 for _ in range(8))

    assert refused(served.person().client.post("/api/answers", content=pieces(), headers=JSON), 413)


@pytest.mark.parametrize("length", ["-1", "many", "9" * 30])
def test_lengths_that_are_none_are_refused(served, refused, length):
    headers = {**JSON, "content-length": length}
    assert refused(served.person().client.post("/api/answers", content=b"{}", headers=headers), 413)


@pytest.fixture
def clock(monkeypatch):
    """Return the clock of all limits, which stands still until somebody sets it: a slow machine sends no slower."""
    clock = SimpleNamespace(now=0.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(web, "time", clock)
    return clock


def test_whoever_answers_too_fast_must_wait(served, refused, clock):
    def statuses(n_times):
        return [person.post("/api/answers", {"answers": []}).status_code for _ in range(n_times)]

    person = served.person()  # whose consent was the first of 60 requests
    assert statuses(59) == [200] * 59
    assert refused(person.post("/api/answers", {"answers": []}), 429)
    assert served.person().post("/api/answers", {"answers": []}).status_code == 200  # nobody else has to
    clock.now += 1
    assert statuses(12) == [200] * 10 + [429] * 2


@pytest.mark.parametrize(
    "path", ["../study.toml", "..%2fstudy.toml", "%2e%2e/study.toml", "0/../../study.toml", "a", "-1", "%00", "9" * 99]
)
@pytest.mark.parametrize("where", ["/stimuli/", "/static/"])
def test_no_file_outside_is_served(served, refused, where, path):
    found = served.client().get(where + path)
    assert refused(found, 404)
    assert "title" not in found.text


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "NONSENSE"])
@pytest.mark.parametrize("path", ["/", "/api/answers", "/researcher/api/state", "/stimuli/0"])
def test_other_methods_are_refused(served, refused, method, path):
    assert refused(served.person().client.request(method, path), 405)


@pytest.mark.parametrize("name", ["x-http-method-override", "x-method-override", "x-original-method"])
def test_a_method_is_what_it_is(served, refused, name):
    person = served.person()
    assert refused(person.client.get("/api/answers", headers={**JSON, name: "POST"}), 405)
    assert refused(person.client.get("/api/consent?_method=POST", headers=JSON), 405)


@pytest.mark.parametrize("path", ["/", "/api/state", "/researcher"])
def test_nobody_is_led_elsewhere_by_the_name_of_the_server(served, path):
    client = served.person().client
    client.cookies.set(served.researcher_cookie, served.secret)
    headers = {"host": "evil.example", "x-forwarded-host": "evil.example", "forwarded": "host=evil.example"}
    found = client.get(path, headers=headers, follow_redirects=False)
    assert "evil.example" not in found.text + str(found.headers)
    entered = client.get(f"/researcher?key={served.secret}", headers=headers, follow_redirects=False)
    assert entered.headers["location"] == "/researcher"


def test_a_link_out_of_the_folder_is_no_stimulus(serve, make_study, tmp_path):
    (tmp_path / "private.png").write_bytes(b"\x89PNG private")
    folder = make_study()
    (folder / "stimuli" / "private.png").symlink_to(tmp_path / "private.png")
    assert "private" not in serve(folder).study.labels


def test_long_labels_are_refused_before_anybody_is_asked(make_study):
    from nearer.survey.study import open_study

    with pytest.raises(ValueError, match="201 characters"):
        open_study(make_study(objects=("x" * 201, "dog", "cow")))


def test_no_text_becomes_a_script(served):
    """Labels, captions, texts of the study, ids of platforms and of answers: all of it is text, wherever it is told."""
    person = served.person(PROLIFIC_PID=SCRIPT, workerId=SCRIPT)
    person.finish(lambda question: [0])
    other = served.person()
    other.answer(other.state()["next"][0], id=SCRIPT)
    other.client.cookies.set(served.researcher_cookie, served.secret)
    for path in ("/", "/researcher"):
        page = other.client.get(path)
        assert SCRIPT not in page.text
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe-inline" not in policy
        assert "unsafe-eval" not in policy
    for path, kind in {"/api/state": "application/json", "/researcher/api/state": "application/json",
                       "/researcher/answers.csv": "text/csv; charset=utf-8"}.items():  # fmt: skip
        found = other.client.get(path)
        assert SCRIPT in found.text  # as it was written, where nobody takes it for a page
        assert (found.headers["content-type"], found.headers["x-content-type-options"]) == (kind, "nosniff")


@pytest.mark.parametrize("path", ["/", "/api/state", "/static/participant.js", "/stimuli/0", "/researcher", "/nowhere"])
def test_every_answer_has_its_headers(served, path):
    headers = served.client().get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert "content-security-policy" in headers


RESEARCHERS = ["/researcher", "/researcher/api/state", "/researcher/answers.csv", "/researcher/answers.parquet"]


@pytest.mark.parametrize("path", RESEARCHERS)
@pytest.mark.parametrize("guess", [None, "", "x" * 32, "' OR 1=1 --", "\u00e9"])
def test_the_researchers_pages_need_the_secret(served, refused, path, guess):
    client = served.person().client
    if guess is not None:
        client.cookies.set(served.researcher_cookie, guess.encode("unicode_escape").decode())
    assert refused(client.get(path), 403)
    client.cookies.set(served.researcher_cookie, served.secret)
    assert client.get(path).status_code == 200


@pytest.mark.parametrize("path", ["/researcher/api/status", "/researcher/api/people", "/researcher/api/codes"])
def test_nobody_else_changes_a_study(served, refused, path):
    person = served.person()
    assert refused(person.post(path, {"status": "closed"}), 403)
    person.client.cookies.set(served.researcher_cookie, served.secret)
    assert refused(person.post(path, {"status": "closed"}, origin="https://evil.example"), 403)
    assert refused(person.post(path, {"status": "gone", "id": 3, "codes": 3}), 400)
    assert refused(person.post(path, []), 400)
    assert person.state()["phase"] == "asking"


def test_guessing_has_a_limit(served, refused, clock):
    client = served.client()
    found = [client.get("/researcher", params={"key": f"guess{number}"}) for number in range(11)]
    assert [each.status_code for each in found[:10]] == [403] * 10
    assert refused(found[-1], 429)
    disguised = client.get("/researcher", params={"key": "guess"}, headers={"x-forwarded-for": "203.0.113.9"})
    assert refused(disguised, 429)


def test_the_log_knows_nobody(served, caplog):
    person, client = served.person(PROLIFIC_PID="platform-id"), served.client()
    token = person.client.cookies.get(served.session)
    question = person.state()["next"][0]["id"]
    client.get(f"/{token}%0Arefused: forged", params={"key": served.secret})
    client.get(f"/stimuli/{token}", params={"PROLIFIC_PID": "platform-id"})
    client.get("/researcher", params={"key": "a-wrong-guess"}, headers={"x-forwarded-for": "203.0.113.9"})
    client.request("SECRETMETHOD", "/api/state")
    served.person().answer(question, id="sent-as")
    person.post("/api/answers", {"answers": [{"question": question, "chosen": ["said"], "id": "sent-as"}]})
    lines = log_of(caplog)
    assert [line.partition(",")[0] for line in lines] == [
        "refused: GET elsewhere: 404", "refused: GET /stimuli...: 404", "refused: GET /researcher...: 403",
        "refused: another method /api...: 405", "refused: POST /api...: 403", "refused: POST /api...: 400",
    ]  # fmt: skip
    personal = (token, served.secret, "guess", "platform-id", "sent-as", "said", "203.0", "testclient", "SECRETMETHOD")
    assert not any(each in line for line in lines for each in (*personal, "forged", "\n"))


def test_very_many_refusals_are_a_few_lines(caplog):
    guarded, scope = Guarded(None), {"method": "GET", "path": "/x"}
    guarded.lines = RateLimit(burst=3, per_second=1e-9)
    for _ in range(1000):
        guarded.log_refusal(scope, 404)
    assert len(log_of(caplog)) == 3
    guarded.lines.per_second = 1e9
    guarded.log_refusal(scope, 404)
    guarded.log_refusal(scope, 404)
    assert log_of(caplog)[3:] == [
        "refused: GET elsewhere: 404, there is no such page (and 997 others before it)",
        "refused: GET elsewhere: 404, there is no such page",
    ]


def test_the_secret_is_no_part_of_the_database(served):
    kept = b"".join(path.read_bytes() for path in served.folder.glob("answers.sqlite*"))
    assert served.secret.encode() not in kept


def test_cookies_are_for_the_server_alone(serve):
    page = serve(serving={"address": "https://study.example.org"}).person(consent=False).page
    cookie = page.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "secure" in cookie
    assert "samesite=lax" in cookie


def test_purposes_and_labels_are_not_reported(served):
    """Whoever knows which questions are catches, or what files are called, answers differently."""
    state = served.person().state()
    assert set(state["next"][0]) == {"id", "practice", "n_chosen", "head", "options"}
    assert set(state["next"][0]["options"][0]) == {"object", "caption", "kind", "url"}
