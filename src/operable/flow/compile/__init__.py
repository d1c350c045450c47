"""A manifest as backends want it: plans, bindings, scheduler jobs and handoff artifacts."""
