package fluxbus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// backlog is how many changes or actions wait for a consumer; those of one that falls further behind become one.
const backlog = 1_000

// A Change is what a mirror has become. After a Reset it stands for everything: what is not in States is gone.
type Change struct {
	// Revision is that up to which the mirror is exact now.
	Revision int64
	// States holds, by address, those that are new or different.
	States map[string]State
	// Dropped holds the addresses that are gone.
	Dropped []string
	// Reset says that earlier changes no longer hold: the stores are as they come with this one.
	Reset bool
	// Coalesced is how many commits are merged in it.
	Coalesced int64
	// Cause has the actions of the commit, by whom and when, where the mirror was asked for it by Cause and this is one commit.
	Cause State
}

// An Action is one that was committed; or, where Gap is true, says that actions up to and with Revision may be missing.
type Action struct {
	// Gap: this is none, and some may be missing.
	Gap bool
	// Revision is that of its commit.
	Revision int64
	// Target is a store's address, or a type.
	Target string
	// Action is its name.
	Action string
	// Payload has its defaults filled in.
	Payload State
	// By says who sent it.
	By State
	// Time is in seconds since 1970.
	Time float64
	// Result is what it returned, where the target is a store, and Results by address, where it is a type; nil if nothing.
	Result  any
	Results State
	// Traceparent is the place of its dispatch in a trace (W3C Trace Context), if that had one.
	Traceparent string
}

// A Feed gives what comes, for one consumer. It keeps the newest thousand; a consumer that falls further behind gets all of
// them as one, which is a Reset of a mirror or a Gap in actions.
type Feed[T any] struct {
	leave func()
	mu    sync.Mutex
	items queue[T]
	isEnd bool
	err   error
	news  chan struct{}
}

// Next waits for what comes next. The error is io.EOF when this program has ended the feed or closed the bus, one of ctx in
// an Error with the code TimedOut or Closed when ctx has ended, and otherwise says why nothing more comes.
func (f *Feed[T]) Next(ctx context.Context) (T, error) {
	var none T
	for {
		f.mu.Lock()
		if f.items.count() > 0 {
			item := f.items.pop()
			f.mu.Unlock()
			return item, nil
		}
		if f.isEnd {
			defer f.mu.Unlock()
			if f.err == nil {
				return none, io.EOF
			}
			return none, f.err
		}
		if f.news == nil {
			f.news = make(chan struct{})
		}
		news := f.news
		f.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
			code := TimedOut
			if errors.Is(ctx.Err(), context.Canceled) {
				code = Closed
			}
			return none, &Error{Code: code, Message: "Nothing came before the context ended.", Cause: ctx.Err()}
		}
	}
}

// Close ends the feed.
func (f *Feed[T]) Close() {
	f.end(nil)
	f.leave()
}

// push adds an item. Where too many wait, one for all of them stands instead.
func (f *Feed[T]) push(item T, instead func() T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isEnd {
		return
	}
	if f.items.count() >= backlog {
		f.items = queue[T]{}
		item = instead()
	}
	f.items.push(item)
	f.wake()
}

func (f *Feed[T]) wake() {
	if f.news != nil {
		close(f.news)
		f.news = nil
	}
}

func (f *Feed[T]) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.isEnd {
		f.isEnd, f.err = true, err
		f.wake()
	}
}

// A Mirror holds the states of all stores that match, by address, as they are on the bus. Any goroutine may read it, and what
// it gives is never changed later.
type Mirror struct {
	session *session
	body    body

	mu       sync.RWMutex
	revision int64
	epoch    string
	states   map[string]State
	feeds    map[*Feed[Change]]bool
	isEnd    bool
	err      error
	// What has come of a change whose last part has not: no state stands for one that is gone.
	isReset bool
	parts   map[string]State
	cause   State
}

// Get gives the state of a store, and whether there is one.
func (m *Mirror) Get(address string) (State, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	state, isThere := m.states[address]
	return state, isThere
}

// Len gives how many stores there are.
func (m *Mirror) Len() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.states)
}

// States gives all states of one revision, in a map of the caller's own.
func (m *Mirror) States() map[string]State {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.copied()
}

func (m *Mirror) copied() map[string]State {
	states := make(map[string]State, len(m.states))
	for address, state := range m.states {
		states[address] = state
	}
	return states
}

// Revision gives that up to which the states are exact.
func (m *Mirror) Revision() int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.revision
}

// Changes gives every change from now on. To miss nothing, call it before reading the mirror.
func (m *Mirror) Changes() *Feed[Change] {
	m.mu.Lock()
	defer m.mu.Unlock()
	feed := &Feed[Change]{}
	feed.leave = func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.feeds, feed)
	}
	m.feeds[feed] = true
	if m.isEnd {
		feed.end(m.err)
	}
	return feed
}

