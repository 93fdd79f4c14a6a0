"""Which question to ask next, so that the fewest answers make the map.

Data flows one way: forms (ways to ask) -> pools (what may be asked) -> record (what was asked and answered) -> belief
(draws from the posterior) -> information and choice (the most telling questions), with the honest error beside.
Whether to ask on: future (questions to come) -> precision (what their answers would tell) -> expected error -> outlook.
"""

from nearer.active.asked import Asked
from nearer.active.honest import HonestError
from nearer.active.outlook import Outlook, outlook
from nearer.active.questions import Questions

__all__ = ["Asked", "HonestError", "Outlook", "Questions", "outlook"]
