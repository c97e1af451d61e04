"""Large arrays are looked at in parts: the same entries, little memory, files that are mapped, and lists."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mbrparse as mp
from mbrparse.decode.posteriors import given_posteriors
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors

LABELS = ["S", "VP|<>", "NP", "VP|<NP>", "NN", "∅"]


def entries_of(found: GivenPosteriors) -> list[tuple[Any, ...]]:
    listed = []
    for place in range(len(found.lengths)):
        starts, ends, ids, *both = (column.tolist() for column in found.entries(place))
        names = [found.labels[one] for one in ids]
        listed += [(place, *row) for row in zip(starts, ends, names, *both, strict=True)]
    return listed


def arrays(seed: int, shuffled: bool) -> dict[str, Any]:
    """Of five sentences, some without entries: labels that become equal, tags, the null label."""
    rng, rows = np.random.default_rng(seed), set()
    lengths = rng.integers(0, 6, 5)
    for _ in range(40):
        sentence = int(rng.integers(0, 5))
        if lengths[sentence]:
            start = int(rng.integers(0, lengths[sentence]))
            end, label = int(rng.integers(start, lengths[sentence])) + 1, int(rng.integers(0, 6))
            rows.add((sentence, start, end, label, label == 4 and end - start == 1))
    listed = sorted(rows)
    if shuffled:
        rng.shuffle(listed)
    columns = np.array(listed, np.int64).reshape(-1, 5).T
    names = ("sentence", "start", "end", "label")
    g = rng.integers(1, 3, len(listed)) / 8
    return {
        "lengths": lengths,
        "labels": LABELS,
        **dict(zip(names, columns, strict=False)),
        "g": g,
        "tag": columns[4] > 0,
    }


@pytest.mark.filterwarnings("ignore::mbrparse.MbrparseWarning")
@given(seed=st.integers(0, 10**6), shuffled=st.booleans(), together=st.sampled_from([1, 4, 15]))
def test_parts_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, seed: int, shuffled: bool, together: int
) -> None:
    """Expected are sums by hand, in the order of sentence, span and label's text."""
    known = arrays(seed, shuffled)
    path = tmp_path_factory.mktemp("blocks") / "p.npz"
    np.savez(path, **known)
    shown = ["S", "VP_Cont", "NP", "VP_Cont", "NN"]
    sums: dict[tuple[Any, ...], float] = {}
    columns = (known[name].tolist() for name in ("sentence", "start", "end", "label", "tag", "g"))
    for sentence, start, end, label, tag, g in zip(*columns, strict=True):
        if label < 5:
            key = sentence, start, end, shown[label], not tag
            sums[key] = sums.get(key, 0.0) + g
    expected = [(*key[:4], *((g, 0.0) if key[4] else (0.0, g))) for key, g in sorted(sums.items())]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(given_posteriors, "TOGETHER", together)
        found = mp.read_posteriors(path, mp.LabelMarks("::", "|<", "∅"))
        assert entries_of(found) == expected
        assert entries_of(mp.mix_posteriors([found, found])) == expected
    assert set(found.labels) == {key[3] for key in sums}


@pytest.mark.filterwarnings("ignore::mbrparse.MbrparseWarning")
def test_compressed_and_mapped_files_are_the_same_and_damage_is_told(tmp_path: Path) -> None:
    known = arrays(1, False) | {"labels": ["S", "A", "NP", "B", "NN", "C"]}
    for save, name in ((np.savez, "mapped.npz"), (np.savez_compressed, "small.npz")):
        save(tmp_path / name, **known)
    mapped, small = (mp.read_posteriors(tmp_path / name) for name in ("mapped.npz", "small.npz"))
    assert entries_of(mapped) == entries_of(small) != []
    content = bytearray((tmp_path / "mapped.npz").read_bytes())
    content[content.rindex(known["g"].tobytes()) + 6] ^= 1
    (tmp_path / "mapped.npz").write_bytes(content)
    with pytest.raises(mp.MbrparseError, match="is damaged: array 'g' cannot be read"):
        mp.read_posteriors(tmp_path / "mapped.npz")


@pytest.mark.parametrize("ends", ["exclusive", "inclusive"])
def test_lists_of_entries_are_arrays(ends: str) -> None:
    rng, labels = np.random.default_rng(0), ["NULL", "S", "NP", "VP"]
    dense, listed = [], []
    for n in (4, 1, 3):
        starts, lasts = np.triu_indices(n)
        dense.append(array := np.zeros((n, n + (ends == "exclusive"), 4), np.float32))
        array[starts, lasts + (ends == "exclusive")] = rng.uniform(0, 0.2, (len(starts), 4))
        order = rng.permutation(len(starts) * 4)
        spans = np.repeat(np.stack([starts, lasts + (ends == "exclusive")], 1), 4, axis=0)[order]
        label = np.tile(np.arange(4), len(starts))[order]
        listed.append((spans, label, array[spans[:, 0], spans[:, 1], label]))
    expected = mp.posteriors(dense, [4, 1, 3], labels, ends, "NULL", threshold=0.05)
    found = mp.posteriors(listed, [4, 1, 3], labels, ends, "NULL", threshold=0.05)
    assert entries_of(found) == entries_of(expected) != []
    spans, label, g = listed[2]
    wrong: list[tuple[Any, str]] = [
        ((spans + 1, label, g), "sentence 3: span"),
        ((spans, label + 9, g), "has the label 1"),
        ((spans, label[1:], g), r"sentence 3 has lists of the shapes \[24, 2\], \[23\], \[24\]; give spans"),
        ((np.tile(spans, (2, 1)), np.tile(label, 2), np.tile(g, 2)), "is listed twice, as entries"),
    ]
    for triple, message in wrong:
        with pytest.raises(mp.MbrparseError, match=message):
            mp.posteriors([*listed[:2], triple], [4, 1, 3], labels, ends, "NULL")


@pytest.mark.filterwarnings("ignore::mbrparse.MbrparseWarning")
def test_little_memory() -> None:
    """Of a model that gives a third of all labels some probability."""
    rng, count, n = np.random.default_rng(0), 110, 24
    starts, lasts = np.triu_indices(n)
    scores = rng.normal(0, 4, (60, len(starts), count)).astype(np.float32)
    scores[..., 0] += 12
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    g = np.zeros((60, n, n + 1, count), np.float32)
    g[:, starts, lasts + 1] = scores / scores.sum(-1, keepdims=True)
    labels = ["NULL", *(f"L{number}" for number in range(count - 1))]
    mp.posteriors(g[:1], [n], labels, null="NULL")  # imports
    tracemalloc.start()
    found = mp.posteriors(g, [n] * len(g), labels, null="NULL")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.g) > g.size / 20
    assert peak < g.nbytes
    columns = found.starts, found.ends, found.label_ids, found.phrase, found.g
    assert sum(column.nbytes for column in columns) == 11 * len(found.g)
