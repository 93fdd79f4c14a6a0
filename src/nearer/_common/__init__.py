"""What every part uses: array types, random streams, words and numbers, progress bars, checks of parameters."""
