"""The clean settings, in which a healthy run learns.

`split`: rules and inference see runs of the training settings alone. The split is by setting, and
nearly by environment: where an environment is on both sides, the algorithms differ.
"""

from __future__ import annotations

from benchmarks.faults import settings_test, settings_train, settings_usual
from benchmarks.faults.setting import Setting

SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for group in (settings_train, settings_usual, settings_test)
    for setting in group.SETTINGS
}
