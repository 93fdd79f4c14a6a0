"""Lists of questions for participants: who gets which, in which order and position, and the files of them."""
