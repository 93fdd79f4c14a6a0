"""What a survey keeps: tables, their migrations, and one writer that commits what many asked for at once."""

from nearer.survey.store.database import Database
from nearer.survey.store.writer import Busy, Writer

__all__ = ["Busy", "Database", "Writer"]
