"""The tables of the engine, as a list of migrations. A migration only adds; it is never edited once it was released.

Times are whole milliseconds since 1970, UTC. SQL is what SQLite 3.35 and PostgreSQL both understand; `database` replaces
the placeholders and the name of the 64-bit integer.

    meta         version and identity of the store
    definitions  a job document as it was when a run was made; a run keeps it, whatever is applied later
    manifests    the manifests that definitions refer to
    ticks        per job, the latest tick that was decided about, how many were missed, and the schedule of which apply
    job_states   paused by a user, or finished (delete_after_run)
    runs         one row per run; `wake` counts the tickets that it needed, `sent` those that the backend has
    attempts     one row per start, written before the first effect; the key forbids a second start
    outputs      outputs that are longer than their preview, where workers of several machines share the store
    approvals    one row per question; `kind` is null if the run itself asks, and `agent` if the agent of an attempt does
    workers      who was here, and when it was last seen
    timeline     every change of a state, in order
    deliveries   one row per announcement of an end
    conversations  the agent's own id of the conversation of a session key
"""

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE definitions (
        digest TEXT PRIMARY KEY, job_id TEXT NOT NULL, revision BIGINT NOT NULL, document TEXT NOT NULL,
        manifest_digest TEXT NOT NULL);
    CREATE TABLE manifests (digest TEXT PRIMARY KEY, text TEXT NOT NULL);
    CREATE TABLE ticks (job_id TEXT PRIMARY KEY, last_tick BIGINT NOT NULL, missed BIGINT NOT NULL);
    CREATE TABLE job_states (
        job_id TEXT PRIMARY KEY, paused_at BIGINT, paused_by TEXT, finished_at BIGINT);
    CREATE TABLE runs (
        run_id TEXT PRIMARY KEY, job_id TEXT NOT NULL, definition TEXT NOT NULL, cause TEXT NOT NULL,
        cause_key TEXT NOT NULL, parent_run_id TEXT, due_at BIGINT NOT NULL, created_at BIGINT NOT NULL,
        state TEXT NOT NULL, changed_at BIGINT NOT NULL, not_before BIGINT NOT NULL, ended_at BIGINT,
        attempts BIGINT NOT NULL, failures BIGINT NOT NULL, losses BIGINT NOT NULL,
        wake BIGINT NOT NULL, sent BIGINT NOT NULL, settled BIGINT NOT NULL, reason TEXT,
        UNIQUE (job_id, cause, cause_key));
    CREATE INDEX runs_of_a_job ON runs (job_id, created_at);
    CREATE INDEX runs_in_a_state ON runs (state, changed_at);
    CREATE INDEX runs_to_wake ON runs (created_at) WHERE sent < wake;
    CREATE INDEX runs_to_settle ON runs (ended_at) WHERE settled = 0;
    CREATE TABLE attempts (
        run_id TEXT NOT NULL REFERENCES runs (run_id), number BIGINT NOT NULL, worker_id TEXT NOT NULL,
        state TEXT NOT NULL, started_at BIGINT NOT NULL, ended_at BIGINT, exit_code BIGINT, signal TEXT,
        duration_ms BIGINT, execution_id TEXT, reason TEXT, preview TEXT, output_bytes BIGINT, output_path TEXT,
        output_digest TEXT, PRIMARY KEY (run_id, number));
    CREATE INDEX attempts_of_a_worker ON attempts (worker_id) WHERE state = 'started';
    CREATE TABLE approvals (
        run_id TEXT NOT NULL REFERENCES runs (run_id), number BIGINT NOT NULL, asked_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL, automatic TEXT NOT NULL, scope TEXT, risk_level TEXT,
        decision TEXT, decided_at BIGINT, decided_by TEXT, note TEXT, PRIMARY KEY (run_id, number));
    CREATE INDEX approvals_that_wait ON approvals (expires_at) WHERE decision IS NULL;
    CREATE TABLE workers (
        worker_id TEXT PRIMARY KEY, host TEXT NOT NULL, pid BIGINT NOT NULL, slots BIGINT NOT NULL,
        version TEXT NOT NULL, started_at BIGINT NOT NULL, seen_at BIGINT NOT NULL, ended_at BIGINT, end_cause TEXT);
    CREATE TABLE timeline (
        run_id TEXT NOT NULL REFERENCES runs (run_id), number BIGINT NOT NULL, at BIGINT NOT NULL,
        event TEXT NOT NULL, state TEXT NOT NULL, detail TEXT, PRIMARY KEY (run_id, number));
    """,
    """
    ALTER TABLE approvals ADD COLUMN kind TEXT;
    ALTER TABLE approvals ADD COLUMN question TEXT;
    ALTER TABLE approvals ADD COLUMN content TEXT;
    ALTER TABLE attempts ADD COLUMN facts TEXT;
    CREATE TABLE deliveries (
        run_id TEXT PRIMARY KEY, channel TEXT NOT NULL, destination TEXT NOT NULL, state TEXT NOT NULL,
        tries BIGINT NOT NULL, not_before BIGINT NOT NULL, changed_at BIGINT NOT NULL, reason TEXT);
    CREATE INDEX deliveries_that_wait ON deliveries (not_before) WHERE state = 'pending';
    CREATE TABLE conversations (
        agent TEXT NOT NULL, key TEXT NOT NULL, agent_session_id TEXT NOT NULL, run_id TEXT NOT NULL,
        changed_at BIGINT NOT NULL, PRIMARY KEY (agent, key));
    """,
    """
    CREATE TABLE outputs (
        run_id TEXT NOT NULL, number BIGINT NOT NULL, content BYTEA NOT NULL, PRIMARY KEY (run_id, number));
    """,
    """
    ALTER TABLE approvals ADD COLUMN signed TEXT;
    """,
    """
    CREATE INDEX approvals_to_bind ON approvals (asked_at)
        WHERE decision IS NULL AND kind IS NULL AND content IS NULL;
    """,
    """
    ALTER TABLE ticks ADD COLUMN schedule TEXT;
    ALTER TABLE ticks ADD COLUMN apply BIGINT;
    """,
)
VERSION = len(MIGRATIONS)
