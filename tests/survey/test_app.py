"""What participants see and send."""

import uuid

import pytest

from nearer.survey.stimuli import slug_of
from nearer.survey.store import STATUS, proposals, write_fact
from nearer.survey.study import open_study, split_labels


@pytest.mark.parametrize(
    ("kind", "n_options", "n_chosen", "headed"),
    [("triplet", 2, 1, True), ("odd-one-out", 3, 1, False), ("most-central", 3, 1, False), ("2 of 5", 5, 2, True)],
)
def test_a_whole_study_of_each_kind(serve, kind, n_options, n_chosen, headed):
    served = serve(kind=kind)
    person = served.person()
    question = person.state()["next"][0]
    assert question["practice"]
    assert len(question["options"]) == n_options
    assert question["n_chosen"] == n_chosen
    assert (question["head"] is not None) == headed
    last = person.finish()
    assert (last["phase"], last["n_done"], last["n_all"]) == ("done", 6, 6)
    assert len(last["completion_code"]) == 10
    assert len(served.rows()) == 7  # with the one for practice


def test_first_comes_what_it_is_about(serve):
    served = serve(texts={"welcome": "Hello.\n\nTwo parts.", "consent": "I agree."})
    person = served.person(consent=False)
    state = person.state()
    assert (state["phase"], state["welcome"], state["consent"]) == ("welcome", ["Hello.", "Two parts."], ["I agree."])
    assert state["next"] == []
    assert person.answer(1).status_code == 403
    assert person.post("/api/consent", {}).json()["phase"] == "asking"


def test_an_answer_counts_once_however_often_it_is_sent(serve):
    served = serve()
    person = served.person()
    question = person.state()["next"][0]
    sent = {"question": question["id"], "chosen": [1], "seconds": 2.0, "id": str(uuid.uuid4())}
    for _ in range(3):
        reply = person.post("/api/answers", {"answers": [sent]})
        assert reply.status_code == 200
        assert reply.json()["saved"] == [question["id"]]
    person.answer(question, [0])  # another tab, and another choice: the first one counts
    assert [(row.question, row.chosen) for row in served.rows()] == [(question["id"], "1")]


def test_questions_stay_the_same_until_they_are_answered(serve):
    person = serve().person()
    assert person.state()["next"] == person.state()["next"]
    first, second, _ = person.state()["next"]
    person.answer(second)  # of what was loaded ahead, in any order
    assert person.state()["next"][0] == first


def test_nobody_gets_a_question_twice(serve):
    sampling = {"method": "random", "test_share": 0.5}
    person = serve(questions={"per_person": 60, "practice": 0}, sampling=sampling).person()
    seen = []
    person.finish(lambda question: seen.append(question) or [0])
    keys = [(each["head"]["object"], *sorted(option["object"] for option in each["options"])) for each in seen]
    assert len(set(keys)) == len(keys) == 60


def test_objects_come_up_about_equally_often(serve):
    served = serve(questions={"per_person": 40, "practice": 0}, sampling={"method": "random", "test_share": 0.0})
    for _ in range(3):
        served.person().finish()
    from nearer.survey.exporting import study_table

    table = study_table(served.folder).columns
    shown = [*table["anchor"], *table["left"], *table["right"]]
    counts = [shown.count(each) for each in served.study.labels]
    assert max(counts) - min(counts) <= 3


def test_catch_questions_are_there_and_have_a_right_answer(serve):
    served = serve(questions={"per_person": 6, "practice": 0, "catch": 2})
    person = served.person()
    caught = []

    def choose(question):
        options = [option["object"] for option in question["options"]]
        if question["head"]["object"] in options:
            caught.append(options.index(question["head"]["object"]))
            return [caught[-1]]
        return [0]

    assert person.finish(choose)["n_all"] == 8
    assert len(caught) == 2


