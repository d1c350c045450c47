"""A configuration whose provider lies in the project: terraform starts it for nearly everything."""

import base64
import hashlib

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["output"],
    ["state", "list"],
    ["plan", "--values", "--out", "CANARY", "--dry-run"],
    ["validate", "--dry-run"],
    ["plan", "--dry-run"],
    ["show", "--dry-run"],
    ["init", "--dry-run"],
    ["apply", "--dry-run"],
    ["destroy", "--dry-run"],
)
RAW = (["terraform", "validate", "-json"],)
_FOLDER = ".terraform/providers/registry.terraform.io/evil/evil/1.0.0/linux_amd64"
_NAME = "terraform-provider-evil_v1.0.0"


def lay(scene: Scene) -> None:
    scene.script(f"{_FOLDER}/{_NAME}")
    scene.write(
        "main.tf",
        'terraform {\n  required_providers {\n    evil = {\n      source = "evil/evil"\n      version = "1.0.0"\n    }\n  }\n}\n'
        'data "evil_run" "x" {}\noutput "o" { value = "one" }\n',
    )
    content = (scene.project / _FOLDER / _NAME).read_bytes()
    line = f"{hashlib.sha256(content).hexdigest()}  {_NAME}\n"
    sealed = base64.b64encode(hashlib.sha256(line.encode()).digest()).decode()
    scene.write(
        ".terraform.lock.hcl",
        f'provider "registry.terraform.io/evil/evil" {{\n  version = "1.0.0"\n  hashes = ["h1:{sealed}"]\n}}\n',
    )
    scene.write(
        "terraform.rc", f'provider_installation {{ dev_overrides {{ "evil/evil" = "{scene.project}" }} }}\n'
    )
