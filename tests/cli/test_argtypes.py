"""Every option of every command that takes a number has a range, and quotes little of what is beyond it."""

import argparse
from pathlib import Path

import pytest

from nearer.cli import argtypes
from nearer.cli.main import _parser, main

#: Options whose value is text, by what reads it; all others take numbers.
TEXT = {Path, argtypes.word, argtypes.word_or_file, argtypes.words, argtypes.names, argtypes.pairs}
TEXT |= {argtypes.named_file, argtypes.names_or_file, argtypes.number_or_file, argtypes.number_or_names}
#: Free text: nothing is read from it.
FREE = {"--title", "--peer-python", "--salmon-python", "--loss", "--first-is"}
BAD = ["-1", "nan", "1e400", "-inf", "9" * 5000, "", "x", "1.5e-400x"]


def parsers(parser, command=()):
    """Every command with its parser."""
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not inner:
        yield command, parser
    for action in inner:
        for name, each in action.choices.items():
            yield from parsers(each, (*command, name))


def options():
    for command, parser in parsers(_parser()):
        for action in parser._actions:
            if action.nargs == 0 or action.choices is not None or action.type in TEXT:
                continue
            if action.option_strings and action.option_strings[-1] in FREE:
                continue
            yield pytest.param(command, action, id=" ".join([*command, *action.option_strings[-1:]]))


def refused(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(("command", "action"), list(options()))
def test_every_number_has_a_range(command, action, capsys):
    assert action.type is not None, "a new option that takes free text belongs into FREE, all others need a type"
    for text in BAD:
        printed = refused([*command, f"{action.option_strings[-1]}={text}"], capsys)
        assert f"argument {'/'.join(action.option_strings)}:" in printed
        assert "needed" in printed
        assert len(printed) < 250


def test_there_are_such_options():
    found = {" ".join([*command, action.option_strings[-1]]) for command, action in (p.values for p in options())}
    assert {"plan --price", "plan --at", "check --seed", "survey run --port", "fit --level"} <= found
    assert len(found) > 40


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "x", "--kind", "9" * 5000],
        ["9" * 5000],
        ["example", "x", "9" * 5000],
        ["check", "x", "--" + "9" * 5000],
        ["fit", "x", "-o", "y", "--set", "9" * 5000],
        ["check", "x", "--columns", "9" * 5000],
    ],
)
def test_no_error_quotes_a_long_value_whole(arguments, capsys):
    assert len(refused(arguments, capsys)) < 400


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--objects", "10", "--dimensions", "100"], "10 objects have a map of 9 dimensions at most, got 100"),
        (["--objects", "10", "--at", "100000000"], "n_answers must be an integer >= 1 and at most 10,000,000"),
        (["--objects", "900000000"], "n_objects must be an integer >= 1 and at most 100,000"),
        (["--objects", "10", "--studies", "900000000"], "n_replications must be"),
        (["--objects", "10", "--annotators", "900000000"], "n_annotators must be"),
    ],
)
def test_a_plan_beyond_all_reason_is_refused_at_once(arguments, sentence, capsys):
    assert main(["plan", *arguments]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("value", ["x", "nan", "1e400", "[1]", '{"a": 1}', "-1e10", "9" * 5000])
def test_settings_of_methods_have_a_range_too(value, tmp_path, capsys):
    (tmp_path / "answers.csv").write_text("anchor,near,far\na,b,c\n")
    folder = str(tmp_path / "map")
    arguments = ["fit", str(tmp_path / "answers.csv"), "-o", folder, "--method", "CKL", "--set", f"mu={value}"]
    assert main(arguments) == 2
    printed = capsys.readouterr().err
    assert "'mu' must be a number between" in printed
    assert len(printed) < 200


def test_the_sentence_quotes_the_beginning(capsys):
    printed = refused(["check", "x", "--seed", "7" * 5000], capsys)
    assert printed.endswith(f"is needed, not '{'7' * 37}...'")
