"""Models on disk: they come back the same, and a file cannot do harm."""

import json

import numpy as np
import pytest

from nearer import Comparisons, Penalty, embedding
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL, DMOE, MLDS, MVTE, SOE, SPE, STE, BestOf, PosteriorEmbedding
from nearer.embedding.storage import load_model, save_model
from nearer.optimize import Factored
from nearer.sampling import NUTS, Microcanonical

pytestmark = pytest.mark.usefixtures("one_start")
POINTS = make_gaussian(12, 2, random_state=0)
ANSWERS = sample_triplets(POINTS, 150, flipped=0.1, random_state=0)
NAMED = Comparisons.from_triplets(
    np.array([f"object {k}" for k in range(12)])[ANSWERS.rows],
    weights=np.linspace(0.5, 2, 150),
    annotators=["ann", "bob"] * 75,
    trials=np.repeat(np.arange(75), 2),
)
MODELS = {name: getattr(embedding, name)(2, random_state=0) for name in embedding.__all__}
MODELS["MLDS"] = MLDS(random_state=0)
MODELS["BestOf"] = BestOf(2, methods=[CKL(2), SOE(2)], n_splits=2, random_state=0)
MODELS["SPE"] = SPE(2, tol=0.01, random_state=0)
MODELS["MVTE"] = MVTE(2, alpha=3.0, n_init=1, random_state=0)  # finds the number of views
MODELS["MVTE of two views"] = MVTE(2, n_views=2, n_init=1, random_state=0)  # finds alpha
MODELS["PosteriorEmbedding"] = PosteriorEmbedding(2, solver=NUTS(2, 60, 60), random_state=0)
MODELS["microcanonical"] = PosteriorEmbedding(2, solver=Microcanonical(2, 100, 200), budget=60, random_state=0)
MODELS["variational"] = PosteriorEmbedding(2, solver="variational", random_state=0)
MODELS["DMOE with values"] = DMOE(3, penalty=Penalty(trace=0.2), nu=0.5, random_state=0)
MODELS["STE with a solver"] = STE(2, solver=Factored(n_init=2, tol=1e-3), random_state=0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_the_same(name, tmp_path):
    assert_comes_back(name, NAMED, tmp_path)


@pytest.mark.parametrize("name", ["STE", "DMOE", "MLDS", "variational"])
def test_a_model_of_indices_comes_back_the_same(name, tmp_path):
    assert_comes_back(name, ANSWERS, tmp_path)


def assert_comes_back(name, comparisons, tmp_path):
    model = MODELS[name].fit(comparisons)
    again = load_model(save_model(model, tmp_path / "model"))
    assert type(again) is type(model)
    assert str(again) == str(model)
    np.testing.assert_array_equal(again.embedding_, model.embedding_)
    np.testing.assert_array_equal(again.predict_proba(comparisons), model.predict_proba(comparisons))
    np.testing.assert_array_equal(again.decision_function(comparisons), model.decision_function(comparisons))
    assert vars(again).keys() == vars(model).keys()
    new = (
        Comparisons.from_triplets([("object 12", *comparisons.objects[:2].tolist())]) if comparisons is NAMED else None
    )
    rows = new if new is not None else [[12, 0, 1], [12, 1, 2]]
    np.testing.assert_array_equal(again.place(rows), model.place(rows))


def test_going_on_with_a_loaded_model(tmp_path):
    model = STE(2, random_state=0).fit(ANSWERS)
    again = load_model(save_model(model, tmp_path))
    more = sample_triplets(POINTS, 50, random_state=1).rows
    np.testing.assert_array_equal(again.partial_fit(more).embedding_, model.partial_fit(more).embedding_)


def test_labels_of_every_kind_come_back(tmp_path):
    labels = [("a", 1), "b", 3, "=cmd()", "<script>"]
    rows = Comparisons.from_triplets([[0, 1, 2], [3, 4, 0]], n_objects=5)
    named = Comparisons.from_triplets([[labels[k] for k in row] for row in rows.rows.tolist()], objects=labels)
    again = load_model(save_model(STE(random_state=0).fit(named), tmp_path))
    assert again.objects_.tolist() == labels


def change(folder, edit):
    path = folder / "model.json"
    what = json.loads(path.read_text())
    edit(what)
    path.write_text(json.dumps(what))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda what: what.update(format=99), "format is 99"),
        (lambda what: what.update(estimator="system"), "no estimator 'system'"),
        (lambda what: what.pop("fitted"), "'fitted' is missing"),
        (lambda what: what["settings"]["dict"].update(solver={"class": "Popen", "fields": {}}), "class 'Popen'"),
        (lambda what: what["settings"]["dict"].update(unheard=1), "unheard"),
        (lambda what: what["fitted"]["dict"].update(n_objects_=13), "13"),
        (lambda what: what["fitted"]["dict"].update(embedding_={"array": 99}), "index"),
        (lambda what: what["fitted"]["dict"].update(embedding_=[1, 2]), "where a value was expected"),
        (lambda what: what["fitted"]["dict"].pop("comparisons_"), "'comparisons_' is missing"),
        (lambda what: what["fitted"].update(dict=3), "holds no whole model"),
        (lambda what: what["fitted"]["dict"].update(score=5), "score is no value of a fit"),
        (lambda what: what["fitted"]["dict"].update(embedding_={"labels": ["a"]}), "finite numbers|no map"),
    ],
)
def test_a_changed_file_is_refused(tmp_path, edit, message):
    save_model(STE(random_state=0).fit(ANSWERS), tmp_path)
    change(tmp_path, edit)
    with pytest.raises(ValueError, match=message):
        load_model(tmp_path)


