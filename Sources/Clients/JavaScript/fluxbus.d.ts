/** Any JSON value. Integers beyond 2^53 are `bigint`, both ways. */
export type JSONValue = null | boolean | number | bigint | string | JSONValue[] | {[name: string]: JSONValue};
export type State = {readonly [name: string]: any};
export type Payload = {readonly [name: string]: unknown};

/** Target, action and perhaps a payload; a target is a store such as `counter/kitchen`, or a type: every store of it. */
export type ActionOf = readonly [target: string, action: string, payload?: Payload];

/** An expression: text, or an object of JsonLogic. */
export type Condition = string | {readonly [operator: string]: unknown};

/** What a store must be like, else nothing is committed: a `conflict`. */
export interface Conditions {
	readonly ifRevision?: number;
	/** Holds for its state. */
	readonly if?: Condition;
}

/** An element of a batch: an action, or a store that is created or dropped, as the protocol has it. */
export type Step = ActionOf
	| {readonly op?: "dispatch", readonly action: string, readonly store: string, readonly payload?: Payload} & Conditions
	| {readonly op?: "dispatch", readonly action: string, readonly type: string, readonly payload?: Payload, readonly where?: Condition}
	| {readonly op: "create", readonly store: string, readonly state?: Payload} & Omit<CreateOptions, keyof RequestOptions | "key">
	| {readonly op: "drop", readonly store: string} & Conditions
	| {readonly op: "drop", readonly type: string, readonly where: Condition};

/** An action with its target, as the functions of printed code make it. */
export type ActionRequest = {readonly op: "dispatch", readonly action: string, readonly payload: object}
	& ({readonly store: string} | {readonly type: string});

/** What printed code says of a state type: its name, its states and its actions. */
export interface StateType {
	readonly type: string;
	readonly state: object;
	readonly action: {readonly action: string, readonly payload: object};
}

/** The payload of an action; one without members that have to be there may be left out. */
export type PayloadOf<T extends StateType, A> = Extract<T["action"], {readonly action: A}>["payload"];
export type Arguments<P> = {} extends P
	? [payload?: P, options?: DispatchOptions] : [payload: P, options?: DispatchOptions];

/** One store, or every store of a type: `bus.store<CounterType>("counter/kitchen")`. */
export interface Store<T extends StateType> {
	readonly target: string;
	/** Commits an action, exactly once. */
	dispatch<A extends T["action"]["action"]>(action: A, ...payload: Arguments<PayloadOf<T, A>>): Promise<Reply>;
	/** The state of the one store. */
	get(options?: ReadOptions): Promise<T["state"]>;
	/** A mirror of it, once it has the states. */
	mirror(options?: MirrorOptions): Promise<Mirror<T["state"]>>;
}

/**
 * A refusal of the bus, or a failure on the way to it. Besides the codes of the protocol `code` may be `invalid_address`,
 * `unreachable`, `untrusted`, `timed_out`, `closed`, `outcome_unknown` or `unexpected_reply`.
 */
export class BusError extends Error {
	constructor(code: string, message: string, details?: {[name: string]: any});
	readonly code: string;
	/** The further members of the bus's error. */
	readonly details: {readonly [name: string]: any};
}

/** There is no connection, or it was lost: `unreachable`, `untrusted`, `closed`, `outcome_unknown`. */
export class BusConnectionError extends BusError {}
/** `timed_out`. */
export class BusTimeoutError extends BusError {}

export interface Reply {
	readonly revision: number;
	readonly matched?: number;
	readonly changed?: number;
	/** What the action returns of the one store it was for, and of others by their addresses. */
	readonly result?: any;
	readonly results?: {readonly [store: string]: any};
	readonly duplicate?: boolean;
	readonly [name: string]: any;
}

