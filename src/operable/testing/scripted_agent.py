"""An agent process that does what a script says: `python -m operable.testing.scripted_agent --protocol acp --script FILE`.

For tests of hosts. It speaks one of the protocols in `operable.testing.voices`, needs nothing outside the standard
library and starts fast. The script is one JSON object, in a file (`--script`) or on the command line (`--json`); every
key may be left out:

    {"start":  [steps before anything is read: noise, stderr, wait, grandchild, mute, die],
     "turns":  {"name": [steps], ...},      a prompt with SCRIPT:name plays that one; SCRIPT:[...] brings its own steps
     "default": [steps],                    what a prompt without a marker plays; else it is echoed
     "eof": "exit" | "finish" | "ignore",   what the end of stdin does: leave, play what was asked and leave, nothing
     "term": "exit" | "ignore",             what SIGTERM does
     "cancel": "obey" | "ignore",           what the host's cancel does to a running turn
     "options": {...}}                      for the voice: its own page says which

Steps of a turn, each an object with one of these verbs and its options:

    say TEXT (chunks, delay)      think TEXT (chunks, delay)     plan [ENTRIES]          usage {FIELDS}
    call NAME (id, args, kind, ask, touch, result, fail, denied, silent)
        ask: true asks the host first; touch: a file that is written if the call is carried out; denied: steps to play
        after a denial (the turn goes on after them); fail: the call is carried out and fails; silent: no result
    flood N (size)                N pieces of text of `size` characters, in as few writes as possible
    wait SECONDS                  hang true (until cancelled)    mute true (never again reads or answers)
    noise TEXT (a line on stdout outside of the protocol)            raw TEXT (exactly these characters) or raw {"hex": "ff"}
    stderr TEXT                   send {MESSAGE} (any message)   request METHOD (params): ask the host, say its answer
    grandchild SECONDS (session, stubborn, pid_file)             a process of our own that outlives us if no process reaps it
    end REASON (what follows is sent after the end of the turn)  error MESSAGE (code)     die EXIT_CODE or "SIGKILL"

What a turn does with the clock is in its script; nothing here waits on its own.
"""

import json
import sys


def main(arguments: list[str]) -> int:
    from argparse import ArgumentParser

    from operable.kernel.catalogue import load
    from operable.testing.player import Player

    parser = ArgumentParser(
        prog="scripted-agent", description="An agent process that does what a script says."
    )
    parser.add_argument("--protocol", default="acp")
    parser.add_argument("--script", metavar="FILE")
    parser.add_argument("--json", metavar="SCRIPT")
    parser.add_argument("--version", action="version", version="scripted-agent 1.0.0")
    options, _ = parser.parse_known_args(arguments)
    text = options.json or "{}"
    if options.script:
        with open(options.script, encoding="utf-8") as file:
            text = file.read()
    player = Player(
        json.loads(text), load("operable.testing.voices", options.protocol, "VOICE", kind="voice")
    )
    player.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
