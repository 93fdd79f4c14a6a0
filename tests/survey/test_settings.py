"""The settings of a study: what the file says arrives, and what is wrong is named with what to write."""

import dataclasses
import tomllib

import pytest

from nearer.survey.notice import notice_text
from nearer.survey.scaffold import settings_text
from nearer.survey.settings import DEFAULTS, Settings, contrast, gather_settings, read_settings, translations


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "study.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def refused(path):
    with pytest.raises(ValueError, match=r"study\.toml") as caught:
        read_settings(path)
    assert all(line.startswith(f"{path}: ") for line in str(caught.value).splitlines())
    return str(caught.value).removeprefix(f"{path}: ")


class TestTemplate:
    def test_it_holds_exactly_the_defaults(self, write):
        assert read_settings(write(settings_text())) == Settings()

    def test_every_setting_stands_in_it_below_a_comment(self):
        tables = tomllib.loads(settings_text())
        inner = [key for value in tables.values() if isinstance(value, dict) for key in value]
        keys = [key for key, value in tables.items() if not isinstance(value, dict)] + inner
        assert sorted([key.replace("most", "most_people") for key in keys] + ["conditions"]) == sorted(DEFAULTS)
        assert "# [conditions." in settings_text()
        lines = settings_text().splitlines()
        for key in set(keys) - {"background"}:  # explained with the other colour
            (at,) = (at for at, line in enumerate(lines) if line.startswith(f"{key} = "))
            assert lines[at - 1].startswith("# "), key

    def test_all_languages_are_named(self):
        (line,) = (line for line in settings_text().splitlines() if line.startswith("# The language"))
        assert all(f'"{language}"' in line for language in translations())

    def test_what_is_filled_in_comes_back(self, write):
        values = {
            "title": 'Birds & "bees" \\ é 鳥', "welcome": 'one\n\n"""two""" \\n\nends with "', "per_person": 7,
            "test_share": 0.25, "most_people": 3, "completion_url": "https://example.org/?cc={code}",
        }  # fmt: skip
        assert read_settings(write(settings_text(**values))) == Settings(**values)


class TestReading:
    def test_every_table_is_read(self, write):
        path = write("""
            title = " Birds "
            kind = "2of8"
            [texts]
            thanks = "Bye"
            [questions]
            per_person = 12
            [sampling]
            test_share = 0
            [people]
            most = 40
            [look]
            accent = "#000000"
            [server]
            database = "postgresql://me:secret@db/study"
        """)
        settings = read_settings(path)
        expected = {
            "title": "Birds", "kind": "2 of 8", "thanks": "Bye", "per_person": 12, "test_share": 0.0,
            "most_people": 40, "accent": "#000000", "database": "postgresql://me:secret@db/study",
        }  # fmt: skip
        assert dataclasses.asdict(settings) == {**DEFAULTS, **expected}
        assert isinstance(settings.test_share, float)

    def test_passwords_are_not_shown(self):
        assert "secret" not in repr(Settings(database="postgresql://me:secret@db/study"))

    def test_the_folder_will_do_and_so_do_files_of_windows(self, write):
        path = write(b"\xef\xbb\xbf" + settings_text().replace("\n", "\r\n").encode())
        assert read_settings(path) == read_settings(path.parent) == Settings()

    def test_settings_are_frozen(self):
        with pytest.raises(dataclasses.FrozenInstanceError):
            Settings().title = "another"

    def test_a_change_is_checked_as_well(self):
        with pytest.raises(ValueError, match=r"\[questions\] practice"):
            dataclasses.replace(Settings(), practice=-1)


class TestConditions:
    def test_they_are_read_in_order_with_what_is_different_in_each(self, write):
        settings = read_settings(
            write("""
            question = "Which is alike?"
            [conditions."very old"]
            share = 2
            question = " Which is as old? "
            [conditions.new]
            """)
        )
        assert [(each.name, each.share) for each in settings.conditions] == [("very old", 2), ("new", 1)]
        asked = [settings.in_condition(name).question for name in ("very old", "new", "")]
        assert asked == ["Which is as old?", "Which is alike?", "Which is alike?"]

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("[conditions]\na = 3\nb = 4", "write [conditions.NAME] on a line of its own"),
            ("[conditions.a]\nquestoin = 'x'\n[conditions.b]", "'questoin' in [conditions.a]; did you mean question?"),
            ("[conditions.a]\nshare = 0\n[conditions.b]", "'a': share must be a whole number from 1 to 100, got 0"),
            ("[conditions.a]\nshare = true\n[conditions.b]", "'a': share must be a whole number"),
            ("[conditions.a]\nquestion = 3\n[conditions.b]", "'a': question must be text in double quotes, got 3"),
            ("[conditions.a]", "has one condition alone"),
            ("[conditions.'a/b']\n[conditions.b]", "'a/b': name a condition with"),
        ],
    )
    def test_what_is_wrong_is_named(self, text, said, write):
        assert said in refused(write(text))


