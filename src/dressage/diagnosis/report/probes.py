"""What the probes found, for section 3."""

from __future__ import annotations

from collections.abc import Sequence

from dressage.diagnosis.diagnose import Diagnosis
from dressage.diagnosis.probes.result import ProbeResult
from dressage.reporting.document import Block, Bullets, Fold, Paragraph, Table, Words
from dressage.reporting.numbers import clean, number

NAMED = 3  # causes in a cell


def probe_blocks(diagnosis: Diagnosis) -> list[Block]:
    """A row each; the likeliest causes are named first among those that a probe speaks of."""
    order = [cause.id for cause in diagnosis.causes]
    rows: list[list[Words]] = [
        [
            probe.name if probe.state == "done" else f"{probe.name} ({probe.state})",
            _causes(probe.rules_in, order),
            _causes(probe.rules_out, order),
            clean(probe.says, 800),
        ]
        for probe in diagnosis.probes
    ]
    header = ("Probe", "Speaks for", "Speaks against", "What it found")
    measured: list[Words] = [_measured(probe) for probe in diagnosis.probes if probe.numbers]
    seconds = sum(probe.seconds for probe in diagnosis.probes)
    return [
        Table(header, rows, narrow=(0, 3)),
        Fold("What the probes measured", Bullets(measured)),
        Paragraph(f"The probes took {seconds:.1f} s.", quiet=True),
    ]


def _causes(ids: Sequence[str], order: Sequence[str]) -> str:
    known = sorted((id for id in ids if id in order), key=order.index)
    shown = [*known, *(id for id in ids if id not in order)]
    named = ", ".join(shown[:NAMED])
    return f"{named} and {len(ids) - NAMED} more" if len(ids) > NAMED else named


def _measured(probe: ProbeResult) -> str:
    parts = [
        f"{key.replace('_', ' ')} {value if isinstance(value, str) else number(value)}"
        for key, value in probe.numbers.items()
    ]
    return clean(f"{probe.name}: {', '.join(parts)}", 1000)
