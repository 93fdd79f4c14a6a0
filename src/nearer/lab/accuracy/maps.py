"""Maps alone: the p-dimensional map of each method beside that of the best tuned peer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nearer.lab.accuracy.entries import ENTRIES
from nearer.lab.accuracy.peers import PEERS
from nearer.lab.common.records import Record

TUNED_PEERS = tuple(peer for peer in PEERS if peer.endswith("-cv"))


class Contest(NamedTuple):
    """Median errors of two maps on one data set at one size, over the trials that it and all tuned peers have run.

    ``peer`` is the best of these peers.
    """

    method: str
    data: str
    size: int
    error: float
    peer: str
    peer_error: float

    @property
    def is_won(self) -> bool:
        """Whether the map is better than that of the peer."""
        return self.error < self.peer_error


def contests(records: Sequence[Record]) -> list[Contest]:
    """Return a contest for each of our methods, data set and size for which all tuned peers have run.

    Examples
    --------
    >>> ours = {"data": "cars", "size": 60, "method": "STE", "trial": 0, "error_map": 0.3}
    >>> theirs = [ours | {"method": peer, "error_map": 0.4} for peer in TUNED_PEERS]
    >>> contests([ours, *theirs])[0].is_won
    True
    """
    errors: dict[tuple[str, int], dict[str, dict[int, float]]] = {}
    for record in records:
        if record["error_map"] is not None:
            methods = errors.setdefault((record["data"], record["size"]), {})
            methods.setdefault(record["method"], {})[record["trial"]] = record["error_map"]
    found = []
    for (data, size), methods in errors.items():
        for method in ENTRIES:
            shared = set.intersection(*(set(methods.get(each, {})) for each in (method, *TUNED_PEERS)))
            if not shared:
                continue
            ours, *theirs = (
                float(np.median([methods[each][trial] for trial in shared])) for each in (method, *TUNED_PEERS)
            )
            error, peer = min(zip(theirs, TUNED_PEERS, strict=True))
            found.append(Contest(method, data, size, ours, peer, error))
    return found
