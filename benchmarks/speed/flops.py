"""Operations of a feed-forward actor and critic for one env step of training."""

from __future__ import annotations

from itertools import pairwise

from benchmarks.speed.settings import Setting


def layer_sizes(inputs: int, hidden: list[int], outputs: int) -> list[tuple[int, int]]:
    return list(pairwise([inputs, *hidden, outputs]))


def flops_per_env_step(setting: Setting) -> float | None:
    """One forward pass to act, and forward and backward in every epoch; None if not an MLP.

    Only matrix products, two operations a multiply-add; the gradient by the input of the first
    layer is not needed.
    """
    if setting.sizes is None:
        return None
    inputs, outputs = setting.sizes
    hidden = setting.hyper.get("net_arch", [64, 64])
    forward = backward = 0.0
    for network_outputs in (outputs, 1):
        sizes = layer_sizes(inputs, hidden, network_outputs)
        products = [2.0 * rows * columns for rows, columns in sizes]
        forward += sum(products)
        backward += sum(products) + sum(products[1:])
    return forward + float(setting.hyper["n_epochs"]) * (forward + backward)
