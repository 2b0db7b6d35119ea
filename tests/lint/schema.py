#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""schema - what `agentbox schema` prints is a schema, takes what agentbox takes, and refuses only
what agentbox refuses.

    schema.py AGENTBOX SOURCE_DIR
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

# The word allow is read without quotes alone, which JSON has not got.
LEAST = {
    "sandbox": {"roots": ["/srv/w"]},
    "permissions": {"agents": {"me": {"allowed_actions": ["read_file", "run_command"], "allowed_roots": ["/srv/w"]}}},
}
RULE = {"operations": ["read"], "paths": ["/srv/w/**"], "mode": "allow"}


def sandbox(**more):
    return {**LEAST, "sandbox": {**LEAST["sandbox"], **more}}


def agent(value):
    return {**LEAST, "permissions": {"agents": {"me": value}}}


GOOD = [
    LEAST,
    {"version": 1, "extends": ["builtin:default"]},
    sandbox(base="minimal"),
    sandbox(base={"from": "host", "add": ["/srv/tools"]}),
    sandbox(roots=["/srv/w", {"path": "/srv/x", "at": "/x", "mode": "ro", "optional": True}]),
    sandbox(scratch={"size": "64M", "files": 4096}, limits={"timeout": "30s", "output": "1M"}),
    sandbox(env={"pass": ["LANG"], "set": {"A": "b", "N": 1}}, commands=["git"], hostname="box"),
    sandbox(network="none", syscalls={"preset": "strict", "deny": ["kcmp"]}, nested_sandboxes=False),
    agent({"rules": [RULE]}),
    agent({"allowed_actions": ["read_file"], "allowed_roots": ["/srv/w"]}),
    {**LEAST, "tests": [{"action": "ls", "resource": "/srv/w", "decision": "allow"}]},
    {**LEAST, "tests": [{"action": "run_command", "resource": ["a", "b"], "decision": "allow"}]},
    {**LEAST, "audit": {"to": ["file", "stderr", "fd:7"], "rotate": "1M"}},
    {**LEAST, "params": {"x": {"type": "word", "default": "a"}}},
]
BAD = [
    [],
    {**LEAST, "audit": {"to": ["syslog"]}},
    {**LEAST, "audit": {"to": ["fd:0"]}},
    {**LEAST, "audit": {"rotate": "64"}},
    {**LEAST, "version": 2},
    {**LEAST, "sandbx": {}},
    {**LEAST, "extends": "builtin:default"},
    sandbox(netwrok="none"),
    sandbox(unix_sockets="open"),
    sandbox(roots="/srv/w"),
    sandbox(roots=[{"at": "/x"}]),
    sandbox(roots=[{"path": "/srv/x", "mode": "rwx"}]),
    sandbox(scratch={"size": "64"}),
    sandbox(scratch={"files": "many"}),
    sandbox(limits={"timeout": 30}),
    sandbox(nested_sandboxes="yes"),
    agent(["allow"]),
    agent("deny"),
    agent({"rules": [{**RULE, "mode": "permit"}]}),
    agent({"rules": [{k: v for k, v in RULE.items() if k != "mode"}]}),
    {**LEAST, "tests": [{"action": "ls", "resource": "/srv/w"}]},
    {**LEAST, "tests": [{"action": "ls", "resource": "/srv/w", "decision": "maybe"}]},
    {**LEAST, "params": {"x": {"mandatory": True}}},
]

TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
}
KNOWN = {"type", "const", "enum", "anyOf", "not", "pattern", "minimum", "items", "properties", "required",
         "additionalProperties", "description", "title", "$schema"}


def valid(schema, value):
    """The part of JSON Schema that is used; another keyword is an error."""
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(TYPES[kind](value) for kind in kinds):
        return False
    if "const" in schema and (schema["const"] != value or isinstance(schema["const"], bool) != isinstance(value, bool)):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "anyOf" in schema and not any(valid(one, value) for one in schema["anyOf"]):
        return False
    if "not" in schema and valid(schema["not"], value):
        return False
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        return False
    if "minimum" in schema and isinstance(value, (int, float)) and value < schema["minimum"]:
        return False
    if isinstance(value, list):
        return all(valid(schema.get("items", {}), one) for one in value)
    if isinstance(value, dict):
        rest = schema.get("additionalProperties", {})
        if not set(schema.get("required", [])) <= set(value):
            return False
        for key, one in value.items():
            below = schema.get("properties", {}).get(key, rest)
            if below is False or not valid(below, one):
                return False
    return True


def main():
    agentbox, source = sys.argv[1], pathlib.Path(sys.argv[2])
    schema = json.loads(subprocess.run([agentbox, "schema"], capture_output=True, check=True).stdout)
    bad = 0

    def fault(text):
        nonlocal bad
        print(text)
        bad += 1

    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "p.yaml"
        for value, want in [(v, True) for v in GOOD] + [(v, False) for v in BAD]:
            text = json.dumps(value)
            path.write_text(text)
            done = subprocess.run([agentbox, "lint", str(path)], capture_output=True, text=True)
            if (done.returncode == 0) != want:
                fault(f"agentbox says {done.returncode} {done.stderr.strip()}: {text}")
            if valid(schema, value) != want:
                fault(f"the schema says {not want}: {text}")
    # With another library, where it is there: whatever loads is valid.
    try:
        import yaml
    except ImportError:
        yaml = None
        print("no yaml for Python: the profiles of the source are not tried")
    for file in [*source.glob("profiles/*.yaml"), *source.glob("tests/profiles/good/*.yaml")] if yaml else []:
        if not valid(schema, yaml.safe_load(file.read_text())):
            fault(f"{file.name} loads and is not valid")
    print(f"schema: {len(GOOD) + len(BAD)} profiles, {bad} found")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
