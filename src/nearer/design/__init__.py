"""Designing a study: the next question to ask, lists of questions, and the number of answers needed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
