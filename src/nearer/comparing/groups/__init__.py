"""Do groups of people see objects alike: a test, a map of each group, and which objects moved."""
