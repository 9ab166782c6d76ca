"""Where a search keeps its trials and what it asks next: Optuna, in a form that resumes.

A trial is asked for, made valid, trained by somebody else, and told of. Pruned by the median of the
other trials at the same share of the budget (Golovin et al. 2017, "Google Vizier", section 3.2).
"""

from __future__ import annotations

import json
import logging
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dressage.errors import ConfigError, DressageError
from dressage.prove.spaces import Choice, Patch, Space, coordinates, patch_at

HINT = "This needs Optuna, which is not installed: pip install 'dressage[tune]'"
AT_RANDOM = 10  # trials before the model of the search is used
BEFORE_PRUNING = 5  # trials that are never cut short
FIRST_RUNG = 2  # tenths of its budget before a trial can be cut short
RUNGS = 10  # looks at a trial, and the end
ENOUGH = 10  # completed trials from which importance is told
State = Literal["done", "pruned", "failed"]


@dataclass(frozen=True)
class Tried:
    number: int
    patch: Patch  # over the start
    state: State
    score: float | None  # of the goal, larger is better; None unless done
    share: float  # of its budget that was trained
    origin: str  # start, prescribed, near, search


def optuna() -> Any:
    try:
        import optuna as module
    except ModuleNotFoundError as error:
        if error.name != "optuna":
            raise
        raise DressageError(HINT) from None
    module.logging.set_verbosity(logging.WARNING)
    return module


class Search:
    """One study: `ask` for a trial, `look` at it while it trains, and tell how it ended."""

    def __init__(
        self, storage: str | None, name: str, space: Space, start: Mapping[str, Any]
    ) -> None:
        """`storage`: an address that Optuna knows; None: in memory alone."""
        self.space, self.start = space, start
        self.optuna = optuna()
        self.study = self._open(storage, name)
        self.distributions = {one.name: self._distribution(one) for one in space}
        self.trial: Any = None

    def _open(self, storage: str | None, name: str) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what Optuna calls experimental
                study = self.optuna.create_study(
                    storage=storage, study_name=name, direction="maximize", load_if_exists=True
                )
                # Another seed after every trial: a resumed search does not repeat its draws.
                study.sampler = self.optuna.samplers.TPESampler(
                    seed=len(study.get_trials(deepcopy=False)),
                    n_startup_trials=AT_RANDOM,
                    multivariate=True,
                )
        except DressageError:
            raise
        except Exception as error:  # of SQLAlchemy, of a driver, of a server
            scheme = str(storage).partition("://")[0]
            what = (str(error).splitlines() or [type(error).__name__])[0]
            raise ConfigError(
                f"The storage ({scheme}://…) cannot be used: {what} Expected an address that "
                "Optuna knows, such as sqlite:///tune.db or postgresql+psycopg://user@host/name."
            ) from None
        study.pruner = self.optuna.pruners.MedianPruner(
            n_startup_trials=BEFORE_PRUNING, n_warmup_steps=FIRST_RUNG
        )
        return study

    def _distribution(self, one: Any) -> Any:
        kinds = self.optuna.distributions
        if isinstance(one, Choice):
            return kinds.CategoricalDistribution(one.texts)
        ends = sorted((one.coordinate(one.low), one.coordinate(one.high)))
        if one.whole:
            return kinds.IntDistribution(*ends, log=one.scale == "count")
        return kinds.FloatDistribution(*ends, log=one.scale in ("log", "share"))

    def begin(self, prescribed: Sequence[Patch], beside: Sequence[Patch] = ()) -> None:
        """The start first, then what was prescribed, then what lies beside the start; once in the
        life of a study."""
        if self.study.get_trials(deepcopy=False):
            return
        first: list[tuple[str, Patch]] = [("start", {})]
        first += [("prescribed", patch) for patch in prescribed]
        first += [("near", patch) for patch in beside]
        for origin, patch in first:
            self._enqueue(patch, origin)

    def _enqueue(self, patch: Patch, origin: str) -> None:
        where = coordinates(self.space, {**self.start, **patch})
        attributes = {"patch": json.dumps(patch), "origin": origin}
        self.study.enqueue_trial(where, user_attrs=attributes)

    def forget_unfinished(self) -> None:
        """A trial that an interruption cut off is tried anew; only a study of our own is asked."""
        for trial in self.study.get_trials(deepcopy=False):
            if trial.state == self.optuna.trial.TrialState.RUNNING:
                patch = trial.user_attrs.get("patch")
                self.study.tell(trial.number, state=self.optuna.trial.TrialState.FAIL)
                if patch is not None:
                    self._enqueue(json.loads(patch), trial.user_attrs.get("origin", "search"))

    def ask(self, valid: Callable[[Patch], Patch]) -> Patch:
        """The next patch, made valid before anybody sees it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.trial = self.study.ask(self.distributions)
        given = self.trial.user_attrs.get("patch")
        if given is not None:
            patch: Patch = json.loads(given)
            return patch
        patch = valid(patch_at(self.space, self.trial.params, self.start))
        self.trial.set_user_attr("patch", json.dumps(patch))
        self.trial.set_user_attr("origin", "search")
        return patch

    @property
    def number(self) -> int:
        return int(self.trial.number)

    def look(self, rung: int, value: float) -> bool:
        """Notes how a trial stands after so many tenths of its budget; whether it should end there.
        The start and what was prescribed never do."""
        self.trial.report(value, rung)
        return self.trial.user_attrs["origin"] in ("near", "search") and bool(
            self.trial.should_prune()
        )

    def done(self, score: float) -> None:
        if math.isfinite(score):
            self.study.tell(self.trial, score)
        else:
            self.failed()

    def pruned(self) -> None:
        self.study.tell(self.trial, state=self.optuna.trial.TrialState.PRUNED)

    def failed(self) -> None:
        """Counts as the worst of all: one that was pruned before it showed anything."""
        self.trial.set_user_attr("failed", True)
        self.pruned()

    def tried(self) -> list[Tried]:
        """All trials that ended, in their order."""
        states = self.optuna.trial.TrialState
        found: list[Tried] = []
        for one in self.study.get_trials(deepcopy=False):
            if one.state not in (states.COMPLETE, states.PRUNED):
                continue
            attributes = one.user_attrs
            state: State = "done" if one.state == states.COMPLETE else "pruned"
            if attributes.get("failed"):
                state = "failed"
            patch = json.loads(attributes.get("patch", "{}"))
            origin = attributes.get("origin", "search")
            score = one.value if state == "done" else None
            share = 1.0 if state == "done" else (one.last_step or 0) / RUNGS
            found.append(Tried(one.number, patch, state, score, share, origin))
        return found

    def importance(self) -> dict[str, float]:
        """How much of the variation among trials each setting explains, by fANOVA (Hutter et al.
        2014); empty where too few trials were completed. PED-ANOVA needs trials that are spread
        evenly, which those of a search are not: it named the idle one of two settings."""
        completed = [one for one in self.tried() if one.state == "done"]
        if len(completed) < ENOUGH or len({one.score for one in completed}) < 2:
            return {}
        labels = {one.name: one.label for one in self.space}
        module = self.optuna.importance
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = module.get_param_importances(
                    self.study, evaluator=module.FanovaImportanceEvaluator(seed=0)
                )
        except (RuntimeError, ValueError):  # trials of which none differs from another
            return {}
        return {labels[name]: float(share) for name, share in found.items() if name in labels}
