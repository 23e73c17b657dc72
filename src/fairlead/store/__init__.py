"""Layer 2: revisioned objects. Transactions with preconditions, watch, history; journals make them durable.

Read `contract.py` first: it says what every store promises. `machine.py` keeps the promises in memory,
`sqlite.py` is the journal that makes them durable, `watch.py` fans changes out. Nothing here logs: failures of the disk
are errors of the journal, and events of the machine; `runtime/server/store_driver.py` writes them to the log.
"""
