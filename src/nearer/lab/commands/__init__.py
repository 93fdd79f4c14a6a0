"""The commands `nearer bench` and `nearer reproduce`."""
