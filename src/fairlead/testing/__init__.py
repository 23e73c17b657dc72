"""A running API for the tests of controllers: `with plane() as p:`. The guide is docs/guides/testing-controllers.md.

On top of everything, beside `cli/`: it runs the Server of `runtime/` as it is, on a loop in a thread of the test's own
process, or `fairlead serve` in a process of its own. Needs no client library, and changes nothing of the process it is
in: no signal handlers, no logging set-up, no umask.
"""

from fairlead.testing.access import Access, Answer
from fairlead.testing.planes import Plane, plane

__all__ = ["Access", "Answer", "Plane", "plane"]