def test_repeats_are_random_questions_of_others(serve):
    served = serve(
        questions={"per_person": 10, "practice": 0},
        sampling={"test_share": 0.5, "repeat_share": 0.4, "method": "random"},
    )
    for _ in range(4):
        served.person().finish()
    from sqlalchemy import select

    from nearer.survey.store import questions

    with served.writer.database.engine.connect() as connection:
        rows = connection.execute(select(questions)).all()
    head_and_options = {row.id: (shown[0], frozenset(shown)) for row in rows if (shown := split_labels(row.shown))}
    tests = {head_and_options[row.id] for row in rows if row.purpose == "test"}
    repeats = [row for row in rows if row.purpose == "repeat"]
    assert repeats
    assert all(head_and_options[row.id] in tests for row in repeats)
    assert len({(row.person, head_and_options[row.id]) for row in rows}) == len(rows)


def test_platforms_are_remembered_and_the_end_leads_back(serve):
    served = serve(people={"completion_url": "https://app.example.org/done?cc={code}", "completion_code": "C123"})
    person = served.person(PROLIFIC_PID="abc", STUDY_ID="s1", other="no")
    assert person.finish()["completion_url"] == "https://app.example.org/done?cc=C123"
    from sqlalchemy import select

    from nearer.survey.store import people

    with served.writer.database.engine.connect() as connection:
        assert connection.execute(select(people.c.external)).scalar() == '{"PROLIFIC_PID": "abc", "STUDY_ID": "s1"}'


def test_reloading_goes_on_where_it_was(serve):
    person = serve().person()
    person.answer(person.state()["next"][0])
    before = person.state()
    person.client.get("/")
    assert person.state() == before


def test_so_many_people_and_no_more(serve):
    served = serve(people={"most": 1})
    first, second = served.person(), served.person()
    assert first.state()["phase"] == "asking"
    assert second.state()["phase"] == "closed"
    assert first.finish()["phase"] == "done"


