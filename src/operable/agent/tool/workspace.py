"""Where files may be touched: inside the workspace, by real path, or where this call was approved to reach.

A path is judged by what it really names: symbolic links are followed, also those in the middle, and a file that does
not exist yet is judged by the deepest folder that does. When the call runs, the path must name the same file as when the
call was decided about: an earlier call of the same answer may have made a link. The file is then opened folder by folder
without following any link (`state.real_file`), so a link that is swapped in between has no effect.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from operable.agent.tool.ability import Ability, AbilityOutcome, Scene
from operable.kernel.data_class import dataclass
from operable.state.execution_files import is_execution_file


@dataclass(frozen=True, slots=True)
class Reach:
    """What a call touches that no earlier permission covers."""

    outside: frozenset[str] = frozenset()  # real paths beyond the workspace
    files: tuple[str, ...] = ()  # files that become execution, by their real path, which it changes
    paths: frozenset[str] = frozenset()  # real paths of everything that it names

    @property
    def execution(self) -> bool:
        return bool(self.files)

    @property
    def each_time(self) -> bool:
        """Whether this call needs a decision of its own in every mode but yolo."""
        return bool(self.outside) or self.execution


def reach(scene: Scene, ability: Ability, arguments: Mapping[str, Any]) -> Reach:
    """What this call would touch. ValueError for what is not a path."""
    paths = ability.reaches(arguments)
    real = [(path, real_path(scene, path)) for path in paths]
    changed = real if ability.category == "edit" else ()
    files = [
        found
        for path, found in changed
        if is_execution_file(scene.workspace, _written_path(scene, path), found)
    ]
    outside = frozenset(found for _, found in real if not _below(found, scene.workspace))
    return Reach(outside, tuple(files), frozenset(found for _, found in real))


def _written_path(scene: Scene, path: str) -> str:
    return os.path.join(scene.workspace, os.path.expanduser(path))


def real_path(scene: Scene, path: str) -> str:
    """What a path of the model means: relative to the workspace, `~` as the user's home, links resolved."""
    return os.path.realpath(_written_path(scene, path))


def outside_workspace(scene: Scene, paths: Iterable[str]) -> list[str]:
    """Those of these paths, resolved, that are not inside the workspace. Raises ValueError if it is not a path."""
    return [path for path in (real_path(scene, path) for path in paths) if not _below(path, scene.workspace)]


def _below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


class OutsideWorkspaceError(PermissionError):
    """A tool used a path that the user has not approved."""


def permitted(scene: Scene, path: str) -> str:
    """The real path, when it may be touched now; OutsideWorkspaceError otherwise."""
    real = real_path(scene, path)
    if not any(_below(real, root) for root in (scene.workspace, *scene.granted)):
        raise OutsideWorkspaceError(f"{path} is outside the workspace {scene.workspace}")
    if scene.decided is not None and real not in scene.decided:
        raise OutsideWorkspaceError(
            f"{path} names another file than when this call was decided about: {real}"
        )
    return real


def search(tool: str, arguments: Mapping[str, Any], scene: Scene) -> tuple[str, str] | AbilityOutcome:
    """(pattern, real path) of a tool that looks for something; or its answer if it may not, or got none."""
    pattern = arguments.get("pattern")
    if not isinstance(pattern, str) or not pattern:
        return AbilityOutcome(f"{tool} needs a pattern", ok=False)
    try:
        return pattern, permitted(scene, str(arguments.get("path") or "."))
    except OutsideWorkspaceError as error:
        return AbilityOutcome(str(error), ok=False)
