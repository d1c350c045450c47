"""Whether what the audit log says of an execution is what was signed about it."""

from typing import Any

from operable.flow.operation import Defaults, Operation, Parameter, filled_text, home


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.audit.evidence import verify_execution
    from operable.flow.task_query import caller_of

    return verify_execution(
        filled_text(params, "executionId"),
        caller_of(defaults),
        allowed_signers=params.get("allowedSigners"),
        public_key=params.get("publicKey"),
    )


OPERATION = Operation(
    verb="verify",
    place=32,
    summary="Verify the signature of an execution",
    run=_run,
    params=(
        Parameter(
            "executionId",
            "word",
            shown="<execution-id>",
            called="execution",
            help="its id, or a unique beginning",
        ),
        Parameter("allowedSigners", help="a file with the signers that are believed, as ssh-keygen has them"),
        Parameter("publicKey", agentcli=False, help="a file with the key that signs in-toto statements"),
        home("where the audit is kept"),
    ),
)
