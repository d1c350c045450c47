"""What is recorded, signed and verified about executions."""
