"""Files that are broken, huge or meant to harm: a sentence or a part of the run, nothing else."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from event_writer import cleanrl_run, write_events

from dressage.errors import DressageError, RunError
from dressage.runs.readers import read
from dressage.runs.readers.clock import straighten
from dressage.runs.readers.event_files import read_events
from dressage.runs.readers.safe import npz_arrays, parse_yaml, walk, zip_entries
from dressage.runs.readers.tables import CELLS, read_csv, read_json_lines
from dressage.runs.view import RunView

SAMPLES = Path(__file__).parent / "samples"


def one(path: Path) -> RunView:
    (view,) = read(path)
    return view


class TestCsv:
    def view(self, folder: Path, text: str | bytes) -> RunView:
        data = text.encode() if isinstance(text, str) else text
        (folder / "log.csv").write_bytes(data)
        return one(folder / "log.csv")

    @pytest.mark.parametrize("text", ["", "\n", "a,b\n", "# {}\n", "a,b\n1", "\0\0\0", "env_steps"])
    def test_nothing_in_it(self, tmp_path: Path, text: str) -> None:
        try:
            view = self.view(tmp_path, text)
        except RunError:
            return
        assert not view.series and any("no whole row" in note for note in view.notes)

    def test_half_a_line(self, tmp_path: Path) -> None:
        view = self.view(tmp_path, "env_steps,x\n1,2.5\n2,3.12\n3,4.9")
        assert view["x"].values.tolist() == [2.5, 3.12]  # 4.9 may have been 4.95
        assert any("half written" in note for note in view.notes)

    def test_one_row(self, tmp_path: Path) -> None:
        assert self.view(tmp_path, "env_steps,x\n1,2\n")["x"].values.tolist() == [2]
        assert self.view(tmp_path, "env_steps,x\n1,2")["x"].values.tolist() == [2]

    def test_cells_of_all_kinds(self, tmp_path: Path) -> None:
        text = "env_steps,full,holes,nan,none,text,mixed\n"
        text += "1,1,,nan,,abc,1\n2,2,5,nan,,,x\n3,inf,,nan,,def,3\n"
        view = self.view(tmp_path, text)
        assert view["full"].values.tolist() == [1, 2, np.inf]
        assert view["holes"].env_steps.tolist() == [2]
        assert np.isnan(view["nan"].values).all() and len(view["nan"].values) == 3
        assert "none" not in view and "text" not in view
        assert view["mixed"].values.tolist() == [1, 3]
        assert any("'text'" in note for note in view.notes)
        assert any("'mixed' has 1 cells" in note for note in view.notes)

    def test_ragged_lines_and_zero_bytes(self, tmp_path: Path) -> None:
        view = self.view(tmp_path, b"env_steps,x\n1,2\n1,2,3\n9\n2,\x003\n\n")
        assert view["x"].values.tolist() == [2, 3]
        assert any("3 lines have more or fewer" in note for note in view.notes)

    @pytest.mark.parametrize(
        ("text", "x"),
        [
            ('"env_steps","a, b"\r\n"1","2"\r\n', "a, b"),
            ("\ufeffenv_steps\tx\n1\t2\n", "x"),
            ("env_steps;x;x\n1;2;3\n", "x"),
            ("env_steps, x\n 1 , 2 \n", "x"),
        ],
    )
    def test_dialects(self, tmp_path: Path, text: str, x: str) -> None:
        view = self.view(tmp_path, text)
        assert view[x].values.tolist() == [2] and view[x].env_steps.tolist() == [1]

    def test_same_numbers_as_the_plainest_reading(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(1)
        values = rng.normal(size=(300, 7)) * 10.0 ** rng.integers(-300, 300, (300, 7))
        holes = rng.random((300, 7)) < 0.4
        lines = ["env_steps," + ",".join("abcdefg")]
        for index in range(300):
            cells = ["" if holes[index, at] else repr(float(values[index, at])) for at in range(7)]
            lines.append(",".join([str(index), *cells]))
        view = self.view(tmp_path, "\n".join(lines) + "\n")
        for at, name in enumerate("abcdefg"):
            kept = ~holes[:, at]
            np.testing.assert_array_equal(view[name].values, values[kept, at])
            np.testing.assert_array_equal(view[name].env_steps, np.flatnonzero(kept))

    def test_many_columns(self, tmp_path: Path) -> None:
        names = [f"train/metrics/c{index}" for index in range(5000)]
        row = ",".join(["0.25"] * 5000)
        view = self.view(tmp_path, f"env_steps,{','.join(names)}\n1,{row}\n2,{row}\n")
        assert (
            len(view.series) == 5000 and view["train/metrics/c4999"].values.tolist() == [0.25] * 2
        )
        with pytest.raises(RunError, match="columns"):
            self.view(tmp_path, ",".join(map(str, range(30_000))) + "\n")

    def test_long_tables_are_thinned(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("dressage.runs.readers.tables.CELLS", 1000)
        lines = "".join(f"{index},{index / 2}\n" for index in range(5000))
        view = self.view(tmp_path, "env_steps,x\n" + lines)
        steps = view["x"].env_steps
        assert 400 <= len(steps) <= 600 and len(set(np.diff(steps))) == 1
        np.testing.assert_array_equal(view["x"].values, steps / 2)
        assert any("one in" in note for note in view.notes)

    def test_blocks_meet_without_a_seam(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("dressage.runs.readers.tables.BLOCK", 37)
        lines = "".join(f"{index},{index * 1.25}\n" for index in range(200))
        view = self.view(tmp_path, "env_steps,x\n" + lines)
        np.testing.assert_array_equal(view["x"].values, np.arange(200) * 1.25)


class TestClock:
    def test_a_second_learn_goes_on_where_the_first_ended(self) -> None:
        straight = straighten(np.array([10.0, 20, 30, 10, 20, 30, 10]))
        assert straight.clock.tolist() == [10, 20, 30, 40, 50, 60, 70]
        assert straight.restarts == [30, 60]

    def test_after_a_resume_the_later_rows_count(self) -> None:
        straight = straighten(np.array([10.0, 20, 30, 40, 50, 60, 40, 50, 60, 70]))
        assert straight.keep.tolist() == [0, 1, 2, 6, 7, 8, 9]
        assert straight.clock.tolist() == [10, 20, 30, 40, 50, 60, 70] and not straight.restarts

    def test_a_stray_row_is_left_out(self) -> None:
        straight = straighten(np.array([10.0, 20, 30, 40, 5, 50, 60, 70, 80]))
        assert straight.keep.tolist() == [0, 1, 2, 3, 5, 6, 7, 8]

    def test_out_of_order(self) -> None:
        straight = straighten(np.array([3.0, 1, 2, np.nan, 0]))
        assert straight.clock.tolist() == [0, 1, 2, 3] and straight.keep.tolist() == [4, 1, 2, 0]

    def test_in_a_view(self, tmp_path: Path) -> None:
        steps = [*range(100, 1100, 100), *range(100, 1100, 100)]
        lines = "".join(f"{step},{step / 10},{'' if step % 200 else 1}\n" for step in steps)
        (tmp_path / "log.csv").write_text("env_steps,x,y\n" + lines)
        view = one(tmp_path / "log.csv")
        assert view["x"].env_steps.tolist() == list(range(100, 2100, 100))
        assert view["y"].env_steps.tolist() == list(range(200, 2200, 200))
        assert view.restarts == [1000] and view.env_steps == 2000


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


class TestZip:
    def test_pickles_stay_asleep(self, tmp_path: Path) -> None:
        trap = tmp_path / "trap"
        poison = pickle.dumps(Bomb(trap))
        data = {
            "gamma": 0.9,
            "clip_range": {":type:": "x", ":serialized:": base64.b64encode(poison).decode()},
            "policy_kwargs": {":type:": "dict", ":serialized:": "AAAA", "net_arch": [8]},
        }
        with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
            archive.writestr("data", json.dumps(data))
            archive.writestr("policy.pth", poison)
            archive.writestr("../../escape.txt", "x")
        view = one(tmp_path / "model.zip")
        assert view.config["gamma"] == 0.9 and view.config["net_arch"] == [8]
        assert ":serialized:" not in str(view.own_config)
        assert not trap.exists() and not (tmp_path.parent / "escape.txt").exists()

    def test_bomb(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "model.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("data", b"0" * (65 * 2**20))
        view = one(tmp_path / "model.zip")
        assert any("more than the" in note for note in view.notes) and not view.config

    def test_lying_about_its_size(self, tmp_path: Path) -> None:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("data", b"[" + b"0," * 2**20 + b"0]")
        size = (2 * 2**20 + 3).to_bytes(4, "little")
        (tmp_path / "model.zip").write_bytes(buffer.getvalue().replace(size, b"\x08\0\0\0"))
        with pytest.raises(RunError):
            zip_entries(tmp_path / "model.zip", ("data",))

    @pytest.mark.parametrize("name", ["model.zip", "evaluations.npz"])
    def test_no_zip_at_all(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_bytes(b"PK\x03\x04 nothing")
        assert any("damaged" in note for note in one(tmp_path).notes)

    def test_deep_json(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
            archive.writestr("data", "[" * 100_000)
        assert any("not valid JSON" in note for note in one(tmp_path / "model.zip").notes)

    def test_array_of_objects_and_false_shapes(self, tmp_path: Path) -> None:
        trap = tmp_path / "trap"
        objects = np.array([Bomb(trap)], dtype=object)
        np.savez(tmp_path / "a.npz", timesteps=objects)
        with pytest.raises(RunError, match="object"):
            npz_arrays(tmp_path / "a.npz", ("timesteps",))
        assert not trap.exists()
        plain = io.BytesIO()
        np.save(plain, np.arange(3))
        huge = plain.getvalue().replace(b"(3,), ", b"(9999999999,),")
        with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
            archive.writestr("timesteps.npy", huge)
        with pytest.raises(RunError):
            npz_arrays(tmp_path / "b.npz", ("timesteps",))


class TestYaml:
    def test_tags_make_no_objects(self, tmp_path: Path) -> None:
        trap = tmp_path / "trap"
        text = f"a: !!python/object/apply:os.mkdir ['{trap}']\nb: !!python/name:os.system ''\n"
        text += "c: !!python/tuple [1, 2]\nd: !!python/object/new:object {x: 1}\ne: 1e-3\nf: 0x10\n"
        content = parse_yaml(text, "x")
        assert content["a"] == [str(trap)] and content["c"] == [1, 2] and content["d"] == {"x": 1}
        assert content["e"] == "1e-3" and content["f"] == 16
        assert not trap.exists()

    def test_bomb(self) -> None:
        lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
        lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
        with pytest.raises(RunError, match="unfolds"):
            parse_yaml("\n".join(lines), "x")

    @pytest.mark.parametrize(
        "text",
        ["a: &a [*a]", "[" * 500, "a: [", "{" * 5000, "\t:", "? [a]\n: b", "a: !!int 'x'", "&a &b"],
    )
    def test_other_nonsense(self, text: str) -> None:
        with contextlib.suppress(RunError):
            parse_yaml(text, "x")

    def test_long_numbers(self) -> None:
        content = parse_yaml(f"a: {'9' * 5000}\nb: {'9' * 900}\nc: 99:99:99", "x")
        assert set(content) == {"a", "b", "c"}


class TestLinks:
    def secret(self, folder: Path) -> Path:
        outside = folder / "outside"
        outside.mkdir()
        (outside / "progress.csv").write_text("time/total_timesteps,train/loss\n1,42\n")
        (outside / "secret.csv").write_text("env_steps,secret\n1,42\n")
        return outside

    def test_files_and_folders_that_lead_out(self, tmp_path: Path) -> None:
        outside = self.secret(tmp_path)
        inside = tmp_path / "inside"
        inside.mkdir()
        (inside / "progress.csv").symlink_to(outside / "progress.csv")
        (inside / "more").symlink_to(outside, target_is_directory=True)
        assert list(walk(inside)) == []
        with pytest.raises(RunError, match="no run"):
            read(inside)

    def test_a_link_that_was_asked_for(self, tmp_path: Path) -> None:
        outside = self.secret(tmp_path)
        (tmp_path / "link.csv").symlink_to(outside / "secret.csv")
        assert one(tmp_path / "link.csv")["secret"].values.tolist() == [42]
        (tmp_path / "link").symlink_to(outside, target_is_directory=True)
        assert read(tmp_path / "link")

    @pytest.mark.parametrize("name", ["config.json", "spec.json", "metrics.csv", "episodes.csv"])
    def test_in_a_run_of_ours(self, tmp_path: Path, name: str) -> None:
        from dressage.runs.writer import RunWriter

        with RunWriter(tmp_path / "run", config={}, spec={}, system={}) as writer:
            writer.metrics_row({"env_steps": 1, "train/loss/td": 2})
        file = tmp_path / "run" / name
        file.rename(tmp_path / "elsewhere")
        file.symlink_to(tmp_path / "elsewhere")
        try:
            view = one(tmp_path / "run")
        except RunError:
            return
        assert "train/loss/td" not in view

    def test_names_of_mlflow_stay_in_its_folder(self, tmp_path: Path) -> None:
        (tmp_path / "run" / "metrics").mkdir(parents=True)
        (tmp_path / "run" / "meta.yaml").write_text("status: 3\nartifact_uri: /etc\n")
        (tmp_path / "secret").write_text("1 42 1\n")
        (tmp_path / "run" / "metrics" / "x").symlink_to(tmp_path / "secret")
        assert not one(tmp_path / "run").series

    def test_pipes_are_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "progress.csv")
        with pytest.raises(DressageError):
            read(tmp_path / "progress.csv")


class TestJsonLines:
    def test_damaged_rows(self, tmp_path: Path) -> None:
        rows = ['{"env_steps": 1, "x": 2}', "nonsense", "[1]", '{"env_steps": 2, "x": NaN}', '{"e']
        (tmp_path / "a.jsonl").write_text("\n".join(rows))
        view = one(tmp_path / "a.jsonl")
        assert view["x"].env_steps.tolist() == [1, 2] and np.isnan(view["x"].values[1])
        assert any("2 lines" in note for note in view.notes)
        assert any("half written" in note for note in view.notes)

    def test_odd_values(self, tmp_path: Path) -> None:
        row = {"env_steps": 1, "big": 10**400, "b": True, "l": [1], "n": None, "s": "x", "d": {}}
        (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n")
        view = one(tmp_path / "a.jsonl")
        assert view["big"].values.tolist() == [np.inf] and view["b"].values.tolist() == [1]
        assert set(view.series) == {"big", "b"}

    def test_thinned(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("dressage.runs.readers.tables.CELLS", 400)
        lines = "".join(json.dumps({"s": i, "x": i}) + "\n" for i in range(1000))
        (tmp_path / "a.jsonl").write_text(lines)
        table = read_json_lines(tmp_path / "a.jsonl")
        assert 50 < table.rows < 200 and any("one in" in note for note in table.notes)


class TestEventFiles:
    def test_cut_off_anywhere(self, tmp_path: Path) -> None:
        (folder,) = cleanrl_run(tmp_path / "whole").iterdir()
        (file,) = folder.iterdir()
        content = file.read_bytes()
        whole = one(file)
        for length in [*range(60), *range(60, len(content), 97)]:
            part = tmp_path / "events.out.tfevents.1"
            part.write_bytes(content[:length])
            view = one(part)
            for name, series in view.series.items():
                if name != "wall_seconds":
                    known = whole[name].values[: len(series.values)]
                    np.testing.assert_array_equal(series.values, known)

    def test_bytes_changed_anywhere(self, tmp_path: Path) -> None:
        file = write_events(tmp_path / "a", [("x", i, 1.0, 1.0) for i in range(5)])
        content = bytearray(file.read_bytes())
        for at in range(len(content)):
            changed = content.copy()
            changed[at] ^= 0xFF
            (tmp_path / "events.out.tfevents.1").write_bytes(changed)
            try:
                read(tmp_path / "events.out.tfevents.1")
            except DressageError:
                continue

    def test_large_files_are_thinned_by_step(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        points = [(tag, 7 * i, float(i), 1.0) for i in range(1, 400) for tag in ("a", "b", "c")]
        file = write_events(tmp_path, points)
        monkeypatch.setattr("dressage.runs.readers.event_files.DENSE", file.stat().st_size // 4 + 1)
        view = one(file)
        steps = view["a"].env_steps
        assert 90 <= len(steps) <= 110 and any("one step in 4" in note for note in view.notes)
        for tag in "abc":
            np.testing.assert_array_equal(view[tag].env_steps, steps)
            np.testing.assert_array_equal(view[tag].values, steps / 7)

    def test_without_tensorboard(self, tmp_path: Path) -> None:
        cleanrl_run(tmp_path)
        source = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "tensorboard":
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Absent())
from dressage.errors import DressageError
from dressage.runs.readers import read
try:
    read(sys.argv[1])
except DressageError as error:
    assert "pip install 'dressage[tensorboard]'" in str(error), error
else:
    raise SystemExit("read without tensorboard")
"""
        subprocess.run([sys.executable, "-c", source, str(tmp_path)], check=True)


