"""`Trainer`, one loop for every algorithm: collect, prepare, update, record, evaluate, save."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dressage.core.algorithm import Algorithm
from dressage.core.audit import advantage_metrics, kept_metrics, moved_metrics
from dressage.core.collector import Acted, Collector
from dressage.core.config import RunConfig
from dressage.core.evaluate import Evaluation, evaluate
from dressage.core.hooks import Hook, Moment
from dressage.core.learner import Learner
from dressage.core.recorder import Recorder
from dressage.core.rng import Rng
from dressage.core.steps import Tree
from dressage.core.summaries import (
    column_metrics,
    combined,
    dynamics_metrics,
    experience_metrics,
    hyperparameter_metric,
    hyperparameters_in_force,
)
from dressage.envs.batch import EnvBatch
from dressage.envs.restore import Restored
from dressage.errors import TrainingError
from dressage.runs.checkpoint import Checkpoint, prune, save_checkpoint, set_best
from dressage.runs.run import Run
from dressage.runs.writer import RunWriter

MOST_ROUND_STEPS = 256  # env steps of an iteration made of many small rounds
DYNAMICS_STEPS = 400  # of a replay memory, that tell what the environment does
YOUNG_SECONDS = 10.0  # checkpoint_every=auto: no other is written while the newest is as young
DURABLE_SECONDS = 5.0  # at most so much is lost to a power failure; a killed process loses nothing
ENDLESS = "endless_episode"  # kind of the event
SKIPPED_IN_A_ROW = 3  # iterations in which every update was dropped, after which the run has failed


@dataclass
class Clock:
    """The counters of a run. Everything here is saved."""

    env_steps: int = 0
    iterations: int = 0
    evaluations: int = 0
    best_return: float = -math.inf
    best: dict[str, Any] | None = None  # {"env_steps", "evaluation"} of the best checkpoint
    scheduled: list[int] = field(
        default_factory=list
    )  # env steps of planned checkpoints still kept
    lost_iterations: int = 0
    wall_seconds: float = 0.0  # of training, over all processes


class Trainer:
    """Owns the parts of one run and moves them forward; `run()` returns the reason it ended."""

    def __init__(
        self,
        *,
        algo: Algorithm,
        run: RunConfig,
        cfg: Any,
        learner: Learner,
        collector: Collector,
        memory: Any,
        eval_batch: EnvBatch | None,
        writer: RunWriter,
        rng: Rng,
        engine: str,
        hooks: Sequence[Hook] = (),
    ) -> None:
        self.engine = engine  # its name, which checkpoints carry
        self.algo, self.cfg_run, self.cfg = algo, run, cfg
        self.cfg_now = cfg.at(0.0)  # the settings in force
        self.learner, self.collector, self.eval_batch = learner, collector, eval_batch
        self.memory = memory  # attached to the collector
        whole = getattr(algo, "whole_iteration", None)  # of the native engine
        self.whole_iteration = whole(learner, collector, self.memory, cfg) if whole else None
        self.writer, self.rng, self.hooks = writer, rng, list(hooks)
        self._listening: dict[tuple[str, int], list[Any]] = {}  # methods of hooks, once looked for
        self._for_hooks: dict[str, Any] = {  # what is the same at every moment
            "path": writer.path,
            "log": self._log,
            "stop": self.request_stop,
            "checkpoint": self._request_save,
            "policy": learner,
            "event": self._event,
            "halt": self.halt,
            "say": self._say,
        }
        self.clock = Clock()
        budget = run.env_steps
        self.iteration_steps = algo.rollout_length(cfg) * collector.n_envs
        self.rounds = 1
        if algo.NEEDS.feed == "replay":
            self.rounds = max(1, min(MOST_ROUND_STEPS, budget // 100) // self.iteration_steps)
            self.iteration_steps *= self.rounds
        self.log_every = _every(run.log_every, max(self.iteration_steps, budget // 1000))
        self.checkpoint_every = _every(run.checkpoint_every, max(1, budget // 10))
        self.automatic_checkpoints = isinstance(run.checkpoint_every, str)
        self.look_every = max(1, budget // 5)
        self._looks = False  # whether this iteration is looked at closely
        self.eval_every = _every(run.eval_every, max(1, budget // 10))
        self.recorder = Recorder(writer, self.log_every)
        self.schedules = cfg.schedules()
        self.reported = {
            setting: hyperparameter_metric(setting)
            for setting in type(cfg).model_fields
            if setting in REPORTED_SETTINGS or setting in self.schedules
        }
        self.evaluation: Evaluation | None = None  # the newest
        self._evaluation_seconds = math.inf  # of the newest
        self._unplayed: Any = None  # states of the evaluation's environments before their first use
        self.stop_reason: str | None = None
        self.halted = False  # stopped as a run that cannot recover
        self.said = ""  # what displays show beside the progress
        self._save_requested = False
        self._saved_at = -1  # env steps of the newest checkpoint
        self._saved_time = self._durable_time = time.perf_counter()
        self._durable: list[int] = []  # the newest that a power failure leaves whole
        self._pointed_at: dict[str, Any] | None = None  # the best, as best.json has it
        self._began = time.perf_counter()

    # -- the loop --------------------------------------------------------------------------------

    def run(self) -> str:
        """Trains until the budget is used or someone asks to stop; saves, and says why it ended."""
        clock, budget = self.clock, self.cfg_run.env_steps
        self._call("on_start")
        while clock.env_steps < budget and self.stop_reason is None:
            before = clock.env_steps
            self._iterate()
            done = clock.env_steps >= budget
            evaluates = self._evaluation_due(before, clock.env_steps)
            best = evaluates and self._evaluate()
            if done or evaluates or self.recorder.due(clock.env_steps):
                self._write_row()
            # The only place that saves: between iterations, with all of the last one written.
            planned = done or _crossed(before, clock.env_steps, self.checkpoint_every)
            ends = done or self.stop_reason is not None
            if ends or best or self._save_requested or (planned and self._worth_writing()):
                self.save(planned, durable=ends)
        if self._saved_at != clock.env_steps:  # a signal came right after the last look for one
            self.save(durable=True)
        self._call("on_end")
        return "finished" if clock.env_steps >= budget else (self.stop_reason or "stopped")

    def request_stop(self, reason: str) -> None:
        """Ends the run after the current iteration, with a checkpoint."""
        self.stop_reason = reason

    def halt(self, reason: str) -> None:
        """Ends it likewise, as a run that cannot recover."""
        self.halted = True
        self.request_stop(reason)

    def _iterate(self) -> None:
        clock, recorder, learner = self.clock, self.recorder, self.learner
        self.cfg_now = cfg = self.cfg.at(clock.env_steps / self.cfg_run.env_steps, self.schedules)
        ahead = clock.env_steps + self.iteration_steps
        learner.inspect_next = (
            recorder.due(ahead)
            or ahead >= self.cfg_run.env_steps
            or self._evaluation_due(clock.env_steps, ahead)
        )
        self._looks = not clock.iterations or _crossed(clock.env_steps, ahead, self.look_every)
        updates_before = learner.updates
        with recorder.timed("record"):
            weights_before = learner.trained() if self._looks else {}
        if self.whole_iteration is not None:
            rolled, updated = self.whole_iteration(cfg, recorder.seconds, self.rounds)
            if self._looks:  # C learns from the very arrays that it collects into
                made = self.memory.newest(self.iteration_steps // self.collector.n_envs)
                rolled |= kept_metrics(made, made, cfg)
        elif self.algo.NEEDS.feed == "replay":
            rolled, updated = self._replay_rounds(cfg)
        else:
            rolled, updated = self._collect_and_update(cfg)
        with recorder.timed("record"):
            clock.env_steps = self.collector.env_steps
            if self._looks:
                recent = self.memory.newest(DYNAMICS_STEPS // self.collector.n_envs + 1)
                rolled |= dynamics_metrics(recent, self.collector.batch.action_codec)
                rolled |= column_metrics(recent) | advantage_metrics(recent, cfg)
                rolled |= moved_metrics(weights_before, learner.trained(), updated)
            clock.iterations += 1
            self._guard(updated, learner.updates - updates_before)
            recorder.add_episodes(self.collector.take_episodes())
            rolled |= updated
            rolled |= hyperparameters_in_force(cfg, self.reported)
            recorder.add(rolled)
            self._call("on_iteration", updated)

    def _collect_and_update(self, cfg: Any) -> tuple[dict[str, float], dict[str, float]]:
        """An iteration; returns the metrics of the rollout and those of the update."""
        recorder, learner = self.recorder, self.learner
        with recorder.timed("collect"):
            collected = self.collector.collect(self._act, self.algo.rollout_length(cfg))
        with recorder.timed("prepare"):
            steps, prepared = self.algo.prepare(learner, collected, cfg)
            self.memory.add(steps)
        layers_seed = int(self.rng.raw("layers", 1, self.clock.iterations)[0] >> 1)
        with recorder.timed("update"), learner.training(layers_seed):
            updated = self.algo.update(learner, self.memory, self.rng, cfg)
        with recorder.timed("record"):
            rolled = experience_metrics(steps, self.collector.batch.action_codec)
            if self._looks:
                rolled |= kept_metrics(collected, steps, cfg)
        return rolled | prepared, updated

    def _replay_rounds(self, cfg: Any) -> tuple[dict[str, float], dict[str, float]]:
        """An iteration of many rounds, each a few steps and the updates that go with them: metrics
        are read, and rows and checkpoints made, only between iterations."""
        recorder, learner, algo = self.recorder, self.learner, self.algo
        length = algo.rollout_length(cfg)
        found: list[dict[str, Any]] = []
        for i in range(self.rounds):
            layers_seed = int(self.rng.raw("layers", 1, self.clock.iterations, i)[0] >> 1)
            with recorder.timed("collect"):
                collected = self.collector.collect(self._act, length)
            with recorder.timed("prepare"):
                steps, prepared = algo.prepare(learner, collected, cfg)
                self.memory.add(steps)
                if self._looks:
                    prepared = prepared | kept_metrics(collected, steps, cfg)
            with recorder.timed("update"), learner.training(layers_seed):
                updates = algo.update(learner, self.memory, self.rng, cfg)
            found += [prepared, *updates] if prepared else updates
        with recorder.timed("record"):
            steps = self.memory.newest(length * self.rounds)
            rolled = experience_metrics(steps, self.collector.batch.action_codec)
            return rolled, combined(found)

    def _act(self, obs: Tree, carry: Any, mask: Any, index: int) -> Acted:
        noise = self.algo.noise(self.rng, index, self.collector.n_envs, self.learner, self.cfg_now)
        return self.algo.act(self.learner, obs, carry, mask, noise)

    def _guard(self, updated: dict[str, float], updates: int) -> None:
        """A run whose gradients stay non-finite has failed; the last checkpoint is still good."""
        lost = 0 < updates <= updated.get("train/metrics/skipped_updates", 0.0)
        self.clock.lost_iterations = self.clock.lost_iterations + 1 if lost else 0
        if self.clock.lost_iterations >= SKIPPED_IN_A_ROW:
            raise TrainingError(
                f"Every gradient of the last {SKIPPED_IN_A_ROW} iterations was NaN or infinite "
                f"(at {self.clock.env_steps} env steps), so training cannot go on. The weights "
                "are those from before. Likely causes: a learning rate far too high, rewards or "
                "observations of huge size (try normalize_reward=true, normalize_obs=true)."
            )

    def _write_row(self) -> None:
        with self.recorder.timed("record"):
            if (busy := self.collector.batch.workers_busy()) is not None:
                self.recorder.add({"sys/workers_busy": busy})
            row = self.recorder.write_row(
                {
                    "env_steps": self.clock.env_steps,
                    "updates": self.learner.updates,
                    "wall_seconds": round(self.wall_seconds(), 3),
                    "train/cnt/iterations": self.clock.iterations,
                }
            )
            self._call("on_row", row)

    # -- evaluation ------------------------------------------------------------------------------

    def _evaluation_due(self, before: int, now: int) -> bool:
        if self.eval_batch is None:
            return False
        if now >= self.cfg_run.env_steps and self.cfg_run.final_eval_episodes > 0:
            return True
        return self.eval_every > 0 and _crossed(before, now, self.eval_every)

    def _evaluate(self) -> bool:
        """Plays the evaluation's episodes; True if its mean return is the best so far."""
        clock, run = self.clock, self.cfg_run
        final = clock.env_steps >= run.env_steps
        episodes = run.eval_episodes
        if final and run.final_eval_episodes > 0:
            episodes = run.final_eval_episodes
        assert self.eval_batch is not None
        with self.recorder.timed("record"):
            self.recorder.before_pause(self._evaluation_seconds)
        began = time.perf_counter()
        with self.recorder.timed("evaluate"):
            self._forget_earlier_evaluations(self.eval_batch)
            size = self.algo.carry_size(self.learner)
            self.evaluation = evaluate(
                self._choose, self.eval_batch, episodes, self.rng, clock.evaluations, size
            )
        self._evaluation_seconds = time.perf_counter() - began
        clock.evaluations += 1
        self._warn_once(self.evaluation.warning())
        metrics = self.evaluation.metrics()
        self.recorder.add(metrics)
        self._call("on_evaluation", metrics)
        mean = metrics["val/roll/ep_rew_mean"]
        if run.stop_at_return is not None and mean >= run.stop_at_return:
            self.request_stop("stop_at_return")
        if mean <= clock.best_return:
            return False
        clock.best_return = mean
        clock.best = {"env_steps": clock.env_steps, "evaluation": metrics}
        return True

    def _warn_once(self, sentence: str) -> None:
        """Of episodes without an end; the run's events tell whether it was said before a resume."""
        if sentence and not Run(self.writer.path).events(ENDLESS):
            self.writer.event(ENDLESS, self.clock.env_steps, reason=sentence)
            self.writer.log(sentence)

    def _forget_earlier_evaluations(self, batch: EnvBatch) -> None:
        """An evaluation depends on the weights alone: a resumed run has none to look back on."""
        everyone = range(batch.n_envs)
        if self._unplayed is None:
            batch.reset_many(everyone, everyone)
            self._unplayed = batch.states()
        batch.load_states(self._unplayed)
        batch.replay([()] * batch.n_envs)  # a game left unfinished (lives) is not gone on with

    def _choose(self, obs: Tree, carry: Any, mask: Any) -> Acted:
        normalizer = self.collector.obs_normalizer
        return self.algo.act(
            self.learner, normalizer(obs) if normalizer else obs, carry, mask, None
        )

    # -- saving ----------------------------------------------------------------------------------

    def wall_seconds(self) -> float:
        return self.clock.wall_seconds + time.perf_counter() - self._began

    def save(self, planned: bool = False, durable: bool = False) -> Path:
        """Writes a checkpoint of everything.

        Planned checkpoints lie on a fixed grid and are kept; one made because somebody stopped the
        run goes when the next is complete, so that a stopped and resumed run ends with the same
        files as one that was never stopped.
        """
        clock, now = self.clock, time.perf_counter()
        durable |= not self.automatic_checkpoints or now - self._durable_time >= DURABLE_SECONDS
        with self.recorder.timed("checkpoint"):
            if planned and self._kept_to_the_end():
                clock.scheduled = [*clock.scheduled, clock.env_steps][
                    -self.cfg_run.keep_checkpoints :
                ]
            self._save_requested, self._saved_at, self._saved_time = False, clock.env_steps, now
            offsets = self.writer.offsets()
            segments = self.memory.seal()
            path = save_checkpoint(
                self.writer.path,
                clock.env_steps,
                *self._state(),
                offsets,
                durable,
                segments,
                self.writer.syncs(),
                clock.best if durable or clock.best is not self._pointed_at else None,
            )
            self._pointed_at = clock.best
            if durable:
                self._durable, self._durable_time = [clock.env_steps], now
            done = clock.env_steps >= self.cfg_run.env_steps
            keep_last = (
                1 if done or not self.automatic_checkpoints else self.cfg_run.keep_checkpoints
            )
            prune(self.writer.path, keep_last=keep_last, keep=[*clock.scheduled, *self._durable])
        self._call("on_checkpoint")
        return path

    def _kept_to_the_end(self) -> bool:
        """Whether the newest point of the grid is one of the last that the budget holds."""
        every, run = self.checkpoint_every, self.cfg_run
        left = -(-run.env_steps // every) - self.clock.env_steps // every
        return not self.automatic_checkpoints or left < run.keep_checkpoints

    def _worth_writing(self) -> bool:
        """checkpoint_every=auto leaves those out that would go again before the run loses much."""
        young = time.perf_counter() - self._saved_time < YOUNG_SECONDS
        return self._kept_to_the_end() or not young

    def _state(self) -> tuple[dict[str, dict[str, np.ndarray]], dict[str, Any]]:
        optimizer, optimizer_plain = self.learner.optimizer_state()
        collector, collector_plain = self.collector.state()
        policy = self.learner.weights()
        if self.collector.obs_normalizer is not None:
            policy |= self.collector.obs_normalizer.state()
        parts = {
            "policy": policy,
            "optimizer": optimizer,
            "collector": collector,
            "memory": self.memory.state(),
        }
        meta = {
            "clock": asdict(self.clock) | {"wall_seconds": self.wall_seconds()},
            "engine": self.engine,
            "optimizer": optimizer_plain,
            "collector": collector_plain,
            "recorder": self.recorder.state(),
            "hooks": {name: state for name, hook in self._named_hooks() if (state := hook.state())},
        }
        return parts, meta

    def load(self, checkpoint: Checkpoint) -> list[Restored]:
        """Goes back to a checkpoint; says of each environment whether it came back exactly."""
        parts, meta = checkpoint.parts, checkpoint.meta
        self.clock = Clock(**meta["clock"])
        self.clock.best_return = float(self.clock.best_return)  # JSON has no infinities: a string
        self._began = time.perf_counter()
        self.learner.load_weights(parts["policy"])
        self.learner.load_optimizer_state(parts["optimizer"], meta["optimizer"])
        if self.collector.obs_normalizer is not None:
            self.collector.obs_normalizer.load(parts["policy"])
        self.memory.load(parts["memory"], checkpoint.segments)
        self.recorder.load(meta["recorder"])
        for name, hook in self._named_hooks():
            if name in meta["hooks"]:
                hook.load(meta["hooks"][name])
        # A crash may have come right after the checkpoint, before the rest of `save`.
        self._saved_at = self.clock.env_steps
        self._durable = [self.clock.env_steps]
        if self.clock.best is not None:
            set_best(self.writer.path, **self.clock.best)
        self._pointed_at = self.clock.best
        prune(self.writer.path, keep_last=1, keep=self.clock.scheduled)
        return self.collector.load(parts["collector"], meta["collector"])

    def _named_hooks(self) -> list[tuple[str, Hook]]:
        """By class and place among its like: a display beside them changes no one's name."""
        names: list[str] = []
        for hook in self.hooks:
            name = type(hook).__qualname__
            names.append(f"{name}/{sum(n.startswith(name + '/') for n in names)}")
        return list(zip(names, self.hooks, strict=True))

    def _call(self, name: str, metrics: dict[str, float] | None = None) -> None:
        key = (name, len(self.hooks))  # which only ever grow
        if (listening := self._listening.get(key)) is None:
            listening = [m for hook in self.hooks if _overridden(m := getattr(hook, name), name)]
            self._listening[key] = listening
        if not listening:
            return
        moment = Moment(
            self.clock.env_steps,
            self.cfg_run.env_steps,
            self.learner.updates,
            self.recorder.episodes,
            self.wall_seconds(),
            metrics or self.recorder.row,
            said=self.said,
            **self._for_hooks,
        )
        for method in listening:
            method(moment)

    def _say(self, text: str) -> None:
        self.said = text

    def _log(self, name: str, value: float) -> None:
        self.recorder.add({name: float(value)})

    def _event(self, kind: str, **data: Any) -> None:
        self.writer.event(kind, self.clock.env_steps, **data)

    def _request_save(self) -> None:
        self._save_requested = True


REPORTED_SETTINGS = (
    "learning_rate",
    "value_learning_rate",
    "clip_range",
    "clip_range_vf",
    "ent_coef",
    "epsilon",
    "noise_std",
)


def _overridden(method: Any, name: str) -> bool:
    """Whether a hook does anything of its own here: most have nothing to do at most moments."""
    return getattr(method, "__func__", None) is not getattr(Hook, name)


def _crossed(before: int, now: int, every: int) -> bool:
    """Whether a multiple of `every` lies in (before, now]: a grid that no stop can shift."""
    return now // every > before // every


def _every(value: int | str, auto: int) -> int:
    return auto if isinstance(value, str) else value