FACTS = {
    "responsible": "the Institute", "contact": "me@example.org", "purpose": "to learn about birds",
    "storage_place": "in our cellar",
    "storage_period": "ten years", "authority": "the Authority",
}  # fmt: skip


class TestNotice:
    @pytest.mark.parametrize("language", ["en", "de"])
    def test_the_template_has_all_facts(self, language):
        text = notice_text(Settings(language=language, **FACTS))
        assert all(text.count(fact) == 1 for fact in FACTS.values())
        assert "{" not in text

    def test_there_is_none_without_facts(self):
        assert notice_text(Settings()) == ""

    def test_a_text_of_ones_own_gets_the_facts_that_it_names(self):
        settings = Settings(notice="Write to {contact}.", contact="{purpose}", language="fr")
        assert notice_text(settings) == "Write to {purpose}."

    def test_missing_facts_are_named(self, write):
        text = '[data_protection]\nresponsible = "x"\ncontact = "y"\nstorage_place = "z"\nauthority = "a"'
        assert "[data_protection] lacks purpose, storage_period" in refused(write(text))
        assert "lacks contact," in refused(write('[data_protection]\nnotice = "Write to {contact}."'))
        assert "in braces there may be" in refused(write('[data_protection]\nnotice = "Write to {me}."'))

    def test_where_there_is_no_template_one_must_be_written(self, write):
        text = settings_text(language="es", **FACTS)
        assert "has a template in en and de, and language is 'es'" in refused(write(text))
        assert read_settings(write(settings_text(language="es", notice="Aviso", **FACTS))).notice == "Aviso"


class TestWhatIsNoSetting:
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ('titel = "x"', "there is no setting 'titel' above the tables; did you mean title?"),
            (
                "[questions]\nper_preson = 3",
                "no setting 'per_preson' in [questions]; did you mean [questions] per_person?",
            ),
            ("[people]\ncompletoin_url = ''", "did you mean [people] completion_url?"),
            ("[look]\nxyz = 1", "there is no setting 'xyz' in [look]; there are accent, background"),
            ("per_person = 3", "per_person is above the tables; move it below [questions]"),
            ('[server]\ntitle = "x"', "title is in [server]; move it above the first table"),
            ("[question_s]\na = 1", "there is no table 'question_s'; did you mean [questions]?"),
            ("[zzz]\na = 1", "there is no table 'zzz'; there are texts, questions"),
            ("look = 3", "look is a table: write [look] on a line of its own"),
            ("[title]\na = 1", "there is no table 'title'"),
        ],
    )
    def test_it_is_named_with_what_was_meant(self, text, said, write):
        assert said in refused(write(text))


