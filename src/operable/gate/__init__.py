"""What may be called, by whom, and the proof of it: rules, questions for people, and the sealed record.

`policy/` decides about one call, `approvals` keeps the questions that people answer, `audit/` is the chain of records.
The gate of a session with an agent (`operable.host.policy`) and that of every other call use these three.
"""
