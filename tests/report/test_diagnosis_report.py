"""The report of a diagnosis: its five sections, its forms, and where it is written."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import dressage
from dressage.diagnosis.diagnose import Diagnosis, RankedCause, Seeds
from dressage.diagnosis.prescriptions import Prescription
from dressage.diagnosis.report import DiagnosisReport, examine, examine_set
from dressage.diagnosis.report.bottlenecks import bottlenecks, headline
from dressage.diagnosis.report.next_actions import first_change, next_actions
from dressage.diagnosis.report.recommendations import recommendations
from dressage.diagnosis.report.schema import schema
from dressage.diagnosis.rule import Finding
from dressage.reporting.again import train_again
from dressage.reporting.document import Document, Section
from dressage.reporting.inline import plain_words
from dressage.reporting.markdown import markdown
from dressage.reporting.script import SCRIPT
from dressage.reporting.source import from_view
from dressage.reporting.source import read as read_data
from dressage.runs.readers import read
from dressage.runs.view import RunView, Series
from dressage.ui.cli.app import app
from dressage.ui.diagnosis import follow, reaches
from dressage.ui.text import strict

from .builders import check_page, make_group, make_run

FIVE = [
    "Training run summary",
    "Key metrics analysis",
    "Diagnosed bottlenecks",
    "Optimization recommendations",
    "Suggested next steps",
]
SAMPLES = Path(__file__).parents[1] / "readers" / "samples"
STEPS = np.linspace(1000, 60_000, 60)
KL, RETURN = "train/metrics/kl_divergence", "train/roll/ep_rew_mean"


def view(library: str = "sb3", seed: int = 0, **config: Any) -> RunView:
    noise = np.random.default_rng(seed).normal(size=60)
    series = {
        RETURN: Series(STEPS, 20 + noise),
        KL: Series(STEPS, 0.3 + 0.01 * noise),
    }
    return RunView(
        Path("elsewhere"), f"run-{seed}", library, "ppo", "CartPole-v1", {"seed": seed, **config},
        own_config={"lr_of_theirs": 0.05}, own_names={KL: "train/approx_kl"}, series=series,
        budget=60_000, env_steps=60_000, state="finished",
    )  # fmt: skip


SYMPTOM = Finding("OPT001", "The KL is 0.3.", {"kl": 0.3}, KL)
ASKED = Prescription(
    "lr-too-high", {"lr_of_theirs": 1e-4}, "Lower the learning rate.", "The KL is 0.3.",
    "over 30 % (guess)", "slower", "high", "compare", ours={"learning_rate": 1e-4},
)  # fmt: skip
ILL = Diagnosis(
    "x", "sb3", "ppo", "CartPole-v1", "faulty",
    [
        RankedCause("lr-too-high", 0.7, ["The KL is 0.3."], ["losses-spike (train/loss/value)"]),
        RankedCause("too-many-epochs", 0.2, [], []),
    ],
    [SYMPTOM], [ASKED], ["train/metrics/entropy: log it"], [],
)  # fmt: skip


def shown(*blocks: Any) -> str:
    """Blocks as Markdown without its escapes."""
    page = markdown(Document("t", "r", "s", [Section("k", "Title", blocks)]))
    return page.replace("\\", "")


def headings(text: str) -> list[str]:
    return re.findall(r"^## \d (.*)$", text, re.M)


# -- what it says ---------------------------------------------------------------------------------


def test_primary_secondary_and_root_causes() -> None:
    text = shown(*bottlenecks(ILL, [view()]))
    assert re.findall(r"^### (.*)$", text, re.M) == [
        "Primary", "Secondary", "Root causes", "Symptoms seen",
    ]  # fmt: skip
    assert "**lr-too-high** (70 %): a learning rate that is too high." in text
    assert "- The KL is 0.3." in text
    assert "| `too-many-epochs` | 20 % |" in text
    assert "It lies in a setting" in text
    assert "from its rival: losses-spike" in text
    assert "| high | `OPT001` | The KL is 0.3. |" in text
    assert "train/metrics/entropy: log it" in text


def test_a_recommendation_has_all_its_parts() -> None:
    text = shown(*recommendations(ILL, view(learning_rate=0.05)))
    for part in ("Priority | **high**", "Change | Lower the learning rate.", "Rationale | The KL",
                 "Expected impact | over 30 %", "Risk | slower", "How to verify |"):  # fmt: skip
        assert part in text
    assert "### 1. `lr_of_theirs=0.0001`" in text
    assert "`dressage verify elsewhere --patch learning_rate=0.0001`" in text, text


def test_next_steps_speak_the_runs_own_language() -> None:
    theirs = shown(*next_actions(ILL, view(), [from_view(view())]))
    assert re.findall(r"^### (.*)$", theirs, re.M) == [
        "Immediate actions", "Variations to try", "Metrics to watch in the next run",
    ]  # fmt: skip
    assert "Set `lr_of_theirs=0.0001`" in theirs and "dressage train" not in theirs
    assert f"`{KL}` (train/approx_kl in sb3)" in theirs
    ours = shown(*next_actions(ILL, view("dressage"), [from_view(view("dressage"))]))
    assert "`dressage train CartPole-v1:ppo learning_rate=0.0001`" in ours


def test_what_was_asked_for_is_asked_for_again(tmp_path: Path) -> None:
    run = read_data(make_run(tmp_path / "r", seed=3))
    asked = "dressage train CartPole-v1:ppo env_steps=4000"
    assert train_again(run, {"learning_rate": 1e-4}) == f"{asked} learning_rate=0.0001 --no-preset"
    assert train_again(run, {}) == f"{asked} 'learning_rate=linear(0.001, 0)' --no-preset"
    told = shown(*first_change(ILL, [run, run]))
    assert (f"**First**: Lower the learning rate. `{asked} learning_rate=0.0001") in told
    assert "seeds=2" in told and "Expected: over 30 %" in told


def test_variations_are_the_other_prescriptions() -> None:
    epochs = Prescription(**{**ASKED.__dict__, "cause": "too-many-epochs", "patch": {"n": 4}})
    preset = Prescription(
        **{**ASKED.__dict__, "cause": "preset", "patch": {"gamma": 0.9}, "advice": "Begin anew."}
    )
    many = Diagnosis(**{**ILL.__dict__, "prescriptions": [ASKED, epochs, preset]})
    text = shown(*next_actions(many, view(), [from_view(view())]))
    assert "against `too-many-epochs`: `n=4`." in text
    assert "Begin anew. `gamma=0.9` The KL is 0.3." in text


def test_the_verdict_comes_first() -> None:
    (words,) = headline(ILL)
    said = plain_words(words.words)  # type: ignore[union-attr]
    assert said.startswith("faulty: Something holds this run back. Most likely a learning rate")
    healthy = Diagnosis("x", "sb3", "ppo", None, "healthy", [], [], [], [], [])
    assert "**healthy**: Nothing" in shown(*headline(healthy))
    assert "No change is asked for" in shown(*recommendations(healthy, view()))


def test_a_set_tells_how_many_runs_show_a_symptom() -> None:
    seeds = Seeds(["a", "b", "c"], ["faulty", "faulty", "healthy"], {"OPT001": [2, 3]}, [1.0] * 3)
    many = Diagnosis(**{**ILL.__dict__, "seeds": seeds})
    text = shown(*headline(many), *bottlenecks(many, [view(), view(seed=1), view(seed=2)]))
    assert "3 runs, judged one by one: 2 faulty, 1 healthy." in text
    assert "(2 of 3 runs show this.)" in text
    assert "| high | `OPT001` | 2 of 3 |" in text


# -- its forms ------------------------------------------------------------------------------------


def test_five_sections_first_in_every_form(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r")
    (made,) = dressage.diagnose(run, html=tmp_path / "x.html")
    assert headings(made.markdown)[:5] == FIVE
    assert (run.path / "report.md").read_text() == made.markdown
    assert re.findall(r"<h2><span>\d</span>([^<]*)</h2>", made.html)[:5] == FIVE
    check_page((tmp_path / "x.html").read_text())
    for place, title in enumerate(FIVE, 1):
        assert f"{place} {title}\n" in made.text
    assert any("\u2800" < character <= "\u28ff" for character in made.text)  # braille
    for heading in ("Phases of the learning curve", "Env steps to the threshold", "Throughput"):
        assert heading in made.text and heading in made.markdown and heading in made.html


def test_report_and_diagnose_make_the_same_document(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r")
    (made,) = dressage.diagnose(run)
    assert dressage.report(run).markdown == made.markdown


def test_a_group_is_one_diagnosis(tmp_path: Path) -> None:
    group = make_group(tmp_path / "g")
    (made,) = dressage.diagnose(group)
    assert made.diagnosis.run == "g" and made.diagnosis.seeds is not None
    assert made.diagnosis.seeds.runs == ["g/0", "g/1", "g/2"]
    assert (group.path / "report.md").is_file()
    assert "Run by run" in made.markdown
    check_page(made.html)


def test_runs_of_two_settings_are_two_diagnoses(tmp_path: Path) -> None:
    one = make_run(tmp_path / "a")
    two = make_run(tmp_path / "b", seed=1)
    other = make_run(tmp_path / "c", config={"gamma": 0.5})
    made = dressage.diagnose(one, two, other, html=tmp_path / "p.html")
    assert [m.diagnosis.seeds is not None for m in made] == [True, False]
    assert made[0].folder is None and made[1].folder == other.path
    assert (tmp_path / "p.html").is_file() and (tmp_path / "p-2.html").is_file()


def test_nothing_is_written_into_another_librarys_folder(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    shutil.copytree(SAMPLES / "sb3_ppo", folder)
    before = {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
    result = CliRunner().invoke(
        app, ["diagnose", str(folder), "--markdown", str(tmp_path / "said.md"), "--json"]
    )
    assert result.exit_code == 0, result.output
    after = {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
    assert before == after
    text = (tmp_path / "said.md").read_text()
    assert headings(text)[:5] == FIVE and "report-curve" not in text
    assert "| Library | sb3 |" in text


@pytest.mark.parametrize("sample", sorted(p.name for p in SAMPLES.iterdir() if p.is_dir()))
def test_every_library_has_a_page(sample: str) -> None:
    for made in examine(read(SAMPLES / sample)):
        check_page(made.html)
        assert headings(made.markdown)[:5] == FIVE
        json.dumps(strict(made.to_json()), allow_nan=False)


# -- JSON -----------------------------------------------------------------------------------------


def fits(value: Any, rule: dict[str, Any], where: str = "") -> None:
    """A JSON Schema of the words that ours uses, checked."""
    if "const" in rule:
        assert value == rule["const"], where
    if "enum" in rule:
        assert value in rule["enum"], where
    if "anyOf" in rule:
        assert any(is_fit(value, one) for one in rule["anyOf"]), f"{where}: {value!r}"
    kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool,
             "null": type(None), "array": list, "object": dict}  # fmt: skip
    if named := rule.get("type"):
        allowed = [kinds[name] for name in ([named] if isinstance(named, str) else named)]
        assert any(isinstance(value, kind) for kind in allowed), f"{where}: {value!r}, not {named}"
    if isinstance(value, dict):
        assert set(rule.get("required", ())) <= set(value), where
        if "properties" in rule:
            assert set(value) <= set(rule["properties"]), f"{where}: {set(value)}"
        for key, item in value.items():
            inner = rule.get("properties", {}).get(key, rule.get("additionalProperties", {}))
            fits(item, inner, f"{where}.{key}")
    if isinstance(value, list):
        for item in value:
            fits(item, rule.get("items", {}), f"{where}[]")


def is_fit(value: Any, rule: dict[str, Any]) -> bool:
    try:
        fits(value, rule)
    except AssertionError:
        return False
    return True


def test_the_json_is_as_its_schema_says(tmp_path: Path) -> None:
    rule = schema()
    reports = [
        *dressage.diagnose(make_run(tmp_path / "a")),
        *dressage.diagnose(make_group(tmp_path / "g")),
        examine_set([view(), view(seed=1)]),
        *examine(read(SAMPLES / "sb3_dqn")),
    ]
    for made in reports:
        fits(json.loads(json.dumps(strict(made.to_json()), allow_nan=False)), rule)
    told = strict({"format": 1, **ILL.to_json(), "analyses": []})
    fits(told, rule)
    with pytest.raises(AssertionError, match="verdict"):
        fits({**told, "verdict": "fine"}, rule)
    for key in ("run", "verdict", "causes", "symptoms", "prescriptions", "not_visible"):
        assert key in rule["required"]
    cause = rule["properties"]["causes"]["items"]["properties"]
    assert set(cause) >= {"id", "probability", "evidence", "separates"}
    asked = rule["properties"]["prescriptions"]["items"]["properties"]
    assert set(asked) >= {"patch", "rationale", "expected_effect", "risk", "priority"}


def test_where_no_cause_stands_out_the_log_comes_first_and_changes_are_guesses() -> None:
    unseen = ["train/a, train/b, train/c, train/d, train/e: add a recorder", "train/f: log it"]
    unsure = Diagnosis(**{**ILL.__dict__, "verdict": "cannot_tell", "not_visible": unseen[::-1]})
    assert "no cause stands out; the likeliest is" in plain_words(headline(unsure)[0].words)  # type: ignore[union-attr]
    first = plain_words(first_change(unsure, [])[0].words)  # type: ignore[union-attr]
    assert first == "First: Add a recorder, to see train/a, train/b, train/c, train/d and 1 more."
    assert "guesses" in plain_words(recommendations(unsure, view())[0].words)  # type: ignore[union-attr]
    made = told("cannot_tell", running=False, priority="critical")
    assert not reaches(made, "critical")
    assert reaches(told("faulty", running=False, priority="critical"), "critical")


# -- the command ----------------------------------------------------------------------------------


def told(verdict: str, running: bool, priority: str | None = None) -> DiagnosisReport:
    made = examine_set([view()])
    asked = [Prescription(**{**ASKED.__dict__, "priority": priority})] if priority else []
    made.diagnosis = Diagnosis(
        **{**made.diagnosis.__dict__, "verdict": verdict, "prescriptions": asked, "causes": []}
    )
    made.running = running
    return made


@pytest.mark.parametrize(
    ("priority", "level", "fails"),
    [("critical", "critical", True), ("high", "critical", False), ("high", "low", True),
     ("low", "medium", False), (None, "low", False)],
)  # fmt: skip
def test_fail_on(priority: str | None, level: str, fails: bool) -> None:
    assert reaches(told("faulty", False, priority), level) is fails


def test_a_run_whose_numbers_are_none_does_not_pass() -> None:
    unclear = told("cannot_tell", False)
    broken = Finding("OPT014", "train/loss is no number in 98 of 98 rows.", {})
    unclear.diagnosis = dataclasses.replace(unclear.diagnosis, symptoms=[broken])
    assert reaches(unclear, "critical")


def test_fail_on_sets_the_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dressage import api

    made = told("faulty", False, "high")
    monkeypatch.setattr(api, "diagnose", lambda *args, **options: [made])
    run = CliRunner().invoke
    assert run(app, ["diagnose", "x", "--fail-on", "medium"]).exit_code == 1
    assert run(app, ["diagnose", "x", "--fail-on", "critical"]).exit_code == 0
    assert run(app, ["diagnose", "x", "--fail-on", "urgent"]).exit_code != 0


@pytest.mark.parametrize("terminal", [False, True])
def test_watch_looks_until_the_run_has_ended(terminal: bool, tmp_path: Path) -> None:
    states = [told("healthy", True), told("healthy", True), told("faulty", False)]
    looks, naps = iter(states), []
    with (tmp_path / "out").open("w+") as file:
        console = Console(file=file, force_terminal=terminal, width=90, height=30)
        last = follow(console, lambda: [next(looks)], naps.append)
        file.seek(0)
        text = file.read()
    assert [report.diagnosis.verdict for report in last] == ["faulty"]
    assert len(naps) == 2 and all(nap >= 2.0 for nap in naps)
    if not terminal:
        assert text.splitlines() == ["run-0: healthy", "run-0: faulty"]


def test_ctrl_c_ends_the_watch(tmp_path: Path) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    with (tmp_path / "out").open("w") as file:
        last = follow(Console(file=file), lambda: [told("healthy", True)], interrupt)
    assert len(last) == 1


def test_the_script_is_sound(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    (tmp_path / "page.js").write_text(SCRIPT)
    done = subprocess.run([node, "--check", str(tmp_path / "page.js")], capture_output=True)
    assert done.returncode == 0, done.stderr
