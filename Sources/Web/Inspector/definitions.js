// The state types of the bus: what they are for, their actions, and which members they compute.

export class Definitions {
	#types = new Map();

	get names() {return [...this.#types.keys()].sort();}

	of(type) {return this.#types.get(type);}

	isComputed(type, member) {
		const computed = this.#types.get(type)?.computed;
		return computed !== undefined && Object.hasOwn(computed, member);
	}

	/** The actions of a type, [name, definition]. */
	actions(type) {return Object.entries(this.#types.get(type)?.actions ?? {});}

	async load(bus) {
		const reply = await bus.request("types");
		this.#types = new Map(reply.types.map(one => [one.type, one]));
	}
}
