// The small policy of this folder's README, in JavaScript.

import { capture, findVmsByIdentifier, findVmsByName } from "holdpoint:policy/zerto@0.1.0";

const SERVER = "mcp__esxi__";
const READ = ["listVMs", "vmStats"];
const CHANGE = ["deleteVM", "powerOff", "powerOn"];
// Statuses of a VPG that is protected, whether it meets its aims or not.
const READY = [1, 2, 3, 4];

const pass = (note) => ({ tag: "pass", val: note });
const ask = (reason) => ({ tag: "ask", val: reason });
const deny = (reason) => ({ tag: "deny", val: reason });
const nothing = () => ({ note: undefined, facts: "{}" });
const same = (one, other) => one.toLowerCase() === other.toLowerCase();

export const policy = {
  before(call) {
    if (!call.tool.startsWith("mcp__")) return pass();
    const tool = call.tool.startsWith(SERVER) ? call.tool.slice(SERVER.length) : call.tool;
    if (READ.includes(tool)) return pass();
    if (!CHANGE.includes(tool)) return ask(`nobody knows what ${call.tool} does`);
    const name = machine(call);
    if (name === undefined) return ask(`${call.tool} names no machine`);
    let rows;
    try {
      rows = find(name);
    } catch (error) {
      // What is no answer of Zerto's is a fault of this policy, and none of ours to hide.
      if (error?.payload?.tag === undefined) throw error;
      return deny(`Zerto could not be asked for ${name}: ${words(error.payload)}`);
    }
    return judge(name, rows) ?? captured(call, tool, rows);
  },
  after: nothing,
  session: nothing,
};

function machine(call) {
  let parsed;
  try {
    parsed = JSON.parse(call.arguments);
  } catch {
    return undefined;
  }
  const name = parsed?.name;
  return typeof name === "string" && name.trim() !== "" ? name : undefined;
}

function find(name) {
  // The server ignores filters that it does not know, so what comes back is compared again.
  const rows = findVmsByName(name).filter((row) => same(row.vmName, name));
  if (rows.length > 0) return rows;
  return findVmsByIdentifier(name).filter((row) => same(row.vmIdentifier, name));
}

function judge(name, rows) {
  if (rows.length === 0) return ask(`Zerto knows no VM ${name}`);
  if (!rows.every((row) => same(row.vmIdentifier, rows[0].vmIdentifier))) {
    return ask(`the name ${name} fits several VMs`);
  }
  const here = rows.filter((row) => row.vmExists && row.direction !== "recovered-here");
  if (here.length === 0) return ask(`Zerto has nothing here to rewind ${name} with`);
  const ready = rows.every((row) => READY.includes(row.status) && row.subStatus === 0);
  if (here.length < rows.length || !ready) return deny(`a checkpoint of ${name} cannot be taken in every VPG`);
  return undefined;
}

function captured(call, tool, rows) {
  const vpgs = [...new Set(rows.map((row) => row.vpgIdentifier))];
  const results = capture(vpgs, `${call.harness} ${call.callId.slice(-8)} ${call.nonce} ${tool}`);
  if (results.length !== vpgs.length || results.some((result, at) => result.vpgIdentifier !== vpgs[at])) {
    return deny("the results do not belong to the VPGs that were asked for");
  }
  for (const { vpgIdentifier, outcome } of results) {
    if (outcome.tag === "err") return deny(`no checkpoint in ${vpgIdentifier}: ${words(outcome.val)}`);
    if (outcome.val.identifier === "") return deny(`the checkpoint in ${vpgIdentifier} has no identifier`);
  }
  const taken = results.map(
    ({ vpgIdentifier, outcome }) => `${outcome.val.identifier} (${outcome.val.tag}) in ${vpgIdentifier}`,
  );
  return pass(`Zerto took a checkpoint of ${rows[0].vmName} before this call: ${taken.join(", ")}`);
}

function words(error) {
  return error.val === undefined ? error.tag : `${error.tag} ${error.val}`;
}
