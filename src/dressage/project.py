"""`dressage new DIR`: a small project that trains as it stands."""

from __future__ import annotations

from pathlib import Path

from dressage.errors import ConfigError
from dressage.runs.files import write_atomic, writing

SKELETON = Path(__file__).parent / "ui" / "skeleton"


def new_project(folder: str | Path) -> list[Path]:
    """Writes an environment, a config, a training script, a test and a README; returns them."""
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(
            f"{folder} is not an empty folder: a project begins in one that is empty or absent."
        )
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    files = []
    for template in sorted(SKELETON.glob("*.tmpl")):
        file = folder / template.name.removesuffix(".tmpl")
        write_atomic(file, template.read_text(encoding="utf-8"))
        files.append(file)
    return files
