"""What the paper's experiments and the benchmarks share: records on disk, runs, programs beside this one, tables."""
