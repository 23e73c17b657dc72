"""Layer 8: HTTP in and out. `listener.py` accepts, `http.py` and `receiving.py` speak HTTP/1.1, `routes.py` reads
addresses, `handler.py` brings requests to the API and answers back, `watching.py` streams. `client.py` is the other
end, for agents."""
