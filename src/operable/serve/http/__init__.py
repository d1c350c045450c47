"""The daemon's HTTP: routes as declarations, who may call them, and streams of events."""
