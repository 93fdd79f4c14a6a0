"""The server that collects answers."""
