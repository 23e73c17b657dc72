"""Layer 4: controllers. Each looks at durable state and says what is to be asked of the API next; none acts."""
