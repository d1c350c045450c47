"""Points each real agent at a model server on loopback: the variables and files that it takes, in a home of its own.

What an agent would fetch, report or update on its own is switched off where it has a switch. Models are chosen so that the
agent offers its usual tools: Codex, for one, decides by the model's name.
"""

import json
import os
from pathlib import Path

from tests.agents.install import BIN

# For an agent that sees the files of this machine: Node spends more on optimizing an agent than a test lets it run.
SHORT_LIVED = {"NODE_OPTIONS": f"--require={Path(__file__).with_name('short_lived.cjs')}"}
KEY = "sk-scripted-0123456789"


def environment(agent: str, home: Path, url: str) -> dict[str, str]:
    """The whole environment for an agent; writes its configuration into `home`."""
    home.mkdir(parents=True, exist_ok=True)
    everywhere = {
        "HOME": str(home),
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "SHELL": "/bin/bash",
        "DO_NOT_TRACK": "1",
        # Node compiles megabytes of an agent at each start, where it may not keep what it made.
        "NODE_COMPILE_CACHE": str(BIN.parent / "compiled"),
    }
    return everywhere | _SETTINGS[agent](home, url)


def _claude_code(_: Path, url: str) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
    }


def _codex(home: Path, url: str) -> dict[str, str]:
    _write(
        home / ".codex" / "config.toml",
        'model = "gpt-5.5"\n'
        'model_provider = "scripted"\n'
        "check_for_update_on_startup = false\n"
        "[model_providers.scripted]\n"
        'name = "scripted"\n'
        f'base_url = "{url}/v1"\n'
        'wire_api = "responses"\n'
        'env_key = "SCRIPTED_API_KEY"\n'
        "request_max_retries = 1\n"
        "stream_max_retries = 1\n",
    )
    return {
        "CODEX_HOME": str(home / ".codex"),
        "SCRIPTED_API_KEY": KEY,
        "NO_BROWSER": "1",
        # Its own default lets a second model review what the first one wants to do.
        "INITIAL_AGENT_MODE": "read-only",
    }


def _gemini(home: Path, url: str) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    _write(home / ".gemini" / "settings.json", json.dumps(settings))
    return {
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_MODEL": "gemini-2.5-flash",
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }


def _goose(_: Path, url: str) -> dict[str, str]:
    return {
        "OPENAI_HOST": url,
        "OPENAI_API_KEY": KEY,
        "GOOSE_PROVIDER": "openai",
        "GOOSE_MODEL": "scripted-model",
        "GOOSE_MODE": "approve",
        "GOOSE_DISABLE_KEYRING": "1",
    }


def _hermes(home: Path, url: str) -> dict[str, str]:
    _write(
        home / ".hermes" / "config.yaml",
        f"model:\n  provider: custom\n  base_url: {url}/v1\n  api_key: {KEY}\n  default: scripted-model\n",
    )
    return {"HERMES_HOME": str(home / ".hermes")}


def _kilo(home: Path, url: str) -> dict[str, str]:
    """A fork of opencode: the same configuration, with other names for its variables."""
    variables = {name.replace("OPENCODE", "KILO"): value for name, value in _opencode(home, url).items()}
    config = json.loads((home / ".config" / "opencode" / "opencode.json").read_text("utf-8"))
    for name in ("$schema", "share"):
        del config[name]
    return {
        **variables,
        "KILO_CONFIG_CONTENT": json.dumps(config),
        "KILO_DISABLE_SESSION_INGEST": "1",
        "KILO_DISABLE_SHARE": "1",
    }


def _opencode(home: Path, url: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
        "models": {"scripted-model": {"name": "scripted-model", "reasoning": True, "tool_call": True}},
    }
    config = {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "share": "disabled",
        "model": "scripted/scripted-model",
        "small_model": "scripted/scripted-model",
        "provider": {"scripted": provider},
        "permission": {"edit": "ask", "bash": "ask"},
    }
    _write(home / ".config" / "opencode" / "opencode.json", json.dumps(config))
    return {
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    }


def _droid(home: Path, url: str) -> dict[str, str]:
    model = {
        "model": "scripted-model",
        "displayName": "Scripted",
        "baseUrl": f"{url}/v1",
        "apiKey": KEY,
        "provider": "generic-chat-completion-api",
        "maxOutputTokens": 8000,
    }
    chosen = {"model": "custom:Scripted-0"}
    settings = {
        "customModels": [model],
        "sessionDefaultSettings": chosen,
        "enableDroidShield": False,
        **chosen,
    }
    _write(home / ".factory" / "settings.json", json.dumps(settings))
    return {"FACTORY_API_KEY": "fk-scripted-0123456789"}