// Close ends the mirror, and the feeds of its changes; its last states stay.
func (m *Mirror) Close() { m.session.unsubscribe(m) }

func (m *Mirror) request() body {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return since(m.body, m.revision, m.epoch)
}

func since(asked body, revision int64, epoch string) body {
	again := asked
	again.bytes = append([]byte(nil), asked.bytes...)
	if epoch != "" {
		again.add("since", revision)
		again.text("epoch", epoch)
	}
	return again
}

func (m *Mirror) isGranted(int64, string) {}

func (m *Mirror) take(event *event, epoch string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if event.Event == "bookmark" {
		m.revision, m.epoch = *event.Revision, epoch
	}
	if event.Event != "change" {
		return nil
	}
	if err := m.collect(event); err != nil || event.More {
		return err
	}
	m.apply(*event.Revision, epoch, event.Coalesced)
	return nil
}

// collect adds a part of a change to those before it.
func (m *Mirror) collect(event *event) error {
	if event.From != nil {
		m.isReset, m.parts, m.cause = event.Reset, map[string]State{}, nil
		if !m.isReset && *event.From != m.revision {
			return fmt.Errorf("changes before revision %d are missing", *event.From)
		}
	}
	if m.parts == nil {
		return errors.New("the first part of a change is missing")
	}
	if m.cause == nil {
		m.cause = event.Cause
	}
	for address, value := range event.Changes {
		patch, isObject := value.(State)
		if !isObject {
			return errors.New("a change is no object")
		}
		before, isThere := m.parts[address]
		if !isThere && !m.isReset {
			before = m.states[address]
		}
		m.parts[address] = Merge(before, patch)
	}
	for address, state := range event.States {
		m.parts[address] = state
	}
	for _, address := range event.Dropped {
		m.parts[address] = nil
	}
	return nil
}

func (m *Mirror) apply(revision int64, epoch string, coalesced int64) {
	if coalesced == 0 {
		coalesced = 1
	}
	change := Change{Revision: revision, States: map[string]State{}, Reset: m.isReset, Coalesced: coalesced, Cause: m.cause}
	if m.isReset {
		m.states = map[string]State{}
	}
	for address, state := range m.parts {
		if state == nil {
			change.Dropped = append(change.Dropped, address)
			delete(m.states, address)
		} else {
			change.States[address] = state
			m.states[address] = state
		}
	}
	isNews := m.isReset || len(m.parts) > 0
	m.revision, m.epoch, m.parts, m.cause = revision, epoch, nil, nil
	if isNews {
		for feed := range m.feeds {
			feed.push(change, m.whole)
		}
	}
}

func (m *Mirror) whole() Change {
	return Change{Revision: m.revision, States: m.copied(), Reset: true, Coalesced: 1}
}

func (m *Mirror) end(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.isEnd {
		m.isEnd, m.err = true, err
	}
	for feed := range m.feeds {
		feed.end(err)
	}
}

// actions takes actions as they happen. A connection may be lost between those of one commit: all of it are asked for again,
// and what was seen is left out.
type actions struct {
	body body
	feed *Feed[Action]
	// ready is closed when the bus has agreed, over when nothing more comes.
	ready, over chan struct{}
	revision    int64
	epoch       string
	// The place of what was seen last.
	seen, index int64
}

func (a *actions) request() body { return since(a.body, a.revision, a.epoch) }

func (a *actions) isGranted(revision int64, epoch string) {
	if a.epoch == "" {
		a.revision, a.epoch = revision, epoch
		close(a.ready)
	}
}

func (a *actions) take(event *event, epoch string) error {
	revision := *event.Revision
	gap := func() Action { return Action{Gap: true, Revision: revision} }
	switch event.Event {
	case "gap", "bookmark":
		a.revision, a.epoch, a.seen, a.index = revision, epoch, 0, 0
		if event.Event == "gap" {
			a.feed.push(gap(), gap)
		}
	case "action":
		// One without an index is the only one of its commit, which is not asked for again.
		index, at := int64(0), revision
		if event.Index != nil {
			index, at = *event.Index, revision-1
		}
		if epoch == a.epoch && (revision < a.seen || revision == a.seen && index <= a.index) {
			return nil
		}
		a.revision, a.epoch, a.seen, a.index = at, epoch, revision, index
		target := event.Store
		if target == "" {
			target = event.Type
		}
		a.feed.push(Action{
			Revision: revision, Target: target, Action: event.Action, Payload: event.Payload, By: event.By, Time: event.Time,
			Result: event.Result, Results: event.Results, Traceparent: event.Traceparent,
		}, gap)
	}
	return nil
}

func (a *actions) end(err error) {
	a.feed.end(err)
	close(a.over)
}
