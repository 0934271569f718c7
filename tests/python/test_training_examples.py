"""The examples that train: a few steps of each, twice the same; and what the larger one writes."""
import pathlib
import sys
import xml.etree.ElementTree

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "examples"))

import train_characters
import train_shapes
import training_loop


def expect_learns(trained, steps, share):
    told = []
    losses = trained(steps, tell=told.append)[1]
    assert len(losses) == steps and len(told) == 2
    assert np.mean(losses[-5:]) < share * losses[0], losses
    assert losses == trained(steps, tell=told.append)[1]


def test_shapes_are_learnt():
    expect_learns(lambda steps, tell: train_shapes.trained(steps, count=500, tell=tell), 40, .7)


def test_characters_are_learnt():
    expect_learns(train_characters.trained, 30, .6)


def test_sums_are_written_behind_what_is_asked():
    random = np.random.default_rng(5)
    known, unseen = train_characters.sentences(random)
    assert len(known) == 8000 and len(unseen) == 2000
    assert not {tuple(text) for text in known} & {tuple(text) for text in unseen}
    weights = train_characters.first_weights(random, known.shape[1] - 1)
    answers = train_characters.written(weights, unseen[:20])
    for answer, text in zip(answers, unseen):
        asked = list(text).index(train_characters.LETTERS.index("=")) + 1
        assert (answer[:asked] == text[:asked]).all()
    assert (answers != unseen[:20]).any()  # nothing is learnt yet


def test_curves_are_pictures():
    picture = xml.etree.ElementTree.fromstring(training_loop.curve_svg("Loss", [3.0, 2.0, 1.5]))
    assert len(picture.findall("{http://www.w3.org/2000/svg}polyline")) == 2
