"""Which question to ask next, so that the fewest answers make the map."""

from nearer.active.outlook import Outlook, outlook
from nearer.active.questions import Asked, Questions

__all__ = ["Asked", "Outlook", "Questions", "outlook"]
