"""The image encoder against the same layers as torch's own modules, gradients included."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from dressage.nets.encoder import Cnn, in_blocks

# Atari; rows beyond the last whole block; a width that has no blocks; grids; thumbnails
SHAPES = {
    "atari": (4, 84, 84),
    "colours and a rest": (3, 66, 96),
    "no blocks": (2, 40, 50),
    "grid": (3, 8, 9),
    "small": (1, 5, 5),
}


def plain(cnn: Cnn) -> nn.Module:
    """Convolution after convolution, pixels divided first; the weights are those of `cnn`."""
    layers: list[nn.Module] = []
    for layer in cnn.conv:
        if isinstance(layer, nn.Conv2d):
            layers += [
                nn.Conv2d(layer.in_channels, layer.out_channels, layer.kernel_size, layer.stride),
                nn.ReLU(),
            ]
    net = nn.Sequential(*layers, nn.Flatten(), nn.Linear(*cnn.linear.weight.shape[::-1]), nn.ReLU())
    net.load_state_dict(dict(zip(net.state_dict(), cnn.state_dict().values(), strict=True)))
    return net


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_outputs_and_gradients_are_those_of_plain_layers(shape: tuple[int, int, int]) -> None:
    torch.manual_seed(0)
    cnn = Cnn(shape)
    judge = plain(cnn).double()
    image = torch.randint(0, 256, (5, *shape), dtype=torch.uint8)
    out, expected = cnn(image), judge(image.double() / 255.0)
    torch.testing.assert_close(out.double(), expected, rtol=1e-5, atol=1e-6)
    weights = torch.randn_like(out)
    (out * weights).sum().backward()
    (expected * weights).sum().backward()
    for ours, theirs in zip(cnn.parameters(), judge.parameters(), strict=True):
        assert ours.grad is not None and theirs.grad is not None
        scale = float(theirs.grad.abs().max())
        torch.testing.assert_close(ours.grad.double(), theirs.grad, rtol=1e-4, atol=1e-5 * scale)


def test_blocks_are_used_where_they_apply() -> None:
    for name, shape in SHAPES.items():
        image = torch.zeros(1, *shape, dtype=torch.uint8)
        assert in_blocks(image, Cnn(shape).conv[0]) == (name in ("atari", "colours and a rest"))  # type: ignore[arg-type]


def test_leading_axes_and_views_of_larger_arrays() -> None:
    cnn = Cnn((4, 84, 84))
    images = torch.randint(0, 256, (3, 4, 6, 84, 84), dtype=torch.uint8)[:, :, 1:5]
    out = cnn(images)
    assert out.shape == (3, 4, 512)
    torch.testing.assert_close(out[1, 2], cnn(images[1, 2].contiguous()), rtol=1e-5, atol=1e-6)


def test_names_of_weights_stay_those_of_earlier_checkpoints() -> None:
    assert list(Cnn((4, 84, 84)).state_dict()) == [
        f"{layer}.{kind}"
        for layer in ("conv.0", "conv.2", "conv.4", "linear")
        for kind in ("weight", "bias")
    ]
