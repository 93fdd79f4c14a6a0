import pytest

from nearer.embedding import BestOf, PosteriorEmbedding
from nearer.study.settings import MOST_SAMPLED, RunSettings


def test_left_to_itself_a_run_samples_the_posterior_unless_there_is_too_much():
    settings = RunSettings()
    assert settings.for_size(MOST_SAMPLED) is settings
    assert isinstance(settings.estimator(None), PosteriorEmbedding)
    large = settings.for_size(MOST_SAMPLED + 1)
    assert isinstance(large.estimator(2), BestOf)
    assert not large.chooses_dimension


def test_a_method_that_was_asked_for_stays_whatever_the_size():
    assert RunSettings("posterior").for_size(10 * MOST_SAMPLED).method == "posterior"


@pytest.mark.parametrize(("n_components", "free"), [(None, 15), (2, 15), (20, 20)])
def test_predictions_may_use_more_dimensions_than_the_map(n_components, free):
    model = RunSettings().estimator(n_components)
    assert (model.n_components, model.max_components) == (n_components, free)
    assert RunSettings("posterior").estimator(n_components).max_components is None
