"""Event files as CleanRL's and Tianshou's SummaryWriter leave them, small and at chosen times."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.summary.writer.event_file_writer import EventFileWriter

Point = tuple[str, int, float, float]  # tag, step, value, time


def write_events(
    folder: Path, points: Iterable[Point], texts: dict[str, str] | None = None
) -> Path:
    """One scalar an event, as torch writes them; returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    writer = EventFileWriter(str(folder))
    for tag, text in (texts or {}).items():
        tensor = TensorProto(dtype=DT_STRING, string_val=[text.encode()])
        value = Summary.Value(tag=f"{tag}/text_summary", tensor=tensor)
        writer.add_event(Event(wall_time=1.0, step=0, summary=Summary(value=[value])))
    for tag, step, value, time in points:
        summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
        writer.add_event(Event(wall_time=time, step=step, summary=summary))
    writer.close()
    (file,) = folder.glob("*tfevents*")
    return file


def cleanrl_run(folder: Path) -> Path:
    settings = {
        "exp_name": "ppo", "seed": 3, "env_id": "CartPole-v1", "total_timesteps": 2000,
        "learning_rate": 0.00025, "num_envs": 4, "num_steps": 128, "anneal_lr": True,
        "minibatch_size": 128, "update_epochs": 4, "norm_adv": True, "clip_coef": 0.2,
        "clip_vloss": True, "ent_coef": 0.01, "target_kl": None, "batch_size": 512,
    }  # fmt: skip
    rows = "\n".join(f"|{key}|{value}|" for key, value in settings.items())
    points: list[Point] = []
    for step in range(1, 5):
        at = 512 * step
        points += [
            ("charts/episodic_return", at - 12, 20.0 * step, float(step)),
            ("charts/episodic_length", at - 12, 20.0 * step, float(step)),
            ("charts/learning_rate", at, 0.00025 * (1 - step / 4), float(step)),
            ("losses/value_loss", at, 8.0 / step, float(step)),
            ("losses/entropy", at, 0.69 - 0.01 * step, float(step)),
            ("losses/old_approx_kl", at, 0.001, float(step)),
            ("losses/approx_kl", at, 0.004, float(step)),
        ]
    texts = {"hyperparameters": "|param|value|\n|-|-|\n" + rows}
    write_events(folder / "CartPole-v1__ppo__3__1700000000", points, texts)
    return folder


def tianshou_run(folder: Path) -> Path:
    """Env steps 1000 a second; of updates 10 a second, written half a second later."""
    points: list[Point] = []
    for second in range(1, 6):
        points += [
            ("training/returns_stat/mean", 1000 * second, 10.0 * second, 100.0 + second),
            ("test/returns_stat/mean", 1000 * second, 12.0 * second, 100.0 + second),
            ("update/loss/mean", 10 * second, 1.0 / second, 100.5 + second),
            ("update/ent_loss/mean", 10 * second, 0.6, 100.5 + second),
            ("update/vf_loss/mean", 10 * second, 2.0, 100.5 + second),
            ("save/epoch", second, second, 100.0 + second),
        ]
    write_events(folder / "CartPole-v1" / "ppo", points)
    return folder / "CartPole-v1" / "ppo"
