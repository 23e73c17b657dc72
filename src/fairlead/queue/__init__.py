"""Layer 2: the work queue. What waits, in which order, how long, and how often it may be tried.

Read `work.py` first: it holds the promises and everything that changes state passes through it.

    entry      one key's place in the queue            lines      one priority: namespaces take turns
    delayed    what is not due yet                     rate       the overall limit
    failures   how often a key failed in a row         heat       keys that run too often, slowed and reported
    settings   every knob                              snapshot   what people and metrics see
"""
