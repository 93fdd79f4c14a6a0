"""The rates behind the claims: size, power and coverage of each inference, in simulated worlds.

Each module of this folder simulates one kind of inference. It has a ``TITLE``, an ``ABOUT`` (what is claimed, and how
the worlds are made, in Markdown) and ``RATES``, a list of `Rate`. ``python -m benchmarks.validity`` runs what is
missing, keeps the outcomes in ``records/`` and writes ``docs/validity.md``.
"""

from benchmarks.validity.rates import Outcome, Rate

__all__ = ["Outcome", "Rate"]
