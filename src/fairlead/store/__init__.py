"""Layer 2: revisioned objects. Transactions with preconditions, watch, history; journals make them durable.

Read `contract.py` first: it says what every store promises. `machine.py` keeps the promises in memory,
`sqlite.py` is the journal that makes them durable, `watch.py` fans changes out.
"""
