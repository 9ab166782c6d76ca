"""`benchmarks` is no package that is installed: its folder is found from here."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
