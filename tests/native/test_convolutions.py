"""Convolutions in C against torch's in double: outputs, gradients, and what no bit depends on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from dressage.native import build, face
from dressage.native.convolutions import Convolutions, use_convolutions
from dressage.nets.convolutions import convolved
from dressage.nets.encoder import Cnn
from dressage.nets.parts import use_threads

from .libraries import library_for

Layers = list[tuple[int, int, int]]
CASES: dict[str, tuple[tuple[int, int, int], Layers]] = {
    "atari": ((4, 84, 84), [(32, 8, 4), (64, 4, 2), (64, 3, 1)]),
    "grid": ((3, 7, 7), [(16, 3, 1), (32, 3, 1), (64, 3, 1)]),
    "one layer": ((2, 5, 9), [(32, 2, 1)]),
    "one channel": ((1, 13, 11), [(1, 3, 2), (1, 2, 1)]),
    "odd": ((3, 41, 38), [(5, 7, 3), (33, 3, 2), (50, 2, 1), (7, 1, 1)]),
    "wider than tall": ((2, 6, 60), [(17, 5, 1), (3, 2, 2)]),
    "kernel of the image's size": ((1, 4, 4), [(20, 4, 1)]),
    "strides that leave a rest": ((1, 30, 33), [(40, 4, 5), (9, 2, 3)]),
}


def drawn(shape: tuple[int, int, int], layers: Layers, rows: int = 3) -> tuple[Tensor, list[Any]]:
    """Images and parameters, in double."""
    torch.manual_seed(0)
    parameters, channels = [], shape[0]
    for outs, kernel, _ in layers:
        scale = (channels * kernel * kernel) ** -0.5
        parameters.append(torch.randn(outs, channels, kernel, kernel).double() * scale)
        parameters.append(torch.randn(outs).double() * 0.1)
        channels = outs
    return torch.randint(0, 256, (rows, *shape), dtype=torch.uint8), parameters


def judge(images: Tensor, parameters: list[Tensor], layers: Layers) -> Tensor:
    x = images.to(parameters[0].dtype) / 255.0
    for i, (_, _, stride) in enumerate(layers):
        x = F.relu(F.conv2d(x, parameters[2 * i], parameters[2 * i + 1], stride))
    return x.flatten(1)


def with_gradients(out: Tensor, parameters: list[Tensor]) -> list[Tensor]:
    weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
    return [out, *torch.autograd.grad((out * weights).sum(), parameters)]


def compare(name: str, kernels: Convolutions, dtype: torch.dtype, limit: float) -> None:
    shape, layers = CASES[name]
    images, parameters = drawn(shape, layers)
    wanted = [p.requires_grad_() for p in parameters]
    given = [p.detach().to(dtype).requires_grad_() for p in parameters]
    expected = with_gradients(judge(images, wanted, layers), wanted)
    found = with_gradients(convolved(kernels, images, given), given)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == dtype
        error = (ours - theirs).detach().abs().max()
        assert error <= limit * theirs.detach().abs().max()


@pytest.mark.parametrize("name", CASES)
def test_in_double(name: str) -> None:
    kernels = Convolutions(*CASES[name], library_for("f64"), "f64")
    compare(name, kernels, torch.float64, 1e-12)


@pytest.mark.parametrize("variant", build.VARIANTS)
@pytest.mark.parametrize("name", CASES)
def test_in_float_with_every_vector_extension(name: str, variant: str) -> None:
    library = face.Library(build.LIBRARY)
    if variant not in library.variants:
        pytest.skip(f"this CPU does not run {variant}")
    library.variant = variant
    compare(name, Convolutions(*CASES[name], library), torch.float32, 1e-5)


def test_an_image_does_not_see_those_beside_it() -> None:
    shape, layers = CASES["odd"]
    images, parameters = drawn(shape, layers, rows=7)
    given = [p.float() for p in parameters]
    kernels = Convolutions(shape, layers)
    alone = [convolved(kernels, images[i : i + 1], given) for i in range(7)]
    for threads in (1, 2, 3, 8):
        together, _ = kernels.forward(images, given, keep=False, threads=threads)
        assert torch.equal(torch.cat(alone), together)


def linear(rows: int, inputs: int, outs: int) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    return torch.randn(rows, inputs), torch.randn(outs, inputs), torch.randn(outs)


@pytest.mark.parametrize("rows", [1, 2, 4, 7, 8, 13])
@pytest.mark.parametrize(("inputs", "outs"), [(3136, 512), (1, 1), (15, 3), (33, 25), (1030, 49)])
def test_a_linear_layer_of_few_rows(rows: int, inputs: int, outs: int) -> None:
    x, weight, bias = (t.double() for t in linear(rows, inputs, outs))
    kernels = Convolutions(*CASES["grid"], library_for("f64"), "f64")
    expected = F.linear(x, weight, bias)
    torch.testing.assert_close(kernels.linear(x, weight, bias), expected, rtol=1e-12, atol=1e-11)
    for variant in face.library().variants:
        library = face.Library(build.LIBRARY)
        library.variant = variant
        kernels = Convolutions(*CASES["grid"], library)
        found = kernels.linear(x.float(), weight.float(), bias.float())
        assert (found - expected).abs().max() <= 1e-5 * expected.abs().max()


def test_no_row_of_a_linear_layer_sees_another_or_the_threads() -> None:
    x, weight, bias = linear(13, 100, 70)
    kernels = Convolutions(*CASES["grid"])
    alone = torch.cat([kernels.linear(row, weight, bias) for row in x.split(1)])
    for threads in (1, 2, 5):
        assert torch.equal(kernels.linear(x, weight, bias, threads), alone)


def test_a_broken_weight_is_seen() -> None:
    shape, layers = CASES["grid"]
    images, parameters = drawn(shape, layers)
    given = [p.float().requires_grad_() for p in parameters]
    with torch.no_grad():
        given[2][0, 0, 0, 0] = torch.nan
    found = with_gradients(convolved(Convolutions(shape, layers), images, given), given)
    expected = with_gradients(judge(images, given, layers), given)
    broken = [bool(x.isnan().any()) for x in found]
    assert broken == [bool(x.isnan().any()) for x in expected] and any(broken)


def test_images_that_are_too_small() -> None:
    with pytest.raises(ValueError, match="do not go through"):
        Convolutions((1, 3, 9), [(4, 4, 1)])


@pytest.fixture
def one_after_the_other() -> Iterator[None]:
    yield
    use_threads(1)


def network(shape: tuple[int, int, int]) -> Cnn:
    torch.manual_seed(0)
    net = Cnn(shape)
    use_convolutions([net])
    assert net.kernels is not None
    return net


@pytest.mark.usefixtures("one_after_the_other")
def test_few_images_without_gradients_on_any_number_of_threads() -> None:
    net = network((2, 36, 36))
    images = torch.randint(0, 256, (8, 2, 36, 36), dtype=torch.uint8)
    plain = Cnn(net.shape)
    plain.load_state_dict(net.state_dict())
    with torch.inference_mode():
        alone = net(images)
        torch.testing.assert_close(alone, plain(images), rtol=1e-4, atol=1e-5)
        for number in (2, 3):
            use_threads(number)
            assert torch.equal(net(images), alone)


@pytest.mark.usefixtures("one_after_the_other")
def test_no_bit_depends_on_the_number_of_threads() -> None:
    net = network((2, 36, 36))
    images = torch.randint(0, 256, (300, 2, 36, 36), dtype=torch.uint8)
    alone = with_gradients(net(images), list(net.parameters()))
    for number in (2, 3):
        use_threads(number)
        for ours, theirs in zip(
            with_gradients(net(images), list(net.parameters())), alone, strict=True
        ):
            assert torch.equal(ours, theirs)


def test_the_network_takes_them_for_bytes_in_float32() -> None:
    net = network((3, 40, 36))
    images = torch.randint(0, 256, (3, 5, 3, 40, 36), dtype=torch.uint8)[:, 1:4]  # with gaps
    plain = Cnn(net.shape)
    plain.load_state_dict(net.state_dict())
    assert not torch.equal(net(images), plain(images))  # by rounding: it is another way
    torch.testing.assert_close(net(images), plain(images), rtol=1e-4, atol=1e-5)
    assert net._takes_kernels(images)
    assert not net._takes_kernels(images.float())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not net._takes_kernels(images)
    assert not net.double()._takes_kernels(images)
