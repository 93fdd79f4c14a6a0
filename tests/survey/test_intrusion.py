"""What must not be possible: each is refused with the right status, and nothing of it is kept."""

import uuid

import pytest

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def served(serve):
    return serve(texts={"welcome": SCRIPT, "consent": SCRIPT, "thanks": SCRIPT}, title=SCRIPT, question=SCRIPT)


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
    {"id": None}, {"id": ""}, {"id": "x" * 41}, {"id": 5}, {"id": ["a"]},
]  # fmt: skip


@pytest.mark.parametrize("body", NONSENSE)
def test_nonsense_is_refused(served, body):
    assert served.person().post("/api/answers", body).status_code == 400
    assert served.rows() == []


@pytest.mark.parametrize("changes", CHANGES)
def test_answers_that_are_none_are_refused(served, changes):
    person = served.person()
    question = person.state()["next"][0]
    assert person.post("/api/answers", {"answers": [answer(question["id"], **changes)]}).status_code in (400, 403)
    assert served.rows() == []
    assert person.answer(question).status_code == 200  # the person goes on


@pytest.mark.parametrize("seconds", ["null", "-1", '"fast"', "Infinity", "NaN", "1e999", "true", "[1]"])
def test_strange_times_lose_no_answer(served, seconds):
    person = served.person()
    number = person.state()["next"][0]["id"]
    sent = f'{{"answers": [{{"question": {number}, "chosen": [0], "id": "a", "seconds": {seconds}}}]}}'
    headers = {"x-nearer": "1", "content-type": "application/json"}
    assert person.client.post("/api/answers", content=sent, headers=headers).status_code == 200
    assert [row.seconds for row in served.rows()] == [None]


def test_another_persons_question_is_refused(served):
    first, second = served.person(), served.person()
    question = first.state()["next"][0]
    assert second.answer(question).status_code == 403
    assert served.rows() == []
    mixed = [answer(second.state()["next"][0]["id"]), answer(question["id"])]
    assert second.post("/api/answers", {"answers": mixed}).status_code == 403
    assert served.rows() == []  # nothing of a forged request is kept


def test_a_question_that_was_never_asked_is_refused(served):
    assert served.person().answer(999_999).status_code == 403


@pytest.mark.parametrize("token", ["", "x", "0" * 32, "' OR 1=1 --", "x" * 5000])
def test_a_made_up_session_is_refused(served, token):
    client = served.client()
    client.cookies.set("nearer_session", token)
    assert client.get("/api/state").status_code == 401
    assert client.post("/api/answers", json={"answers": []}, headers={"x-nearer": "1"}).status_code == 401


def test_the_hash_in_the_database_is_no_key(served):
    from sqlalchemy import select

    from nearer.survey.store.tables import people

    person = served.person()
    with served.writer.database.engine.connect() as connection:
        kept = connection.execute(select(people.c.session)).scalar_one()
    assert kept not in person.client.cookies.get("nearer_session")
    client = served.client()
    client.cookies.set("nearer_session", kept)
    assert client.get("/api/state").status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"x-nearer": ""}, {"x-nearer": "0"}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"}, {"origin": "null"}, {"origin": "http://testserver.evil.example"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/api/answers", "/api/consent"])
def test_other_pages_can_send_nothing(served, headers, path):
    person = served.person()
    body = {"answers": [answer(person.state()["next"][0]["id"])]}
    assert person.post(path, body, **headers).status_code == 403
    assert served.rows() == []


def test_forms_can_send_nothing(served):
    person = served.person()
    plain = person.client.post("/api/answers", data={"answers": "1"}, headers={"x-nearer": "1"})
    assert plain.status_code == 415


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[" * 50_000])
def test_broken_json_is_refused(served, content):
    headers = {"x-nearer": "1", "content-type": "application/json"}
    assert served.person().client.post("/api/answers", content=content, headers=headers).status_code == 400


def test_large_bodies_are_refused_also_where_their_length_is_not_told(served):
    person, headers = served.person(), {"x-nearer": "1", "content-type": "application/json"}
    assert person.client.post("/api/answers", content=b"x" * 70_000, headers=headers).status_code == 413

    def pieces():
        yield from (b"x" * 10_000 for _ in range(8))

    assert person.client.post("/api/answers", content=pieces(), headers=headers).status_code == 413


def test_whoever_answers_too_fast_must_wait(served):
    person = served.person()
    found = [person.post("/api/answers", {"answers": []}).status_code for _ in range(80)]
    assert 429 in found
    assert served.person().post("/api/answers", {"answers": []}).status_code == 200  # and nobody else


@pytest.mark.parametrize(
    "path", ["../study.toml", "..%2fstudy.toml", "%2e%2e/study.toml", "0/../../study.toml", "a", "-1"]
)
@pytest.mark.parametrize("where", ["/stimuli/", "/static/"])
def test_no_file_outside_is_served(served, where, path):
    found = served.client().get(where + path)
    assert found.status_code == 404
    assert "title" not in found.text


def test_a_link_out_of_the_folder_is_no_stimulus(serve, make_study, tmp_path):
    (tmp_path / "private.png").write_bytes(b"\x89PNG private")
    folder = make_study()
    (folder / "stimuli" / "private.png").symlink_to(tmp_path / "private.png")
    assert "private" not in serve(folder).study.labels


def test_no_text_becomes_a_script(served):
    page = served.person().page
    assert SCRIPT not in page.text
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "unsafe-eval" not in policy


@pytest.mark.parametrize("path", ["/", "/api/state", "/static/participant.js", "/stimuli/0", "/researcher", "/nowhere"])
def test_every_answer_has_its_headers(served, path):
    headers = served.client().get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert "content-security-policy" in headers


RESEARCHERS = ["/researcher", "/researcher/api/state", "/researcher/answers.csv", "/researcher/answers.parquet"]


@pytest.mark.parametrize("path", RESEARCHERS)
def test_the_researchers_pages_need_the_secret(served, path):
    client = served.person().client
    assert client.get(path).status_code == 403
    client.cookies.set("nearer_researcher", "x" * len(served.secret))
    assert client.get(path).status_code in (403, 429)
    client.cookies.set("nearer_researcher", served.secret)
    assert client.get(path).status_code == 200


@pytest.mark.parametrize("path", ["/researcher/api/status", "/researcher/api/people"])
def test_nobody_else_changes_a_study(served, path):
    person = served.person()
    assert person.post(path, {"status": "closed"}).status_code == 403
    person.client.cookies.set("nearer_researcher", served.secret)
    assert person.post(path, {"status": "closed"}, origin="https://evil.example").status_code == 403
    assert person.state()["phase"] == "asking"


def test_guessing_has_a_limit(served):
    client = served.client()
    found = [client.get("/researcher", params={"key": f"guess{number}"}).status_code for number in range(30)]
    assert found[:10] == [403] * 10
    assert 429 in found


def test_the_secret_is_no_part_of_the_database(served):
    kept = b"".join(path.read_bytes() for path in served.folder.glob("answers.sqlite*"))
    assert served.secret.encode() not in kept


def test_cookies_are_for_the_server_alone(serve):
    page = serve(serving={"address": "https://study.example.org"}).person(consent=False).page
    cookie = page.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "secure" in cookie
    assert "samesite=lax" in cookie


def test_purposes_and_labels_are_not_told(served):
    """Whoever knows which questions are catches, or what files are called, answers differently."""
    state = served.person().state()
    assert set(state["next"][0]) == {"id", "practice", "n_chosen", "head", "options"}
    assert set(state["next"][0]["options"][0]) == {"number", "caption", "kind", "url"}
