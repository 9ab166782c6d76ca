"""Random networks, heads, masks and odd sizes: torch's gradient, for any threads and CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .kernels import ACTIVATIONS, OPTIMIZERS, Case, error, loss_metric
from .libraries import library_for

WIDTHS = st.lists(st.integers(1, 40), min_size=1, max_size=5)


@st.composite
def cases(draw: Any) -> dict[str, Any]:
    family = draw(st.sampled_from(["ppo", "a2c", "reinforce"]))
    categories = draw(st.lists(st.integers(1, 9), max_size=3))
    continuous = draw(st.integers(0 if categories else 1, 3))
    found = {
        "family": family,
        "obs_size": draw(st.integers(1, 20)),
        "categories": categories,
        "continuous": continuous,
        "masked": bool(categories) and draw(st.booleans()),
        "squash": bool(continuous) and draw(st.booleans()),
        "rows": draw(st.integers(2, 200)),
        "net_arch": {"policy": draw(WIDTHS), "value": draw(WIDTHS)},
        "activation": draw(st.sampled_from(ACTIVATIONS)),
        "layer_norm": draw(st.booleans()),
        "share_features": draw(st.booleans()),
        "optimizer": draw(st.sampled_from(OPTIMIZERS)),
        "ent_coef": draw(st.sampled_from([0.0, 0.1])),
        "seed": draw(st.integers(0, 1000)),
    }
    if family == "ppo":
        found["clip_range_vf"] = draw(st.sampled_from([None, 0.2]))
    if family == "reinforce":
        found["baseline"] = draw(st.booleans())
    return found


def compare_gradients(chosen: dict[str, Any]) -> None:
    case = Case(**chosen)
    for family in case.families():
        gradient, metrics = case.native().gradient(family=family)
        expected, total = case.gradient(family)
        assert np.abs(gradient - expected).max() <= 1e-9 * max(np.abs(expected).max(), 1e-3)
        assert metrics[loss_metric(family)] == pytest.approx(total, rel=1e-9, abs=1e-9)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(cases())
def test_any_network_has_torchs_gradient(chosen: dict[str, Any]) -> None:
    compare_gradients(chosen)


@pytest.mark.long_native
@settings(max_examples=3000, deadline=None, database=None)
@given(cases())
def test_very_many_networks_have_torchs_gradient(chosen: dict[str, Any]) -> None:
    compare_gradients(chosen)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "batch"), [(100, 50), (256, 64), (600, 300), (1500, 1500)])
def test_no_result_depends_on_the_threads(rows: int, batch: int, dtype: Any) -> None:
    case = Case(
        categories=(3,), continuous=1, rows=rows, batch_size=batch, net_arch=[70, 65], dtype=dtype
    )
    order, results = case.order(3), []
    for threads in (1, 2, 3, 8):
        native = case.native()
        metrics = native.update(order, 3, threads, inspect=True)
        results.append((native.parameters, native.second, metrics))
    for parameters, second, metrics in results[1:]:
        assert (parameters == results[0][0]).all() and (second == results[0][1]).all()
        assert metrics == results[0][2]


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_level_of_vector_extensions(activation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One CPU runs several; what they compute in float differs by rounding alone."""
    case = Case(
        obs_size=9,
        categories=(3, 5),
        continuous=2,
        masked=True,
        rows=77,
        net_arch=[33, 20],
        activation=activation,
        layer_norm=True,
        ent_coef=0.1,
        dtype=np.float32,
    )
    library, found = library_for("f32"), []
    for variant in library.variants:
        monkeypatch.setattr(library, "variant", variant)
        found.append(case.native().gradient()[0])
    assert all(error(gradient, found[-1]) < 1e-5 for gradient in found)
