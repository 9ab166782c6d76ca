"""The tensors of a file that `torch.save` wrote, without torch and without unpickling.

Such a file is a zip: `data.pkl` says which tensors there are, `data/<key>` holds their numbers. The
pickle is never run. Its opcodes are read one by one by a machine that knows only what a dictionary
of tensors and plain values is made of; at anything else it stops, and nothing was called.

Own code, since `torch.load(weights_only=True)` needs seconds to import torch, and would be the one
place of the package where a pickle is executed.
"""

from __future__ import annotations

import io
import math
import pickletools
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from dressage.errors import RunError

BYTES = 512 * 2**20  # of all tensors of a file
OPCODES = 1_000_000
_STORAGES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "|i1",
    "ByteStorage": "|u1",
    "BoolStorage": "|b1",
}
_PLAIN = {
    "collections OrderedDict",
    "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_parameter",
}
_MARK = object()


class Refused(ValueError):
    """The pickle holds something that is not a dictionary of tensors."""


class _Name(str):
    """A name that the pickle would import; here it stays a name."""


def torch_file(content: bytes, name: object) -> Any:
    """What was saved: dictionaries, lists, plain values, and tensors as arrays."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = {info.filename: info for info in archive.infolist()}
            pickles = [file for file in infos if file.endswith("/data.pkl")]
            if len(pickles) != 1:
                raise Refused(
                    "it has no data.pkl: written before PyTorch 1.6, or not by torch.save"
                )
            if sum(info.file_size for info in infos.values()) > BYTES:
                raise Refused(f"it unpacks to more than {BYTES:,} bytes")
            folder = pickles[0].removesuffix("data.pkl")
            order = folder + "byteorder"
            if order in infos and archive.read(infos[order]) != b"little":
                raise Refused("its numbers are big-endian")
            machine = _Machine(lambda key: archive.read(infos[f"{folder}data/{key}"]))
            return machine.run(archive.read(pickles[0]))
    except (
        Refused,
        KeyError,
        IndexError,
        TypeError,
        ValueError,
        zipfile.BadZipFile,
        OSError,
    ) as error:
        raise RunError(f"{name} cannot be read as tensors: {error}.") from error
    except Exception as error:
        if type(error).__module__ in ("zlib", "lzma", "_lzma"):
            raise RunError(f"{name} is damaged: {error}.") from error
        raise


class _Machine:
    """A stack, a memo, the opcodes of plain data. `read`: the bytes of a storage, by its key."""

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self.read = read
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.bytes = 0

    def run(self, content: bytes) -> Any:
        for count, (opcode, value, _) in enumerate(pickletools.genops(content)):
            if count > OPCODES:
                raise Refused(f"it has more than {OPCODES:,} opcodes")
            if opcode.name == "STOP":
                return self.stack.pop()
            self._do(opcode.name, value)
        raise Refused("it ends in the middle")

    def _do(self, opcode: str, value: Any) -> None:
        stack = self.stack
        match opcode:
            case "PROTO" | "FRAME":
                pass
            case "MARK":
                stack.append(_MARK)
            case "NONE" | "NEWTRUE" | "NEWFALSE":
                stack.append({"NONE": None, "NEWTRUE": True, "NEWFALSE": False}[opcode])
            case "BININT" | "BININT1" | "BININT2" | "LONG1" | "BINFLOAT" | "BINUNICODE":
                stack.append(value)
            case "SHORT_BINUNICODE" | "BINUNICODE8":
                stack.append(value)
            case "EMPTY_TUPLE" | "EMPTY_LIST" | "EMPTY_DICT":
                stack.append({"EMPTY_TUPLE": (), "EMPTY_LIST": [], "EMPTY_DICT": {}}[opcode])
            case "TUPLE":
                stack.append(tuple(self._marked()))
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                count = int(opcode[-1])
                stack[-count:] = [tuple(stack[-count:])]
            case "APPEND":
                item = stack.pop()
                _of(list, stack[-1]).append(item)
            case "APPENDS":
                items = self._marked()
                _of(list, stack[-1]).extend(items)
            case "SETITEM":
                item, key = stack.pop(), stack.pop()
                _of(dict, stack[-1])[key] = item
            case "SETITEMS":
                items = self._marked()
                _of(dict, stack[-1]).update(zip(items[::2], items[1::2], strict=True))
            case "BINPUT" | "LONG_BINPUT":
                self.memo[int(value)] = stack[-1]
            case "MEMOIZE":
                self.memo[len(self.memo)] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(self.memo[int(value)])
            case "GLOBAL":
                stack.append(_name(value))
            case "BINPERSID":
                stack.append(self._storage(stack.pop()))
            case "REDUCE":
                given = stack.pop()
                stack.append(self._made(stack.pop(), given))
            case "BUILD":  # attributes of an OrderedDict, such as _metadata: of no interest
                stack.pop()
            case _:
                raise Refused(f"its pickle does more than hold tensors (opcode {opcode})")

    def _marked(self) -> list[Any]:
        at = max(i for i, item in enumerate(self.stack) if item is _MARK)
        items = self.stack[at + 1 :]
        del self.stack[at:]
        return items

    def _storage(self, given: Any) -> np.ndarray[Any, Any]:
        """('storage', its type, key, device, numbers) -> the numbers."""
        what, kind, key, _, count = given
        if what != "storage" or not isinstance(kind, _Name):
            raise Refused("it refers to something that is not a storage")
        dtype = np.dtype(_STORAGES[kind.partition(" ")[2]])
        content = self.read(str(key))
        self.bytes += len(content)
        if self.bytes > BYTES or len(content) < int(count) * dtype.itemsize:
            raise Refused(f"the storage {key} has {len(content):,} bytes, expected {count} numbers")
        return np.frombuffer(content, dtype, int(count))

    def _made(self, what: Any, given: Any) -> Any:
        if not isinstance(what, _Name):
            raise Refused("it calls something that is not a name")
        match str(what), given:
            case "collections OrderedDict", ():
                return {}
            case "collections OrderedDict", (list(pairs),):
                return dict(pairs)
            case "torch._utils _rebuild_parameter", (np.ndarray() as tensor, *_):
                return tensor
            case "torch._utils _rebuild_tensor_v2", (
                np.ndarray() as numbers,
                start,
                size,
                steps,
                *_,
            ):
                return _tensor(numbers, int(start), tuple(size), tuple(steps))
        raise Refused(f"it calls {what}")


def _name(value: str) -> _Name:
    module, _, _ = value.partition(" ")
    if value in _PLAIN or (module == "torch" and value.partition(" ")[2] in _STORAGES):
        return _Name(value)
    raise Refused(f"its pickle asks for {value.replace(' ', '.')}, which tensors do not need")


def _of(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise Refused(f"it fills a {type(value).__name__} as if it were a {kind.__name__}")
    return value


def _tensor(
    numbers: np.ndarray[Any, Any], start: int, size: tuple[int, ...], steps: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """A view with strides, checked to lie within its storage."""
    if (
        len(size) != len(steps)
        or any(n < 0 for n in size)
        or any(n < 0 for n in steps)
        or start < 0
    ):
        raise Refused(f"a tensor claims the shape {size} and the strides {steps}")
    if math.prod(size) == 0:
        return np.empty(size, numbers.dtype)
    last = start + sum((n - 1) * step for n, step in zip(size, steps, strict=True))
    if last >= len(numbers) or math.prod(size) > len(numbers):
        raise Refused(
            f"a tensor of shape {size} does not fit its storage of {len(numbers)} numbers"
        )
    strides = [step * numbers.dtype.itemsize for step in steps]
    return np.lib.stride_tricks.as_strided(numbers[start:], size, strides, writeable=False)
