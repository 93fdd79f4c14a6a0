"""The commands of the program `nearer`, one a file: what they take and what they print.

Each file has ``add(commands)``, which adds its parser; heavy imports wait until the command runs.
"""
