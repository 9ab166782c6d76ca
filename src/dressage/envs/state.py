"""The optional state protocol: an environment or wrapper has state_dict() and load_state_dict().

For state that lives across episodes (a curriculum's level, a running count), which replaying one
episode cannot bring back. A state is a dict with string keys; values are numpy arrays, numbers,
strings, booleans, None, or lists and dicts of them. In files and pipes it is JSON.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from dressage.errors import EnvError

ARRAY = "__array__"
DTYPES = {f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)} | {"f2", "f4", "f8", "b1"}


def encode_state(value: Any, name: str = "state") -> Any:
    """A state as JSON."""
    if isinstance(value, np.ndarray):
        code = value.dtype.str[1:]
        if code not in DTYPES:
            raise EnvError(f"state_dict() gave an array of dtype {value.dtype} as '{name}'.")
        data = np.ascontiguousarray(value, value.dtype.newbyteorder("<")).tobytes()
        return {ARRAY: code, "shape": list(value.shape), "data": base64.b64encode(data).decode()}
    if isinstance(value, np.generic):
        return encode_state(np.asarray(value), name) if value.dtype.kind in "f" else value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return encode_state(np.asarray(value), name)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [encode_state(item, f"{name}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: encode_state(item, f"{name}['{key}']") for key, item in value.items()}
    raise EnvError(
        f"state_dict() gave a {type(value).__name__} as {name}, expected arrays, numbers, strings, "
        "booleans, or lists and dicts (with string keys) of them."
    )


def decode_state(value: Any) -> Any:
    """The state that `encode_state` wrote."""
    if isinstance(value, list):
        return [decode_state(item) for item in value]
    if not isinstance(value, dict):
        return value
    if ARRAY not in value:
        return {key: decode_state(item) for key, item in value.items()}
    if value[ARRAY] not in DTYPES:
        raise EnvError(f"A saved environment state names the dtype {value[ARRAY]!r}.")
    try:
        data = base64.b64decode(value["data"], validate=True)
        array = np.frombuffer(data, "<" + value[ARRAY]).reshape(value["shape"]).copy()
    except (KeyError, TypeError, ValueError) as error:
        raise EnvError(f"A saved environment state is damaged: {error}.") from None
    return array.item() if array.ndim == 0 else array