/** What a mirror has become. After a `reset` it stands for everything: what is not in `states` is gone. */
export interface Change<S = State> {
	readonly revision: number;
	/** States that are new or different, by address. */
	readonly states: ReadonlyMap<string, S>;
	readonly dropped: ReadonlySet<string>;
	readonly reset: boolean;
	/** How many commits are merged in it. */
	readonly coalesced: number;
	/** What caused it, where the mirror was asked for causes and the change is one commit. */
	readonly cause?: {
		readonly actions: readonly any[];
		readonly by: {readonly [name: string]: any};
		readonly time: number;
		readonly traceparent?: string;
	};
}

export interface Action {
	readonly gap: false;
	readonly revision: number;
	/** A store's address, or a type. */
	readonly target: string;
	readonly action: string;
	readonly payload: {readonly [name: string]: any};
	readonly by: {readonly [name: string]: any};
	/** In seconds since 1970. */
	readonly time: number;
	/** What it returned where the target is a store, and by the stores' addresses where it is a type. */
	readonly result?: any;
	readonly results?: {readonly [store: string]: any};
	/** The place of its dispatch in a trace (W3C Trace Context). */
	readonly traceparent?: string;
}

/** Actions up to and with this revision may be missing. */
export interface Gap {
	readonly gap: true;
	readonly revision: number;
}

/** The states of all stores that match, by address, kept as they are on the bus; a state that it gives is never changed later. */
export interface Mirror<S = State> extends AsyncIterable<Change<S>>, ReadonlyMap<string, S> {
	/** That of the last event. */
	readonly revision: number;
	/** Why nothing more comes, if the bus has ended it. */
	readonly error: BusError | undefined;
	/**
	 * Every change from now on; a consumer that falls 1,000 behind gets the rest as one, a `reset`. Iterations share their changes.
	 * `for await (… of mirror)` is the same.
	 */
	changes(): AsyncIterableIterator<Change<S>>;
	close(): void;
}

/** What ends the wait; whether the request was committed is unknown then. */
export interface RequestOptions {
	/** Gives it up: the promise rejects with the signal's reason. */
	signal?: AbortSignal;
	/** In milliseconds, instead of that of the bus; then it is `timed_out`. */
	timeout?: number;
}

/** Those of what commits exactly once. */
export interface KeyOptions extends RequestOptions {
	/** A key of one's own, at most 128 bytes; without it every request has a fresh one. */
	key?: string;
}

export interface DispatchOptions extends KeyOptions, Conditions {
	/** With a type: only to the stores for which it holds. */
	where?: Condition;
	/** The reply tells what has changed. */
	return?: "changes" | "states";
	/** Later: seconds, or a text such as `"5m"`. */
	in?: number | string;
	/** Later: seconds since 1970. */
	at?: number;
	timer?: string;
	/** Its place in a trace (W3C Trace Context), which goes along into events, the log and what follows. */
	traceparent?: string;
	dryRun?: boolean;
}

export interface CreateOptions extends KeyOptions {
	ephemeral?: boolean;
	ifMissing?: boolean;
	ttl?: number | string | null;
}

export interface ReadOptions extends RequestOptions {
	/** Only stores for which it holds. */
	where?: Condition;
	/** JSON Pointers: all else is left out. */
	select?: readonly string[];
}

export interface MirrorOptions extends RequestOptions {
	/** Only stores for which it holds now. */
	where?: Condition;
	/** JSON Pointers: all else is left out. */
	select?: readonly string[];
	/** Whether changes tell their cause (false). */
	cause?: boolean;
}

export interface ActionsOptions extends RequestOptions {
	/** Only those on stores for which it holds before or after. */
	where?: Condition;
}

/** How it is with the connection. After `closed` there is none any more. */
export interface Status {
	readonly phase: "connecting" | "live" | "lost" | "closed";
	/** Why the last connection ended, or why there was none. */
	readonly error?: BusError;
	/** When the next attempt begins, in milliseconds since 1970. */
	readonly retryAt?: number;
}

