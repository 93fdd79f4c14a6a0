"""Lists of questions for people to answer: who gets which, in which order, what stands where, and the files of them.

`nearer.design.active.Questions` chooses what is asked; here a study is made of it.
"""

from nearer.design.lists.answered import Answered, answered_in
from nearer.design.lists.lists import Trial, Wish, make_lists
from nearer.design.lists.sheets import FORMATS, write_sheets

__all__ = ["FORMATS", "Answered", "Trial", "Wish", "answered_in", "make_lists", "write_sheets"]
