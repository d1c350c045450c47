"""The ids of runs. A run's id follows from what caused it, so that the same cause makes one run, in whatever process.

    tick       the job and the moment of the tick
    trigger    the job and the run that triggered it
    manual     the job and the key of the request
    retry      the job, the run that is tried again, and the key of the request

A ticket is what the backend queues: a run and the number of the wake-up. A run that moves on gets a new number, so an old
ticket that is delivered late finds another number and does nothing.
"""

import hashlib
import json
from enum import StrEnum

_LENGTH = 20  # hexadecimal digits; 80 bits: a collision among a billion runs has a chance of one in a million


class RunCause(StrEnum):
    TICK = "tick"
    TRIGGER = "trigger"
    MANUAL = "manual"
    RETRY = "retry"


def run_id_of(job_id: str, cause: RunCause, key: str) -> str:
    digest = hashlib.sha256(json.dumps([job_id, cause.value, key]).encode()).hexdigest()
    return f"run_{digest[:_LENGTH]}"


def approval_id_of(run_id: str, number: int) -> str:
    """The id of the signed answer to a question of a run: a signature under it is for no other run."""
    return hashlib.sha256(f"approval {run_id} {number}".encode()).hexdigest()[:32]


def ticket_of(run_id: str, wake: int) -> str:
    return f"{run_id}~{wake}"


def read_ticket(ticket: str) -> tuple[str, int]:
    """Raises ValueError if it is not a ticket."""
    run_id, separator, wake = ticket.rpartition("~")
    if not separator:
        raise ValueError(f"{ticket!r} is not a ticket")
    return run_id, int(wake)


def trace_id_of(run_id: str) -> str:
    """32 hexadecimal digits, the form of W3C."""
    return hashlib.sha256(f"trace {run_id}".encode()).hexdigest()[:32]


def span_id_of(name: str) -> str:
    """16 hexadecimal digits; a run, an attempt and a turn have one name each."""
    return hashlib.sha256(f"span {name}".encode()).hexdigest()[:16]
