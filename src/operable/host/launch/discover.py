"""Which agents there are: manifests of the project, of the user, and those that come with Operable.

    project   <project>/.agents/<name>/AGENT-CLI.md, then <project>/.operable/agents/<name>/AGENT-CLI.md
    user      the `agents` folder of the configuration (`places.user_agents`)
    bundled   those that come with Operable

Of two with one name the earlier wins, with one exception: an unapproved manifest of a project never takes the place of a
trusted one, or cloning a repository would decide what `operable agent prompt claude-code` runs. It is listed, and
when it is the only one of its name it is found, and refused. A path names its file whatever the names are; what is
outside of the user's and Operable's own folders counts as the project's.

Only the frontmatter is read, and nothing in it is acted on: a manifest that cannot be read is listed with its problem.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace

from operable import __version__
from operable.host.launch.ledger import Ledger
from operable.host.launch.places import MANIFEST, bundled_agents, user_agents
from operable.host.launch.trust import ManifestTrust, not_approved, standing
from operable.kernel.catalogue import unknown
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.manifest.frontmatter import decode, parse_document
from operable.manifest.problem import ManifestError
from operable.state import cache
from operable.state.consent import UNUSABLE

PROJECT_FOLDERS = (".agents", os.path.join(".operable", "agents"))
# A folder with more entries than this is something else.
_ENTRIES = 1000
_LIMIT = 1024 * 1024


@dataclass(frozen=True, slots=True)
class DiscoveredManifest:
    """One manifest. `shadowed_by` is the path of the one that is meant by its name instead; `problem` why it is unusable."""

    name: str
    path: str
    origin: str  # project, user, bundled
    standing: ManifestTrust
    id: str = ""
    description: str = ""
    version: str = ""
    protocol: str = ""
    problem: str | None = None
    shadowed_by: str | None = None

    @property
    def folder(self) -> str:
        return os.path.dirname(self.path)

    @property
    def trusted(self) -> bool:
        return self.standing.trusted

    def require_trusted(self) -> None:
        """Fail MANIFEST_NOT_APPROVED unless the manifest may be acted on."""
        if not self.trusted:
            raise not_approved(self.name, self.path, self.standing)


@dataclass(frozen=True, slots=True)
class Discovery:
    """Where to look. Folders that do not exist hold nothing."""

    ledger: Ledger
    project: str | None = None
    user: str | None = None
    bundled: str | None = None

    @classmethod
    def default(cls, ledger: Ledger, project: str | None = None) -> "Discovery":
        return cls(ledger, project, user_agents(), bundled_agents())

    def all(self) -> list[DiscoveredManifest]:
        """Every manifest, those that are meant by their names first."""
        found = list(self._everything())
        chosen: dict[str, DiscoveredManifest] = {}
        for each in sorted(
            found, key=lambda each: not each.trusted
        ):  # stable: trusted ones first, else by place
            chosen.setdefault(each.name, each)
        marked = [
            each if chosen[each.name].path == each.path else replace(each, shadowed_by=chosen[each.name].path)
            for each in found
        ]
        return sorted(marked, key=lambda each: (each.shadowed_by is not None, each.name))

    def find(self, name: str) -> DiscoveredManifest:
        """The manifest that a name, an id or a path means; Raises Fail if it does not exist."""
        if "/" in name or name.endswith(".md"):
            return self._at(name)
        candidates = self.all()
        meant = [each for each in candidates if each.shadowed_by is None and name in (each.name, each.id)]
        for each in sorted(meant, key=lambda each: each.name != name):  # a name before an id
            return each
        raise unknown("agent", name, sorted({each.name for each in candidates}))

    def _at(self, path: str) -> DiscoveredManifest:
        path = os.path.abspath(os.path.join(path, MANIFEST) if os.path.isdir(path) else path)
        if not os.path.isfile(path):
            raise Fail("not_found", "MANIFEST_NOT_FOUND", f"there is no manifest {path}", target=path)
        real = os.path.realpath(path)
        for origin, folder in (("user", self.user), ("bundled", self.bundled)):
            if folder is not None and os.path.commonpath(
                [os.path.realpath(folder), real]
            ) == os.path.realpath(folder):
                return self._read(path, origin)
        return self._read(path, "project")

    def _everything(self) -> Iterator[DiscoveredManifest]:
        places = [("project", os.path.join(self.project, each)) for each in PROJECT_FOLDERS if self.project]
        places += [
            (origin, each) for origin, each in (("user", self.user), ("bundled", self.bundled)) if each
        ]
        for origin, folder in places:
            for name in _entries(folder):
                path = os.path.join(os.path.abspath(folder), name, MANIFEST)
                if os.path.isfile(path):
                    yield self._read(path, origin)

    def _read(self, path: str, origin: str) -> DiscoveredManifest:
        folder_name = os.path.basename(os.path.dirname(path))
        try:
            judged = standing(path, origin, self.ledger)
            texts = _kept_texts(path) if origin == "bundled" else _texts(path)
        except (ManifestError, Fail, OSError) as problem:
            if isinstance(problem, Fail) and problem.code == UNUSABLE:
                raise  # what is approved cannot be read, and the manifest is not the reason
            nobody = ManifestTrust(trusted=origin != "project", digest="", why="it cannot be read")
            return DiscoveredManifest(folder_name, path, origin, nobody, problem=str(problem))
        return DiscoveredManifest(
            path=path, origin=origin, standing=judged, **{**texts, "name": texts["name"] or folder_name}
        )


def _texts(path: str) -> dict[str, str]:
    """What is reported of a manifest before anything is done with it."""
    with open(path, "rb") as file:
        data = parse_document(decode(file.read(_LIMIT + 1), path), path).data
    words = {key: data.get(key) for key in ("name", "id", "description", "version", "protocol")}
    return {key: value if isinstance(value, str) else "" for key, value in words.items()}


def _kept_texts(path: str) -> dict[str, str]:
    """The same, kept beside a manifest that came with Operable: a name is looked for among all, and YAML is slow."""
    place = cache.beside(os.path.dirname(path), "texts")
    fingerprint = f"{__version__};{cache.stamp(path, os.stat(path))}"
    texts: dict[str, str] | None = cache.load(place, fingerprint)
    if texts is None:
        texts = _texts(path)
        if not sys.dont_write_bytecode:
            cache.keep(place, fingerprint, texts)
    return texts


def _entries(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [name for name in names if not name.startswith((".", "_"))][:_ENTRIES]
