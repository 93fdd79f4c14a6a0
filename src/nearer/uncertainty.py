"""How far to trust the place of each object. The home of these names is `nearer.evaluation.bootstrap`."""

from nearer.evaluation.bootstrap import Bootstrap, bootstrap

__all__ = ["Bootstrap", "bootstrap"]
