// The conformance driver of the JavaScript client.
import {createInterface} from "node:readline";
import {connect} from "../../../../Sources/Clients/JavaScript/fluxbus.js";

const mirrors = new Map(), changes = new Map(), actions = new Map();
let bus;

const shown = ({revision, duplicate = false}) => ({revision, duplicate});
const tuples = list => list.map(({target, action, payload = {}}) => [target, action, payload]);
/** JSON has integers of any size; only JavaScript's own writer does not. */
const text = value => JSON.stringify(value, (_, part) => typeof part === "bigint" ? `\u0000${part}` : part)
	.replaceAll(/"\\u0000(-?\d+)"/g, "$1");

const commands = {
	async connect({address, options: {linger, patience = 0} = {}}) {
		bus = await connect(address, {linger, patience: patience * 1000, backOff: [1, 10]});
	},
	async dispatch({target, action, payload, traceparent}) {
		return shown(await bus.dispatch(target, action, payload, {traceparent}));
	},
	async batch({actions, traceparent}) { return shown(await bus.batch(tuples(actions), {traceparent})); },
	async create({target}) { return shown(await bus.create(target)); },
	async drop({target, where}) { return shown(await bus.drop(target, {where})); },
	async get({target}) { return await bus.get(target); },
	async request({op, members}) { await bus.request(op, members); },
	async will({actions}) { await bus.will(tuples(actions)); },
	async mirror({name, target, where, cause}) {
		mirrors.set(name, await bus.mirror(target, {where, cause}));
		changes.set(name, mirrors.get(name).changes());
	},
	async until({name, revision}) {
		while (mirrors.get(name).revision < revision) await changes.get(name).next();
		return Object.fromEntries(mirrors.get(name));
	},
	async states({name}) { return Object.fromEntries(mirrors.get(name)); },
	async changes({name, count}) {
		const taken = [];
		while (taken.length < count) {
			const {value: {revision, cause}} = await changes.get(name).next();
			taken.push({revision, cause});
		}
		return taken;
	},
	async ended({name}) { for await (const _ of changes.get(name)); },
	async actions({name, target}) { actions.set(name, await bus.actions(target)); },
	async take({name, count}) {
		const taken = [];
		while (taken.length < count) {
			const {value: {gap, revision, target, action, result, results, traceparent}} = await actions.get(name).next();
			taken.push(gap ? {gap: revision} : {target, action, result, results, traceparent});
		}
		return taken;
	},
	async close({timeout = 5}) { await bus.close({timeout: timeout * 1000}); },
};

const input = createInterface({input: process.stdin});
input.on("line", async line => {
	const {call, ...command} = JSON.parse(line);
	try {
		process.stdout.write(`${text({call, value: await commands[command.do](command) ?? null})}\n`);
	} catch (error) {
		process.stdout.write(`${text({call, error: error.code ?? String(error.stack), message: error.message})}\n`);
	}
});
// What nobody waits for any more must not keep the program.
input.on("close", () => process.exit(0));
