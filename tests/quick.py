"""`make quick`: the unit and property tests nearest to what was changed, in under a minute.

Changed is what differs from where this branch left `main` (on `main` itself: from the last commit), and what is not
committed. A test file is near when it was changed, or imports a module that was; those that import the fewest other
modules come first, and beyond FILES_MAX the rest is left to `make test`.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILES_MAX = 40
_FOLDERS = ("tests/unit", "tests/property")


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split("\n") if done.returncode == 0 else []


def changed() -> set[str]:
    """Paths from the root of the tree."""
    base = next(iter(git("merge-base", "HEAD", "origin/main")), "")
    head = next(iter(git("rev-parse", "HEAD")), "")
    since = base if base and base != head else "HEAD~1"
    listed = (*git("diff", "--name-only", since), *git("ls-files", "--others", "--exclude-standard"))
    return {path for path in listed if path.endswith(".py")}


def module_of(path: str) -> str:
    parts = Path(path).with_suffix("").parts
    parts = parts[1:] if parts[0] == "src" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def near(paths: set[str]) -> list[str]:
    modules = {module_of(path) for path in paths}
    ranked = []
    for folder in _FOLDERS:
        for path in sorted((ROOT / folder).rglob("test_*.py")):
            name = str(path.relative_to(ROOT))
            imports = imports_of(path)
            if name in paths:
                ranked.append((0, name))
            elif imports & modules:
                ranked.append((len(imports), name))
    return [name for _, name in sorted(ranked)]


def main() -> int:
    found = near(changed())
    chosen, left = found[:FILES_MAX], len(found) - FILES_MAX
    if not chosen:
        print("no unit or property test imports what was changed; `make test` runs them all")
        return 0
    print(
        f"{len(chosen)} test files near what was changed" + (f"; {left} more: make test" if left > 0 else "")
    )
    command = [sys.executable, "-m", "pytest", "-n", "2", "-m", "not soak", *chosen, *sys.argv[1:]]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
