"""The text of each finding, by its code: a title, what it means and what to do, and examples."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from nearer._common.findings import Finding
from nearer._common.formatting import intcomma, percent, pluralize, quote, quote_all, two_digits
from nearer.checking.contradictions import MIN_QUESTIONS
from nearer.checking.data_entry import MIN_SECONDS
from nearer.checking.random_responders import FALSE_ALARM_RATE, MAX_SIMULATED_ANSWERS, MIN_CATCH_ACCURACY
from nearer.data.dissimilarities import JUDGMENT_NOUNS, describe_judgments
from nearer.evaluation.ceiling import OTHER_PREDICTORS, NoiseCeiling
from nearer.evaluation.distances import DISTANCES_GOOD, describe_answers_needed, describe_reliability
from nearer.io.answers import TrialNumbers
from nearer.io.messages import as_column, sentence, statement, without_column

#: What is said of each person whom a finding concerns, by its code; findings of other codes concern objects.
PERSON_FLAGS = {
    "at-chance": "answers at chance",
    "reversed": "answers in reverse",
    "copies": "same answers as somebody else",
    "fails-catch": "fails catch questions",
    "position-bias": "always one position",
    "position-runs": "one position in long runs",
    "too-fast": "too fast",
    "constant-raters": "the same rating throughout",
    "reversed-raters": "rates in reverse",
    "unrelated-raters": "agrees with nobody",
}


class Message(NamedTuple):
    """The text of a finding: a headline, what it means and what to do, and the first examples."""

    title: str
    text: str
    examples: Sequence[str] = ()


def message_of(finding: Finding) -> Message:
    """Return the text of a finding."""
    text = _MESSAGES[finding.code]
    message = text if isinstance(text, Message) else text(finding, finding.numbers)
    return message._replace(examples=tuple(message.examples))


_Numbers: TypeAlias = Mapping[str, Any]
_MAX_LISTED = 10  # people in an example


def _people(finding: Finding, numbers: _Numbers, row: Callable[[Any], str]) -> list[str]:
    """Return an example for each of the people who are listed."""
    return [f"{quote(name)}: {row(each)}" for name, each in zip(finding.concerned, numbers["people"], strict=False)]


def _count(finding: Finding, one: str, several: str) -> str:
    """Return how many objects or people a finding concerns, with their verb."""
    return pluralize(len(finding.concerned), one, several)


def _counts(_: Finding, numbers: _Numbers) -> Message:
    n_answers, n_people, n_trials = numbers["n_answers"], numbers["n_annotators"], numbers["n_trials"]
    n_split, n_excluded = numbers["n_split"], numbers["n_undecided"] - numbers["n_split"]
    n_comparisons, n_bad = numbers["n_comparisons"], numbers["n_bad"]
    trials = f" in {pluralize(n_trials, 'trial')}" if n_trials < n_answers else ""
    people = "" if n_people is None else f" by {pluralize(n_people, 'person', 'people')}"
    expanded = f", {pluralize(n_comparisons, 'comparison')}" if n_comparisons > n_answers else ""
    also = [f'{pluralize(n_split, "answer is", "answers are")} "can\'t tell"'] if n_split else []
    also += [f'{pluralize(n_excluded, "more was", "more were")} "can\'t tell"'] if n_excluded else []
    also += [f"{pluralize(n_bad, 'row was', 'rows were')} skipped"] if n_bad else []
    return Message(
        f"{pluralize(n_answers, 'answer')}{trials}{people} about {pluralize(numbers['n_objects'], 'object')}{expanded}",
        f"Asked as {numbers['kind']} questions{'; ' if also else ''}{' and '.join(also)}.",
    )


def _undecided(finding: Finding, numbers: _Numbers) -> Message:
    advice = (
        "So many mean that the questions are too hard or unclear; ask about objects that differ more, or explain more."
        if finding.severity == "warning"
        else "They say nothing about distances."
    )
    by_person = list(zip(finding.concerned, numbers["n_answers"], strict=True))
    listed = [f"{quote(person)}: {n}" for person, n in by_person[:_MAX_LISTED]]
    if others := by_person[_MAX_LISTED:]:
        listed.append(f"{pluralize(len(others), 'other')}: {sum(n for _, n in others)} together")
    return Message(f'{percent(numbers["share"])} of the answers are "can\'t tell"', advice, listed)


def _judgments(_: Finding, numbers: _Numbers) -> Message:
    people = "" if numbers["n_people"] is None else f" by {pluralize(numbers['n_people'], 'person', 'people')}"
    n_pairs, n_bad = numbers["n_pairs"], numbers["n_bad"]
    bad = f" {pluralize(n_bad, 'row was', 'rows were')} skipped." if n_bad else ""
    return Message(
        f"{pluralize(numbers['n_answers'], *JUDGMENT_NOUNS[numbers['kind']])}{people} of {pluralize(n_pairs, 'pair')} "
        f"of {pluralize(numbers['n_objects'], 'object')}",
        f"Data of kind {numbers['kind']}, for NonmetricMDS. "
        f"{describe_judgments(numbers['kind'], numbers['high_is'], numbers['known_by'])}{bad}",
    )


def _unjudged_groups(_: Finding, numbers: _Numbers) -> Message:
    groups = sorted(numbers["groups"], key=len, reverse=True)
    return Message(
        f"The objects fall into {len(groups)} groups with no judged pair between them",
        "No map can place them against each other; have pairs judged that mix them, or map each group alone.",
        [f"{pluralize(len(group), 'object')}: {quote_all(group)}" for group in groups[:5]],
    )


def _asymmetric(_: Finding, numbers: _Numbers) -> Message:
    rho = numbers["correlation"]
    agree = "" if rho is None else f" (Spearman correlation {rho:.2f})"
    warn = "; if the order matters, a symmetric map hides it" if rho is not None and rho < 0.5 else ""
    differ, both = pluralize(numbers["n_differ"], "pair"), intcomma(numbers["n_pairs"])
    return Message(
        f"{differ} of {both} judged in both orders differ{agree}",
        f"A map takes their mean; on average they differ by {numbers['mean']:.3g}{warn}.",
    )


def _far_judgments(_: Finding, numbers: _Numbers) -> Message:
    listed = ", ".join(f"{value:g}" for value in numbers["values"])
    turned = " (after similarities were turned round)" if numbers["turned"] else ""
    return Message(
        f"{pluralize(numbers['n'], 'judgment lies', 'judgments lie')} far from all others: {listed}{turned}",
        f"The others are from {numbers['low']:g} to {numbers['high']:g}. If these stand for missing ones, or are "
        "typing errors, --scale LOW,HIGH --skip-bad leaves them out.",
    )


def _raters(title: tuple[str, str], text: str) -> Callable[[Finding, _Numbers], Message]:
    def message(finding: Finding, numbers: _Numbers) -> Message:
        listed = _people(finding, numbers, lambda rho: f"Spearman correlation {rho:.2f} with the mean of the others")
        return Message(_count(finding, *title), text, listed)

    return message


def _bad_rows(_: Finding, numbers: _Numbers) -> Message:
    title = f"{pluralize(numbers['n_rows'], 'row')} could not be used ({percent(numbers['share'])})"
    return Message(title, "They were skipped; correct them in the file.", list(map(sentence, numbers["rows"])))


def _reading(_: Finding, numbers: _Numbers) -> Message:
    noticed: Finding = numbers["finding"]
    is_own = noticed.source is not None and noticed.source.file == numbers["file"]
    return Message(statement(noticed) if is_own else sentence(noticed), "Noticed while the file was read.")


def _never_compared(finding: Finding, _: _Numbers) -> Message:
    title = f"{_count(finding, 'object is', 'objects are')} in no comparison"
    text = "No map can place them; ask about them, or take them off the list."
    return Message(title, text, (quote_all(finding.concerned, 10),))


def _undersampled(finding: Finding, numbers: _Numbers) -> Message:
    dimensions = pluralize(numbers["n_components"], "dimension")
    text = f"In {dimensions} their place may stay open on some side; a few questions more about them would settle it."
    if finding.severity == "warning":
        text = (
            f"In {dimensions} so few leave the place of the rarest likelier open on some side than not; ask more about "
            "them, or do not rely on their place."
        )
    return Message(
        f"{_count(finding, 'object is', 'objects are')} in fewer than {numbers['min_questions']} different questions",
        text,
        [f"{quote(label)}: {n}" for label, n in zip(finding.concerned, numbers["n_questions"], strict=False)],
    )


def _features_share(numbers: _Numbers) -> str:
    low, high = percent(numbers["low"]), percent(numbers["high"])
    return (
        f"they account for {percent(numbers['mean'])} of the variance of the coordinates (95% interval {low} to {high})"
    )


def _features_useless(_: Finding, numbers: _Numbers) -> Message:
    return Message(
        f"The features {quote(numbers['features'])} explain little of the answers",
        "They may be unrelated to what people judged, add nothing to the other sets, or be misaligned, with rows that "
        "belong to other objects, as after sorting one column; look at some rows. The map hardly depends on them: "
        "correct them, or leave them out.",
        (_features_share(numbers),),
    )


def _features_unmatched(_: Finding, numbers: _Numbers) -> Message:
    return Message(
        f"The features {quote(numbers['features'])} describe none of the objects",
        "Give their rows the names that the objects have in the answers.",
        (f"objects: {quote_all(numbers['objects'])}", f"rows: {quote_all(numbers['rows'])}"),
    )


def _features_missing(finding: Finding, numbers: _Numbers) -> Message:
    return Message(
        f"{_count(finding, 'object has', 'objects have')} no row in the features {quote(numbers['features'])}",
        "Answers alone place them; see whether their names are written in another way there.",
        (quote_all(finding.concerned, 10),),
    )


def _features_unasked(finding: Finding, numbers: _Numbers) -> Message:
    return Message(
        f"{_count(finding, 'row', 'rows')} of the features {quote(numbers['features'])} "
        f"{'is' if len(finding.concerned) == 1 else 'are'} about objects in no answer",
        "Features alone place these objects on the map; take them out of the file if they are none of the study.",
        (quote_all(finding.concerned, 10),),
    )


def _group(group: _Numbers, about: str = "") -> str:
    n_objects = group["n_objects"]
    return f"{pluralize(n_objects, 'object')}{about}: {quote_all(group['first'], 5, total=n_objects)}"


def _disconnected(_: Finding, numbers: _Numbers) -> Message:
    n_groups, groups = numbers["n_groups"], [_group(group) for group in numbers["groups"]]
    more = [f"... {intcomma(n_groups - len(groups))} more groups"] if n_groups > len(groups) else []
    return Message(
        f"The objects fall into {intcomma(n_groups)} groups with no comparison of a distance between them",
        "No map can place them against each other; ask questions that mix them, or map each group alone.",
        groups + more,
    )


def _articulation_points(finding: Finding, numbers: _Numbers) -> Message:
    n_groups = numbers["n_groups"]
    groups = f"{intcomma(n_groups)} groups are" if n_groups > 1 else "A group is"
    return Message(
        f"{groups} connected to the rest through a single object",
        "The answers let such a group rotate about that object; ask questions that mix it with the others.",
        [
            _group(group, f" about {quote(label)}")
            for label, group in zip(finding.concerned, numbers["groups"], strict=False)
        ],
    )


def _few_anchors(finding: Finding, numbers: _Numbers) -> Message:
    anchors, p = finding.concerned, numbers["n_components"]
    labels, advice = quote_all(anchors), "let every object take its turn as the anchor."
    if len(anchors) == 1:
        text = "Such answers order the others by their distance from it and say nothing of the distances between them"
        return Message(f"The anchor is always {labels}", f"{text}; {advice}", (labels,))
    text = f"A map in {pluralize(p, 'dimension')} needs distances from at least {p + 1}; {advice}"
    return Message(f"Only {intcomma(len(anchors))} objects are ever the anchor", text, (labels,))


def _few_partners(finding: Finding, numbers: _Numbers) -> Message:
    p = numbers["n_components"]
    return Message(
        f"{_count(finding, 'object is', 'objects are')} compared in distance with no more than {pluralize(p, 'other')}",
        f"In {pluralize(p, 'dimension')} that leaves two places or more for each; compare them with other objects too.",
        (quote_all(finding.concerned, 10),),
    )


def _trial_numbers(_: Finding, numbers: _Numbers) -> Message:
    found = TrialNumbers(**{name: numbers[name] for name in TrialNumbers._fields})
    text = f"Rows of one trial are about one question, asked once; {found.remedy}."
    if not numbers["has_people"]:
        named = as_column("annotator", "NAME")
        text += f" If the numbers begin again with every person, name the column of people: {named}."
    text += f" To ignore the numbers, give {without_column('trial')}; or number the trials of a person throughout."
    return Message(f"C{found.title[1:]}", text, found.listed(numbers["file"]))


def _lines(first: _Numbers, second: _Numbers, link: str) -> str:
    """Return two ranges of lines."""
    written = [f"{each['line']}" + ("" if each["to"] is None else f"-{each['to']}") for each in (first, second)]
    if first["file"] is None:
        return f"lines {written[0]} {link} {written[1]}"
    return f"{first['file']}:{written[0]} {link} {second['file']}:{written[1]}"


def _negative_times(_: Finding, numbers: _Numbers) -> Message:
    place = numbers["line"]
    line = f"line {place['line']}" if place["file"] is None else f"{place['file']}:{place['line']}"
    title = f"{pluralize(numbers['n_answers'], 'response time is', 'response times are')} negative"
    return Message(title, "A clock was wrong, or the column is none of times; check it.", (line,))


def _too_fast(finding: Finding, numbers: _Numbers) -> Message:
    usual = f"(usual: {numbers['typical_seconds']:.1f} s)"
    return Message(
        f"{_count(finding, 'person answers', 'people answer')} faster than the objects can be looked at",
        f"At least half of their answers took under {MIN_SECONDS:g} s; look at them, and leave these people out.",
        _people(finding, numbers, lambda each: (
            f"half of {intcomma(each['n_answers'])} answers in {each['median_seconds']:.2f} s or less {usual}"
        )),
    )  # fmt: skip


def distinguishable(labels: Sequence[Any]) -> list[str]:
    r"""Return labels quoted so that they differ to the eye: with codes of letters only where nothing else differs.

    >>> distinguishable(["K\u00e4se", "k\u00e4se"]) == ["'K\u00e4se'", "'k\u00e4se'"]
    True
    >>> distinguishable(["caf\u00e9", "cafe\u0301"])
    ["'caf\\xe9'", "'cafe\\u0301'"]
    """
    seen = {unicodedata.normalize("NFKC", str(label)) for label in labels}
    return [repr(label) if len(seen) == len(labels) else ascii(label) for label in labels]


def _one_sided(finding: Finding, numbers: _Numbers) -> Message:
    n_near, n_objects = numbers["n_only_near"], pluralize(numbers["n_objects"], "object")
    sides = {"near": finding.concerned[:n_near], "far": finding.concerned[n_near:]}
    return Message(
        f"{intcomma(len(finding.concerned))} of {n_objects} are only ever near or only ever far",
        "Objects that are compared are near in some answers and far in others; see whether the columns of near and far "
        "write the same names, and whether they were chosen by the answer.",
        [f"only ever {side}: {quote_all(labels)}" for side, labels in sides.items() if labels],
    )


def _only_anchors(finding: Finding, numbers: _Numbers) -> Message:
    n_only, n_anchors = numbers["n_only_anchors"], pluralize(numbers["n_anchors"], "anchor")
    roles = {"anchors": finding.concerned[:n_only], "options": finding.concerned[n_only:]}
    return Message(
        f"{intcomma(n_only)} of {n_anchors} are never among the options",
        "Chance does not explain that. If they are other names of objects among the options, write each name one way; "
        "if the design has anchors of their own, nothing is wrong.",
        [f"only ever {role}: {quote_all(labels)}" for role, labels in roles.items()],
    )


def _missing_labels(finding: Finding, _: _Numbers) -> Message:
    return Message(
        f'{_count(finding, "object has a name that means", "objects have names that mean")} "nothing here"',
        "Such cells count as an object of that name; leave those rows out, unless it is one.",
        (quote_all(finding.concerned),),
    )


def _numbering_gaps(finding: Finding, numbers: _Numbers) -> Message:
    absent = _count(finding, "number never occurs", "numbers never occur")
    return Message(
        f"The objects are numbered from {numbers['first']} to {numbers['last']}, but {absent}",
        "If these are objects of the study, nobody was asked about them, and they will not be on the map.",
        (quote_all(finding.concerned, 10),),
    )


def _comparison(near: Sequence[Any], far: Sequence[Any]) -> str:
    """Return a comparison of two pairs, with the anchor once where there is one."""
    shared = [label for label in near if label in far]
    if len(shared) != 1:
        pairs = [f"{quote(first)} and {quote(second)}" for first, second in (near, far)]
        return f"{pairs[0]} nearer than {pairs[1]}"
    others = [quote(next(label for label in pair if label != shared[0])) for pair in (near, far)]
    return f"{quote(shared[0])} nearer to {others[0]} than to {others[1]}"


def _contradictions(finding: Finding, numbers: _Numbers) -> Message:
    n_repeated, n_both, rate = numbers["n_repeated"], numbers["n_contradicted"], percent(numbers["disagreement"])
    if n_both == 0:
        title = f"{pluralize(n_repeated, 'question was', 'questions were')} repeated, none was answered both ways"
        if finding.severity == "good":
            return Message(title, "Answers to the same question agree.")
        return Message(title, f"So few say little: from {MIN_QUESTIONS} on it would be a sign that answers agree.")
    asked = pluralize(n_both, "question was", "questions were")
    title = f"{asked} answered both ways, of {intcomma(n_repeated)} asked more than once"
    if finding.severity == "warning":
        text = (
            f"Two answers to one question differ in {rate} of cases, as guesses do; check that the answer column is "
            "read as it was meant, and the instructions of the study."
        )
    else:
        seen = f"From fewer than {MIN_QUESTIONS} questions no rate of disagreement is estimated."
        if n_repeated >= MIN_QUESTIONS:
            seen = f"Two answers to one question differ in {rate} of cases (guesses: 50%)."
        text = f"{seen} A map weighs them against each other; nothing needs to be removed."
    lines = [
        f"{_comparison(each['near'], each['far'])}: {pluralize(each['votes'][0], 'answer')}, the reverse: "
        f"{intcomma(each['votes'][1])}"
        for each in numbers["examples"]
    ]
    return Message(title, text, lines)


def _self_contradictions(finding: Finding, numbers: _Numbers) -> Message:
    text = f"Asked again, a person answers otherwise in {percent(numbers['self_disagreement'])} of cases (guesses: 50%)"
    if finding.severity == "warning":
        text += "; check how answers are recorded, and the instructions of the study."
    elif numbers["n_questions"] < MIN_QUESTIONS:
        questions = pluralize(numbers["n_questions"], "different question")
        text = f"They are about {questions}; from fewer than {MIN_QUESTIONS} no rate of disagreement is estimated."
    else:
        text += ". This is how noisy single answers are; a map weighs them against each other."
    times, cases = intcomma(numbers["n_self_contradicted"]), pluralize(numbers["n_self_repeated"], "case")
    return Message(
        f"In {times} of {cases} a person who was asked a question again answered it both ways",
        text,
        _people(finding, numbers, lambda each: (
            f"{intcomma(each['n_contradicted'])} of {pluralize(each['n_repeated'], 'question')} asked again"
        )),
    )  # fmt: skip


def _transitive(_: Finding, numbers: _Numbers) -> Message:
    if n_both := numbers["n_contradicted"]:
        asked = pluralize(n_both, "question was", "questions were")
        text = f"But {asked} answered both ways, so that no order of distances agrees with all answers."
        return Message("The majority answers to all questions are transitive", text)
    n_triads, text = numbers["n_triads"], "Some order of all distances agrees with them."
    if n_triads < MIN_QUESTIONS:
        testable = pluralize(n_triads, "triad is", "triads are") if n_triads else "no triad is"
        text += f" That says little, as {testable} testable."
    return Message("No triad is intransitive", text)


def _intransitive(finding: Finding, numbers: _Numbers) -> Message:
    title = (
        f"{pluralize(numbers['n_in_cycles'], 'question')} of {intcomma(numbers['n_questions'])} take part in "
        "intransitive cycles"
    )
    if numbers["share"] is not None:
        title = f"{percent(numbers['share'])} of testable triads are intransitive (guesses: 25%)"
    text = "Noisy answers always make some triads intransitive; a map weighs all answers."
    if finding.severity == "warning":
        text = "These answers follow no order of distances; check how they were recorded and what was asked."
    return Message(title, text, ("; ".join(_comparison(each["near"], each["far"]) for each in numbers["cycle"]),))


def _position(position: int, n_positions: int) -> str:
    return ("the left one", "the right one")[position] if n_positions == 2 else f"position {position + 1}"


def _position_bias(finding: Finding, numbers: _Numbers) -> Message:
    return Message(
        f"{_count(finding, 'person chooses', 'people choose')} nearly always the same position",
        "Such answers say little about the objects; look at them, and leave these people out if nothing explains it.",
        _people(finding, numbers, lambda each: (
            f"{_position(each['position'], numbers['n_positions'])} in {intcomma(each['n_chosen'])} of "
            f"{intcomma(each['n_answers'])} answers (others: {percent(each['share_of_others'])})"
        )),
    )  # fmt: skip


def _position_runs(finding: Finding, numbers: _Numbers) -> Message:
    return Message(
        f"{_count(finding, 'person chooses', 'people choose')} the same position many times in a row",
        "Attention may have lapsed there; look at these stretches, and leave them out if nothing explains them.",
        _people(finding, numbers, lambda each: (
            f"{_position(each['position'], numbers['n_positions'])} {intcomma(each['length'])} times in a row"
        )),
    )  # fmt: skip


def _catch(_: Finding, numbers: _Numbers) -> Message:
    answers = pluralize(numbers["n_catch"], "answer")
    return Message(
        f"{percent(numbers['share_catch_right'])} of {answers} to catch questions are right",
        "Nobody fails more of them than an attentive person might.",
    )


def _fails_catch(finding: Finding, numbers: _Numbers) -> Message:
    names, n_failed = finding.concerned, numbers["n_failed_catch"]
    text = "Few catch questions are answered rightly; name the column of people to see by whom."
    if names:
        text = (
            f"Attentive people get {percent(MIN_CATCH_ACCURACY)} right or more; so few right answers would be chance "
            "in less than one person in fifty. Leave these people out: "
            f"--exclude person={','.join(map(str, names[:10]))}."
        )
    return Message(
        f"{pluralize(n_failed, 'person fails', 'people fail')} catch questions",
        text,
        [
            f"{quote(name) if name else 'everybody'}: {each['n_right']} of {each['n_asked']} right"
            for name, each in zip(names or ("",), numbers["people"], strict=False)
        ],
    )


def _power(numbers: _Numbers) -> str:
    """Return how many answers of each person detect random responders."""
    typical, n_for_power = f"a typical person gave {intcomma(numbers['typical_n_answers'])}", numbers["n_for_power"]
    if n_for_power is None or n_for_power > MAX_SIMULATED_ANSWERS:
        more = f"more than {intcomma(MAX_SIMULATED_ANSWERS)} answers of each person may be needed"
        return f"People err so often that {more} to detect 90% of random responders; {typical}."
    return (
        f"About {pluralize(n_for_power, 'answer')} of each person suffice to detect 90% of random responders, with an "
        f"attentive person flagged in at most {percent(FALSE_ALARM_RATE)} of studies; {typical}."
    )


def _against_map(finding: Finding, numbers: _Numbers) -> list[str]:
    usual = f"(usual: {percent(numbers['typical_error'])})"
    return _people(finding, numbers, lambda each: (
        f"{percent(each['error'])} of {pluralize(each['n_answers'], 'answer')} against the map {usual}"
    ))  # fmt: skip


def _at_chance(finding: Finding, numbers: _Numbers) -> Message:
    if finding.severity == "good":
        return Message("Nobody is found to answer at chance", _power(numbers))
    return Message(
        f"{_count(finding, 'person answers', 'people answer')} at chance",
        "The map of all others predicts them no better than chance: they respond at random, or perceive the objects "
        f"differently. Look at their answers; leave these people out, or give them less weight. {_power(numbers)}",
        _against_map(finding, numbers),
    )


def _low_power(_: Finding, numbers: _Numbers) -> Message:
    share = percent(numbers["power"]) if numbers["power"] >= 0.01 else "hardly any"
    typical = percent(numbers["typical_error"])
    return Message(
        f"Of random responders {share} would be detected by so few answers of each person",
        f"{typical} of answers are usually against the map of the others. {_power(numbers)}",
    )


def _copies(finding: Finding, numbers: _Numbers) -> Message:
    lines = []
    for pair in numbers["pairs"]:
        agree = intcomma(pair["n_shared"] - pair["n_different"])
        expected = intcomma(round(pair["n_shared"] - pair["expected"]))
        lines.append(
            f"{' and '.join(map(quote, pair['people']))}: {agree} of {pluralize(pair['n_shared'], 'answer')} to the "
            f"same questions agree (of independent people about {expected} would)"
        )
    return Message(
        f"{pluralize(len(finding.concerned), 'person', 'people')} gave the same answers as somebody else",
        "People who answer independently differ more often, even those who agree best: answers may have been copied, "
        "or one person took part under several names. Keep one of each.",
        lines,
    )


def _rule(finding: Finding, numbers: _Numbers) -> Message:
    answers, objects = pluralize(numbers["n_answers"], "answer"), pluralize(numbers["n_objects"], "object")
    noise = "if one answer in ten is wrong"
    questions = "" if numbers["n_questions"] is None else f" to {pluralize(numbers['n_questions'], 'question')}"
    dimensions, constant = pluralize(numbers["n_components"], "dimension"), two_digits(numbers["rule_constant"])
    title = f"{answers}{questions} for {objects} in {dimensions}: {constant} n p log n"
    few_objects, missing, rule = numbers["rule_all_questions"], numbers["rule_missing"], "As a rule of thumb"
    doubt = {
        "guessing": "held-out answers are predicted no better than by guessing",
        "halves-differ": "maps of two halves of the answers hardly agree",
        None: "",
    }[numbers["doubt"]]
    more = f"about {pluralize(missing, 'more answer', 'more answers')} make 4 n p log n"
    more = "ask every question about them three times" if few_objects else more
    if finding.code == "enough" and doubt:
        text = f"{rule} these are enough, but {doubt}."
    elif finding.code == "enough" and few_objects:
        text = "There are hardly more questions about so few objects."
    elif finding.code == "enough":
        text = f"{rule}, from 4 n p log n on maps get nine of ten comparisons right {noise}; noisier answers take more."
    elif finding.code == "rather-few" and numbers["settled"]:
        text = f"{rule} one would ask for more, but they would hardly make predictions better."
    else:
        few, promised = f"{rule}, so few leave a map mostly to chance", f" {noise}"
        if finding.code == "rather-few":
            promised = ""
            few = f"{rule}, maps of so many answers get 7 to 9 of ten comparisons right {noise}"
            few = f"{rule} one would ask for more, and {doubt}" if doubt else few
        reached = "" if doubt or few_objects else f", where nine of ten are right{promised}"
        text = f"{few}." if numbers["distances_need_more"] else f"{few}; {more}{reached}."
    return Message(title, text)


def _curve(title: str) -> Callable[[Finding, _Numbers], Message]:
    def text(_: Finding, numbers: _Numbers) -> Message:
        more = " Distances take more." if numbers["unreliable_distances"] else ""
        return Message(title, numbers["sentence"] + more)

    return text


def _ceiling(finding: Finding, numbers: _Numbers) -> Message:
    ceiling = NoiseCeiling.read(numbers, numbers["level"])
    assert ceiling is not None, "a finding about a ceiling has one"
    sentence = ceiling.statement()
    title = sentence[0].upper() + sentence[1:]
    asked = f"estimated from {pluralize(numbers['n_questions'], 'question')} that several answered"
    if finding.code == "vague-ceiling":
        return Message(
            title, f"That interval is too wide to measure maps by, {asked}; ask more of them of more people."
        )
    text = f"So much do people differ over the same question, {asked}"
    text += "; of what they cannot tell half is wrong in any case." if numbers["n_split"] else "."
    return Message(title, f"{text} {OTHER_PREDICTORS}")


def _distances(finding: Finding, numbers: _Numbers) -> Message:
    reliability, maps = numbers["reliability"], f" {numbers['maps']}" if numbers["maps"] else ""
    reached = f"{describe_reliability(reliability)} (reliability {reliability:.2f})"
    if finding.code == "distances":
        text = "Maps of two halves of the answers agree in their distances."
    elif reliability >= DISTANCES_GOOD:
        ends = f"from {numbers['low']:.2f} to {numbers['high']:.2f}"
        text = f"From one split of the answers to another it goes {ends}: ask for more."
    elif finding.code == "distances-roughly":
        needed = describe_answers_needed(reliability)
        text = f"Near and far can be distinguished, but not more; reliable distances take {needed}."
    else:
        more = describe_answers_needed(reliability)
        text = f"Maps of two halves of the answers hardly agree; reliable distances take {more}, or more careful ones."
    return Message(f"Distances on a {numbers['n_components']}-D map{maps} {reached}", text)


_MESSAGES: dict[str, Message | Callable[[Finding, _Numbers], Message]] = {
    "articulation-points": _articulation_points,
    "asymmetric": _asymmetric,
    "at-chance": _at_chance,
    "bad-rows": _bad_rows,
    "catch": _catch,
    "ceiling": _ceiling,
    "connected": Message(
        "The comparison graph is 2-connected",
        "Every object and every group of objects is compared with the rest through more than one object.",
    ),
    "constant-column": lambda _, numbers: Message(
        f"The {numbers['column']} are all {numbers['value']:g}",
        "A column that never changes says nothing; check that the right one was read.",
    ),
    "constant-position": lambda _, numbers: Message(
        f"{percent(numbers['share'])} of the answers choose {_position(numbers['position'], numbers['n_positions'])}",
        "If the chosen object was always written there, say so when reading; else the options were not shuffled.",
    ),
    "constant-raters": lambda finding, _: Message(
        _count(finding, "person gives", "people give") + " the same rating to all pairs",
        "That orders nothing, and is left out.",
        (quote_all(finding.concerned, 10),),
    ),
    "contradictions": _contradictions,
    "copies": _copies,
    "counts": _counts,
    "disconnected": _disconnected,
    "distances": _distances,
    "distances-differ": _distances,
    "distances-roughly": _distances,
    "distances-unknown": lambda _, numbers: Message(
        "The reliability of distances is not known", f"{numbers['reason'].capitalize()}."
    ),
    "duplicate-answers": lambda _, numbers: Message(
        f"{pluralize(numbers['n_duplicates'], 'answer was', 'answers were')} recorded twice",
        "Person, question and answer are the same, and so is the response time or the trial; remove the second copies, "
        "or they count double.",
        [_lines(first, second, "and") for first, second in numbers["lines"]],
    ),
    "enough": _rule,
    "fails-catch": _fails_catch,
    "fast-answers": lambda _, numbers: Message(
        f"{percent(numbers['share'])} of the answers took less than {MIN_SECONDS:g} s",
        "Nobody looks at the objects and decides so fast; check the unit of the times, or leave such answers out.",
    ),
    "features-missing": _features_missing,
    "features-unasked": _features_unasked,
    "features-unclear": lambda _, numbers: Message(
        f"It is not clear yet how much the features {quote(numbers['features'])} explain of the answers",
        "More answers will show it; the map relies on them only as far as they agree with the answers.",
        (_features_share(numbers),),
    ),
    "features-unmatched": _features_unmatched,
    "features-used": lambda _, numbers: Message(
        f"The features {quote(numbers['features'])} explain much of the answers",
        "With them, fewer answers are needed for the same error.",
        (_features_share(numbers),),
    ),
    "features-useless": _features_useless,
    "far-judgments": _far_judgments,
    "few-anchors": _few_anchors,
    "few-judged": lambda finding, numbers: Message(
        f"{_count(finding, 'object is', 'objects are')} in {numbers['n_components']} judged pairs or fewer",
        f"That leaves their place in {pluralize(numbers['n_components'], 'dimension')} open; have more pairs judged.",
        [f"{quote(label)}: {n}" for label, n in zip(finding.concerned, numbers["n_judged"], strict=False)],
    ),
    "few-partners": _few_partners,
    "fixed-order": Message(
        "The position of an option depends on which object it is",
        "Either the file does not keep the order in which options were shown, or they were not shuffled; nothing can "
        "then be said about people who favor a position.",
    ),
    "intransitive": _intransitive,
    "learned": _curve("Predictions have settled"),
    "low-power": _low_power,
    "missing-labels": _missing_labels,
    "misspelled-labels": lambda finding, numbers: Message(
        f"{pluralize(len(finding.concerned), 'object')} may be misspelled: rare, and nearly the name of another",
        f"Objects are in {numbers['typical_n_answers']:g} answers as a rule; correct the names in the file.",
        [
            f"{quote(word)} ({pluralize(each['n_answers'], 'answer')}), perhaps {quote(each['perhaps'])}"
            for word, each in zip(finding.concerned, numbers["labels"], strict=False)
        ],
    ),
    "mostly-missing": lambda _, numbers: Message(
        f"{percent(numbers['share'])} of the {numbers['column']} are missing",
        "Little can be read from the rest of them.",
    ),
    "negative-times": _negative_times,
    "never-compared": _never_compared,
    "no-ceiling": Message(
        "The noise ceiling is not known",
        "Too few questions were asked more than once; next time ask some of several people.",
    ),
    "no-signal": _curve("Held-out answers are predicted no better than by guessing"),
    "not-converged": lambda _, numbers: Message(
        f"The chains of the posterior disagree: R-hat of distances up to {numbers['rhat']:.2f}",
        f"The draws are worth {numbers['effective']:.0f} independent ones, so that ellipses and some distances would "
        "come out differently with another seed; predictions depend on this much less. "
        + (
            "More answers would help."
            if numbers.get("is_thorough")
            else "Fit again with --set solver=thorough, which samples longer."
        ),
    ),
    "numbered-from-one": Message(
        "Object 0 is in no comparison, all others are",
        "The objects seem to be numbered from 1; subtract 1, or give the objects names.",
        ("0",),
    ),
    "numbering-gaps": _numbering_gaps,
    "one-sided": _one_sided,
    "only-anchors": _only_anchors,
    "position-bias": _position_bias,
    "position-runs": _position_runs,
    "rather-few": _rule,
    "judgments": _judgments,
    "people-agree": lambda _, numbers: Message(
        f"All {numbers['n_people']} people agree with the others",
        f"Their median Spearman correlation with the mean of the others is {numbers['rho']:.2f}.",
    ),
    "reading": _reading,
    "reversed-raters": _raters(
        ("person rates in reverse", "people rate in reverse"),
        "The other way round than the others: they may have taken the scale to mean the opposite. Ask them, turn their "
        "ratings round in the file, or leave them out (--exclude person=...).",
    ),
    "unjudged-groups": _unjudged_groups,
    "unjudged-pairs": lambda _, numbers: Message(
        f"{intcomma(numbers['n_pairs'])} of {pluralize(numbers['n_possible'], 'pair')} were judged by nobody",
        "A map is made of the others.",
    ),
    "unrelated-raters": _raters(
        ("person agrees with nobody", "people agree with nobody"),
        "Their ratings are not related to the mean of the others (one-sided test at 5%); look at them, or leave "
        "them out (--exclude person=...).",
    ),
    "repeated-block": lambda _, numbers: Message(
        f"{pluralize(numbers['n_in_blocks'], 'answer')} come again in the same order",
        "A block of the file seems to be there twice; remove the copy, unless the same questions were asked twice.",
        [_lines(first, second, "again as") for first, second in numbers["blocks"]],
    ),
    "reversed": lambda finding, numbers: Message(
        f"{_count(finding, 'person answers', 'people answer')} in reverse",
        "They contradict the map of all others more often than chance would; they may have taken near for far.",
        _against_map(finding, numbers),
    ),
    "self-contradictions": _self_contradictions,
    "similar-labels": lambda _, numbers: Message(
        f"{pluralize(numbers['n_groups'], 'object seems', 'objects seem')} to be written in more than one way",
        "They differ only by case, spaces, coding, zeros or the ending of a file, and count as different objects; "
        "write each name one way.",
        [" and ".join(distinguishable(labels)) for labels in numbers["groups"]],
    ),
    "still-learning": _curve("More answers would improve predictions"),
    "time-unit": lambda _, numbers: Message(
        f"Half of the response times are over {numbers['median_seconds']:.0f} seconds",
        "They look like milliseconds; divide the column by 1,000, or nobody will seem too fast.",
    ),
    "too-fast": _too_fast,
    "too-few": _rule,
    "transitive": _transitive,
    "trial-numbers": _trial_numbers,
    "undecided": _undecided,
    "undersampled-objects": _undersampled,
    "uneven-sampling": lambda finding, numbers: Message(
        f"Some objects are in {numbers['ratio']:.0f} times as many answers as others (the top tenth against the bottom "
        "tenth)",
        "The map is more certain of some places than of others; ask about the rarer objects next.",
        [
            f"{quote(label)}: {pluralize(n, 'answer')}"
            for label, n in zip(finding.concerned, numbers["n_answers"], strict=True)
        ],
    ),
    "vague-ceiling": _ceiling,
    "weak-signal": _curve("Whether more answers would improve predictions is not known"),
}