def test_rows_beyond_the_objects_never_reach_a_compiled_loop(tmp_path):
    model = STE(random_state=0).fit(ANSWERS)
    save_model(model, tmp_path)
    with np.load(tmp_path / "model.npz") as stored:
        arrays = dict(stored)
    rows = next(key for key, array in arrays.items() if array.shape == (150, 3))
    arrays[rows] = arrays[rows] + 10**6
    np.savez(tmp_path / "model.npz", **arrays)
    with pytest.raises(ValueError, match="no positions in its list of objects"):
        load_model(tmp_path)


def test_a_pickle_inside_is_not_opened(tmp_path):
    save_model(STE(random_state=0).fit(ANSWERS), tmp_path)
    np.savez(tmp_path / "model.npz", **{"0": np.array([{"a": 1}], dtype=object)}, allow_pickle=True)
    with pytest.raises(ValueError, match="holds no whole model"):
        load_model(tmp_path)


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 cut", b"\x00" * 100])
def test_a_damaged_file_is_refused(tmp_path, damage):
    save_model(STE(random_state=0).fit(ANSWERS), tmp_path)
    (tmp_path / "model.npz").write_bytes(damage)
    with pytest.raises(ValueError, match="holds no whole model"):
        load_model(tmp_path)


def test_what_cannot_be_saved_is_said(tmp_path):
    with pytest.raises(ValueError, match="call fit first"):
        save_model(STE(), tmp_path)
    with pytest.raises(ValueError, match="call fit first"):
        save_model("a map", tmp_path)


def test_a_chosen_method_must_be_about_the_same_objects(tmp_path):
    model = BestOf(2, methods=[STE(), CKL()], random_state=0).fit(ANSWERS)
    model.best_ = STE(random_state=0).fit([[0, 1, 2]])
    save_model(model, tmp_path)
    with pytest.raises(ValueError, match="not about 12 objects"):
        load_model(tmp_path)


@pytest.mark.parametrize("name", ["BestOf", "DMOE", "CKL"])
def test_a_model_that_has_placed_objects_comes_back(name, tmp_path):
    model = MODELS[name].fit(ANSWERS)
    model.place([[12, 0, 1], [12, 1, 2]])
    again = load_model(save_model(model, tmp_path))
    asked = [[12, 3, 4], [0, 12, 5]]
    np.testing.assert_array_equal(again.predict_proba(asked), model.predict_proba(asked))
    more = sample_triplets(POINTS, 50, random_state=1).rows
    np.testing.assert_array_equal(again.partial_fit(more).embedding_, model.partial_fit(more).embedding_)


@pytest.mark.parametrize("calibration", [5, "steep", {"class": "Calibration", "fields": {"slope": -1.0, "lapse": 0.1}}])
def test_a_damaged_calibration_is_refused(tmp_path, calibration):
    folder = save_model(DMOE(2, random_state=0).fit(ANSWERS), tmp_path)
    change(folder, lambda what: what["fitted"]["dict"].update(_calibration=calibration))
    with pytest.raises(ValueError, match="_calibration"):
        load_model(folder)


def test_a_loaded_dmoe_refits_with_the_shares_of_its_search(tmp_path):
    model = DMOE(2, random_state=0).fit(ANSWERS)
    again = load_model(save_model(model, tmp_path))
    assert (model.cv_results_["share"] > 0).sum() > 1
    expected, found = (each._with_chosen_settings().fit(ANSWERS) for each in (model, again))
    np.testing.assert_array_equal(found.gram_, expected.gram_)
    np.testing.assert_array_equal(found.embedding_, expected.embedding_)
