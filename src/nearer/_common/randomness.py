"""Independent random streams from one seed.

If data and estimators of one ``random_state`` both drew from ``default_rng(seed)``, a random start could repeat the
very numbers that made the true points. Each use of randomness therefore names its purpose, and draws from its own child
of the seed.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np

RandomState: TypeAlias = int | np.random.SeedSequence | np.random.Generator | np.random.RandomState | None
Purpose: TypeAlias = Literal["points", "triplets", "answers", "split", "start", "folds", "questions"]

_PURPOSES: tuple[Purpose, ...] = get_args(Purpose)  # a new one goes to the end: its place is part of the seed


def stream(random_state: RandomState, purpose: Purpose) -> np.random.Generator:
    """Return the generator that ``random_state`` sets aside for one purpose; a Generator is used as it is."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    if not isinstance(random_state, np.random.SeedSequence):
        random_state = np.random.SeedSequence(random_state)
    key = (*random_state.spawn_key, _PURPOSES.index(purpose))
    return np.random.default_rng(np.random.SeedSequence(random_state.entropy, spawn_key=key))
