"""The job record of openclaw-scheduler."""
