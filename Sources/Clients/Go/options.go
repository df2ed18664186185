package fluxbus

import (
	"crypto/tls"
	"time"
)

// An Option says how Connect connects.
type Option func(*options)

type options struct {
	client, token, session            string
	linger, patience, attempt, silent time.Duration
	firstWait, longestWait            time.Duration
	tls                               *tls.Config
	log                               func(format string, values ...any)
}

// WithClient says what this program calls itself.
func WithClient(name string) Option { return func(o *options) { o.client = name } }

// WithToken says who this is beyond this machine; without it $FLUXBUS_TOKEN does.
func WithToken(token string) Option { return func(o *options) { o.token = token } }

// WithTLS says whom to trust at tls:HOST:PORT, and perhaps holds a certificate of this program's; without it the system's
// authorities are trusted.
func WithTLS(config *tls.Config) Option { return func(o *options) { o.tls = config } }

// WithLinger has the bus keep the will and the ephemeral stores of this program for so long after a lost connection.
func WithLinger(linger time.Duration) Option { return func(o *options) { o.linger = linger } }

// WithSession names what WithLinger keeps, so that the program finds it again when it is restarted. The name is a secret.
func WithSession(name string) Option { return func(o *options) { o.session = name } }

// WithPatience has Connect try for so long until the bus answers for the first time; without it there is one attempt.
func WithPatience(patience time.Duration) Option { return func(o *options) { o.patience = patience } }

// WithConnectTimeout says how long an attempt may take, over all addresses (5 s).
func WithConnectTimeout(timeout time.Duration) Option {
	return func(o *options) { o.attempt = timeout }
}

// WithKeepAlive says after how long a silence the bus is asked whether it is there (30 s); after two of them the connection
// counts as lost.
func WithKeepAlive(silence time.Duration) Option { return func(o *options) { o.silent = silence } }

// WithBackOff says how long to wait before the first attempt to reconnect, and at most (50 ms, 10 s).
func WithBackOff(first, longest time.Duration) Option {
	return func(o *options) { o.firstWait, o.longestWait = first, longest }
}

// WithLog sets a function, such as log.Printf, that the client calls when it loses the connection and when it is connected
// again. The calls come from a separate goroutine, so the function may use the bus, and may close it.
func WithLog(log func(format string, values ...any)) Option { return func(o *options) { o.log = log } }

// IfRevision: the store's revision has to be this one, else the request is a Conflict.
func IfRevision(revision int64) Member { return Member{"ifRevision", revision} }

// If: the expression has to hold for the store's state, else the request is a Conflict. It is text, or JsonLogic as a value.
func If(expression any) Member { return Member{"if", expression} }

// Where chooses the stores of a type for which the expression holds.
func Where(expression any) Member { return Member{"where", expression} }

// Return has the reply tell what has changed: "changes" or "states".
func Return(what string) Member { return Member{"return", what} }

// Key sets the key of a request; without it the client generates one.
func Key(key string) Member { return Member{"key", key} }

// In has the bus dispatch the action after a while.
func In(wait time.Duration) Member { return Member{"in", wait.Seconds()} }

// At has the bus dispatch the action at a time.
func At(moment time.Time) Member { return Member{"at", float64(moment.UnixNano()) / 1e9} }

// Timer names the timer that In or At sets.
func Timer(name string) Member { return Member{"timer", name} }

// Traceparent is the place of a dispatch in a trace (W3C Trace Context), which goes along into events, the log and what follows.
func Traceparent(text string) Member { return Member{"traceparent", text} }

// DryRun has the bus say what would happen, and commit nothing.
func DryRun() Member { return Member{"dryRun", true} }

// Ephemeral: the store goes with this program.
func Ephemeral() Member { return Member{"ephemeral", true} }

// IfMissing: it is no error that the store exists.
func IfMissing() Member { return Member{"ifMissing", true} }

// TTL: the store goes when no action has reached it for so long.
func TTL(life time.Duration) Member { return Member{"ttl", life.Seconds()} }

// Initial is what a store's first state has instead of what its type says.
func Initial(state any) Member { return Member{"state", state} }

// Select has only parts of states sent: those at these JSON Pointers.
func Select(pointers ...string) Member { return Member{"select", pointers} }

// Cause has each change of a mirror that is one commit tell what caused it.
func Cause() Member { return Member{"cause", true} }
