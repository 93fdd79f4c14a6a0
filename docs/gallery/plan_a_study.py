"""Planning a study.

Before asking anybody: how many answers are needed? `plan` simulates studies like the one you have in mind, with maps of
that many dimensions and people who err that often, and finds the number of answers at which the error on new answers
falls to the target. The band shows how much studies of the same size differ by luck alone.

On the command line: `nearer plan --objects 20 --dimensions 2 --noise 0.1 --target 0.18 --price 0.04`.
"""

from nearer.design import Design, plan, plot_plan
from nearer.embedding import CKL
from nearer.plotting import save_figure

found = plan(
    Design(n_objects=20, n_components=2, noise=0.1),
    target_error=0.18,
    price=0.04,
    estimator=CKL(n_components=2, trace=0.01),  # left out: DMOE, which tunes itself and takes longer
    n_replications=4,
    random_state=0,
)
print(found)
save_figure(plot_plan(found), "plan_a_study.png")
