"""Layer 7: the plane in virtual time. The same store, API, mirrors and planes as production, driven by chance.

Read `world.py` first, then `chance.py`; `worlds/` says what happens in a run, `checkers/` what must always hold.
`search/` picks the runs to try, `shrink.py` makes one that fails smaller, and `hunt.py` does both.
"""
