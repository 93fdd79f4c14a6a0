"""`nearer survey`: make a study, check it, serve it, look up completion codes, and delete a participant."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import webbrowser
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from nearer._common.formatting import pluralize
from nearer.cli.argtypes import port, positive, word
from nearer.cli.arguments import Commands, add_command, is_study, print_result

if TYPE_CHECKING:
    from nearer.survey.server import Serving
    from nearer.survey.study import Study

_ABOUT = """\
Collect answers: show questions to people in their browsers, keep every answer, and choose the next question well.

  nearer survey demo                     a study of colors, to try out
  nearer survey new STUDY                make a folder; put a file for each object into STUDY/stimuli
  nearer survey check STUDY              find problems before anyone is invited
  nearer survey run STUDY                serve it; prints the link for participants and the researcher's secret link
  nearer survey code STUDY CODE          whose completion code this is, and whether that person is done
  nearer survey export STUDY -o DIR      the answers as a dataset to be published
  nearer fit STUDY -o map                the map of the answers so far
  nearer report STUDY                    the same as a page to view and to share"""
_RUN = """\
Serve a study until Ctrl-C. Participants open the first link that is printed; the second one, which has a secret, is
for the researcher alone: a live page with the map, the people, and the answers to download. The secret is printed once
and stored nowhere; `nearer survey secret STUDY` makes another."""


def add(commands: Commands) -> None:
    """Add the command and its parts."""
    survey = commands.add_parser(
        "survey", help="collect answers from people", description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parts = survey.add_subparsers(title="parts", required=True, metavar="PART")
    new = add_command(parts, "new", "make the folder of a study", "Make the folder of a study.", command=_new)
    check = add_command(parts, "check", "find problems of a study", _CHECK, command=_check)
    run = add_command(parts, "run", "serve a study", _RUN, command=_serve)
    demo = add_command(parts, "demo", "serve a study of colors", _DEMO, command=_demo)
    code = add_command(parts, "code", "look up completion codes", _CODE, command=_code)
    forget = add_command(parts, "forget", "delete a participant", _FORGET, command=_forget)
    export = add_command(parts, "export", "write the answers as a dataset", _EXPORT, command=_export)
    secret = add_command(parts, "secret", "make a new secret link", _SECRET, command=_secret)
    for part in (new, check, run, code, forget, export, secret):
        part.add_argument("study", type=Path, metavar="STUDY", help="folder of the study")
    demo.add_argument("--study", type=Path, metavar="DIR", help="where to keep it (default: a temporary folder)")
    code.add_argument("codes", type=word, nargs="+", metavar="CODE", help="as people submitted it")
    forget.add_argument(
        "person", type=word, metavar="PERSON", help="name in the column participant, or the id of a platform"
    )
    for part in (run, demo):
        _add_serving(part)
    export.add_argument("-o", "--out", type=Path, required=True, metavar="DIR", help="folder of the dataset")
    secret.add_argument("--address", type=word, metavar="URL", help="as people reach the server")


_CHECK = """\
Find problems of a study before anyone is invited: wrong settings, missing and unreadable files, pictures that are too
large for a phone or duplicates, and, once people have been asked, objects that are gone or new. Nothing is changed.
The exit status is 1 if there are errors."""
_DEMO = "Serve a study of colors that needs no preparation, to see what participants and researchers see."
_CODE = """\
Look up completion codes that people submitted: whose each is, when that person was done, and with how many answers.
Case does not matter. The exit status is 1 unless each is of somebody who has answered everything."""
_FORGET = """\
Delete everything about one person: their questions, their answers, and what a recruiting platform said about them. A
server can go on running meanwhile."""
_EXPORT = """\
Write the answers so far as a dataset to be published, in the layout of Psych-DS: the table in the folder data, and
dataset_description.json with the meaning of each column. Practice and catch questions, people who were excluded and
what a recruiting platform said about people are not in it."""
_SECRET = "Make a new secret for the researcher's page; the one before no longer opens it."


def _add_serving(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host", type=word, default="127.0.0.1", help="address to listen on; 0.0.0.0 for all (127.0.0.1)"
    )
    parser.add_argument("--port", type=port, default=8000, metavar="N", help="port to listen on (8000)")
    parser.add_argument(
        "--address", type=word, metavar="URL",
        help="as people reach it, such as https://study.example.org, where a proxy stands before it",
    )  # fmt: skip
    parser.add_argument(
        "--newcomers", type=positive, default=20, metavar="N",
        help="new participants a minute from one network address; 15 times as many at once (20)",
    )  # fmt: skip
    parser.add_argument("--open", action="store_true", help="open the participants' page in a browser")
    parser.add_argument("--certificate", type=Path, metavar="FILE", help="of TLS, in PEM; with --key")
    parser.add_argument("--key", type=Path, metavar="FILE", help="of the certificate, in PEM")


def _new(options: argparse.Namespace) -> int:
    from nearer.survey.scaffold import new_study

    folder = new_study(options.study)
    text = (
        f"{folder} is there. Next:\n  1. put a file for each object into {folder / 'stimuli'}\n"
        f"  2. write what you want to ask into {folder / 'study.toml'}\n  3. nearer survey check {folder}\n"
        f"  4. nearer survey run {folder}"
    )
    print_result(options, text, {"study": str(folder)})
    return 0


def _check(options: argparse.Namespace) -> int:
    from nearer.survey.checking import check_study

    problems = check_study(options.study)
    errors = [each for each in problems if each.severity == "error"]
    closing = f"{pluralize(len(errors), 'error')} to correct" if errors else "ready: there are no errors"
    print_result(options, "\n".join([*map(str, problems), closing]), {"problems": [asdict(each) for each in problems]})
    return 1 if errors else 0


def _demo(options: argparse.Namespace) -> int:
    from nearer.survey.scaffold import demo_study

    with tempfile.TemporaryDirectory(prefix="nearer-survey-") as kept:
        folder = options.study or Path(kept) / "colors"
        options.study = folder if is_study(folder) else demo_study(folder)
        return _serve(options)


def _serve(options: argparse.Namespace) -> int:
    from nearer.survey.server import listen, researcher_secret, serve
    from nearer.survey.supervisor import log_to_stderr

    log_to_stderr()
    folder, serving = options.study, _serving(options)
    listening = listen(serving)  # before the secret, which is shown once
    secret = researcher_secret(folder)

    def begun(study: Study) -> None:
        said = "(printed when the study was first run; `nearer survey secret` makes another)"
        researcher = said if secret is None else f"{serving.link}researcher?key={secret}"
        title = study.settings.title or folder.name
        lines = [f"{title}: {pluralize(len(study.labels), 'object')}", f"participants: {serving.link}"]
        print_result(
            options,
            "\n".join([*lines, f"researcher:   {researcher}", "Press Ctrl-C to stop; every answer is kept."]),
            {"participants": serving.link, "researcher": None if secret is None else researcher},
        )
        sys.stdout.flush()
        if options.open:
            webbrowser.open(serving.link)

    with listening:
        serve(folder, serving, listening, begun)
    return 0


def _serving(options: argparse.Namespace) -> Serving:
    from nearer.survey.server import Serving

    if (options.certificate is None) != (options.key is None):
        raise ValueError("TLS needs both --certificate and --key")
    if options.key is not None and os.name == "posix" and options.key.stat().st_mode & 0o007:
        raise ValueError(f"{options.key}: every user of this computer can read this key; chmod 600 {options.key}")
    return Serving(
        options.host, options.port, options.address or "", options.certificate, options.key, bool(options.address),
        options.newcomers,
    )  # fmt: skip


def _code(options: argparse.Namespace) -> int:
    from nearer.survey.researcher import look_up_codes
    from nearer.survey.study import read_study

    study, database = read_study(options.study)
    try:
        with database.reading() as connection:
            found = look_up_codes(connection, study.settings, options.codes)
    finally:
        database.close()
    print_result(options, "\n".join(f"{each.code}: {each.text}" for each in found), [each.to_dict() for each in found])
    return 0 if all(each.valid for each in found) else 1


def _forget(options: argparse.Namespace) -> int:
    from nearer.survey.session import forget_participant
    from nearer.survey.store import Database
    from nearer.survey.study import database_url, settings_of

    database = Database(database_url(options.study, settings_of(options.study)))
    try:
        with database.engine.begin() as connection:
            counts = forget_participant(connection, options.person)
        database.scrub()
    finally:
        database.close()
    text = (
        f"{options.person} is deleted: {pluralize(counts['answers'], 'answer')} to "
        f"{pluralize(counts['questions'], 'question')} deleted. Downloaded copies and backups still have them."
    )
    print_result(options, text, counts)
    return 0


def _export(options: argparse.Namespace) -> int:
    from nearer.survey.psych_ds import write_psych_ds

    files = [str(path) for path in write_psych_ds(options.study, options.out)]
    print_result(options, f"written: {', '.join(files)}", {"files": files})
    return 0


def _secret(options: argparse.Namespace) -> int:
    from nearer.survey.server import researcher_secret

    secret = researcher_secret(options.study, renew=True)
    path = f"researcher?key={secret}"
    text = f"{options.address.rstrip('/')}/{path}" if options.address else f"the link for participants, and {path}"
    print_result(options, text, {"secret": secret})
    return 0
