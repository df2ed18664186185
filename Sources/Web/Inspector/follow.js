// A mirror of the client library, told as events: first what is there, then each change.

/**
 * Calls `take` with a change that stands for everything, and then with every change, until `close()` of what it returns;
 * `fail` with why there are none, or none any more.
 */
export function follow(bus, target, options, take, fail) {
	let mirror = null, isOver = false;
	const run = async () => {
		mirror = await bus.mirror(target, options);
		if (isOver) return mirror.close();
		const changes = mirror.changes();
		take({revision: mirror.revision, states: new Map(mirror), dropped: new Set(), reset: true});
		for await (const change of changes) {
			if (isOver) return;
			take(change);
		}
	};
	run().catch(error => isOver || fail(error));
	return {
		close() {
			isOver = true;
			mirror?.close();
		},
	};
}

/** The states that a change makes of earlier ones, told store by store as `tell(address, old, new)`; undefined where none is. */
export function apply(change, states, tell) {
	const gone = change.reset ? [...states.keys()].filter(address => !change.states.has(address)) : change.dropped;
	for (const address of gone) {
		tell(address, states.get(address), undefined);
		states.delete(address);
	}
	for (const [address, state] of change.states) {
		tell(address, states.get(address), state);
		states.set(address, state);
	}
}
