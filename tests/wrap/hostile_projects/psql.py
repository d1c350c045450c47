"""Settings of psql in the folder of the project, and queries that are commands of psql or more than a query."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["query", "select 1"],
    ["query", "\\! touch CANARY"],
    ["query", "select 1 \\g CANARY"],
    ["query", "select 1) x; copy (select 1) to program 'touch CANARY'; --"],
    ["tables"],
    ["execute", "select 1", "--dry-run"],
)


def lay(scene: Scene) -> None:
    trap = scene.script()
    for name in (".psqlrc", "psqlrc", ".psqlrc-15"):
        scene.write(name, f"\\! {trap}\n\\o CANARY\n")
    scene.write(".pg_service.conf", "[evil]\nhost=127.0.0.1\n")
    scene.env |= {
        "HOME": str(scene.project),
        "PSQLRC": str(scene.project / "psqlrc"),
        "PAGER": trap,
        "PSQL_PAGER": trap,
        "PSQL_EDITOR": trap,
        "PGHOST": "127.0.0.1",
        "PGPORT": str(scene.port),
        "PGCONNECT_TIMEOUT": "5",
    }
