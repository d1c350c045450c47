"""Workflow manifests: what agents and shells may do, when, under which identity and with what proof.

    from operable.flow import Caller, execute, validate

    assert validate(manifest)["ok"]
    answer = execute(manifest, "backup", Caller(os.getcwd(), dict(os.environ)))

Names are looked up on first use: validating a manifest does not load what runs tasks.
"""

from operable import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.flow.canonical import canonical_digest as canonical_digest
    from operable.flow.canonical import canonical_text as canonical_text
    from operable.flow.compile.binding import task_digests as task_digests
    from operable.flow.compile.target import Target as Target
    from operable.flow.compile.target import compile_manifest as compile_manifest
    from operable.flow.contracts import Authorizer as Authorizer
    from operable.flow.contracts import Evidence as Evidence
    from operable.flow.contracts import HandoffContext as HandoffContext
    from operable.flow.contracts import Identity as Identity
    from operable.flow.contracts import IdentityRequest as IdentityRequest
    from operable.flow.contracts import Proof as Proof
    from operable.flow.contracts import ProofRequest as ProofRequest
    from operable.flow.contracts import Surroundings as Surroundings
    from operable.flow.errors import FlowError as FlowError
    from operable.flow.errors import NotAllowed as NotAllowed
    from operable.flow.manifest.conversion import convert as convert
    from operable.flow.manifest.lint import lint as lint
    from operable.flow.manifest.validation import validate as validate
    from operable.flow.operation import Defaults as Defaults
    from operable.flow.operation import Operation as Operation
    from operable.flow.operation import Parameter as Parameter
    from operable.flow.run.caller import Allowance as Allowance
    from operable.flow.run.caller import Caller as Caller
    from operable.flow.run.executor import execute as execute
    from operable.flow.run.executor import preview as preview
    from operable.flow.run.options import ExecOptions as ExecOptions
    from operable.flow.run.workflow import RunOptions as RunOptions
    from operable.flow.run.workflow import WorkflowRun as WorkflowRun

_HOMES = {
    "Allowance": "operable.flow.run.caller",
    "Authorizer": "operable.flow.contracts",
    "Caller": "operable.flow.run.caller",
    "Defaults": "operable.flow.operation",
    "Evidence": "operable.flow.contracts",
    "ExecOptions": "operable.flow.run.options",
    "FlowError": "operable.flow.errors",
    "HandoffContext": "operable.flow.contracts",
    "Identity": "operable.flow.contracts",
    "IdentityRequest": "operable.flow.contracts",
    "NotAllowed": "operable.flow.errors",
    "Operation": "operable.flow.operation",
    "Parameter": "operable.flow.operation",
    "Proof": "operable.flow.contracts",
    "ProofRequest": "operable.flow.contracts",
    "RunOptions": "operable.flow.run.workflow",
    "Surroundings": "operable.flow.contracts",
    "Target": "operable.flow.compile.target",
    "WorkflowRun": "operable.flow.run.workflow",
    "canonical_digest": "operable.flow.canonical",
    "canonical_text": "operable.flow.canonical",
    "compile_manifest": "operable.flow.compile.target",
    "convert": "operable.flow.manifest.conversion",
    "execute": "operable.flow.run.executor",
    "lint": "operable.flow.manifest.lint",
    "preview": "operable.flow.run.executor",
    "task_digests": "operable.flow.compile.binding",
    "validate": "operable.flow.manifest.validation",
}

__all__ = [
    "Allowance",
    "Authorizer",
    "Caller",
    "Defaults",
    "Evidence",
    "ExecOptions",
    "FlowError",
    "HandoffContext",
    "Identity",
    "IdentityRequest",
    "NotAllowed",
    "Operation",
    "Parameter",
    "Proof",
    "ProofRequest",
    "RunOptions",
    "Surroundings",
    "Target",
    "WorkflowRun",
    "canonical_digest",
    "canonical_text",
    "compile_manifest",
    "convert",
    "execute",
    "lint",
    "preview",
    "task_digests",
    "validate",
]

__getattr__ = lazily(__name__, _HOMES)
