// The way back from a commit: the stores that it changed are as they were before it, unless something came after it.

import {pathText, readChanges, whoOf} from "./commits.js";
import {count, foreign, h, replace, sentence} from "./dom.js";
import {differences, pointerOf} from "./json.js";

/** How many stores a commit that can be undone may have changed at most. */
const most = 100;

/** Why a commit is not undone. */
class Refusal extends Error {}

/** What came after the commit that left `one` as it was then: the place, and who changed it when. */
async function laterChange(app, {address, new: left}) {
	const now = (await app.bus.request("get", {match: address})).states[address];
	if (now === undefined) return `${address} has been dropped since.`;
	const [later] = differences(left, now);
	if (!later) return `${address} has changed since, and changed back.`;
	const {values} = await app.past().request("blame", {store: address, path: pointerOf(later.path)});
	const commit = values[0]?.commit;
	return `${pathText(later.path)} of ${address} changed again${commit ? ` in revision ${commit.revision}, by ${whoOf(commit.by) || "somebody else"}` : ""}.`;
}

/** Undoes a commit: {stores, revision}, the number of stores and the last of the new commits. Throws why it does not. */
async function undo(app, revision) {
	// Nor is it done later than somebody wants it.
	app.now();
	const past = app.past();
	const {commits} = await past.request("history", {since: revision - 1, until: revision, limit: 1});
	if (commits.length === 0) throw new Refusal("The log no longer has this commit.");
	const {stores, isCut} = await readChanges(past, commits[0], app.definitions, most);
	if (isCut || stores.length > most) throw new Refusal(`This commit may have changed more than ${most} stores; revert those that matter in Time.`);
	if (stores.length === 0) throw new Refusal("This commit changed nothing.");
	// All are looked at before the first goes back.
	for (const one of stores) {
		const found = (await app.now().request("stores", {match: one.address})).stores[0];
		const isSame = one.new === undefined ? !found : found?.revision === revision;
		if (!isSame) throw new Refusal(one.new === undefined ? `${one.address} has been created again since.` : await laterChange(app, one));
	}
	let last = 0, done = 0;
	for (const one of stores) {
		const {address, old, new: left} = one;
		try {
			const bus = app.now();
			const reply = left === undefined ? await bus.request("create", {store: address, state: old})
				: old === undefined ? await bus.request("drop", {store: address, ifRevision: revision})
				: await bus.request("revert", {store: address, revision: revision - 1, ifRevision: revision});
			last = reply.revision;
			done++;
		} catch (error) {
			const reason = error.code === "conflict" ? await laterChange(app, one) : sentence(error);
			throw new Refusal(done === 0 ? reason : `${reason} ${count(done)} of ${count(stores.length, "store")} had been reverted already.`);
		}
	}
	return {stores: done, revision: last};
}

/** A button that undoes a commit; `tell` is given the sentence about what came of it, and the revision since where one commit did it. */
export function undoButton(app, revision, tell) {
	const button = h("button", {onclick: async () => {
		button.disabled = true;
		try {
			const undone = await undo(app, revision);
			tell(`Undone in revision ${undone.revision}: ${undone.stores === 1 ? "the store is as it was" : `${count(undone.stores, "store")} are as they were`} before revision ${revision}.`, undone.stores === 1 ? undone.revision : undefined);
		} catch (error) {
			tell(`Not undone: ${error instanceof Refusal ? error.message : sentence(error)}`);
		}
	}}, "Undo");
	return button;
}

/** The same in a line that says below what came of it. */
export function undoLine(app, revision) {
	const line = h("div.actions", {role: "status"});
	const offer = (revision, label) => {
		const button = undoButton(app, revision, (text, again) => replace(line, h("p", foreign(text)), again !== undefined && offer(again, "Undo that")));
		button.textContent = label;
		return button;
	};
	line.append(offer(revision, "Undo"));
	return line;
}
