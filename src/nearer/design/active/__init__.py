"""Which question to ask next, so that the fewest answers make the map.

Data flows one way: forms (ways to ask) -> pools (what may be asked) -> record (what was asked and answered) -> belief
(draws from the posterior) -> information and choice (the most telling questions), with the honest error beside.
Whether to ask on: future (questions to come) -> precision (what their answers would tell) -> expected
error -> stopping.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