def _qwen(home: Path, url: str) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "tools": {"approvalMode": "default"},
    }
    _write(home / ".qwen" / "settings.json", json.dumps(settings))
    return {
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_MODEL": "scripted-model",
        # It would start itself again, for more memory than any test needs.
        "QWEN_CODE_NO_RELAUNCH": "true",
    }


def _copilot(home: Path, url: str) -> dict[str, str]:
    return {
        "COPILOT_HOME": str(home / ".copilot"),
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": KEY,
        "COPILOT_MODEL": "scripted-model",
        # Also switches its web tools off, so that a fetch is a command.
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
    }


def _kimi_code(home: Path, url: str) -> dict[str, str]:
    _write(
        home / ".kimi-code" / "config.toml",
        'default_model = "scripted"\n'
        "telemetry = false\n"
        "[providers.scripted]\n"
        'type = "openai"\n'
        f'base_url = "{url}/v1"\n'
        f'api_key = "{KEY}"\n'
        "[models.scripted]\n"
        'provider = "scripted"\n'
        'model = "scripted-model"\n'
        "max_context_size = 200000\n",
    )
    return {"KIMI_CODE_HOME": str(home / ".kimi-code")}


def _cline(home: Path, url: str) -> dict[str, str]:
    provider = {
        "provider": "openai-compatible",
        "apiKey": KEY,
        "model": "scripted-model",
        "baseUrl": f"{url}/v1",
    }
    settings = {
        "version": 1,
        "lastUsedProvider": "openai-compatible",
        "modes": {},
        "providers": {
            "openai-compatible": {
                "settings": provider,
                "updatedAt": "2026-11-16T00:00:00.000Z",
                "tokenSource": "manual",
            }
        },
    }
    _write(home / ".cline" / "data" / "settings" / "providers.json", json.dumps(settings))
    return {
        "CLINE_DIR": str(home / ".cline"),
        "CLINE_API_KEY": KEY,
        "CLINE_PROVIDER": "openai-compatible",
        "CLINE_MODEL": "scripted-model",
    }


def _operable_agent(_: Path, url: str) -> dict[str, str]:
    return {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url}


def _pi(home: Path, url: str) -> dict[str, str]:
    provider = {
        "baseUrl": f"{url}/v1",
        "api": "openai-completions",
        "apiKey": KEY,
        "models": [{"id": "scripted-model"}],
    }
    folder = home / ".pi" / "agent"
    _write(folder / "models.json", json.dumps({"providers": {"scripted": provider}}))
    _write(
        folder / "settings.json",
        json.dumps({"defaultProvider": "scripted", "defaultModel": "scripted-model"}),
    )
    return {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"}


def _vibe(home: Path, url: str) -> dict[str, str]:
    _write(
        home / ".vibe" / "config.toml",
        'active_model = "scripted"\n'
        "enable_telemetry = false\n"
        "enable_update_checks = false\n"
        "enable_auto_update = false\n"
        "[[providers]]\n"
        'name = "scripted"\n'
        f'api_base = "{url}/v1"\n'
        'api_key_env_var = "MISTRAL_API_KEY"\n'
        'backend = "generic"\n'
        "[[models]]\n"
        'name = "scripted-model"\n'
        'provider = "scripted"\n'
        'alias = "scripted"\n',
    )
    return {"VIBE_HOME": str(home / ".vibe"), "MISTRAL_API_KEY": KEY}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _aionrs(_: Path, url: str) -> dict[str, str]:
    return {"BASE_URL": url, "API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}


_SETTINGS = {
    "aionrs": _aionrs,
    "claude-code": _claude_code,
    "cline": _cline,
    "codex": _codex,
    "copilot": _copilot,
    "droid": _droid,
    "gemini": _gemini,
    "goose": _goose,
    "hermes": _hermes,
    "kimi-code": _kimi_code,
    "kilo": _kilo,
    "opencode": _opencode,
    "operable-agent": _operable_agent,
    "pi": _pi,
    "qwen": _qwen,
    "vibe": _vibe,
}
