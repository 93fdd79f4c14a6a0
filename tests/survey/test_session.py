"""Participants and their sessions: who is deleted, when breaks come, and which catch options are right."""

import pytest

from nearer.survey.sequencer import correct_options
from nearer.survey.session import break_positions, forget_participant, paragraphs
from nearer.survey.store import people, questions


@pytest.mark.parametrize(
    ("n_questions", "every", "expected"), [(90, 30, [30, 60]), (62, 30, [30]), (75, 30, [30, 60]), (60, 0, [])]
)
def test_no_break_shortly_before_the_end(n_questions, every, expected):
    assert break_positions(n_questions, every) == expected


def test_blank_lines_separate_paragraphs():
    assert paragraphs("a\nb\r\n\r\nc\n\n\n d ") == ["a b", "c", "d"]


def test_correct_options_of_catch_questions():
    assert correct_options(["emu", "cat", "emu"], has_anchor=True) == (1,)
    assert correct_options(["emu", "emu", "cat"], has_anchor=False) == (2,)


def test_forgetting_deletes_everything_about_one_person_and_nothing_else(serve):
    served = serve()
    first, second = served.person(PROLIFIC_PID="unforgettable"), served.person()
    first.finish()
    second.finish()
    counts = served.writer.run(lambda connection: forget_participant(connection, "unforgettable"))
    assert counts == {"people": 1, "answers": 7, "questions": 7}
    with served.writer.database.engine.connect() as connection:
        left = connection.execute(people.select()).all()
        assert len(left) == 1
        assert {row.person for row in connection.execute(questions.select())} == {left[0].id}
    assert len(served.rows()) == 7
    assert second.finish()["phase"] == "done"
    assert first.client.get("/api/state").status_code == 401
    served.writer.database.scrub()
    assert not any(b"unforgettable" in path.read_bytes() for path in served.folder.glob("answers.sqlite*"))


def test_whoever_is_not_there_cannot_be_forgotten(serve):
    with pytest.raises(ValueError, match="there is no participant 'ann'"):
        serve().writer.run(lambda connection: forget_participant(connection, "ann"))


def test_the_id_of_a_study_forgets_nobody(serve):
    served = serve()
    for number in range(2):
        served.person(PROLIFIC_PID=f"p{number}", STUDY_ID="all", SESSION_ID=f"s{number}").finish()
    with pytest.raises(ValueError, match="there is no participant 'all'"):
        served.writer.run(lambda connection: forget_participant(connection, "all"))
    assert served.writer.run(lambda connection: forget_participant(connection, "s1"))["people"] == 1


def test_numbers_of_forgotten_questions_are_not_given_again(serve):
    served = serve()
    served.person(PROLIFIC_PID="gone").finish()
    last = max(row.question for row in served.rows())
    served.writer.run(lambda connection: forget_participant(connection, "gone"))
    assert served.person().state()["next"][0]["id"] > last
