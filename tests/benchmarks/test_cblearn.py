import sys

import pytest
from helpers.fake_peer import make_peer

from benchmarks import programs
from benchmarks.programs import cache_folder, peer_program


def test_a_given_python_is_asked_for_its_version(tmp_path):
    python = make_peer(tmp_path / "peer")
    assert peer_program(python) == ("cblearn", python, "0.4.0")


@pytest.mark.parametrize(
    ("python", "words"), [("/no/such/python", "cannot be run"), (sys.executable, "has no cblearn")]
)
def test_a_python_without_it_is_reported(python, words):
    with pytest.raises(ValueError, match=rf"{words}.*--no-peer"):
        peer_program(python)


def test_the_cache_can_be_moved(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("NEARER_CACHE", raising=False)
    assert cache_folder() == tmp_path / "nearer" / "peer-cblearn-0.4.0"
    monkeypatch.setenv("NEARER_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine" / "peer-cblearn-0.4.0"


def test_an_installation_is_made_once_and_one_that_was_stopped_is_made_again(monkeypatch, tmp_path):
    monkeypatch.setenv("NEARER_CACHE", str(tmp_path))
    folder, commands = cache_folder(), []

    def install(command, *_):
        commands.append(command[1:3])
        if "venv" in command:
            assert not folder.exists()
            make_peer(folder / "bin")
        elif len(commands) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(programs, "_call", install)
    with pytest.raises(KeyboardInterrupt):
        peer_program()
    assert peer_program() == peer_program()
    assert peer_program().python.startswith(str(folder))
    assert commands == [["-m", "venv"], ["-m", "pip"]] * 2


def test_a_failed_installation_says_why_and_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("NEARER_CACHE", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(
        ValueError, match=r"could not be installed .*--peer-python, or measure nearer alone with --no-peer"
    ):
        peer_program()
    assert not (cache_folder() / ".ready").exists()
