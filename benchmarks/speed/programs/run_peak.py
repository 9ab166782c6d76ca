"""The machine's peak: multiply-adds on registers alone, on one core and on two, in GFLOPS."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from harness import tell

SOURCE = Path(__file__).with_name("peak.c")
THREADS = (1, 2)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "peak")
        command = ["cc", "-O3", "-march=native", "-ffast-math", "-pthread", str(SOURCE)]
        subprocess.run([*command, "-o", program], check=True)
        printed = {
            n: subprocess.run([program, str(n)], check=True, capture_output=True, text=True).stdout
            for n in THREADS
        }
    gflops = {str(n): float(re.findall(r"[\d.]+", text)[0]) for n, text in printed.items()}
    tell({"gflops": gflops}, [])


if __name__ == "__main__":
    main()
