"""The small policy of this folder's README, in Python."""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import zerto
from wit_world.imports.types import (
    Call,
    Observation,
    Outcome,
    SessionEvent,
    Verdict,
    Verdict_Ask,
    Verdict_Deny,
    Verdict_Pass,
)

SERVER = "mcp__esxi__"
READ = {"listVMs", "vmStats"}
CHANGE = {"deleteVM", "powerOff", "powerOn"}
# Statuses of a VPG that is protected, whether it meets its aims or not.
READY = {1, 2, 3, 4}
# No tool has arguments that nest deeper.
DEEPEST = 64


class Policy(exports.Policy):
    def before(self, call: Call) -> Verdict:
        if not call.tool.startswith("mcp__"):
            return Verdict_Pass(None)
        tool = call.tool.removeprefix(SERVER)
        if tool in READ:
            return Verdict_Pass(None)
        if tool not in CHANGE:
            return Verdict_Ask(f"nobody knows what {call.tool} does")
        name = machine(call)
        if name is None:
            return Verdict_Ask(f"{call.tool} names no machine")
        try:
            rows = find(name)
        except Err as error:
            return Verdict_Deny(f"Zerto could not be asked for {name}: {words(error.value)}")
        return judge(name, rows) or capture(call, rows)

    def after(self, call: Call, outcome: Outcome) -> Observation:
        return Observation(None, "{}")

    def session(self, event: SessionEvent) -> Observation:
        return Observation(None, "{}")


def machine(call: Call) -> str | None:
    # Python's parser goes as deep as the text does, and the sandbox's stack does not.
    if depth(call.arguments) > DEEPEST:
        return None
    try:
        arguments = json.loads(call.arguments)
        name = arguments.get("name") if isinstance(arguments, dict) else None
        # Half a pair of surrogates is JSON and no text.
        return name if isinstance(name, str) and name.encode().strip() else None
    except ValueError:
        return None


def depth(text: str) -> int:
    """How deep a text nests, or more: brackets inside strings count too."""
    deepest = now = 0
    for letter in text:
        if letter in "[{":
            now += 1
            deepest = max(deepest, now)
        elif letter in "]}":
            now -= 1
    return deepest


def find(name: str) -> list[zerto.VmRow]:
    # The server ignores filters that it does not know, so what comes back is compared again.
    rows = [row for row in zerto.find_vms_by_name(name) if row.vm_name.lower() == name.lower()]
    if rows:
        return rows
    return [row for row in zerto.find_vms_by_identifier(name) if row.vm_identifier.lower() == name.lower()]


def judge(name: str, rows: list[zerto.VmRow]) -> Verdict | None:
    if not rows:
        return Verdict_Ask(f"Zerto knows no VM {name}")
    if len({row.vm_identifier.lower() for row in rows}) > 1:
        return Verdict_Ask(f"the name {name} fits several VMs")
    here = [row for row in rows if row.vm_exists and row.direction != zerto.Direction.RECOVERED_HERE]
    if not here:
        return Verdict_Ask(f"Zerto has nothing here to rewind {name} with")
    if len(here) < len(rows) or any(row.status not in READY or row.sub_status for row in rows):
        return Verdict_Deny(f"a checkpoint of {name} cannot be taken in every VPG")
    return None


def capture(call: Call, rows: list[zerto.VmRow]) -> Verdict:
    vpgs = list(dict.fromkeys(row.vpg_identifier for row in rows))
    tag = f"{call.harness} {call.call_id[-8:]} {call.nonce} {call.tool.removeprefix(SERVER)}"
    results = zerto.capture(vpgs, tag)
    if [result.vpg_identifier for result in results] != vpgs:
        return Verdict_Deny("the results do not belong to the VPGs that were asked for")
    for result in results:
        if isinstance(result.outcome, Err):
            return Verdict_Deny(f"no checkpoint in {result.vpg_identifier}: {words(result.outcome.value)}")
        if not result.outcome.value.identifier:
            return Verdict_Deny(f"the checkpoint in {result.vpg_identifier} has no identifier")
    taken = ", ".join(
        f"{result.outcome.value.identifier} ({result.outcome.value.tag}) in {result.vpg_identifier}"
        for result in results
    )
    return Verdict_Pass(f"Zerto took a checkpoint of {rows[0].vm_name} before this call: {taken}")


def words(error: zerto.Error) -> str:
    kind = type(error).__name__.removeprefix("Error_")
    return f"{kind} {getattr(error, 'value', '')}".strip()
