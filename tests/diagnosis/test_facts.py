"""What outweighs everything else, and what does not: numbers that no sound training has, settings
of a run that does well, updates that had only just been allowed to begin."""

from __future__ import annotations

import numpy as np
import pytest
from tests.diagnosis.rule_views import FLAT, RISING, STEPS, T, episodes, view

from dressage.diagnosis.diagnose import diagnose, shipped_rates
from dressage.diagnosis.infer import HEALTHY, posterior
from dressage.diagnosis.possible import possible_causes
from dressage.diagnosis.registry import all_rules
from dressage.diagnosis.rule import TooLittle
from dressage.runs.view import Series


@pytest.mark.parametrize("rule", ["CKP001", "CKP002", "OPT014"])
def test_what_no_sound_training_has_is_never_healthy(rule: str) -> None:
    run = view(ep_rew_mean=RISING, ep_len_mean=RISING, entropy=np.linspace(0.69, 0.3, T))
    seen = [r for r in all_rules().values() if r.can_see(run)]
    fired = {r.id for r in seen if r.check(run)}
    causes = possible_causes(run)
    before = posterior(seen, fired, causes, "on-policy", shipped_rates())
    assert before[HEALTHY] > 0.5
    both = [*seen, all_rules()[rule]] if rule not in {r.id for r in seen} else seen
    after = posterior(both, fired | {rule}, causes, "on-policy", shipped_rates())
    assert after[HEALTHY] < 0.1


def test_a_return_that_becomes_nan_is_a_fault() -> None:
    returns = RISING.copy()
    returns[-5:] = np.nan
    told = diagnose(view(ep_rew_mean=returns, ep_len_mean=RISING, state="crashed"))
    assert told.verdict == "faulty"
    assert told.causes[0].id == "nan-input"
    assert "OPT014" in {one.rule for one in told.symptoms}


def test_no_return_before_the_first_episode_ends_is_none() -> None:
    returns = RISING.copy()
    returns[:5] = np.nan
    rule = all_rules()["OPT014"]
    assert rule.check(view(ep_rew_mean=returns)) is None
    assert rule.check(view(ep_rew_mean=np.full(T, np.nan))) is None


def test_a_default_of_rllib_is_no_fault_of_a_run_that_does_well() -> None:
    rule = all_rules()["CFG007"]
    config = {"gae_lambda": 1.0}
    solved = view(config, ep_rew_mean=RISING, ep_len_mean=RISING, threshold=300.0)
    assert rule.check(solved) is None
    assert rule.check(view(config, ep_rew_mean=FLAT, ep_len_mean=200.0, threshold=300.0))


def test_few_updates_are_counted_from_when_they_may_begin() -> None:
    rule = all_rules()["DAT003"]
    late = view({"learning_starts": 59_000}, algo="dqn", ep_rew_mean=FLAT)
    late.series["updates"] = Series(STEPS[-1:], np.array([250.0]))
    assert rule.check(late) is None
    unknown = view(algo="dqn", ep_rew_mean=FLAT)
    unknown.series["updates"] = Series(STEPS[-1:], np.array([250.0]))
    with pytest.raises(TooLittle):
        rule.check(unknown)
    few = view({"learning_starts": 1_000}, algo="dqn", ep_rew_mean=FLAT)
    few.series["updates"] = Series(STEPS[-1:], np.array([250.0]))
    assert rule.check(few)


@pytest.mark.parametrize(("below", "differ"), [(3.0, True), (0.5, False)])
def test_evaluations_differ_by_what_single_episodes_do(below: float, differ: bool) -> None:
    """A tenth of what training gained, and far more than its episodes differ by."""
    generator = np.random.default_rng(0)
    single = episodes(400.0 + 10.0 * generator.normal(size=400), 150.0, "terminated")
    run = view(ep_rew_mean=RISING, episodes=single, **{"val/roll/ep_rew_mean": RISING - 10 * below})
    assert ("eval-env-mismatch" in possible_causes(run)) is differ


def test_what_is_read_off_the_settings_leads_the_evidence() -> None:
    run = view(
        {"learning_rate": 1e-6},
        ep_rew_mean=FLAT,
        ep_len_mean=FLAT,
        kl_divergence=1e-8,
        entropy=0.69,
        clip_fraction=0.0,
    )
    first = diagnose(run).causes[0]
    assert first.id == "lr-too-low"
    assert first.evidence[0].startswith("The learning rate is 1e-06")
