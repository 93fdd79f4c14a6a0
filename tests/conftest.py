import pytest


@pytest.fixture(params=["triplets", "quadruplets"])
def kind(request):
    return request.param
