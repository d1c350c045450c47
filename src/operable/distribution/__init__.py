"""Manifest packages from elsewhere: fetched, looked at, verified, put in place. Applications use it, and any other kind may.

`fetch` brings a folder, an archive or a git repository into a folder of its own; `listing` says what is in it and how that
differs from what is installed; `signature` says who signed it; `place` puts it where it belongs. Nothing of a package is
run here. What a user agrees to, and where that is kept, is the caller's affair (`state.consent`).
"""
