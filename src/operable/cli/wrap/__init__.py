"""What `operable wrap` has beside its verbs: its events, and the words of a wrapped tool."""
