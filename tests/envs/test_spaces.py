from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from env_zoo import Hybrid
from gymnasium import spaces

from dressage.envs.spaces import ActionCodec, ObsCodec
from dressage.errors import EnvError

OBSERVATIONS: list[tuple[Any, dict[str, tuple[int, ...]]]] = [
    (spaces.Box(-1, 1, (4,)), {"vector": (4,)}),
    (spaces.Box(-1, 1, (2, 3), np.float64), {"vector": (6,)}),
    (spaces.Box(-1, 1, ()), {"vector": (1,)}),
    (spaces.Discrete(5, start=2), {"vector": (5,)}),
    (spaces.MultiDiscrete([[2, 3], [4, 5]]), {"vector": (14,)}),
    (spaces.MultiBinary((2, 3)), {"vector": (6,)}),
    (spaces.Box(0, 255, (84, 84, 3), np.uint8), {"image": (3, 84, 84)}),
    (spaces.Box(0, 255, (4, 84, 84), np.uint8), {"image": (4, 84, 84)}),
    (spaces.Box(0, 255, (84, 84), np.uint8), {"image": (1, 84, 84)}),
    (spaces.Box(0, 255, (4, 32, 32, 3), np.uint8), {"image": (12, 32, 32)}),
    (spaces.Box(0, 255, (7, 7, 3), np.uint8), {"vector": (147,)}),
    (spaces.Tuple((spaces.Discrete(2), spaces.Box(0, 1, (2,)))), {"vector": (4,)}),
    (Hybrid().observation_space, {"vector": (9,), "image": (3, 12, 10)}),
    (
        spaces.Dict(
            a=spaces.Box(0, 255, (9, 9), np.uint8), b=spaces.Box(0, 255, (8, 8, 1), np.uint8)
        ),
        {"image": (1, 9, 9), "image2": (1, 8, 8)},
    ),
]


@pytest.mark.parametrize(("space", "shapes"), OBSERVATIONS)
def test_observations_have_the_canonical_form(space: Any, shapes: Any) -> None:
    codec = ObsCodec.from_space(space)
    again = ObsCodec.from_json(json.loads(json.dumps(codec.to_json())))
    assert codec == again
    assert codec.shapes == shapes
    space.seed(0)
    for _ in range(3):
        obs = space.sample()
        encoded, same = codec.encode(obs), again.encode(obs)
        parts = encoded if isinstance(encoded, dict) else {next(iter(shapes)): encoded}
        assert isinstance(encoded, dict) == (len(shapes) > 1)
        for name, array in parts.items():
            assert array.shape == shapes[name]
            assert array.dtype == (np.float32 if name == "vector" else np.uint8)
            other = same[name] if isinstance(same, dict) else same
            assert np.array_equal(array, other)


def test_values_land_where_slices_say() -> None:
    codec = ObsCodec.from_space(Hybrid().observation_space)
    image = np.arange(360, dtype=np.uint32).astype(np.uint8).reshape(12, 10, 3)
    state = np.array([[0.1, 0.2], [0.3, 0.4]], np.float32)
    obs = {"camera": image, "pair": (3, np.array([1, 0])), "state": state}
    encoded = codec.encode(obs)
    assert isinstance(encoded, dict)
    vector = encoded["vector"]
    assert vector[codec.slices["pair/0"]].tolist() == [0, 1, 0]
    assert vector[codec.slices["pair/1"]].tolist() == [1, 0]
    assert np.array_equal(vector[codec.slices["state"]], state.ravel())
    assert np.array_equal(encoded["image"], image.transpose(2, 0, 1))


def test_wrong_observations_are_named() -> None:
    codec = ObsCodec.from_space(spaces.Box(-1, 1, (4,)))
    for wrong in (np.zeros(3), np.float32(0), [1.0, 2.0], np.zeros((1, 4))):
        with pytest.raises(EnvError, match=r"has shape .* the space says \(4,\)"):
            codec.encode(wrong)
    with pytest.raises(EnvError, match="dtype"):
        codec.encode(np.array(["a", "b", "c", "d"]))
    with pytest.raises(EnvError, match="outside its space"):
        ObsCodec.from_space(spaces.Discrete(3)).encode(3)
    with pytest.raises(EnvError, match="no 'state'"):
        ObsCodec.from_space(spaces.Dict(state=spaces.Discrete(3))).encode({})
    with pytest.raises(EnvError, match="expected uint8"):
        ObsCodec.from_space(spaces.Box(0, 255, (9, 9), np.uint8)).encode(np.zeros((9, 9)))
    with pytest.raises(EnvError, match=r"'note' is a Text space.*drop:note"):
        ObsCodec.from_space(spaces.Dict(note=spaces.Text(5)))
    with pytest.raises(EnvError, match="no description"):
        ObsCodec.from_json({"leaves": [{"x": 1}]})