export class Bus {
	private constructor();
	readonly connected: boolean;
	readonly status: Status;
	/** The newest revision that this client has heard of. */
	readonly revision: number;
	/** What the bus said of itself at the last connection. */
	readonly greeting: {readonly [name: string]: any};
	/** Commits an action now or later, exactly once. */
	dispatch(target: string, action: string, payload?: Payload, options?: DispatchOptions): Promise<Reply>;
	dispatch(action: ActionOf | ActionRequest, options?: DispatchOptions): Promise<Reply>;
	/** Several actions as one commit, and stores that come and go with it. */
	batch(actions: Iterable<Step | ActionRequest>, options?: Pick<DispatchOptions, "key" | "dryRun" | "return" | "traceparent" | keyof RequestOptions>): Promise<Reply>;
	create(address: string, state?: Payload, options?: CreateOptions): Promise<Reply>;
	/** One store; or, with `where`, the stores of a type for which it holds. */
	drop(target: string, options?: Conditions & {where?: Condition} & KeyOptions): Promise<Reply>;
	/** The state of one store. */
	get<S = State>(address: string, options?: ReadOptions): Promise<S>;
	/** All states that match, by address. */
	states<S = State>(target: string, options?: ReadOptions): Promise<Map<string, S>>;
	/** Leaves actions for the end of this client: the bus dispatches them, however it ends. */
	will(actions: Iterable<ActionOf | ActionRequest>, options?: RequestOptions): Promise<void>;
	/** One store, or every store of a type, with its states and actions as printed code has them. */
	store<T extends StateType>(target: T["type"] | `${T["type"]}/${string}`): Store<T>;
	/** Any request of the protocol. */
	request(op: string, body?: {readonly [name: string]: unknown}, options?: RequestOptions): Promise<any>;
	/** A mirror of all stores that match, once it has their states. */
	mirror<S = State>(target: string, options?: MirrorOptions): Promise<Mirror<S>>;
	/** Actions as they are committed, for `for await`. */
	actions(target: string, options?: ActionsOptions): Promise<AsyncIterableIterator<Action | Gap>>;
	/** Makes the next attempt at once, where one is waited for. */
	reconnect(): void;
	/** Leaves once every request is answered, or after the timeout (5,000 ms). */
	close(options?: {timeout?: number}): Promise<void>;
}

export interface ConnectOptions {
	/** What this program calls itself. */
	client?: string;
	/** Who this is, beyond this machine; `$FLUXBUS_TOKEN` without it. */
	token?: string;
	/** Options of Node's `tls.connect`: `ca`, `cert`, `key`. */
	tls?: {readonly [name: string]: unknown};
	/** How many seconds the bus keeps will and ephemeral stores of a lost connection. */
	linger?: number | string;
	/** The session's name; a random one without it. */
	session?: string;
	/** How many milliseconds a request may take (as long as it takes). */
	timeout?: number;
	/** In milliseconds (5,000). */
	connectTimeout?: number;
	/** For how many milliseconds the first connection is tried (0: one attempt). */
	patience?: number;
	/** After so many milliseconds of silence the connection is asked whether it is one (30,000). */
	keepAlive?: number;
	/** The first and the longest wait before reconnecting, in milliseconds (50, 10,000). */
	backOff?: readonly [first: number, longest: number];
	/** Called with every change of `status`. */
	onStatus?: (status: Status) => void;
	/** Reads and writes the wire's JSON: for programs that need other values than numbers and `bigint`s. */
	json?: {parse(text: string): any, stringify(value: any): string};
}

/** The state that a JSON Merge Patch (RFC 7396), such as one of a dry run's `changes`, makes of a state, which stays as it is. */
export function merge(state: any, patch: any): any;

/** Connects to `unix:/path`, `tcp:HOST:PORT`, `tls:HOST:PORT` (Node), or `wss://HOST/bus` (browsers). Several, in an array or between commas, are the members of one bus. One attempt, or as many as `patience` allows. */
export function connect(address?: string | URL | readonly (string | URL)[], options?: ConnectOptions): Promise<Bus>;
