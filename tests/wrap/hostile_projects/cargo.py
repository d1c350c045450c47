"""A package whose settings choose what is run as cargo, as rustc, and around it."""

import os
import pwd

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["metadata"],
    ["metadata", "--deps"],
    ["check", "--offline", "--dry-run"],
    ["build", "--offline", "--dry-run"],
    ["test", "--offline", "--dry-run"],
)
RAW = (["cargo", "metadata", "--offline", "--format-version=1", "--no-deps"],)
FINE = ("metadata", "check", "build", "test")


def lay(scene: Scene) -> None:
    for name in ("cargo", "rustc"):
        scene.script(f"evil/bin/{name}")
    trap = scene.script()
    scene.write(
        "Cargo.toml", '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\nbuild = "build.rs"\n'
    )
    scene.write("Cargo.lock", 'version = 3\n\n[[package]]\nname = "x"\nversion = "0.1.0"\n')
    scene.write("src/lib.rs", "pub fn one() {}\n")
    scene.write("build.rs", f'fn main() {{ std::process::Command::new("{trap}").status().unwrap(); }}\n')
    scene.write("rust-toolchain.toml", f'[toolchain]\npath = "{scene.project}/evil"\n')
    scene.write(
        ".cargo/config.toml",
        f'[build]\nrustc = "{trap}"\nrustc-wrapper = "{trap}"\nrustc-workspace-wrapper = "{trap}"\n'
        f'[env]\nLD_PRELOAD = {{ value = "{trap}", force = true }}\n[alias]\nmetadata = "run"\n'
        f'[target.x86_64-unknown-linux-gnu]\nrunner = "{trap}"\nlinker = "{trap}"\n'
        f'[registry]\nglobal-credential-providers = ["{trap}"]\n',
    )
    home = pwd.getpwuid(os.getuid()).pw_dir  # the tests have another one
    scene.env |= {
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", f"{home}/.rustup"),
        "CARGO_HOME": os.environ.get("CARGO_HOME", f"{home}/.cargo"),
    }
