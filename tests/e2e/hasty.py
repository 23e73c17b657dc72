"""`fairlead` whose server does every second or so what it else does every half a minute: for tests that wait for that."""

from __future__ import annotations

import sys

from fairlead.cli.main import main
from fairlead.runtime.server import store_driver
from fairlead.wire import watching

PROGRAM = (sys.executable, "-m", "tests.e2e.hasty")

if __name__ == "__main__":
    store_driver.COMPACT_IDLE_SECONDS = 0.5
    watching.BOOKMARK_SECONDS = 2.0
    sys.exit(main())
