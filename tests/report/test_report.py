"""The report as a whole: what it says, of which runs, and how quickly."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dressage.reporting import curve_svg, report
from dressage.runs.group import write_group

from .builders import check_page, make_group, make_run, not_a_number

SECTIONS = [
    "Training run summary",
    "Key metrics analysis",
    "Suggested next steps",
    "Hyperparameters",
    "Episodes",
    "Events and system",
]


def test_a_finished_run(tmp_path: Path) -> None:
    made = report(make_run(tmp_path / "r"), html=tmp_path / "out" / "page.html")
    assert made.paths == {
        "curve": tmp_path / "r" / "report-curve.svg",
        "markdown": tmp_path / "r" / "report.md",
        "html": tmp_path / "out" / "page.html",
    }
    assert made.paths["markdown"].read_text() == made.markdown
    assert made.paths["html"].read_text() == made.html
    assert re.findall(r"^## \d (.*)$", made.markdown, re.M) == SECTIONS
    page = check_page(made.html)
    assert re.findall(r"<h2><span>\d</span>([^<]*)</h2>", made.html) == SECTIONS
    text = "".join(page.texts)
    assert "KL divergence from the collecting" in text  # from the metric dictionary
    assert "0.001 to 0.02 [37, GS]" in text
    assert "![Learning curve, CartPole-v1](report-curve.svg)" in made.markdown
    assert "linear(0.001, 0)" in made.html
    assert "▁" in made.markdown
    for form in (made.text, made.markdown, text):
        assert "Final evaluation" in form
        assert "not a verdict" in form
    assert "Time by phase" in text


def test_the_same_run_gives_the_same_report(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r")
    first, second = report(run), report(run)
    assert (first.html, first.markdown, first.text) == (second.html, second.markdown, second.text)


def test_final_and_best_evaluation_with_interval(tmp_path: Path) -> None:
    made = report(make_run(tmp_path / "r", rows=40))
    # Student's interval with a deviation (over n) of 5 over 10 episodes: 2.262 * 5 / sqrt(9)
    assert "| Final evaluation | 300 | 95 % \\[296.2, 303.8\\], 10 episodes |" in made.markdown
    assert "| Solved | yes | threshold 250 |" in made.markdown
    assert re.search(r"4,000 by evaluation; 3,4\d\d by training mean", made.markdown)


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("stopped", "--resume r"),
        ("failed", "a reason"),
        ("running", "--resume r"),  # nobody holds the lock: it crashed
        (None, "--resume r"),
    ],
)
def test_unfinished_runs(tmp_path: Path, state: str | None, says: str) -> None:
    made = report(make_run(tmp_path / "r", state=state, reason="a reason" if state else ""))
    assert says in made.text
    check_page(made.html)


def test_an_empty_run(tmp_path: Path) -> None:
    made = report(make_run(tmp_path / "r", rows=0), html=tmp_path / "x.html")
    assert "Nothing was logged yet" in made.text
    assert "No episode has ended yet" in made.markdown
    assert "report-curve" not in made.markdown
    check_page(made.html)
    assert "nothing measured" in curve_svg(make_run(tmp_path / "s", rows=0))


def test_one_row(tmp_path: Path) -> None:
    made = report(make_run(tmp_path / "r", rows=1))
    assert "With one row of metrics there is nothing to draw yet" in made.markdown
    check_page(made.html)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e308, not_a_number, 0.0, -1e-30])
def test_odd_numbers(tmp_path: Path, value: object) -> None:
    odd = dict.fromkeys(
        (
            "train/metrics/kl_divergence",
            "train/loss/value",
            "train/metrics/grad_norm/policy",
            "train/hp/lr",
            "sys/time/update",
            "val/roll/ep_rew_mean",
        ),
        value,
    )
    made = report(make_run(tmp_path / "r", more=odd))
    check_page(made.html)
    data = re.search(r'id="data">(.*?)</script>', made.html, re.S)
    assert data is not None
    json.loads(data[1])
    if value == math.inf:
        assert "40 not finite" in made.markdown


@pytest.mark.parametrize("rows", [1, 2, 3, 8, 50])
def test_any_number_of_rows(tmp_path: Path, rows: int) -> None:
    check_page(report(make_run(tmp_path / "r", rows=rows, extra=2)).html)


def test_half_written_and_damaged_files(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", state=None)
    with (run.path / "metrics.csv").open("a") as file:
        file.write("9999,1")
    with (run.path / "episodes.csv").open("a") as file:
        file.write("77,oops\n123,")
    with (run.path / "events.jsonl").open("a") as file:
        file.write('{"kind": "warn')
    (run.path / "spec.json").write_text("{")
    (run.path / "system.json").unlink()
    (run.path / "status.json").write_text("[]")
    made = report(run)
    assert "spec.json is damaged" in made.text.replace("\n", " ")
    assert "9,999" not in made.markdown
    check_page(made.html)


def test_a_file_of_zeros_and_a_wrong_config(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r")
    (run.path / "metrics.csv").write_bytes(b"\0" * 500)
    (run.path / "config.json").write_text('{"format": 1, "values": 7}')
    made = report(run)
    assert "could not be read" in made.markdown
    check_page(made.html)


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dressage import reporting as package
    from dressage.errors import RunError

    def refuse(path: Path, content: object) -> None:
        raise RunError(f"{path} cannot be written")

    run = make_run(tmp_path / "r")
    monkeypatch.setattr(package, "write_atomic", refuse)
    made = report(run)
    assert "cannot be written" in made.text
    assert made.paths == {}
    with pytest.raises(RunError):
        report(run, html=tmp_path / "x.html")


def test_next_steps(tmp_path: Path) -> None:
    rising = report(make_run(tmp_path / "a", spec={"reward_threshold": 1000.0})).markdown
    assert "still rising at the end" in rising
    assert "env\\_steps=8000" in rising or "env_steps=8000" in rising
    solved = report(make_run(tmp_path / "b")).markdown
    assert "still rising" not in solved
    blind = report(make_run(tmp_path / "c", evaluations=False)).markdown
    assert "No evaluation was recorded" in blind
    assert "dressage evaluate c" in blind


def test_own_metrics_and_those_that_never_change(tmp_path: Path) -> None:
    made = report(make_run(tmp_path / "r", extra=1, more={"train/metrics/epochs_done": 10.0}))
    assert "A metric of your own" in made.html
    assert "| `train/metrics/epochs_done` | 10 |" in made.markdown


def test_settings_that_somebody_chose_come_first(tmp_path: Path) -> None:
    made = report(make_run(tmp_path / "r")).markdown
    section = made.partition("## 4")[2]
    assert "| `learning_rate` | `linear(0.001, 0)` | override |" in section
    assert section.index("override") < section.index("<details>") < section.index("`gamma`")
    assert "Constant over the run: clip\\_range 0.2." in section


def test_events(tmp_path: Path) -> None:
    run = make_run(
        tmp_path / "r",
        events=(
            ("resume", {"exact": False, "reasons": ["replayed"], "changed": {"env_steps": 5}}),
            ("warning", {"text": "slow"}),
            ("episodes", {"count": 500}),
        ),
    )
    made = report(run).markdown
    assert "resumed not exactly; changed:" in made
    assert "| warning | slow |" in made
    assert "500" not in made.partition("## 6")[2]


def test_a_group(tmp_path: Path) -> None:
    group = make_group(tmp_path / "g")
    made = report(group, html=tmp_path / "page.html")
    assert (tmp_path / "g" / "report.md").read_text() == made.markdown
    page = check_page(made.html)
    text = "".join(page.texts)
    assert "CartPole-v1, PPO, 3 seeds" in text
    assert "Interquartile mean" in text
    assert made.html.count('class="thin"') > 3
    assert 'class="band"' in made.html
    rows = re.findall(r"^\| (\d) \| finished \|", made.markdown, re.M)
    assert rows == ["0", "1", "2"]
    assert "wide interval" in made.text
    assert "<svg" in curve_svg(group)


def test_a_group_with_members_missing_or_failed(tmp_path: Path) -> None:
    make_run(tmp_path / "g" / "0", rows=20)
    make_run(tmp_path / "g" / "1", rows=0, state="failed", reason="boom")
    group = write_group(tmp_path / "g", [{"seed": s, "path": str(s)} for s in range(3)])
    made = report(group)
    check_page(made.html)
    assert "| 2 | not begun |" in made.markdown
    assert "2 of 3 seeds did not finish" in made.text
    nobody = write_group(tmp_path / "h", [{"seed": 0, "path": "0"}])
    check_page(report(nobody).html)
    with_link = report(group.members[0])  # a member has a report of its own
    assert with_link.document.run_id == "g/0"


def test_size_and_speed(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", rows=1000, extra=45, config={"env_steps": 10**7})
    started = time.process_time()
    made = report(run, html=tmp_path / "x.html")
    seconds = time.process_time() - started
    assert len(made.html) < 600_000
    assert len(made.curve or "") < 60_000
    assert seconds < 0.6  # of processor time; about 0.2 on the machine it was written on
    assert "21 further metrics of your own" in made.markdown
    check_page(made.html)


def test_no_heavy_imports(tmp_path: Path) -> None:
    make_run(tmp_path / "r")
    code = (
        "import sys; from pathlib import Path; from dressage.reporting import report; "
        "from dressage.runs.run import Run; r = report(Run(Path(sys.argv[1]))); r.html, r.text; "
        "heavy = {'torch', 'pandas', 'scipy', 'gymnasium', 'pydantic', 'matplotlib'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "r")],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert answer.stdout.strip() == "[]"