def test_stimuli_are_served_so_that_they_can_do_nothing(serve, make_study):
    folder = make_study()
    (folder / "stimuli" / "cat.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    )
    served = serve(folder)
    found = served.client().get(f"/stimuli/{slug_of('cat')}")
    assert found.headers["content-type"].startswith("image/svg+xml")
    assert "sandbox" in found.headers["content-security-policy"]
    assert "script-src" not in found.headers["content-security-policy"]
    assert served.client().get("/stimuli/999").status_code == 404
    assert served.client().get(f"/stimuli/{slug_of('dog')}").status_code == 404  # text has no file


def test_a_file_that_came_after_the_start_is_found(serve):
    served = serve()
    (served.folder / "stimuli" / "emu.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    assert served.client().get(f"/stimuli/{slug_of('emu')}").status_code == 200
    assert "emu" not in served.study.labels  # nobody is asked about it before the next start


def test_a_question_stays_the_same_when_a_study_grows(serve, make_study):
    folder = make_study()
    first = serve(folder)
    person = first.person()
    before = person.state()
    with (folder / "objects.csv").open("a") as file:
        file.write("ant,an ant\n")
    second = serve(folder)
    assert second.study.labels == ("ant", *first.study.labels)
    assert person.at(second).state() == before


def test_a_question_that_cannot_be_shown_is_taken_back_and_another_comes(serve, caplog):
    served = serve(questions={"per_person": 4, "practice": 1})
    person = served.person()
    person.answer(person.state()["next"][0])  # practice
    first, second, third = person.state()["next"]
    failed = [first["options"][0]["object"]]
    reply = person.post("/api/unseen", {"question": first["id"], "objects": failed})
    assert reply.status_code == 200
    assert [each["id"] for each in reply.json()["next"]][:2] == [second["id"], third["id"]]
    assert f"could not load {served.label(first['options'][0])}" in caplog.text
    assert person.answer(first).status_code == 403  # another tab, where it is still shown
    last = person.finish()
    assert (last["phase"], last["n_done"], last["n_all"]) == ("done", 4, 4)
    assert len(served.rows()) == 5
    assert first["id"] not in {row.question for row in served.rows()}


def test_what_is_taken_back_for_practice_is_not_made_up_for(serve):
    served = serve(questions={"per_person": 2, "practice": 1})
    person = served.person()
    person.post("/api/unseen", {"question": person.state()["next"][0]["id"], "objects": []})
    assert person.finish()["phase"] == "done"
    assert len(served.rows()) == 2


def test_who_takes_back_too_much_or_what_is_not_theirs_is_refused(serve):
    served = serve(questions={"per_person": 2, "practice": 0})
    person, other = served.person(), served.person()
    question = person.state()["next"][0]
    assert other.post("/api/unseen", {"question": question["id"], "objects": []}).status_code == 403
    person.answer(question)
    assert person.post("/api/unseen", {"question": question["id"], "objects": []}).status_code == 403
    for body in ([], {}, {"question": "1", "objects": []}, {"question": 1}):
        assert person.post("/api/unseen", body).status_code == 400
    codes = [
        other.post("/api/unseen", {"question": other.state()["next"][0]["id"], "objects": []}).status_code
        for _ in range(3)
    ]
    assert codes == [200, 200, 403]


def test_two_people_at_one_computer_are_two(serve):
    served = serve()
    person = served.person(PROLIFIC_PID="first")
    person.finish()
    person.client.get("/", params={"PROLIFIC_PID": "first", "SESSION_ID": "another"})  # who comes back
    assert person.state()["phase"] == "done"
    person.client.get("/", params={"PROLIFIC_PID": "second"})
    assert person.state()["phase"] == "welcome"
    assert len(served.people()) == 2


def test_looking_at_the_head_of_the_page_begins_nothing(serve):
    served = serve()
    assert served.client().head("/").status_code == 200
    assert served.people() == []


def test_whoever_has_answered_everything_gets_the_code_whatever_becomes_of_the_study(serve):
    served = serve(questions={"per_person": 2, "practice": 0})
    person = served.person()
    first, second = person.state()["next"]
    person.answer(first)
    served.writer.run(lambda connection: write_fact(connection, STATUS, "paused"))
    assert person.answer(second).json()["phase"] == "done"
    served.writer.run(lambda connection: write_fact(connection, STATUS, "closed"))
    assert len(person.state()["completion_code"]) == 10


@pytest.mark.parametrize(("before", "after"), [((6, 3), (6, 0)), ((6, 0), (6, 3)), ((6, 1), (3, 1)), ((3, 1), (6, 1))])
def test_settings_that_change_stop_nobody(serve, make_study, before, after):
    folder = make_study(questions=dict(zip(("per_person", "practice"), before, strict=True)))
    first = serve(folder)
    done, halfway = first.person(), first.person()
    done.finish()
    for _ in range(4):
        state = halfway.state()
        if state["next"]:
            halfway.answer(state["next"][0])
    text = (folder / "study.toml").read_text().replace(f"per_person = {before[0]}", f"per_person = {after[0]}")
    (folder / "study.toml").write_text(text.replace(f"practice = {before[1]}", f"practice = {after[1]}"))
    second = serve(folder)
    for person in (done, halfway):
        client = second.client()
        client.cookies = person.client.cookies
        person.client = client
    assert done.state()["phase"] == "done"
    assert halfway.finish()["phase"] == "done"


def test_a_proposal_about_an_object_that_came_later_stops_nobody(serve):
    served = serve(sampling={"method": "active", "test_share": 0.0, "repeat_share": 0.0})
    rows = [{"shown": "ant\tcat\tdog"}, {"shown": "cow\tcat\tdog"}]
    served.writer.run(lambda connection: connection.execute(proposals.insert(), rows) and None)
    person = served.person()
    heads = [served.label(each["head"]) for each in person.state()["next"] if not each["practice"]]
    assert "cow" in heads
    assert "ant" not in heads
    assert person.finish()["phase"] == "done"


def test_labels_that_no_table_could_hold_are_refused(make_study):
    folder = make_study(kind="2 of 4", objects=("a;b", "c", "d", "e", "f", "g"))
    with pytest.raises(ValueError, match="rename it"):
        open_study(folder)


def test_a_study_stays_of_its_kind_once_people_were_asked(serve, make_study):
    folder = make_study(kind="odd-one-out")
    settings = folder / "study.toml"
    serve(folder)
    settings.write_text(settings.read_text().replace("odd-one-out", "most-central"))
    serve(folder).person().finish()
    settings.write_text(settings.read_text().replace("most-central", "odd-one-out"))
    with pytest.raises(ValueError, match="make another study"):
        open_study(folder)


def test_no_break_is_offered_shortly_before_the_end(serve):
    served = serve(questions={"per_person": 30, "practice": 0, "catch": 2, "break_every": 10})
    assert served.person().state()["breaks"] == [10, 20]  # not at 30 of 32
