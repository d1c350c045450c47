"""A workflow as a graph: its order and its pictures."""
