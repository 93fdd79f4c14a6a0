"""The survey under load and through faults: simulated people, a real server, and what is in its database afterwards."""
