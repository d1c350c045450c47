"""The spellings in which a canary is looked for, made here without the code that is tested."""

import base64
import json
from urllib.parse import quote


def spellings(canary: str) -> dict[str, bytes]:
    """Encoding -> what to look for. Of base64 the part that is the same whatever stands before and behind it."""
    raw = canary.encode()
    found = {
        "raw": canary,
        "json": json.dumps(canary)[1:-1],
        "json in json": json.dumps(json.dumps(canary)[1:-1])[1:-1],
        "url": quote(canary, safe=""),
        "hex": raw.hex(),
        "percent, every character": "".join(f"%{byte:02X}" for byte in raw),
        "escapes of JSON, every character": "".join(f"\\u{ord(each):04x}" for each in canary),
        "escapes of hex": "".join(f"\\x{byte:02x}" for byte in raw),
        "references": "".join(f"&#{ord(each)};" for each in canary),
        "in colour": "\x1b[0m".join(canary),
        "in colour of 8 bits": "\x9b0m".join(canary),
        "in colour of 8 bits, in JSON": "\\u009b0m".join(json.dumps(each)[1:-1] for each in canary),
        "in colour, in JSON": "\\u001b[0m".join(json.dumps(each)[1:-1] for each in canary),
        "escapes in JSON": "".join(f"\\\\u{ord(each):04x}" for each in canary),
        "escapes of hex in JSON": "".join(f"\\\\x{byte:02x}" for byte in raw),
    }
    for offset in range(3):
        inner = raw[(3 - offset) % 3 :]
        found[f"base64 at {offset}"] = base64.b64encode(inner[: len(inner) // 3 * 3]).decode()
    return {name: text.encode() for name, text in found.items()}


def sightings(data: bytes, canaries: dict[str, str]) -> list[str]:
    """Which canaries are in there, in which spelling."""
    return [
        f"{name} ({encoding})"
        for name, canary in canaries.items()
        for encoding, needle in spellings(canary).items()
        if needle in data
    ]