ACTIONS = [
    spaces.Discrete(4),
    spaces.Discrete(4, start=-2),
    spaces.MultiDiscrete([2, 3, 4]),
    spaces.MultiDiscrete([[2, 3], [4, 5]], start=[[1, 1], [0, 0]]),
    spaces.MultiBinary((2, 2)),
    spaces.Box(-2, 3, (3,)),
    spaces.Box(np.array([-1.0, 0.0]), np.array([1.0, 500.0]), dtype=np.float64),
    spaces.Box(-np.inf, np.inf, (2,)),
    spaces.Box(0, 10, (2, 2), np.int32),
    spaces.Tuple((spaces.Discrete(3), spaces.Box(-1, 5, (2,)), spaces.MultiBinary(1))),
    spaces.Dict(a=spaces.Box(0, 1, (1,)), b=spaces.Tuple((spaces.Discrete(2), spaces.Discrete(3)))),
]


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("space", ACTIONS, ids=str)
def test_actions_go_both_ways(space: Any, scale: bool) -> None:
    codec = ActionCodec.from_space(space, scale)
    again = ActionCodec.from_json(json.loads(json.dumps(codec.to_json())))
    space.seed(1)
    samples = [space.sample() for _ in range(4)]
    flat = np.stack([codec.encode(sample) for sample in samples])
    assert flat.shape == (4, codec.size)
    assert flat.dtype == np.float32
    for row, (sample, decoded) in enumerate(zip(samples, codec.decode_batch(flat), strict=True)):
        assert space.contains(decoded), decoded
        assert np.allclose(codec.encode(decoded), flat[row], atol=1e-5)
        assert repr(again.decode(flat[row])) == repr(codec.decode(flat[row])) == repr(decoded)
        assert np.allclose(codec.encode(sample), codec.encode(decoded), atol=1e-5)


def test_boxes_are_clipped_and_scaled() -> None:
    low, high = np.float32([0.0, 5.0, -3e38]), np.float32([10.0, 5.0, 3e38])
    space = spaces.Box(low, high, dtype=np.float32)
    codec = ActionCodec.from_space(space)
    assert codec.low[:2].tolist() == [-1, -1]
    assert codec.decode(np.array([0.5, 0.3, 7.0], np.float32)).tolist() == [7.5, 5.0, 7.0]
    assert codec.decode(np.array([9.0, -9.0, 0.0], np.float32)).tolist() == [10.0, 5.0, 0.0]
    assert np.isfinite(codec.encode(np.array([10.0, 5.0, 1.0]))).all()
    raw = ActionCodec.from_space(space, scale=False)
    assert raw.decode(np.array([4.0, 0.0, 1.0], np.float32)).tolist() == [4.0, 5.0, 1.0]


def test_masks() -> None:
    two = ActionCodec.from_space(spaces.MultiDiscrete([2, 3]))
    expected = [True, False, True, True, False]
    assert two.mask(np.array(expected, np.int8)).tolist() == expected
    assert two.mask((np.array([1, 0]), np.array([1, 1, 0]))).tolist() == expected
    nested = ActionCodec.from_space(
        spaces.Dict(a=spaces.Discrete(2), b=spaces.Box(0, 1, (1,)), c=spaces.Discrete(3))
    )
    assert nested.mask({"a": [1, 0], "c": [1, 1, 0]}).tolist() == expected
    assert nested.mask({"a": [1, 0]}).tolist() == [True, False, True, True, True]
    assert ActionCodec.from_space(spaces.Discrete(3)).mask([1, 0, 1]).tolist() == [1, 0, 1]
    with pytest.raises(EnvError, match="forbids every value of choice 1"):
        two.mask(np.array([1, 0, 0, 0, 0]))
    with pytest.raises(EnvError, match="4 entries, expected 5"):
        two.mask(np.ones(4))


def test_codecs_from_json_need_no_gymnasium() -> None:
    obs = ObsCodec.from_space(spaces.Discrete(3)).to_json()
    action = ActionCodec.from_space(spaces.Box(-1, 1, (2,))).to_json()
    code = (
        "import sys, json; from dressage.envs.spaces import ObsCodec, ActionCodec;"
        "o, a = json.loads(sys.argv[1]);"
        "assert ObsCodec.from_json(o).encode(1).tolist() == [0, 1, 0];"
        "ActionCodec.from_json(a).decode([0, 0]);"
        "assert 'gymnasium' not in sys.modules and 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, json.dumps([obs, action])], check=True)
