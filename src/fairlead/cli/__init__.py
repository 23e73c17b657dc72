"""Layer 10: the command line. One file per verb, imported only when it is called; `main.py` is the entry."""
