"""What the probes found, for section 3."""

from __future__ import annotations

from collections.abc import Sequence

from dressage.diagnosis.probes.result import ProbeResult
from dressage.reporting.document import Block, Bullets, Fold, Paragraph, Table, Words
from dressage.reporting.numbers import clean, number

NAMED = 3  # causes in a cell


def probe_blocks(probes: Sequence[ProbeResult]) -> list[Block]:
    rows: list[list[Words]] = [
        [
            probe.name if probe.state == "done" else f"{probe.name} ({probe.state})",
            clean(probe.says, 800),
            _causes(probe.rules_in),
            _causes(probe.rules_out),
        ]
        for probe in probes
    ]
    header = ("Probe", "What it found", "Speaks for", "Speaks against")
    measured: list[Words] = [
        f"{probe.name}: " + ", ".join(f"{key} {_shown(v)}" for key, v in probe.numbers.items())
        for probe in probes
        if probe.numbers
    ]
    seconds = sum(probe.seconds for probe in probes)
    return [
        Table(header, rows, narrow=(0, 1, 2)),
        Fold("What was measured", Bullets(measured)),
        Paragraph(f"The probes took {seconds:.1f} s.", quiet=True),
    ]


def _causes(ids: Sequence[str]) -> str:
    named = ", ".join(ids[:NAMED])
    return f"{named} and {len(ids) - NAMED} more" if len(ids) > NAMED else named


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else number(value)
