"""How many answers each way to choose questions needs, on worlds whose truth, or whose answers, are known."""
