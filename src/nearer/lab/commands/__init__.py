"""The commands `nearer bench` and `nearer reproduce`, one benchmark a file."""
