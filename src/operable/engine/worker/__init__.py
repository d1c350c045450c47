"""The process that makes runs happen: it fires ticks, executes attempts, and takes over from workers that died."""
