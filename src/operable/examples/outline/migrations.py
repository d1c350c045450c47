"""How the database came to be what it is: additive steps, counted by `PRAGMA user_version`.

A step is never edited once released; a new need is a new step at the end. Older stores are brought up to date by the first
command that opens them. Search is an external-content FTS5 table, kept equal to `notes` by triggers, so that no
code path can forget it; so is the log of changes that `watch` reads.
"""

# As many as one command can make at most, so that a command never pushes its own changes out of the log.
KEPT_CHANGES = 100_000

_NOTES = (
    """CREATE TABLE notes (
      seq INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      title TEXT NOT NULL,
      body TEXT NOT NULL,
      folder TEXT NOT NULL,
      tags TEXT NOT NULL, -- one a line
      created_at TEXT NOT NULL,
      updated_at TEXT NOT NULL,
      version INTEGER NOT NULL
    ) STRICT""",
    "CREATE INDEX notes_by_folder ON notes (folder, id)",
    """CREATE VIRTUAL TABLE notes_fts USING fts5 (
      title, body, tags, content='notes', content_rowid='seq', tokenize='porter unicode61 remove_diacritics 2'
    )""",
    # Words in the title say most about a note, then the tags.
    "INSERT INTO notes_fts (notes_fts, rank) VALUES ('rank', 'bm25(5.0, 1.0, 3.0)')",
    """CREATE TRIGGER fts_after_insert AFTER INSERT ON notes BEGIN
      INSERT INTO notes_fts (rowid, title, body, tags) VALUES (new.seq, new.title, new.body, new.tags);
    END""",
    """CREATE TRIGGER fts_after_delete AFTER DELETE ON notes BEGIN
      INSERT INTO notes_fts (notes_fts, rowid, title, body, tags)
        VALUES ('delete', old.seq, old.title, old.body, old.tags);
    END""",
    """CREATE TRIGGER fts_after_update AFTER UPDATE OF title, body, tags ON notes BEGIN
      INSERT INTO notes_fts (notes_fts, rowid, title, body, tags)
        VALUES ('delete', old.seq, old.title, old.body, old.tags);
      INSERT INTO notes_fts (rowid, title, body, tags) VALUES (new.seq, new.title, new.body, new.tags);
    END""",
)

_CHANGES = (
    """CREATE TABLE changes (
      change INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again, so that it can be waited for
      action TEXT NOT NULL,
      id TEXT NOT NULL,
      version INTEGER NOT NULL,
      title TEXT NOT NULL,
      folder TEXT NOT NULL
    ) STRICT""",
    """CREATE TRIGGER change_after_insert AFTER INSERT ON notes BEGIN
      INSERT INTO changes (action, id, version, title, folder)
        VALUES ('created', new.id, new.version, new.title, new.folder);
    END""",
    """CREATE TRIGGER change_after_update AFTER UPDATE ON notes BEGIN
      INSERT INTO changes (action, id, version, title, folder)
        VALUES ('updated', new.id, new.version, new.title, new.folder);
    END""",
    """CREATE TRIGGER change_after_delete AFTER DELETE ON notes BEGIN
      INSERT INTO changes (action, id, version, title, folder)
        VALUES ('deleted', old.id, old.version, old.title, old.folder);
    END""",
    f"""CREATE TRIGGER changes_are_bounded AFTER INSERT ON changes BEGIN
      DELETE FROM changes WHERE change <= new.change - {KEPT_CHANGES};
    END""",
)

STEPS: tuple[tuple[str, ...], ...] = (_NOTES, _CHANGES)
