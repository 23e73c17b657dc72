"""One module per kind, each with one constant `KIND`; `model/catalog.py` lists them.

A kind's larger parts live beside it (`pod/defaults.py`, `pod/columns.py`). Modules here are pure: they
read and fill JSON trees, and know neither the store nor the request. What several kinds share is in
`model/metadata.py` (names, labels, owners) and `model/cells.py` (columns).
"""
