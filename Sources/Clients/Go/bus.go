// Package fluxbus is a client of FluxBus, the state bus.
//
//	bus, err := fluxbus.Connect(ctx, "")
//	counters, err := bus.Mirror(ctx, "counter")
//	reply, err := bus.Dispatch(ctx, "counter/kitchen", "increment", map[string]int{"by": 2})
//
// Where a target is asked for, "counter/kitchen" is one store and "counter" every store of the type; what reads takes
// patterns, too, such as "counter/k*".
//
// A lost connection is made again: mirrors continue where they were, and unanswered requests are sent again. Dispatches,
// batches, creations and drops carry a key, by which each commits exactly once. Errors are an *Error with a Code, for which
// errors.Is looks.
package fluxbus

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// Version is that of this module.
const Version = "0.2.0"

// A Bus is a client of the bus. Any number of goroutines may use it.
type Bus struct {
	link    *link
	session *session
}

// Request sends any request of the protocol, and waits for its reply: Request(ctx, "history", With("since", 4)).
func (b *Bus) Request(ctx context.Context, op string, members ...Member) (*Reply, error) {
	return b.ask(ctx, op, body{}, members)
}

func (b *Bus) ask(ctx context.Context, op string, body body, members []Member) (*Reply, error) {
	pending, err := b.begin(ctx, op, body, members)
	if err != nil {
		return nil, err
	}
	return pending.Wait(ctx)
}

func (b *Bus) begin(ctx context.Context, op string, body body, members []Member) (*Pending, error) {
	body.addAll(members)
	pending, err := b.session.prepare(op, body)
	if err == nil {
		err = b.session.send(ctx, pending)
	}
	return pending, err
}

// Dispatch commits an action on a store or on all stores of a type, and waits for the reply. Payload is an object, as
// encoding/json makes it of a struct or a map; nil is an empty one.
func (b *Bus) Dispatch(ctx context.Context, target, action string, payload any, members ...Member) (*Reply, error) {
	return b.ask(ctx, "dispatch", actionOf(target, action, payload), members)
}

// Send is Dispatch without waiting for the reply, so that many are on their way at once. Where 10,000 requests are unanswered
// it waits for room.
func (b *Bus) Send(ctx context.Context, target, action string, payload any, members ...Member) (*Pending, error) {
	return b.begin(ctx, "dispatch", actionOf(target, action, payload), members)
}

func actionOf(target, action string, payload any) body {
	var body body
	body.bytes = make([]byte, 0, 128)
	body.text(targetOf(target), target)
	body.text("action", action)
	body.payload(payload)
	return body
}

// Batch commits several steps as one commit.
func (b *Bus) Batch(ctx context.Context, steps []Step, members ...Member) (*Reply, error) {
	return b.Request(ctx, "dispatch", append([]Member{With("actions", steps)}, members...)...)
}

// Create makes a store. Initial, Ephemeral, IfMissing and TTL say more.
func (b *Bus) Create(ctx context.Context, address string, members ...Member) (*Reply, error) {
	return b.Request(ctx, "create", append([]Member{With("store", address)}, members...)...)
}

// Drop drops a store; or, with Where, the stores of a type for which that holds.
func (b *Bus) Drop(ctx context.Context, target string, members ...Member) (*Reply, error) {
	return b.Request(ctx, "drop", append([]Member{With(targetOf(target), target)}, members...)...)
}

// Get reads the state of one store into a pointer, as json.Unmarshal does.
func (b *Bus) Get(ctx context.Context, address string, into any, members ...Member) error {
	reply, err := b.Request(ctx, "get", append([]Member{With("store", address)}, members...)...)
	if err != nil {
		return err
	}
	var page struct{ States map[string]json.RawMessage }
	if err := reply.Decode(&page); err != nil {
		return err
	}
	return decodeExactly(page.States[address], into)
}

// States gives all states that match, by address, page by page. Where and Select say which, and what of them.
func (b *Bus) States(ctx context.Context, target string, members ...Member) (map[string]State, error) {
	states := map[string]State{}
	for after := ""; ; {
		asked := append([]Member{With(patternOf(target), target)}, members...)
		if after != "" {
			asked = append(asked, With("after", after))
		}
		reply, err := b.Request(ctx, "get", asked...)
		if err != nil {
			return nil, err
		}
		var page struct {
			States map[string]State
			Next   string
		}
		if err := reply.Decode(&page); err != nil {
			return nil, err
		}
		for address, state := range page.States {
			states[address] = state
		}
		if after = page.Next; after == "" {
			return states, nil
		}
	}
}