def test_reading_imports_nothing_slow(tmp_path: Path) -> None:
    cleanrl_run(tmp_path)
    source = """
import sys
from dressage.runs.readers import read
for path in sys.argv[1:]:
    read(path)
slow = {"torch", "tensorflow", "pandas", "scipy.stats", "pydantic", "gymnasium"} & set(sys.modules)
assert not slow, slow
"""
    samples = [SAMPLES / name for name in ("sb3_ppo", "rllib", "zoo", "mlflow", "wandb_run")]
    subprocess.run([sys.executable, "-c", source, str(tmp_path), *map(str, samples)], check=True)


def test_ten_thousand_rows_are_not_thinned() -> None:
    assert CELLS >= 10_000 * 50


def test_dense_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n,1\n2,2\n,3\n4,4\n")
    np.testing.assert_array_equal(read_csv(tmp_path / "a.csv").dense("x"), [np.nan, 2, 2, 4])


def test_event_files_say_what_protobuf_says(tmp_path: Path) -> None:
    """Steps of all lengths, several scalars in one event, scalars as tensors."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(tmp_path))
    expected: dict[str, list[tuple[float, float, float]]] = {}
    for index, step in enumerate([0, 1, 127, 128, 300, 20_000, 3_000_000, 2**31, 2**40, 2**62]):
        values = []
        for tag in ("x", "y" * 200, "ü/β"):
            value, time = float(np.float32(index * 1.1 - 3)), 1000.5 + index
            expected.setdefault(tag, []).append((float(step), value, time))
            values.append(Summary.Value(tag=tag, simple_value=value))
        tensor = TensorProto(dtype=1, float_val=[0.5])
        expected.setdefault("t", []).append((float(step), 0.5, 1000.5 + index))
        events = [values[:1], values[1:], [Summary.Value(tag="t", tensor=tensor)]]
        for part in events:
            event = Event(wall_time=1000.5 + index, step=step, summary=Summary(value=part))
            writer.add_event(event)
    writer.close()
    found = read_events(list(tmp_path.iterdir()))
    assert not found.notes and set(found.scalars) == set(expected)
    for tag, rows in expected.items():
        scalars = found.scalars[tag]
        columns = (scalars.steps, scalars.values, scalars.times)
        np.testing.assert_array_equal(np.stack(columns, 1), rows)
