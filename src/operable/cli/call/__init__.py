"""What `run`, `record`, `pipe` and `check` share: the words of a call, the relay of its events, and the verdict."""
