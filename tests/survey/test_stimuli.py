"""The objects of a study: files, the table, and nothing from outside the folder."""

import os

import pytest

from nearer.survey.stimuli import (
    ENDINGS,
    MAX_LABEL_CHARACTERS,
    MAX_TEXT_CHARACTERS,
    gather_stimuli,
    read_stimuli,
    slug_of,
)


@pytest.fixture
def study(tmp_path):
    (tmp_path / "study" / "stimuli").mkdir(parents=True)
    return tmp_path / "study"


def put(study, called, content=b"x"):
    path = study / "stimuli" / called
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def table(study, text):
    (study / "objects.csv").write_bytes(text if isinstance(text, bytes) else text.encode())


def refused(study):
    with pytest.raises(ValueError, match="study") as caught:
        read_stimuli(study)
    return str(caught.value)


class TestFiles:
    @pytest.mark.parametrize("ending", ENDINGS)
    def test_every_ending_in_small_and_large_letters(self, ending, study):
        path = put(study, f"a cat{ending.upper()}")
        stimuli = read_stimuli(study)
        kind, media_type = ENDINGS[ending]
        found = stimuli["a cat"]
        assert (found.label, found.kind, found.media_type, found.file) == ("a cat", kind, media_type, path.resolve())
        assert found.caption == ("x" if kind == "text" else "")
        assert found.attributes == {}

    def test_the_ending_alone_is_taken_off(self, study):
        for called in ("b.png", "a.2.png", "C.mp3"):
            put(study, called)
        stimuli = read_stimuli(study)
        assert tuple(sorted(stimuli)) == ("C", "a.2", "b")
        assert len(stimuli) == 3
        assert gather_stimuli(study)[1] == []

    def test_the_name_in_addresses_is_the_same_in_all_servers(self):
        assert slug_of("cat") == "77af778b51abd4a3"

    def test_two_ways_to_write_an_accent_are_one_label(self, study):
        put(study, "cafe\u0301.png")
        table(study, "object,caption\ncaf\u00e9,A caf\u00e9\n")
        stimuli = read_stimuli(study)
        assert tuple(sorted(stimuli)) == ("caf\u00e9",)
        assert (stimuli["caf\u00e9"].kind, stimuli["caf\u00e9"].caption) == ("image", "A caf\u00e9")

    def test_one_label_of_two_files_is_an_error_that_names_both(self, study):
        put(study, "cat.png")
        put(study, "cat.jpg")
        said = refused(study)
        assert "cat.png" in said
        assert "cat.jpg" in said

    @pytest.mark.parametrize("called", ["notes.doc", "Thumbs.db", "noending"])
    def test_other_files_are_excluded_with_a_warning(self, called, study):
        put(study, called)
        put(study, "cat.png")
        stimuli = read_stimuli(study)
        assert tuple(sorted(stimuli)) == ("cat",)
        (problem,) = gather_stimuli(study)[1]
        assert (problem.severity, problem.file) == ("warning", f"stimuli/{called}")
        assert problem.message.startswith("excluded, as ")

    def test_folders_are_excluded_and_hidden_files_and_the_readme_are_ignored(self, study):
        (study / "stimuli" / "more.png").mkdir()
        put(study, "README.txt")
        put(study, "readme.png")
        put(study, ".hidden.png")
        stimuli = read_stimuli(study)
        assert tuple(sorted(stimuli)) == ("readme",)
        assert [problem.file for problem in gather_stimuli(study)[1]] == ["stimuli/more.png"]

    @pytest.mark.parametrize(
        ("called", "said"),
        [
            ("x" * (MAX_LABEL_CHARACTERS + 1) + ".png", "has 201 characters"),
            ("a\nb.png", "a character that cannot be shown"),
        ],
    )
    def test_labels_that_cannot_be(self, called, said, study):
        put(study, called)
        assert said in refused(study)

    def test_a_name_that_is_no_text(self, study):
        try:
            put(study, os.fsdecode(b"\xff\xfe.png"))
        except OSError:
            pytest.skip("this file system takes only names that are text")
        assert gather_stimuli(study)[1][0].message == "its name is not UTF-8 text; rename it"

    def test_a_study_without_anything(self, study):
        assert len(read_stimuli(study)) == 0
        (study / "stimuli").rmdir()
        assert "there is neither this folder nor objects.csv" in refused(study)


class TestLinks:
    @pytest.mark.parametrize("target", ["../../outside.png", "../answers.sqlite", "../objects.csv"])
    def test_links_out_of_the_folder_are_left_out(self, target, study):
        (study / "stimuli" / target).resolve().write_bytes(b"object\ncat\n")
        (study / "stimuli" / "secret.png").symlink_to(target)
        stimuli = read_stimuli(study)
        assert "secret" not in stimuli
        assert "a link out of the folder" in gather_stimuli(study)[1][0].message

    def test_links_to_nothing_and_to_themselves_are_left_out(self, study):
        (study / "stimuli" / "gone.png").symlink_to("nowhere.png")
        (study / "stimuli" / "round.png").symlink_to("round.png")
        stimuli = read_stimuli(study)
        assert len(stimuli) == 0
        assert len(gather_stimuli(study)[1]) == 2

    def test_a_link_within_the_folder_is_another_object_and_points_to_the_file(self, study):
        path = put(study, "cat.png")
        (study / "stimuli" / "kitten.png").symlink_to("cat.png")
        assert read_stimuli(study)["kitten"].file == path.resolve()

    def test_the_folder_itself_may_not_lead_out(self, study, tmp_path):
        (study / "stimuli").rmdir()
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "cat.png").write_bytes(b"x")
        (study / "stimuli").symlink_to(tmp_path / "elsewhere")
        assert "leads out of the study's folder" in refused(study)

    def test_nor_may_the_table(self, study, tmp_path):
        (tmp_path / "other.csv").write_text("object\ncat\n")
        (study / "objects.csv").symlink_to(tmp_path / "other.csv")
        assert "it is not a regular file" in refused(study)

    def test_the_study_may_be_reached_through_a_link(self, study, tmp_path):
        put(study, "cat.png")
        (tmp_path / "short").symlink_to(study)
        assert tuple(sorted(read_stimuli(tmp_path / "short"))) == ("cat",)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
    def test_pipes_are_not_opened(self, study):
        os.mkfifo(study / "stimuli" / "pipe.txt")
        assert "it is not a regular file" in gather_stimuli(study)[1][0].message


