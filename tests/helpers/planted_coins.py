"""Coins planted among people, simulated and real: who is named?

    PYTHONPATH=src python tests/checking/planted_coins.py [STUDIES [REAL_STUDIES]]

prints, for several numbers of coins and of answers of each, how many coins and how many others the doctor names.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from helpers.studies import simulate
from nearer import Comparisons
from nearer.checking.context import Context
from nearer.checking.random_responders import check_random_responders
from nearer.io.answers import Answers

SIMULATED = {"simulated": {}, "simulated, uneven": {"uneven-sampling": True}}
REAL = ("cars", "food", "eggs30", "eggs300", "characters_latin")


def people_who_vary(seed, n_people=39, per_person=300, n_objects=30, slope=1.0, uneven=False):
    """Return answers of people who toss 0 to 35% of their answers and see differences more or less well.

    Uneven are those of whom some gave a tenth as many answers as others, and two toss 60% of them.
    """
    rng = np.random.default_rng([seed, 1])
    lapses = 0.35 * rng.beta(1, 2, size=n_people)
    if uneven:
        lapses[:2] = 0.6
    study = simulate(seed, n_objects=n_objects, n_people=n_people, per_person=per_person, slope=slope, lapse=lapses)
    if uneven:
        shares = np.append([1.0, 1.0], rng.uniform(0.1, 1.0, size=n_people - 2))
        number = np.char.lstrip(study.annotators, "p").astype(int)
        study = study[rng.random(len(study.shown)) < shares[number]]
    return study.answers()


def real_answers(name):
    """Return a real study as answers, or None where there are no real data."""
    for folder in (os.environ.get("NEARER_DATA"), Path(__file__).parents[3] / "shared" / "data"):
        if folder is not None and (path := Path(folder) / f"{name}.npz").exists():
            data = np.load(path)
            trials = data["trial"] if "trial" in data.files else np.arange(len(data["triplets"]))
            _, first, answer_of = np.unique(trials, return_index=True, return_inverse=True)
            people = np.array([f"person {worker}" for worker in data["worker"]])
            rows = Comparisons.from_triplets(data["triplets"], trials=answer_of, annotators=people)
            return Answers(rows, answer_of, "triplet", name, first + 2, annotators=people[first])
    return None


def with_coins(answers, n_coins, per_coin, seed):
    """Add people who are asked what others were asked, and answer by chance: the objects of an answer are shuffled."""
    rng = np.random.default_rng([seed, 2])
    comparisons, answer_of = answers.comparisons, answers.answer_of
    starts = np.searchsorted(answer_of, np.arange(len(answers) + 1))
    assert (np.diff(answer_of) >= 0).all()
    rows, owners, numbers = [comparisons.rows], [comparisons.annotators], [answer_of]
    people = [answers.annotators]
    for coin in range(n_coins):
        chosen = rng.choice(len(answers), per_coin, replace=False)
        for number, answer in enumerate(chosen):
            own = comparisons.rows[starts[answer] : starts[answer + 1]]
            seen, places = np.unique(own, return_inverse=True)
            rows.append(rng.permutation(seen)[places].reshape(own.shape))
            owners.append(np.full(len(own), f"coin {coin}"))
            numbers.append(np.full(len(own), len(answers) + coin * per_coin + number))
        people.append(np.full(per_coin, f"coin {coin}"))
    answer_of, owners, people = map(np.concatenate, (numbers, owners, people))
    whole = Comparisons.from_triplets(
        comparisons.objects[np.concatenate(rows)], objects=comparisons.objects, trials=answer_of, annotators=owners
    )
    missing = dict.fromkeys(("seconds", "places"))
    return replace(
        answers, comparisons=whole, answer_of=answer_of, lines=np.arange(len(people)) + 2, annotators=people, **missing
    )


def named(answers, seed=0):
    """Return who is said to answer at chance or the wrong way round, and what else the check says."""
    context = Context(answers, 2, seed)
    people = {finding.code: set(finding.concerned) for finding in check_random_responders(context)}
    return people.get("at-chance", set()), people.get("reversed", set()), context.counts


def is_coin(person):
    return person.startswith("coin ")


def line(study, n_coins, per_coin, found, before=frozenset()):
    """Write how many coins, and how many others beyond those named before, were named in some studies."""
    coins = sum(sum(map(is_coin, chance)) for chance, _, _ in found)
    turned = sum(sum(map(is_coin, reverse)) for _, reverse, _ in found)
    others = [{person for person in chance | reverse if not is_coin(person)} - before for chance, reverse, _ in found]
    usual = np.mean([counts["typical_error"] for *_, counts in found])
    enough = np.median([counts["answers_for_power"] or np.inf for *_, counts in found])
    return (
        f"{study:<17} {n_coins:>5} {per_coin:>7} {coins:>4} of {n_coins * len(found):<4} {turned:>6} "
        f"{sum(map(len, others)):>6} {len(found):>8} {usual:>7.3f} {enough:>7.0f}"
    )


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main(n_studies=20, n_real=2):
    say("study             coins answers      named  turned others  studies   usual  enough")
    for study, options in SIMULATED.items():
        for n_coins, per_coin in ((8, 300), (0, 300), (1, 300), (4, 300), (20, 300), (8, 100), (8, 50)):
            studies = (
                with_coins(people_who_vary(seed, **options), n_coins, per_coin, seed) for seed in range(n_studies)
            )
            found = [named(answers, seed) for seed, answers in enumerate(studies)]
            say(line(study, n_coins, per_coin, found))
    for name in REAL if n_real else ():
        if (answers := real_answers(name)) is None:
            say(f"{name}: neither $NEARER_DATA nor ../shared/data holds it")
            continue
        chance, reverse, _ = named(answers)
        say(f"{name}: {len(chance)} at chance and {len(reverse)} reversed of {len(set(answers.annotators))}")
        for n_coins, per_coin in ((1, 300), (4, 300), (8, 300), (20, 300), (8, 100), (8, 50)):
            found = [named(with_coins(answers, n_coins, per_coin, seed), seed) for seed in range(n_real)]
            say(line(name, n_coins, per_coin, found, chance | reverse))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
