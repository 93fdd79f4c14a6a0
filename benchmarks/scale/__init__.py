"""`python -m benchmarks scale`: one problem on threads, from files, on a cluster and on a GPU."""
