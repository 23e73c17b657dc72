"""What a function comes to in a fresh process that hashes otherwise.

    elsewhere(digests, "nodes", [0, 1]) -> whatever digests("nodes", [0, 1]) returns there

For a function of a module of tests; arguments and what it returns are JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

HASH_SEED = "1"  # here it is drawn, unless whoever started this process says otherwise
_OTHER_HASH_SEED = "2"
_CALL = """
import json, sys
from importlib import import_module
module, name, arguments = json.loads(sys.argv[1])
print(json.dumps(getattr(import_module(module), name)(*arguments)))
"""


def elsewhere(function: Callable[..., Any], *arguments: object) -> Any:
    asked = json.dumps([function.__module__, function.__name__, arguments])
    hashes = _OTHER_HASH_SEED if os.environ.get("PYTHONHASHSEED") == HASH_SEED else HASH_SEED
    ended = subprocess.run(
        [sys.executable, "-P", "-c", _CALL, asked],
        env={**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)
