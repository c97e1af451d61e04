"""Posteriors of several models as one: g of a span and label is the weighted mean of the models'."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt

from mbrparse.decode.label_order import LabelOrder
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
from mbrparse.errors import InputMismatchError, OptionsError
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.log import Log, no_log


def checked_weights(weights: Sequence[float] | None, count: int, what: str) -> FloatArray:
    """The weights of so many models, summing to one; without weights equal ones.

    Raises OptionsError for weights that are not as many, negative, no numbers, or all zero.
    """
    if weights is None:
        return np.full(count, 1 / max(count, 1))
    if len(weights) != count:
        raise OptionsError(f"{len(weights)} weights, where there are {count} {what}: give one for each")
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights) or not any(weights):
        raise OptionsError("weights are numbers from 0 on, not all 0: their sum is divided by")
    return np.array(weights, np.float64) / math.fsum(weights)


def mix_posteriors(
    models: Sequence[GivenPosteriors], weights: Sequence[float] | None = None, log: Log = no_log
) -> GivenPosteriors:
    """The mixture of models of the same sentences: g = sum of weight times the model's g.

    Weights are divided by their sum (default: equal ones). Labels are joined by their text. A model without
    posteriors of a sentence is left out there, and the others' weights are divided by their sum, which
    ``log`` is told. That nothing crosses a span (``consistent``) is known where all models know it.
    Raises InputMismatchError for different sentences, OptionsError for weights that are none.
    """
    if not models:
        raise OptionsError("there are no posteriors to mix")
    share = checked_weights(weights, len(models), "files of posteriors")
    if len(models) == 1:
        return models[0]
    first = models[0]
    for model in models[1:]:
        _check_sentences(first, model)
    known = np.array([_known(model) for model in models])
    for model, knows in zip(models, known, strict=True):
        lacking = np.flatnonzero(~knows & known.any(0))
        if len(lacking):
            more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
            log(f"{model.source}: no posteriors of sentence {lacking[0] + 1}{more}: left to the other files")
    # Where no model with a weight knows a sentence, nothing is divided.
    by_sentence = known * share[:, None]
    total = by_sentence.sum(0)
    by_sentence = np.where(total > 0, by_sentence / np.where(total > 0, total, 1), share[:, None])
    labels = tuple(sorted(set().union(*(model.labels for model in models))))
    place = {label: position for position, label in enumerate(labels)}
    parts = [
        (
            *(model.sentence, model.starts, model.ends),
            np.array([place[label] for label in model.labels], np.int32)[model.label_ids],
            *(model.phrase, model.g * row[model.sentence]),
        )
        for model, row in zip(models, by_sentence, strict=True)
    ]
    orders = [model.order for model in models if model.order is not None]
    return GivenPosteriors.of_columns(
        *map(np.concatenate, zip(*parts, strict=True)),
        lengths=first.lengths,
        source=" + ".join(model.source for model in models),
        labels=labels,
        tie=max(model.tie for model in models),
        consistent=_consistent(models, by_sentence),
        tells_tags=all(model.tells_tags for model in models),
        order=reduce(LabelOrder.joined, orders) if orders else None,
    )


def _check_sentences(first: GivenPosteriors, other: GivenPosteriors) -> None:
    if len(other.lengths) != len(first.lengths):
        differs = f"there are {len(other.lengths)} sentences here, but {len(first.lengths)}"
    elif len(different := np.flatnonzero(other.lengths != first.lengths)):
        at = int(different[0])
        differs = f"sentence {at + 1} has {other.lengths[at]} words here, but {first.lengths[at]}"
    else:
        return
    remedy = "a mixture is of the same sentences in the same order"
    raise InputMismatchError(f"{differs} in {first.source}", source=other.source, remedy=remedy)


def _known(model: GivenPosteriors) -> npt.NDArray[np.bool_]:
    """Which sentences the model has posteriors of; tags alone are none but of one word."""
    sentence = model.sentence
    tells = (model.ends - model.starts > 1) | (model.lengths[sentence] == 1)
    known: npt.NDArray[np.bool_] = np.bincount(sentence[tells], minlength=len(model.lengths)) > 0
    return known


def _consistent(models: Sequence[GivenPosteriors], by_sentence: FloatArray) -> FloatArray | None:
    known = [model.consistent for model in models if model.consistent is not None]
    if len(known) < len(models):
        return None
    lengths = models[0].lengths
    rows = np.repeat(by_sentence, lengths * (lengths + 1) // 2, axis=1)
    mixed: FloatArray = (np.array(known) * rows).sum(0)
    return mixed
