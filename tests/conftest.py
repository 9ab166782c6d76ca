"""What the default suite leaves out: the C kernels, which `make test-native` builds first."""

from __future__ import annotations

import os

collect_ignore = [] if os.environ.get("DRESSAGE_TEST_NATIVE") else ["native"]
