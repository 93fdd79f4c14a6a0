"""The commented study.toml that a new study begins with."""

from __future__ import annotations

import json
from string import Template

from nearer.survey.settings import DEFAULTS
from nearer.survey.words import LANGUAGES


def commented(**values: object) -> str:
    """Return a commented study.toml with these settings, and defaults for all others.

    Examples
    --------
    >>> 'title = "Birds"' in commented(title="Birds")
    True
    """
    written = {key: _written(value) for key, value in {**DEFAULTS, **values}.items()}
    return _COMMENTED.substitute(written, languages=", ".join(map(_written, LANGUAGES)))


def _written(value: object) -> str:
    """Return a value as TOML has it; text of several lines between three quotes."""
    if not isinstance(value, str):
        return str(value)
    if "\n" not in value:
        return json.dumps(value, ensure_ascii=False)
    escaped = value.replace("\\", "\\\\").replace('"""', '""\\"')
    return f'"""\n{escaped}\n"""'


_COMMENTED = Template("""\
# The settings of this study. Lines that begin with # explain, and are not read.
# Text stands in "double quotes", longer text between three of them. Look whether all is well with:
#     nearer survey check FOLDER

# The name of the study. People see it at the top of the page.
title = $title

# The question, as people read it above the objects.
question = $question

# How people are asked:
#   "triplet"        one object and two others: which of the two is more like it?
#   "odd-one-out"    three objects: which one is least like the other two?
#   "most-central"   three objects: which one is most like the other two?
#   "2 of 8"         one object and eight others: which two are most like it? Other numbers work as well.
# Put the question above into words that fit.
kind = $kind

# The language of buttons and messages: $languages. Your own texts stay as you write them.
language = $language

[texts]
# What people read first. A blank line begins a new paragraph.
welcome = $welcome

# What people agree to before they begin. Nobody is asked if this is empty; ethics boards usually want it.
consent = $consent

# What people read at the end.
thanks = $thanks

[questions]
# How many questions each person answers. Most people answer one in 2 to 5 seconds.
per_person = $per_person

# Questions for practice at the beginning. Their answers are marked, and are not used for the map.
practice = $practice

# Catch questions for each person, beside the others: their answer is obvious to whoever looks. Use 2 or more, or none.
catch = $catch

# A break is offered after so many questions, unless fewer than half as many are left; 0 for none.
break_every = $break_every

# How many dimensions the map has from which the next question is chosen. 2 is good for most studies.
dimensions = $dimensions

[sampling]
# How the next question is chosen: "active" asks what tells most about the map, "random" draws by lot.
method = $method

# The share of questions that are drawn by lot all the same. They measure how good the map is; keep some.
test_share = $test_share

# The share of questions that somebody else has had before. They show how far people agree.
repeat_share = $repeat_share

[people]
# How many people may take part; 0 for no limit.
most = $most_people

# What each person gets for taking part, in your currency, such as 1.50; 0 if nobody is paid. Your live page then tells
# what the answers cost, and what further ones would. People do not see it.
pay = $pay

# Where people are sent at the end, such as the completion link of Prolific; empty for nowhere. If {code} stands in
# it, the person's code is put there.
completion_url = $completion_url

# The code that people get at the end: "each" makes one for each person; anything else is the code of all.
completion_code = $completion_code

[look]
# The colour of buttons, and that of the page: # and six digits, as colour pickers show them.
accent = $accent
background = $background

[server]
# Where answers are kept. Empty: in the file answers.sqlite in this folder, which is right for most studies.
# Several servers share a study through PostgreSQL: "postgresql://user:password@host/name"
database = $database
""")
#: The commented study.toml that a new study begins with.
TEMPLATE = commented()
