"""OPT032."""

from __future__ import annotations

from dressage.diagnosis.look import bodies
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class OneNetworkStartsHeavy(Rule):
    """The first weights of one network are many times those of the other.

    Why it hurts
        What such a head says at first is far from anything real, and each step of the
        optimizer is next to nothing beside it.

    Evidence
        The norms of the weights of policy and values in the first row.

    Threshold and source
        Apart by a factor above 8 (our labelled runs, 2026-11-16: below 1.5 where healthy,
        60 and more with heads that are a thousand times too large).

    Prescription
        Orthogonal weights with a gain of 0.01 for the policy's last layer and 1 for the
        value's.

    Known false alarms
        Networks of very different width; heads on a shared network, which are left out.

    References
        “The 37 implementation details of PPO”, detail 2.
    """

    id = "OPT032"
    name = "one-network-starts-heavy"
    family = "optimisation"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/metrics/weight_norm/policy", "train/metrics/weight_norm/value")
    thresholds = {"times": Threshold(8.0, "our labelled runs, 2026-11-16")}
    elsewhere = 0.01
    expected = {
        "bad-initialisation": 0.85,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        nets = bodies(run, "train/metrics/weight_norm/*")
        first = {net: float(series.values[0]) for net, series in nets.items()}
        if run.restarts or len(first) < 2 or not min(first.values()) > 0:
            return None
        heavy, light = max(first, key=lambda net: first[net]), min(first, key=lambda n: first[n])
        times = first[heavy] / first[light]
        if not times > self.bound("times"):
            return None
        return self.found(
            f"The weights of {heavy} begin with a norm of {first[heavy]:.3g}, those of {light} "
            f"with {first[light]:.3g}: {times:.0f} times.",
            f"train/metrics/weight_norm/{heavy}",
            times=times,
        )
