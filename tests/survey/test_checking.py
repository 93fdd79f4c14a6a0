"""What is wrong with a study is found before anyone is invited, all at once."""

import io
import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from nearer.survey.checking import _check_files, check_study, content_of
from nearer.survey.scaffold import settings_text
from nearer.survey.stimuli import gather_stimuli

FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".gif": "GIF", ".webp": "WEBP"}
SQUARE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9"/></svg>'


def picture(ending, width=40, height=30, seed=0, **how):
    """Return an encoded picture, different for each seed."""
    pixels = np.random.default_rng(seed).integers(256, size=(height, width, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, FORMATS[ending], **how)
    return file.getvalue()


@pytest.fixture
def study(tmp_path):
    """Return a study that is all right: four pictures, and settings to which there is nothing to say."""
    (tmp_path / "stimuli").mkdir()
    settings(tmp_path)
    for seed in range(4):
        put(tmp_path, f"picture {seed}.png", picture(".png", seed=seed))
    return tmp_path


def settings(study, **values):
    text = settings_text(**{"consent": "I agree.", "notice": "We keep your answers.", "per_person": 10, **values})
    (study / "study.toml").write_text(text, encoding="utf-8")


def put(study, called, content):
    (study / "stimuli" / called).write_bytes(content if isinstance(content, bytes) else content.encode())


def table(study, text):
    (study / "objects.csv").write_text(text, encoding="utf-8")


def only(study, level, where):
    """Return what the only problem says."""
    (problem,) = check_study(study)
    assert (problem.severity, problem.file) == (level, where)
    return problem.message


def problems_of_files(study):
    """Return the part of the check that looks into files."""
    stimuli, problems = gather_stimuli(study)
    return [*problems, *_check_files(stimuli)]


def test_a_good_study_has_no_problem(study):
    assert check_study(study) == []


def test_everything_is_reported_at_once_and_the_worst_comes_first(study):
    settings(study, consent="", kind="x")
    put(study, "a.png", b"")
    put(study, "b.doc", b"x")
    put(study, "c.txt", b"")
    table(study, "object\nemu\nemu\n")
    found = check_study(study)
    levels = [problem.severity for problem in found]
    assert levels == sorted(levels)
    wrong = {problem.file for problem in found if problem.severity == "error"}
    assert wrong == {"study.toml", "stimuli/a.png", "stimuli/c.txt", "objects.csv"}
    careful = {problem.file for problem in found if problem.severity == "warning"}
    assert careful == {"study.toml", "stimuli/b.doc", "objects.csv"}
    assert all(problem.message for problem in found)


class TestSettings:
    @pytest.mark.parametrize(
        ("values", "level", "said"),
        [
            ({"consent": ""}, "warning", "[texts] consent is empty; ethics boards usually ask for it"),
            ({"per_person": 13}, "warning", "there are 12 questions about 4 objects; write 12 or less"),
            ({"catch": 1}, "warning", "write 0, or at least 2"),
            ({"catch": 11}, "error", "[questions] catch is more than per_person, 10"),
            ({"practice": 11}, "warning", "[questions] practice is more than per_person, 10"),
            ({"dimensions": 4}, "warning", "no less than the number of objects"),
            ({"test_share": 0}, "warning", "nothing measures how good the map is"),
            ({"kind": "odd-one-out", "per_person": 4}, "warning", "question is that of triplets"),
            ({"per_person": 0}, "error", "[questions] per_person must be a whole number from 1"),
        ],
    )
    def test_what_does_not_fit(self, values, level, said, study):
        settings(study, **values)
        found = [problem for problem in check_study(study) if said in problem.message]
        assert [(problem.severity, problem.file) for problem in found] == [(level, "study.toml")]

    @pytest.mark.parametrize(
        "values",
        [
            {"per_person": 12},
            {"catch": 2},
            {"practice": 10},
            {"dimensions": 3},
            {"test_share": 0, "method": "random"},
            {"kind": "odd-one-out", "per_person": 4, "question": "Which is the odd one?"},
            {"language": "de", "question": "Was?", "welcome": "Hallo", "thanks": "Danke"},
        ],
    )
    def test_what_just_fits(self, values, study):
        settings(study, **values)
        assert check_study(study) == []

    def test_english_texts_in_another_language(self, study):
        settings(study, language="de", welcome="Hallo")
        said = [problem.message for problem in check_study(study)]
        assert [text.partition(" is in English")[0] for text in said] == ["question", "[texts] thanks"]

    @pytest.mark.parametrize(("kind", "least"), [("triplet", 3), ("most-central", 3), ("2 of 4", 5)])
    def test_fewer_objects_than_a_question_shows(self, kind, least, study):
        settings(study, kind=kind, question="Which?", per_person=1, practice=0)
        for path in (study / "stimuli").iterdir():
            path.unlink()
        table(study, "object\n" + "".join(f"object {k}\n" for k in range(least - 1)))
        said = only(study, "error", "stimuli")
        assert said == f"there are {least - 1} objects, and a question of kind {kind!r} shows {least}; add some"
        table(study, "object\n" + "".join(f"object {k}\n" for k in range(least)))
        assert check_study(study) == []

    def test_no_settings_and_no_folder(self, study):
        (study / "study.toml").unlink()
        assert "there is no such file" in check_study(study)[0].message
        assert check_study(study / "nowhere")[0].severity == "error"


class TestPictures:
    @pytest.mark.parametrize("ending", FORMATS)
    @pytest.mark.parametrize(("width", "height"), [(2501, 2500), (2500, 2501)])
    def test_the_size_is_read_from_the_header(self, ending, width, height, study):
        plain = Image.new("RGB", (width, height))
        plain.save(study / "stimuli" / f"large{ending}", FORMATS[ending])
        assert f"{width} x {height} pixels" in only(study, "warning", f"stimuli/large{ending}")
        Image.new("RGB", (2500, 2500)).save(study / "stimuli" / f"large{ending}", FORMATS[ending])
        assert check_study(study) == []

    @pytest.mark.parametrize(
        ("ending", "how"),
        [
            (".jpg", {"progressive": True}),
            (".jpg", {"exif": b"Exif\0\0" + b"\xff\xd9" * 30_000}),
            (".webp", {"lossless": True}),
            (".webp", {"exif": b"Exif\0\0MM"}),  # in the extended form
        ],
    )
    def test_other_ways_to_write_them(self, ending, how, study):
        put(study, f"large{ending}", picture(ending, 2600, 8, **how))
        problems = check_study(study)
        assert any("2600 x 8 pixels" in problem.message for problem in problems)
        assert not any(problem.severity == "error" for problem in problems)

    @pytest.mark.parametrize("ending", [".png", ".jpg", ".webp"])
    def test_a_file_that_is_cut_off_is_wrong_wherever_it_ends(self, ending, study):
        whole = picture(ending, seed=9)
        put(study, f"cut{ending}", whole)
        assert check_study(study) == []
        # The last 4 bytes of a PNG are a checksum of nothing; browsers do without.
        for length in [*range(1, 60), *range(60, len(whole) - 6, 97), len(whole) - 6]:
            put(study, f"cut{ending}", whole[:length])
            problems = [problem for problem in problems_of_files(study) if problem.file == f"stimuli/cut{ending}"]
            assert "error" in {problem.severity for problem in problems}, length

    @pytest.mark.parametrize("ending", FORMATS)
    def test_damage_never_ends_in_an_exception(self, ending, study):
        whole, rng = picture(ending, seed=9), np.random.default_rng(0)
        for _ in range(60):
            data = bytearray(whole)
            for place in rng.integers(4, 200, size=8):
                data[place] = rng.integers(256)
            put(study, f"damaged{ending}", bytes(data))
            assert all(problem.message for problem in problems_of_files(study))

    def test_no_pixels(self, study):
        whole = picture(".png")
        put(study, "none.png", whole[:16] + struct.pack(">II", 0, 5) + whole[24:])
        assert "it has no pixels" in only(study, "error", "stimuli/none.png")

    @pytest.mark.parametrize(
        ("size", "level", "said"),
        [
            (1_500_000, None, ""),
            (1_500_100, "warning", "it has 1.5 MB, and phones load it slowly"),
            (10_000_100, "error", "it has 10.0 MB, too large for any phone"),
        ],
    )
    def test_large_files(self, size, level, said, study):
        whole = picture(".jpg")
        put(study, "large.jpg", whole + bytes(size - len(whole)))  # what follows the end is not looked at
        if level is None:
            assert check_study(study) == []
        else:
            assert said in only(study, level, "stimuli/large.jpg")

    def test_the_same_picture_twice(self, study):
        put(study, "again.png", picture(".png", seed=2))
        assert only(study, "warning", "stimuli/again.png").startswith("'picture 2.png' holds the same")

    def test_three_times_is_reported_once(self, study):
        for called in ("a.svg", "b.svg"):
            put(study, called, SQUARE)
        assert only(study, "warning", "stimuli/a.svg").startswith("'b.svg' holds the same")
        put(study, "c.svg", SQUARE)
        assert only(study, "warning", "stimuli/a.svg").startswith("'b.svg', 'c.svg' hold the same")

    def test_pictures_of_one_size_are_not_the_same(self, study):
        put(study, "one.svg", SQUARE)
        put(study, "two.svg", SQUARE.replace("9", "8"))
        assert check_study(study) == []

    @pytest.mark.parametrize(("width", "said"), [(79, False), (82, True)])
    def test_shapes_that_are_very_different(self, width, said, study):
        put(study, "wide.gif", picture(".gif", width, 30))
        assert [problem.file for problem in check_study(study)] == ["stimuli/wide.gif"] * said


class TestWhatFilesHold:
    @pytest.mark.parametrize(
        ("called", "content", "level", "said"),
        [
            ("a.png", picture(".jpg"), "warning", "it holds jpg; rename it to a.jpg"),
            ("a.jpg", b"\0\0\0\x18ftypheic\0\0\0\0", "error", "it holds heic and not jpg"),
            ("a.gif", b"hello", "error", "it holds something else and not gif"),
            ("a.avif", picture(".png", seed=9), "warning", "it holds png; rename it to a.png"),
            ("a.mp3", picture(".png", seed=9), "error", "it holds png and not mp3"),
            ("a.wav", b"ID3\x03", "warning", "it holds mp3; rename it to a.mp3"),
            ("a.webp", b"RIFF\x04\0\0\0WAVE", "error", "it holds wav and not webp"),
            ("a.mp4", b"", "error", "it is empty"),
        ],
    )
    def test_something_else_than_the_name_says(self, called, content, level, said, study):
        put(study, called, content)
        assert said in only(study, level, f"stimuli/{called}")

    @pytest.mark.parametrize(
        ("called", "content"),
        [
            ("a.jpeg", picture(".jpg")),
            ("a.avif", b"\0\0\0\x1cftypmif1\0\0\0\0mif1avif"),
            ("a.avif", b"\0\0\0\x1cftypavif\0\0\0\0"),
            ("a.mp3", b"\xff\xfb\x90\0"),
            ("a.mp3", b"ID3\x04"),
            ("a.wav", b"RIFF\x04\0\0\0WAVE"),
            ("a.ogg", b"OggS\0"),
            ("a.m4a", b"\0\0\0\x18ftypM4A "),
            ("a.m4a", b"\0\0\0\x18ftypisom"),
            ("a.mp4", b"\0\0\0\x18ftypmp42"),
            ("a.webm", b"\x1aE\xdf\xa3"),
        ],
    )
    def test_what_the_name_says(self, called, content, study):
        put(study, called, content)
        assert check_study(study) == []

    @pytest.mark.parametrize(("size", "level"), [(20_000_000, None), (20_000_001, "warning")])
    def test_long_recordings(self, size, level, study):
        with (study / "stimuli" / "film.webm").open("wb") as file:
            file.write(b"\x1aE\xdf\xa3")
            file.truncate(size)
        assert [problem.severity for problem in check_study(study)] == ([level] if level else [])

    def test_a_file_that_may_not_be_read(self, study, monkeypatch):
        opened = Path.open

        def refuse(path, *how, **more):
            if path.name == "picture 1.png":
                raise PermissionError(13, "Permission denied")
            return opened(path, *how, **more)

        monkeypatch.setattr(Path, "open", refuse)
        assert "it cannot be read: Permission denied" in only(study, "error", "stimuli/picture 1.png")

    def test_bytes_that_are_too_few(self):
        assert [content_of(b""), content_of(b"\xff"), content_of(b"RIFF")] == [""] * 3


class TestSvg:
    @pytest.mark.parametrize(
        ("text", "level", "said"),
        [
            (SQUARE[:-6], "error", "it is not well-formed XML"),
            ("", "error", "it is empty"),
            ("hello", "error", "it is not well-formed XML"),
            ("<svg/>", "error", "it does not begin with <svg xmlns="),
            ("<html xmlns='http://www.w3.org/1999/xhtml'/>", "error", "it does not begin with <svg xmlns="),
            ("<!DOCTYPE svg>" + SQUARE, "error", "it has a DOCTYPE"),
            (
                SQUARE.replace("<rect", "<script>alert(1)</script><rect"),
                "warning",
                "scripts, which will not run",
            ),
            (SQUARE.replace("<rect", '<rect onclick="x()"'), "warning", "it has scripts"),
            (SQUARE.replace("<rect", '<a href=" JavaScript:x()"/><rect'), "warning", "it has scripts"),
            (SQUARE.replace("<rect", '<image href="cat.png"/><rect'), "warning", "it refers to other files"),
        ],
    )
    def test_what_is_wrong(self, text, level, said, study):
        put(study, "drawing.svg", text)
        assert said in only(study, level, "stimuli/drawing.svg")

    def test_entities_are_refused_in_whatever_encoding_before_they_grow(self, study):
        names = "abcdefghijklmnop"
        entities = "".join(f'<!ENTITY {b} "{f"&{a};" * 50}">' for a, b in pairwise(names))
        text = f'<!DOCTYPE svg [<!ENTITY a "x">{entities}]>{SQUARE.replace("<rect", "&p;<rect")}'
        for encoding in ("utf-8", "utf-16"):
            put(study, "bomb.svg", text.encode(encoding))
            assert "it has a DOCTYPE" in only(study, "error", "stimuli/bomb.svg")

    @pytest.mark.parametrize(
        "text",
        [
            SQUARE,
            '<?xml version="1.0"?><!-- made by hand -->' + SQUARE,
            SQUARE.replace(
                "<rect", '<use href="#a"/><image href="data:image/png;base64,AA"/><a href="https://x.org"/><rect'
            ),
            SQUARE.replace('viewBox="0 0 9 9"', 'width="100%" height="100%"'),
            SQUARE.replace('viewBox="0 0 9 9"', 'width="0" height="0"'),
        ],
    )
    def test_what_is_right(self, text, study):
        put(study, "drawing.svg", text)
        assert check_study(study) == []

    @pytest.mark.parametrize("size", ['viewBox="0,0 900 90"', 'width="900px" height="90"'])
    def test_the_shape_is_known(self, size, study):
        put(study, "wide.svg", SQUARE.replace('viewBox="0 0 9 9"', size))
        assert "its shape is very different" in only(study, "warning", "stimuli/wide.svg")


class TestTable:
    @pytest.mark.parametrize(
        ("label", "level", "said"),
        [
            ("picture 1.png", "error", "'picture 1.png' has no file; write 'picture 1', the name of picture 1.png"),
            ("Picture 1", "error", "'Picture 1' has no file; write 'picture 1'"),
            ("dog.png", "error", "there is no file 'dog.png' in stimuli"),
            ("dog", "warning", "'dog': shown as text, as there is no such file"),
        ],
    )
    def test_missing_files(self, label, level, said, study):
        table(study, f"object,caption\npicture 0,first\n{label},\n")
        assert said in only(study, level, "objects.csv")

    def test_a_study_of_texts_misses_no_files(self, study):
        for path in (study / "stimuli").iterdir():
            path.unlink()
        table(study, "object\nred\ngreen\nblue\nyellow\n")
        assert check_study(study) == []
        table(study, "object,caption\nred,\ngreen,\nblue,\nyellow,\ncrimson,red\n")
        assert only(study, "warning", "objects.csv") == "'red', 'crimson' have the same text; keep one of them"

    @pytest.mark.parametrize(("length", "said"), [(80, False), (81, True)])
    def test_long_captions(self, length, said, study):
        table(study, f"object,caption\npicture 0,{'x' * length}\n")
        assert [problem.file for problem in check_study(study)] == ["objects.csv"] * said

    def test_what_was_left_out_is_reported_unless_the_system_hid_it(self, study):
        put(study, ".DS_Store", b"x")
        put(study, "notes.doc", b"x")
        assert only(study, "warning", "stimuli/notes.doc").startswith("excluded, as its ending is none of txt, png")


class TestFeatures:
    @pytest.fixture
    def described(self, study):
        def write(text, features=("features.csv",), name="features.csv"):
            (study / name).write_text(text, encoding="utf-8")
            settings(study, features=features)
            return study

        return write

    def test_a_row_for_each_object_is_all_right(self, described):
        assert not check_study(described("object,a,b\n" + "".join(f"picture {k}.png,{k},{k * k}\n" for k in range(4))))

    def test_objects_without_a_row_are_named(self, described):
        study = described("object,a,b\n" + "".join(f"picture {k},{k},{k * k}\n" for k in range(3)))
        assert "no row for 1 object: 'picture 3'" in only(study, "warning", "features.csv")

    def test_rows_of_other_objects(self, described):
        study = described("object,a\nhouse,1\ntree,2\ncar,3\n")
        assert "describes none of the objects" in only(study, "error", "features.csv")

    def test_what_is_no_number(self, described):
        study = described("object,a\npicture 0,red\npicture 1,2\npicture 2,3\n")
        assert "is no number" in only(study, "error", "features.csv")

    def test_features_that_say_nothing(self, described):
        study = described("object,a\n" + "".join(f"picture {k},7\n" for k in range(4)))
        assert "fewer than three different objects" in only(study, "error", "features.csv")

    def test_a_file_that_is_not_there(self, study):
        settings(study, features=["vectors.npz"])
        assert "there is no file vectors.npz" in only(study, "error", "study.toml")

    def test_sets_of_one_name(self, described):
        text = "object,a,b\n" + "".join(f"picture {k},{k},{k * k}\n" for k in range(4))
        study = described(text, features=["features.csv", "features.tsv"])
        (study / "features.tsv").write_text(text.replace(",", "\t"), encoding="utf-8")
        assert "name them" in only(study, "error", "study.toml")

    def test_a_value_that_is_no_list_of_names(self, study):
        settings(study)
        text = (study / "study.toml").read_text(encoding="utf-8").replace("features = []", "features = 3")
        (study / "study.toml").write_text(text, encoding="utf-8")
        assert "must be the name of a file, or a list" in only(study, "error", "study.toml")