class TestTexts:
    def test_what_the_file_says_is_shown(self, study):
        put(study, "joke.txt", b"\xef\xbb\xbf  Two fish\r\nin a tank. \r\n")
        assert read_stimuli(study)["joke"].caption == "Two fish\nin a tank."

    def test_the_longest_text_is_taken_whatever_its_letters(self, study):
        put(study, "long.txt", "\U0001f41f" * MAX_TEXT_CHARACTERS + "\n")
        assert len(read_stimuli(study)["long"].caption) == MAX_TEXT_CHARACTERS

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("x" * (MAX_TEXT_CHARACTERS + 1), "it has 2,001 characters"),
            ("x" * 10**6, "more than 9,000 bytes"),
            (b"\n\xff", "line 2 is not UTF-8 text"),
            (" \n", "it is empty"),
            ("a\0b", "characters that cannot be shown"),
        ],
    )
    def test_texts_that_cannot_be_shown(self, content, said, study):
        put(study, "bad.txt", content)
        found = refused(study)
        assert said in found
        assert "bad.txt" in found

    def test_a_caption_of_a_text_is_not_shown_and_that_is_said(self, study):
        put(study, "joke.txt", "Two fish")
        table(study, "object,caption\njoke,funny\n")
        stimuli = read_stimuli(study)
        assert stimuli["joke"].caption == "Two fish"
        assert "the caption of 'joke' is not shown" in gather_stimuli(study)[1][0].message


class TestTable:
    def test_captions_further_columns_and_objects_without_a_file(self, study):
        put(study, "cat.png")
        put(study, "dog.png")
        table(study, b"\xef\xbb\xbf OBJECT , Caption,Legs\ncat,A cat,4\n\nemu,An emu,2\nowl,,\nant\n")
        stimuli = read_stimuli(study)
        assert tuple(sorted(stimuli)) == ("ant", "cat", "dog", "emu", "owl")
        shown = {label: (each.kind, each.caption, each.file is None) for label, each in stimuli.items()}
        assert shown == {
            "ant": ("text", "ant", True), "cat": ("image", "A cat", False), "dog": ("image", "", False),
            "emu": ("text", "An emu", True), "owl": ("text", "owl", True),
        }  # fmt: skip
        legs = {label: each.attributes.get("Legs") for label, each in stimuli.items()}
        assert legs == {"ant": "", "cat": "4", "dog": None, "emu": "2", "owl": ""}

    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    def test_what_spreadsheets_write(self, delimiter, study):
        table(study, delimiter.join(["object", "caption"]) + "\r\n" + delimiter.join(["a", '"one\r\ntwo"']) + "\r\n")
        assert read_stimuli(study)["a"].caption == "one\ntwo"

    def test_no_folder_of_files_is_needed(self, study):
        (study / "stimuli").rmdir()
        table(study, "object\nred\nblue\n")
        assert tuple(sorted(read_stimuli(study))) == ("blue", "red")

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("label,caption\na,b\n", 'there is no column "object"'),
            ("object,size,size\na,1,2\n", "two columns are called 'size'"),
            ("object,,size\na,1,2\n", "a column has no name"),
            ("object\ncat\ndog\ncat\n", "line 4: 'cat' is in line 2 already"),
            ("object,caption\ncat,a,b\n", "line 2: there are 3 cells and 2 columns"),
            ("object,caption\n,a\n", "line 2: a label is empty"),
            (f"object\n{'x' * 201}\n", "line 2: the label 'xxxx"),
            (f"object,caption\ncat,{'x' * 2001}\n", "line 2: the cell of 'caption' has over 2,000"),
            ("object,caption\ncat,a\0b\n", "line 2: the cell of 'caption'"),
            ('object\n"cat\n', "check that every quote is closed"),
            (b"object\nK\xe4fer\n", "line 2 is not UTF-8 text; save it as UTF-8 (in Excel: CSV UTF-8)"),
            ("", "it is empty"),
        ],
    )
    def test_what_is_wrong_is_named_with_its_line(self, text, said, study):
        table(study, text)
        found = refused(study)
        assert said in found
        assert "objects.csv: " in found

    def test_all_of_it_is_reported_at_once_and_the_rest_is_kept(self, study):
        put(study, "cat.png")
        put(study, "cat.gif")
        put(study, "empty.txt", "")
        table(study, "object\nemu\nemu\n,\nowl\n")
        stimuli, wrong = gather_stimuli(study)
        assert tuple(sorted(stimuli)) == ("cat", "emu", "owl")
        assert [problem.file for problem in wrong] == ["stimuli/cat.png", "stimuli/empty.txt", "objects.csv"]
        assert len(refused(study).splitlines()) == 3
