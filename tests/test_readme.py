import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_example_runs_and_prints_what_it_says(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    map_line, prediction, certificate = capsys.readouterr().out.splitlines()
    assert map_line.startswith("{'bus': [")
    assert prediction == "[1]"
    assert float(certificate.split()[-1]) < 1e-3


def test_everything_it_links_to_is_there():
    links = re.findall(r"\]\((?!http)([^)#]+)\)", README.read_text(encoding="utf-8"))
    assert "docs/colors.png" in links
    assert [link for link in links if not (README.parent / link).exists()] == []
