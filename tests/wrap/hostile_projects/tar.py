"""An archive that reaches out of its folder, names that are options, and settings of tar in the environment."""

import io
import tarfile

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["list", "evil.tar"],
    ["list", "--", "--to-command=./trap"],
    ["list", "127.0.0.1:evil.tar"],
    ["create", "new.tar", "--dry-run", "--", f"--checkpoint-action=exec={'./trap'}"],
    ["extract", "evil.tar", "--into", "into", "--dry-run"],
)


def lay(scene: Scene) -> None:
    trap = scene.script()
    scene.write("--checkpoint-action=exec=./trap", "a name that is an option")
    scene.write("--to-command=./trap", "another one")
    (scene.project / "into").mkdir()
    with tarfile.open(scene.project / "evil.tar", "w") as archive:
        for name in (f"../{scene.outside.name}/CANARY", f"{scene.outside}/CANARY", "link/CANARY"):
            if name.startswith("link"):
                link = tarfile.TarInfo("link")
                link.type, link.linkname = tarfile.SYMTYPE, str(scene.outside)
                archive.addfile(link)
            entry = tarfile.TarInfo(name)
            entry.size = 7
            archive.addfile(entry, io.BytesIO(b"sprung\n"))
    scene.env |= {
        "TAR_OPTIONS": f"--checkpoint=1 --checkpoint-action=exec={trap}",
        "TAPE": "evil.tar",
        "RSH": trap,
    }
