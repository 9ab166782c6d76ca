"""A run from elsewhere is data: nothing in it becomes markup, a script, a link or a command."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dressage.reporting import curve_svg, report
from dressage.runs.group import write_group
from dressage.runs.run import Run

from .builders import check_page, make_run

ATTACKS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(1)</script>",
    "</style></title></svg><svg onload=alert(1)>",
    "' onmouseover='alert(1)",
    "<!--",
    "]]>",
    "a | b | `c` | [x](javascript:alert(1)) ![i](http://evil.example/p.png)",
    "line\nbreak\r\n# heading\n| cell |",
    "\x1b[31mred\x1b[0m \u202eright to left\u202c \x00 \x07",
    "; rm -rf $HOME; `id` $(id)",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_strings_of_a_run(tmp_path: Path, attack: str) -> None:
    run = make_run(
        tmp_path / "r",
        config={"env": attack, "algo": attack, "seed": attack, attack: attack, "list": [attack]},
        spec={
            "package": attack,
            "time_limit": attack,
            "resume": {"exact": False, "reason": attack},
        },
        state="failed",
        reason=attack,
        events=(("warning", {"text": attack, attack: attack}), (attack, {"reasons": [attack]})),
    )
    system = {"format": 1, "cpu": attack, "git": attack, "packages": {attack: attack}}
    (run.path / "system.json").write_text(json.dumps(system))
    made = report(run)
    check_page(made.html)
    for form in (made.html, made.markdown, made.text, made.curve or ""):
        assert "\x1b" not in form
        assert "\u202e" not in form
    tags = _tags(made.markdown)
    assert tags <= {"details", "summary"}, tags
    assert not re.search(r"(?<!\\)\]\(javascript", made.markdown)
    assert re.findall(r"!\[", made.markdown.replace("\\!\\[", "")) == ["!["]  # our own picture
    assert re.findall(r"^#+ (?!\d )", made.markdown, re.M) == ["# "]  # the title
    assert _tags(made.curve or "") <= {"svg", "style", "rect", "text", "g", "path", "circle"}


def test_names_of_metrics(tmp_path: Path) -> None:
    name = "own/<script>alert(1)</script>"
    made = report(make_run(tmp_path / "r", more={name: lambda i: float(i), "a</script>b": 1.0}))
    check_page(made.html)
    assert made.html.count("<script") == 2
    assert _tags(made.markdown) <= {"details", "summary"}


def test_names_of_folders(tmp_path: Path) -> None:
    name = "<b onclick=alert(1)>x; rm -rf ~"
    run = make_run(tmp_path / name, state="stopped")
    made = report(run)
    check_page(made.html)
    assert "--resume '<b onclick=alert(1)>x; rm -rf ~'" in made.text.replace("\n  ", " ")
    make_run(tmp_path / "g<i>" / "0")
    group = write_group(tmp_path / "g<i>", [{"seed": 0, "path": "0"}])
    check_page(report(group).html)
    assert "<i>" not in curve_svg(group)


def test_the_page_allows_only_its_own_script(tmp_path: Path) -> None:
    import base64
    import hashlib

    page = report(make_run(tmp_path / "r")).html
    script = re.search(r"<script>(.*?)</script>", page, re.S)
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page
    assert "innerHTML" not in page
    assert not re.search(r"https?://", page)


def test_values_of_any_type(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r")
    values = {
        "env": {"a": [1, {"b": None}]},
        "algo": 7,
        "seed": None,
        "env_steps": "many",
        "learning_rate": {"kind": "linear", "start": "x"},
        "deep": json.loads("[" * 200 + "]" * 200),
        "huge": 10**5000,
    }
    import sys

    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    (run.path / "config.json").write_text(
        json.dumps({"format": 1, "values": values, "sources": {"env": 3, "algo": ["x"]}})
    )
    sys.set_int_max_str_digits(limit)
    (run.path / "spec.json").write_text(
        json.dumps({"format": 1, "reward_threshold": "high", "resume": [1]})
    )
    with (run.path / "events.jsonl").open("a") as file:
        file.write('{"kind": ["x"], "env_steps": {"a": 1}, "time": 3}\n{"kind": null}\n[1]\n')
    check_page(report(Run(run.path)).html)


def _tags(text: str) -> set[str]:
    found: set[str] = set()

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.add(tag)

    # In Markdown, a backslash before "<" and a code span make it text.
    plain = re.sub(r"`[^`\n]*`", "", text).replace("\\<", "")
    Tags().feed(plain)
    return found
