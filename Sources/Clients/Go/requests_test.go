package fluxbus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// A run is a session, and the bus's side of it, which the test is.
type run struct {
	*session
	t *testing.T
}

func newRun(t *testing.T) run { return run{newSession(func() {}, nil), t} }

// connect gives what is sent when the bus has greeted.
func (r run) connect(epoch, more string) []map[string]any {
	r.connected(nil, func() {})
	hello := r.sent()
	r.hear(`{"id":%v,"ok":true,"epoch":%q,"revision":5%s}`, hello[len(hello)-1]["id"], epoch, more)
	return r.sent()
}

func (r run) hear(format string, values ...any) {
	r.t.Helper()
	if err := r.received([]byte(fmt.Sprintf(format, values...) + "\n")); err != nil {
		r.t.Fatal(err)
	}
}

func (r run) sent() (all []map[string]any) {
	for _, line := range bytes.Split(bytes.TrimSpace(r.outgoing(nil)), []byte("\n")) {
		var one map[string]any
		if len(line) > 0 && json.Unmarshal(line, &one) != nil {
			r.t.Fatalf("%s", line)
		}
		all = append(all, one)
	}
	return all
}

func (r run) ask(op string, members ...Member) *Pending {
	var body body
	body.addAll(members)
	pending, err := r.prepare(op, body)
	if err == nil {
		err = r.send(context.Background(), pending)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return pending
}

// outcome is "" where there is none yet.
func outcome(p *Pending) string {
	var err *Error
	switch {
	case p.state == 0:
		return ""
	case errors.As(p.err, &err):
		return string(err.Code)
	default:
		return "ok"
	}
}

func TestRevisionMeansNothingInAnotherEpoch(t *testing.T) {
	r := newRun(t)
	early := r.ask("get", With("revision", 4))
	r.connect("e1", "")
	r.hear(`{"id":%d,"ok":true,"revision":5}`, early.number)
	read, keyed := r.ask("get", With("revision", 4)), r.ask("drop", IfRevision(4))
	r.lost("it was cut")
	late, history := r.ask("drop", IfRevision(4)), r.ask("history", With("since", 4))
	batch := r.ask("dispatch", With("actions", []Step{Act("counter/a", "go", nil, IfRevision(4))}))
	other := r.ask("dispatch", With("actions", []Step{Act("counter/a", "go", map[string]any{"ifRevision": 1})}))
	sent := r.connect("e2", "")
	// What was written with a key says itself of which epoch it is.
	if len(sent) != 2 || sent[0]["epoch"] != "e1" || outcome(keyed)+outcome(other) != "" || outcome(early) != "ok" {
		t.Error(sent)
	}
	for i, one := range []*Pending{read, late, history, batch} {
		if outcome(one) != "conflict" {
			t.Error(i, outcome(one))
		}
	}
	if r.size != 2 {
		t.Error(r.size)
	}
}

func TestEphemeralStoreMayHaveGoneWithItsConnection(t *testing.T) {
	for more, wanted := range map[string]string{"": "outcome_unknown", `,"resumed":true`: "ok"} {
		r := newRun(t)
		r.connect("e", "")
		passing := r.ask("create", With("store", "counter/a"), Ephemeral())
		batch := r.ask("dispatch", With("actions", []Step{CreateStep("counter/b", Ephemeral())}))
		other := r.ask("create", With("store", "counter/c"))
		r.lost("it was cut")
		for _, each := range r.connect("e", more) {
			r.hear(`{"id":%v,"ok":true,"revision":4,"duplicate":true}`, each["id"])
		}
		if outcome(passing) != wanted || outcome(batch) != wanted || outcome(other) != "ok" {
			t.Error(more, outcome(passing), outcome(batch), outcome(other))
		}
	}
}

// The bus may refuse with some of these before it checks whether it has committed the request.
func TestRefusalOfWhatIsSentAgainDoesNotSayWhetherItWasCommitted(t *testing.T) {
	for refusal, wanted := range map[string]string{
		`"code":"forbidden"`: "outcome_unknown", `"code":"unknown_type"`: "outcome_unknown", `"code":"limit"`: "outcome_unknown",
		`"code":"too_large"`: "outcome_unknown", `"code":"conflict"`: "outcome_unknown", `"code":"rejected"`: "rejected",
		`"code":"conflict","revision":7`: "conflict",
	} {
		for _, id := range []string{`"id":%d,`, ""} {
			r := newRun(t)
			r.connect("e", "")
			first := r.ask("drop", With("store", "counter/a"))
			line := `{"ok":false,"error":{` + refusal + `}}`
			r.hear(line)
			keyed, read := r.ask("drop", With("store", "counter/a")), r.ask("get", With("store", "counter/a"))
			r.lost("it was cut")
			r.connect("e", "")
			for _, one := range []*Pending{keyed, read} {
				if id != "" {
					line = fmt.Sprintf(`{`+id+`"ok":false,"error":{`+refusal+`}}`, one.number)
				}
				r.hear("%s", line)
			}
			var inner *Error
			if outcome(keyed) != wanted || outcome(first) != outcome(read) || outcome(read) == "outcome_unknown" {
				t.Error(refusal, outcome(first), outcome(keyed), outcome(read))
			}
			if wanted == "outcome_unknown" && (!errors.As(errors.Unwrap(keyed.err), &inner) || string(inner.Code) != outcome(read)) {
				t.Error(refusal, inner)
			}
		}
	}
}

func TestWillThatIsNotAnsweredMayHaveBeenLeft(t *testing.T) {
	r := newRun(t)
	r.connect("e", "")
	sent, read := r.ask("will", With("actions", []Step{})), r.ask("ping")
	r.lost("it was cut")
	late := r.ask("will", With("actions", []Step{}))
	r.finish(nil)
	if outcome(sent) != "outcome_unknown" || outcome(read) != "closed" || outcome(late) != "closed" {
		t.Error(outcome(sent), outcome(read), outcome(late))
	}
}

func TestNothingIsSentWhenItsContextHasEnded(t *testing.T) {
	r := newRun(t)
	r.connect("e", "")
	late, cancel := context.WithDeadline(context.Background(), time.Now())
	defer cancel()
	given, giveUp := context.WithCancel(context.Background())
	giveUp()
	bus := &Bus{session: r.session}
	for ctx, code := range map[context.Context]Code{late: TimedOut, given: Closed} {
		_, err := bus.Dispatch(ctx, "counter/a", "increment", nil)
		if !errors.Is(err, code) || !errors.Is(err, ctx.Err()) || !strings.Contains(err.Error(), "; this was not sent.") {
			t.Error(err)
		}
	}
	if len(r.outgoing(nil)) > 0 || r.size > 0 {
		t.Error(r.size)
	}
}

func TestWhatIsGivenUpIsSettledWhenItIsDropped(t *testing.T) {
	r := newRun(t)
	pending := r.ask("ping")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := pending.Wait(ctx); !errors.Is(err, Closed) {
		t.Error(err)
	}
	r.connect("e", "")
	if outcome(pending) != "closed" || r.size != 0 {
		t.Error(outcome(pending), r.size)
	}
}

func TestReconnectIsKeptForTheWaitThatBegins(t *testing.T) {
	address, listener := listen(t)
	found, err := places(address)
	if err != nil {
		t.Fatal(err)
	}
	settings := options{attempt: time.Minute, silent: time.Minute, firstWait: time.Hour, longestWait: time.Hour}
	l := newLink(settings, found)
	bus := &Bus{link: l, session: l.session}
	// The log function and others may say so before the wait.
	bus.Reconnect()
	timer := time.AfterFunc(20*time.Second, l.cancel)
	defer timer.Stop()
	go func() { accept(t, listener).answer(t, greeting) }()
	conn := l.reconnect()
	if conn == nil {
		t.Fatal("it has waited")
	}
	conn.close()
}

// A broken is a connection whose other side has said goodbye and is gone.
type broken struct {
	net.Conn
	closed  chan struct{}
	goodbye io.Reader
}

func (b *broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func (b *broken) Read(buffer []byte) (int, error) {
	select {
	case <-b.closed:
		return 0, net.ErrClosed
	default:
		return b.goodbye.Read(buffer)
	}
}

func (b *broken) SetReadDeadline(time.Time) error { return nil }

func (b *broken) Close() error {
	close(b.closed)
	return nil
}

func TestWhatTheBusSaidIsReadWhereNothingCanBeWritten(t *testing.T) {
	l := newLink(options{attempt: time.Minute, silent: time.Minute}, nil)
	goodbye := strings.NewReader(`{"event":"goodbye","code":"limit","message":"There are too many connections."}` + "\n")
	c := &connection{Conn: &broken{closed: make(chan struct{}), goodbye: goodbye}, link: l, buffer: make([]byte, 256), stopped: make(chan struct{})}
	c.writer.Add(1)
	go c.writeAll()
	_ = l.session.connected(nil, func() {})
	c.writer.Wait()
	err := l.session.lost(c.readAll().Error())
	if err.Details["reason"] != "limit" || !strings.Contains(err.Message, "There are too many connections.") {
		t.Error(err)
	}
	c.close()
}

func TestNothingRunsForALogThatIsNotThere(t *testing.T) {
	bus, _, _ := connected(t)
	if bus.link.logs != nil {
		t.Error("there is a channel")
	}
}

func TestLogMayUseTheBusAndEndIt(t *testing.T) {
	var bus *Bus
	ready, done := make(chan struct{}), make(chan error, 2)
	bus, peer, listener := connected(t, WithLog(func(format string, values ...any) {
		<-ready
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_, err := bus.Request(ctx, "ping")
		done <- err
		done <- bus.Shutdown(ctx)
	}))
	close(ready)
	_ = peer.Close()
	again := accept(t, listener)
	again.answer(t, greeting)
	again.answer(t, `"ok":true`)
	for i := 0; i < 2; i++ {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