// Will leaves actions for the end of this program: the bus dispatches them, however it ends. Without any it takes back the
// will that was left.
func (b *Bus) Will(ctx context.Context, steps ...Step) error {
	_, err := b.Request(ctx, "will", With("actions", append([]Step{}, steps...)))
	return err
}

// Mirror gives a mirror of all stores that match, once it has their states. With Where it is one of those for which that holds.
func (b *Bus) Mirror(ctx context.Context, target string, members ...Member) (*Mirror, error) {
	mirror, feed, _, err := b.follow(ctx, target, members)
	if err != nil {
		return nil, err
	}
	feed.Close()
	return mirror, nil
}

// Subscribe gives every change of the stores that match, of which the first is a Reset with all their states. Closing the feed
// ends the subscription.
func (b *Bus) Subscribe(ctx context.Context, target string, members ...Member) (*Feed[Change], error) {
	mirror, feed, first, err := b.follow(ctx, target, members)
	if err != nil {
		return nil, err
	}
	feed.mu.Lock()
	defer feed.mu.Unlock()
	feed.items.prepend([]Change{first})
	feed.leave = mirror.Close
	return feed, nil
}

// Watch calls see with every change of the stores that match, of which the first is a Reset with all their states, until ctx
// ends or the bus is closed.
func (b *Bus) Watch(ctx context.Context, target string, see func(Change), members ...Member) error {
	feed, err := b.Subscribe(ctx, target, members...)
	if err != nil {
		return err
	}
	defer feed.Close()
	for {
		change, err := feed.Next(ctx)
		if err != nil {
			return err
		}
		see(change)
	}
}

func (b *Bus) follow(ctx context.Context, target string, members []Member) (*Mirror, *Feed[Change], Change, error) {
	mirror := &Mirror{session: b.session, states: map[string]State{}, feeds: map[*Feed[Change]]bool{}}
	mirror.body.text(patternOf(target), target)
	mirror.body.addAll(members)
	if mirror.body.err != nil {
		return nil, nil, Change{}, mirror.body.err
	}
	feed := mirror.Changes()
	b.session.subscribe(mirror)
	first, err := feed.Next(ctx)
	if err != nil {
		mirror.Close()
		if errors.Is(err, io.EOF) {
			err = closedByProgram()
		}
	}
	return mirror, feed, first, err
}

// Actions gives actions as they are committed from now on.
func (b *Bus) Actions(ctx context.Context, target string, members ...Member) (*Feed[Action], error) {
	source := &actions{feed: &Feed[Action]{}, ready: make(chan struct{}), over: make(chan struct{})}
	source.body.text(patternOf(target), target)
	source.body.add("actions", true)
	source.body.addAll(members)
	if source.body.err != nil {
		return nil, source.body.err
	}
	source.feed.leave = func() { b.session.unsubscribe(source) }
	b.session.subscribe(source)
	select {
	case <-source.ready:
		return source.feed, nil
	case <-source.over:
		if err := source.feed.err; err != nil {
			return nil, err
		}
		return nil, closedByProgram()
	case <-ctx.Done():
		source.feed.Close()
		return nil, givenUp(ctx, true)
	}
}

// Connected says whether there is a connection now.
func (b *Bus) Connected() bool {
	b.session.mu.Lock()
	defer b.session.mu.Unlock()
	return b.session.isOpen
}

// Greeting is what the bus said of itself when it was last connected: epoch, identity, limits, version.
func (b *Bus) Greeting() *Reply {
	b.session.mu.Lock()
	defer b.session.mu.Unlock()
	return b.session.greeting
}

// Revision is the newest one that this client has heard of.
func (b *Bus) Revision() int64 {
	b.session.mu.Lock()
	defer b.session.mu.Unlock()
	return b.session.revision
}

// Reconnect makes the next attempt at once, where one is waited for.
func (b *Bus) Reconnect() {
	select {
	case b.link.hurry <- struct{}{}:
	default:
	}
}

// Close leaves once every request is answered, or after five seconds.
func (b *Bus) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return b.Shutdown(ctx)
}

// Shutdown waits until every request is answered or ctx ends, and then disconnects: requests that still wait fail, and feeds
// end. It returns the error of ctx if it left a request unanswered.
func (b *Bus) Shutdown(ctx context.Context) error {
	err := b.session.idle(ctx)
	if err == nil && b.link.hasSession() {
		b.link.leave(ctx)
	}
	b.session.finish(nil)
	b.link.stop()
	return err
}
