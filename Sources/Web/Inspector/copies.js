// A commit as others would make it again: on the command line, on the wire, over HTTP, and as a test of its type.

import {encode, isEqual, keysOf} from "./json.js";

/** A text as one word of a shell. */
const quoted = text => /^[\w@%+:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
const hasMembers = value => value !== undefined && value !== null && Object.keys(value).length > 0;
const action = ({store, type, action: name, payload}) => ({...store ? {store} : {type}, action: name, ...hasMembers(payload) && {payload}});

/** The requests that make up a commit; those of a batch are one. Empty where a commit can't be asked for. */
function requestsOf(commit) {
	if (commit.reverted) return [{op: "revert", store: commit.reverted.store, revision: commit.reverted.to}];
	if (commit.steps) {
		const actions = (commit.actions ?? []).map(action);
		return commit.steps.flatMap(step => typeof step === "number" ? actions.splice(0, step)
			: [step.op === "create" ? {...step, state: step.state ?? commit.created[step.store]} : step]);
	}
	const creates = Object.entries(commit.created ?? {}).map(([store, state]) => ({op: "create", store, state}));
	const drops = (commit.dropped ?? []).map(store => ({op: "drop", store}));
	return [...creates, ...(commit.actions ?? []).map(action), ...drops];
}

/** [name, text] for each way in which a commit can be made again. `changes` are the stores that it changed, with their states. */
export function copiesOf(commit, changes, definitions, base) {
	const requests = requestsOf(commit);
	if (requests.length === 0) return [];
	const lines = requests.map(request => encode(request));
	const line = requests.length === 1 ? encode({op: "dispatch", ...requests[0]}) : encode({op: "dispatch", actions: requests});
	const copies = [["Command", command(requests, lines)], ["JSON line", line]];
	const http = curl(requests, base), test = testOf(commit, changes, definitions);
	if (http) copies.push(["curl", http]);
	if (test) copies.push(["Test", test]);
	return copies;
}

function command(requests, lines) {
	if (requests.length > 1) return `printf '%s\\n' ${lines.map(quoted).join(" ")} | fluxbus dispatch --atomic -`;
	const [{op = "dispatch", store, type, action, payload, state, revision}] = requests;
	const words = op === "revert" ? [store, "--to", String(revision)]
		: op === "create" ? [store, hasMembers(state) && encode(state)]
		: op === "drop" ? [store] : [store ?? type, action, payload && encode(payload)];
	return ["fluxbus", op, ...words.filter(word => word).map(quoted)].join(" ");
}

function curl(requests, base) {
	const words = ["curl", "-H", `"Authorization: Bearer $TOKEN"`], [{op, store, type, action, payload, state}] = requests;
	if (op === "revert") return null;
	if (requests.length > 1) words.push("-d", quoted(encode({actions: requests})), quoted(`${base}/v1/dispatch`));
	else if (op === "create") words.push("-X", "PUT", "-d", quoted(encode(state)), quoted(`${base}/v1/stores/${store}`));
	else if (op === "drop") words.push("-X", "DELETE", quoted(`${base}/v1/stores/${store}`));
	else words.push("-d", quoted(encode(payload ?? {})), quoted(`${base}/v1/dispatch/${store ?? type}/${action}`));
	return words.join(" ");
}

/** A test for the type's file, of the first store that the commit's actions reached. */
function testOf(commit, changes, definitions) {
	const {actions = [], created, dropped} = commit;
	if (actions.length === 0 || created || dropped) return null;
	const store = actions.find(one => one.store)?.store ?? changes[0]?.address;
	const type = store?.slice(0, store.indexOf("/")), definition = definitions.of(type), change = changes.find(one => one.address === store);
	// Without a change the state before it is not at hand.
	if (!definition || !change?.new || actions.some(one => one.store !== store && one.type !== type)) return null;
	const steps = actions.map(({action: name, payload}) => ({action: name, ...hasMembers(payload) && {payload}}));
	const test = [`name: ${encode(`as at revision ${commit.revision}`)}`, `time: ${commit.time}`];
	if (commit.by?.uid !== undefined) test.push(`uid: ${commit.by.uid}`);
	const {old = {}, new: now} = change, own = keysOf(old).filter(key => !definitions.isComputed(type, key));
	if (own.length > 0) test.push(`given: ${encode(Object.fromEntries(own.map(key => [key, old[key]])))}`);
	test.push(`dispatch: ${steps.length === 1 && !steps[0].payload ? steps[0].action : encode(steps.length === 1 ? steps[0] : steps)}`);
	const changed = [...new Set([...keysOf(old), ...keysOf(now)])].filter(key => !isEqual(old[key], now[key]));
	test.push(`state: ${encode(Object.fromEntries(changed.map(key => [key, now[key] ?? null])))}`);
	return `type: ${type}\ntests:\n  - ${test.join("\n    ")}\n`;
}
