"""Time and memory, measured: against peers, against size, at one large size, and of the convex solver.

Each measurement of a fit runs in a process of its own, so that its peak memory is that of the fit and nothing that ran
before it has warmed or filled anything. Data flows one way: data (points and triplets on file) -> worker (one fit) ->
session (which fits are left, each kept as soon as it is done) -> tables and figures.
"""
