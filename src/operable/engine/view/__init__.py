"""What an engine shows of itself: timelines of runs, metrics, spans. Nothing here changes a run."""
