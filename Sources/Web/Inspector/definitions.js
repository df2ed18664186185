// The state types of the bus: what they are for, their actions, and which members they compute.

import {normalized} from "./form.js";
import {keysOf} from "./json.js";

export class Definitions {
	#types = new Map();

	get names() {return [...this.#types.keys()].sort();}

	of(type) {return this.#types.get(type);}

	isComputed(type, member) {
		const computed = this.#types.get(type)?.computed;
		return computed !== undefined && Object.hasOwn(computed, member);
	}

	/** What a type says of a member of its states, where it says it: its schema. */
	schema(type, member) {
		const schema = this.#types.get(type)?.state?.[member];
		return schema === undefined ? undefined : normalized(schema);
	}

	/** The members of a state in the order in which its type declares them; others come last. */
	ordered(type, state) {
		const {state: declared, initial, computed} = this.#types.get(type) ?? {};
		const known = [...Object.keys(declared ?? initial ?? {}), ...Object.keys(computed ?? {})];
		return [...known.filter(name => Object.hasOwn(state, name)), ...keysOf(state).filter(name => !known.includes(name))];
	}

	/** The actions of a type, [name, definition]. */
	actions(type) {return Object.entries(this.#types.get(type)?.actions ?? {});}

	async load(bus) {
		const reply = await bus.request("types");
		this.#types = new Map(reply.types.map(one => [one.type, one]));
	}
}
