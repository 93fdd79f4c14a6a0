"""The paper's experiments and all benchmarks; nothing else imports this."""
