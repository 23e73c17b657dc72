"""What happened to one object, its owners and what it owns, and why: one line per thing that mattered.

`telling.py` joins them. Their words come from `turns.py` (decisions), `writes.py` (requests), `noticed.py` (Events),
`inputs.py` (what others waited for) and `why.py` (the last line); `cli/timeline.py` prints them.
"""
