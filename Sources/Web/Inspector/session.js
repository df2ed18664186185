// Signing in: by the one-time link that fluxbus-web prints, or by a token of the bus; and connecting as who has signed in.

import {users} from "./commits.js";
import {h, replace, setText} from "./dom.js";
import {connect} from "./fluxbus.js";
import {encode, parse} from "./json.js";

const tokenKey = "fluxbus-token";

export class Session {
	signIn = "link";
	signedIn = false;
	bus = "";
	token = sessionStorage.getItem(tokenKey);

	/** Asks fluxbus-web how to sign in, and uses the token of the address if there is one. Throws where it can't be reached. */
	async begin() {
		const match = /^#token=(.+)$/.exec(location.hash);
		if (match) {
			history.replaceState(null, "", location.pathname);
			const problem = await this.redeem(decodeURIComponent(match[1]));
			this.problem = problem;
		}
		await this.look();
	}

	async look() {
		const reply = await fetch("/session", {cache: "no-store"});
		if (!reply.ok) throw new Error(`fluxbus-web answers ${reply.status}.`);
		const {users: named = {}, ...rest} = await reply.json();
		Object.assign(this, rest);
		for (const [uid, name] of Object.entries(named)) users.set(Number(uid), name);
	}

	/** Counters of the last hour as fluxbus-web remembers them, {samples, now}; null where they are not for this user. */
	async remembered() {
		const reply = await fetch("/health", {cache: "no-store", headers: this.signIn === "token" ? {Authorization: `Bearer ${this.token}`} : {}});
		return reply.ok ? parse(await reply.text()) : null;
	}

	/** Sends the token of a link; gives a sentence when it is refused. */
	async redeem(token) {
		const reply = await fetch("/session", {method: "POST", body: token});
		return reply.ok ? null : await reply.text();
	}

	setToken(token) {
		this.token = token;
		if (token) sessionStorage.setItem(tokenKey, token);
		else sessionStorage.removeItem(tokenKey);
	}

	async end() {
		this.setToken(null);
		if (this.signIn === "link") await fetch("/session", {method: "DELETE"}).catch(() => {});
	}

	get isReady() {return this.signIn === "token" ? this.token !== null : this.signedIn;}

	/** A client of the bus, over the WebSocket of this page's server. */
	connect(onStatus) {
		const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/bus`;
		const token = this.signIn === "token" ? this.token : undefined;
		return connect(address, {
			client: "inspector", token, onStatus, json: {parse, stringify: encode},
			connectTimeout: 10_000, keepAlive: 20_000, backOff: [400, 15_000],
		});
	}

	/** Shows the form in `box` until somebody has signed in. */
	ask(box, problem, done) {
		const isToken = this.signIn === "token";
		const input = h("input", {type: "password", id: "sign-in", autocomplete: isToken ? "current-password" : "off", required: true, spellcheck: "false"});
		const answer = h("p.error", {role: "alert"}, problem ?? "");
		const form = h("form.sign-in.pane", {onsubmit: async event => {
			event.preventDefault();
			const text = input.value.trim();
			if (isToken) {
				this.setToken(text);
				return done();
			}
			const refusal = await this.redeem(text.replace(/^.*#token=/, "")).catch(() => "fluxbus-web can’t be reached; is it running?");
			if (refusal) return setText(answer, refusal);
			this.signedIn = true;
			done();
		}},
		h("h1", "Sign in"),
		h("p", isToken ? "This bus asks for a token. It is kept in this tab only." : "Open the link that `fluxbus web` printed, or paste it here. A link works once."),
		h("div.form-field", h("label", {for: "sign-in"}, isToken ? "Token" : "Link"), input),
		answer, h("div.actions", h("button", {type: "submit", class: "primary"}, "Sign in")));
		replace(box, form);
		input.focus();
	}
}
