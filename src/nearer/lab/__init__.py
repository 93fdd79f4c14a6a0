"""The paper's experiments and all benchmarks; nothing else imports this.

`common` is what they share. `paper` has the experiments of the paper, `benchmarks` times, sizes and coverage, and
`accuracy` the errors of all methods, tuned as in `paper`. `commands` puts them on the command line.
"""
