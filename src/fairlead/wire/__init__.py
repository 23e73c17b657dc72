"""Layer 8: HTTP in. `listener.py` accepts, `http.py` speaks HTTP/1.1, `routes.py` reads addresses, `handler.py`
brings requests to the API and answers back, `watching.py` streams."""
