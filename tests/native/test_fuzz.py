"""Random networks, heads, masks and odd sizes: torch's gradient, any threads, clean memory."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dressage.native import build

from .kernels import ACTIVATIONS, OPTIMIZERS, Case

KERNELS = ("gemm", "mlp", "heads", "net", "optim", "update")
LOSSES = ("loss_ppo", "loss_a2c", "loss_reinforce")
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


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(cases())
def test_any_network_has_torchs_gradient(chosen: dict[str, Any]) -> None:
    case = Case(**chosen)
    gradient, metrics = case.native().gradient()
    total, _ = case.loss(slice(None))
    total.backward()
    expected = case.gradients()
    assert np.abs(gradient - expected).max() <= 1e-9 * max(np.abs(expected).max(), 1e-3)
    assert metrics["train/loss/total"] == pytest.approx(total.item(), rel=1e-9, abs=1e-9)


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


@pytest.mark.parametrize(
    ("real", "level", "sanitizers"),
    [
        ("float", "avx2", "address,undefined"),
        ("double", "plain", "address,undefined"),
        ("float", "plain", "thread"),
    ],
)
def test_sanitizers_are_quiet(real: str, level: str, sanitizers: str, tmp_path: Path) -> None:
    cc = build.compiler()
    if level not in build.variants(cc):
        pytest.skip(f"{level} is of another family of machines")
    program = tmp_path / "driver"
    sources = [Path(__file__).with_name("sanitize_update.c")]
    sources += [build.SOURCES / f"{name}.c" for name in KERNELS + LOSSES]
    short = "f32" if real == "float" else "f64"
    defines = [f"-DREAL={real}", f"-DSUFFIX=_{short}_{level}", f"-DREAL_SUFFIX=_{short}"]
    defines += ["-DREAL_IS_DOUBLE=1"] if real == "double" else []
    flags = [*build.COMMON, *build.FAST, *build.VARIANTS[level], "-O1", "-g"]
    flags += [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]
    files = [str(source) for source in sources]
    command = [*cc, *flags, *defines, f"-I{build.SOURCES}", *files, "-o", str(program)]
    built = subprocess.run([*command, "-lm", "-lpthread"], capture_output=True, text=True)
    if "cannot find" in built.stderr:
        pytest.skip(f"no {sanitizers} sanitizer here")
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(program), "40"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "clean\n", done.stderr