class TestWrongValues:
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("title = 3", "title must be text in double quotes, got 3"),
            ('title = "a\\nb"', "title must be a single line"),
            ('title = "a\\u0000b"', "title has an invisible character, '\\x00'"),
            (f'title = "{"x" * 201}"', "title has 201 characters; write at most 200"),
            ('question = " "', "question must not be empty"),
            ('kind = "Tripplet"', "got 'Tripplet'; did you mean 'triplet'?"),
            ('kind = "9 of 20"', "kind is too much to choose from"),
            ('language = "xx"', "language must be one of de, en"),
            ("[questions]\nper_person = 0", "[questions] per_person must be a whole number from 1 to 10,000, got 0"),
            ('[questions]\nper_person = "60"', "must be a whole number from 1 to 10,000, got '60'"),
            ("[questions]\nper_person = 60.5", "must be a whole number from 1 to 10,000, got 60.5"),
            ("[questions]\ncatch = true", "[questions] catch must be a whole number from 0 to 1,000, got True"),
            ("[questions]\ncatch = [2]", "[questions] catch must be a whole number from 0 to 1,000, got [2]"),
            ("[questions]\npractice = 2020-01-01", "[questions] practice must be a whole number"),
            ("[questions]\nbreak_every = -1", "[questions] break_every must be a whole number from 0"),
            ("[questions]\ndimensions = 0", "[questions] dimensions must be a whole number from 1 to 20"),
            ('[sampling]\nmethod = "Random"', "[sampling] method must be 'active' or 'random', got 'Random'; did you"),
            ("[sampling]\ntest_share = 1.5", "[sampling] test_share must be a number from 0 to 1, got 1.5"),
            ("[sampling]\ntest_share = nan", "[sampling] test_share must be a number from 0 to 1, got nan"),
            ("[sampling]\nrepeat_share = 0.6", "[sampling] repeat_share must be a number from 0 to 0.5"),
            ("[sampling]\ntest_share = 0.9\nrepeat_share = 0.2", "add up to more than 1"),
            ("[people]\nmost = -3", "[people] most must be a whole number from 0 to 10,000,000, got -3"),
            ("[people]\npay = -0.5", "[people] pay must be a number from 0 to 1,000,000, got -0.5"),
            ("[people]\npay = '1.50'", "[people] pay must be a number from 0 to 1,000,000, got '1.50'"),
            ('[people]\ncompletion_url = "javascript:alert(1)"', "must be an address that begins with https://"),
            ('[people]\ncompletion_url = "https://"', "must be an address that begins with https://"),
            ('[people]\ncompletion_url = "https://a b.org"', "must be an address that begins with https://"),
            ('[people]\ncompletion_url = "http://[::1"', "must be an address that begins with https://"),
            ('[people]\ncompletion_url = "https://a.org/{CODE}"', "may have {code}, in lower case"),
            ('[people]\ncompletion_url = "https://{code}.org/"', "must not have {code} in the name of the server"),
            ('[people]\ncompletion_code = ""', "[people] completion_code must be 'each', or a code"),
            ('[people]\ncompletion_code = "<b>"', "[people] completion_code must be 'each', or a code"),
            ('[look]\naccent = "blue"', "[look] accent must be a color such as #1f5fbf, got 'blue'"),
            ('[look]\nbackground = "#fff"', "[look] background must be a color"),
            ('[look]\naccent = "#ffee00"', "their contrast is 1.2 and must be at least 3"),
            ('[server]\ndatabase = "mysql://me:secret@db"', "[server] database must be such as postgresql://"),
        ],
    )
    def test_each_is_named_with_what_to_write(self, text, said, write):
        found = refused(write(text))
        assert said in found
        assert "secret" not in found

    @pytest.mark.parametrize(
        "text",
        [
            '[people]\ncompletion_url = "https://app.prolific.com/submissions/complete?cc={code}"',
            '[people]\ncompletion_code = "C1-A_2"',
            "[people]\npay = 1.5",
            '[look]\nbackground = "#101010"\naccent = "#ffee00"',
            '[server]\ndatabase = "postgresql+psycopg://db/study"',
            'kind = "odd-one-out"',
            "[sampling]\ntest_share = 1\nrepeat_share = 0",
        ],
    )
    def test_what_is_right_is_taken(self, text, write):
        assert read_settings(write(text)) != Settings()

    def test_all_of_it_is_reported_at_once_and_the_rest_is_kept(self, write):
        path = write('title = "Birds"\nkind = "x"\nnaem = 1\n[questions]\nper_person = 0\n[look]\naccent = "#fffffe"')
        settings, wrong = gather_settings(path)
        for word in ("kind", "naem", "per_person", "accent"):
            assert any(word in problem.message for problem in wrong)
        assert settings == Settings(title="Birds")
        assert len(refused(path).splitlines()) == len(wrong) == 4


class TestWhatIsNoToml:
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ('title = "x"\nkind = triplet\n', 'line 2: Invalid value. Text must be in double quotes, "so"'),
            ("title = \u201cx\u201d\n", "line 1: Invalid value. Write straight quotes"),
            ('title = "x"\n\ntitle = "y"\n', "line 3: "),
            ('title = "x"\n[texts\n', "line 2: "),
            ('title = "x"\n[texts]\nwelcome = """never ends\n\n', "line 4: "),
            (b'title = "x"\nquestion = "\xfcber"\n', "line 2 is not UTF-8 text"),
            ("title = " + "[" * 100_000, "nested too deeply"),
            ("# " + "x" * 2**20, "has 1,048,578 bytes"),
        ],
    )
    def test_the_line_is_named(self, text, said, write):
        assert said in refused(write(text))

    def test_a_missing_file(self, tmp_path):
        assert "there is no such file; `nearer survey new FOLDER` makes one" in refused(tmp_path / "study.toml")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [("#ffffff", "#ffffff", 1), ("#ff0000", "#ffffff", 3.998), ("#0000ff", "#ffffff", 8.592)],
)
def test_contrast_is_that_of_wcag_and_has_no_order(first, second, expected):
    assert contrast(first, second) == pytest.approx(expected, abs=1e-3)
    assert contrast(first, second) == contrast(second, first)
