"""Which question to ask next, so that the fewest answers make the map.

Data flows one way: forms (ways to ask) -> pools (what may be asked) -> record (what was asked and answered) -> belief
(draws from the posterior) -> information and choice (the most telling questions), with the honest error beside.
Whether to ask on: future (questions to come) -> precision (what their answers would tell) -> expected
error -> stopping.
"""

from typing import TYPE_CHECKING

from nearer.common.loading import loaded_when_asked

if TYPE_CHECKING:
    from nearer.active.asked import Asked
    from nearer.active.honest import HonestError
    from nearer.active.questions import Questions
    from nearer.active.stopping import Outlook, outlook

__all__ = ["Asked", "HonestError", "Outlook", "Questions", "outlook"]
# A survey's server asks by forms and pools alone; what learns from answers would take it seconds, and memory.
__getattr__ = loaded_when_asked(
    __name__,
    {"Asked": "asked", "HonestError": "honest", "Outlook": "stopping", "Questions": "questions", "outlook": "stopping"},
)
