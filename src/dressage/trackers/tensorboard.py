"""TensorBoard: event files in `<run>/trackers/tensorboard`, written without torch or tensorflow.

`tensorboard --logdir runs` shows every run under its folder.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from dressage.trackers.tracker import Held, Tracker, flat

COMPARED = ("val/roll/ep_rew_mean", "train/roll/ep_rew_mean")  # in the HPARAMS tab


class TensorBoard(Tracker):
    name = "tensorboard"

    _events: Any

    def open(self, env_steps: int) -> Held:
        from tensorboard.compat.proto.event_pb2 import SessionLog
        from tensorboard.plugins.hparams import summary_v2 as hparams
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._events = EventFileWriter(str(self.folder))
        # TensorBoard forgets what earlier files hold from this step on: the rows that come again.
        self._write(env_steps + 1, session_log=SessionLog(status=SessionLog.START))
        metrics = [hparams.Metric(name) for name in COMPARED]
        self._write(0, summary=hparams.hparams_config_pb(hparams=[], metrics=metrics))
        self._write(0, summary=hparams.hparams_pb(flat(self.config), trial_id=self.run_name))
        self._events.flush()
        return Held()

    def send(self, env_steps: int, metrics: Mapping[str, float]) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=name, simple_value=x) for name, x in metrics.items()]
        self._write(env_steps, summary=Summary(value=values))
        self._events.flush()

    def shut(self, outcome: str) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

        statuses = {
            "finished": api_pb2.STATUS_SUCCESS,
            "stopped": api_pb2.STATUS_UNKNOWN,
            "failed": api_pb2.STATUS_FAILURE,
        }
        end = plugin_data_pb2.SessionEndInfo(status=statuses[outcome], end_time_secs=time.time())
        data = plugin_data_pb2.HParamsPluginData(session_end_info=end)
        value = Summary.Value(
            tag=metadata.SESSION_END_INFO_TAG,
            metadata=metadata.create_summary_metadata(data),
            tensor=metadata.NULL_TENSOR,
        )
        self._write(0, summary=Summary(value=[value]))
        self._events.close()

    def _write(self, env_steps: int, **content: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        self._events.add_event(Event(wall_time=time.time(), step=env_steps, **content))
