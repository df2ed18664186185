package fluxbus

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// window is how many requests are unanswered at most; who sends another waits for room.
const window = 10_000

// keyed holds the operations that carry a key, and repeatable those that only read, or are the same when done twice.
var (
	keyed      = setOf("dispatch create drop cancel")
	repeatable = setOf("get stores types history blame samples sync ping stats timers will clients dispatch")
)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(words) {
		set[word] = true
	}
	return set
}

// Pending is a request under way, as Send gives it.
type Pending struct {
	session *session
	number  int64
	op      string
	// line is the request without its end. Once it is written, what had been seen by then follows it, for when it is sent again.
	line    []byte
	isKeyed bool
	// tellsSeen: it is to say so.
	tellsSeen bool
	// isOwn: it belongs to this connection, and is not repeated on another.
	isOwn   bool
	givenUp error
	written int
	// epoch is that of the revision which it names, if it does.
	namesRevision bool
	epoch         string
	// isTorn: it makes a store that goes with its session, which may have ended since it was first written.
	isEphemeral, isTorn bool
	reply               Reply
	err                 error
	// whole is what own requests read of their reply, and then what becomes of it.
	then  func(whole *reply, err error) error
	state int32
	done  chan struct{}
}

// fits says whether it means there what it meant when it was made. One with a key says so itself once it was written.
func (p *Pending) fits(epoch string) bool {
	return p.epoch == "" || p.epoch == epoch || p.isKeyed && p.written > 0
}

func (p *Pending) isRepeated() bool { return !p.isOwn && (p.isKeyed || repeatable[p.op]) }

// Wait gives the reply when it has come. If ctx ends before that, the request is not sent again, and may have been committed.
func (p *Pending) Wait(ctx context.Context) (*Reply, error) {
	if atomic.LoadInt32(&p.state) == 0 {
		s := p.session
		s.mu.Lock()
		if p.state == 0 && p.done == nil {
			p.done = make(chan struct{})
		}
		done := p.done
		s.mu.Unlock()
		if done != nil {
			select {
			case <-done:
			case <-ctx.Done():
				return nil, s.giveUp(p, ctx)
			}
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	return &p.reply, nil
}

// settle ends it; the session is locked.
func (p *Pending) settle(err error) {
	p.err = err
	p.line = nil
	atomic.StoreInt32(&p.state, 1)
	if p.done != nil {
		close(p.done)
	}
}

// A session is a client of one bus without its connections: bytes come in, bytes and answers go out, whatever connection
// there is.
//
// The bus answers in order, so what is unanswered is a queue. A reply that does not belong to its head, or anything else that
// does not follow the protocol, ends the connection, and the next one continues from what was exact. A request is encoded
// once; what it had seen is added when it is first written, and stays the same.
type session struct {
	// wake is called, locked, when there is something to send where there was nothing.
	wake   func()
	hello  []Member
	prefix string
	count  int64

	mu         sync.Mutex
	isOpen     bool
	isResumed  bool
	greeting   *Reply
	goodbye    *event
	ended      *Error
	revision   int64
	epoch      string
	lines      lineReader
	out        []byte
	unanswered queue[*Pending]
	waiting    queue[*Pending]
	// size is how many requests of the program are not answered, and news, where somebody waits for fewer of them, is closed
	// when there is room, and when there are none.
	size          int
	news          chan struct{}
	will          []byte
	subscriptions []subscriber
	granted       map[int64]subscriber
}

// A subscriber receives the events of one subscription, which outlives connections. Its methods are called with the session locked.
type subscriber interface {
	// request gives what asks for all that has not been seen.
	request() body
	isGranted(revision int64, epoch string)
	take(event *event, epoch string) error
	end(err error)
}

func newSession(wake func(), hello []Member) *session {
	var random [8]byte
	_, _ = rand.Read(random[:])
	return &session{wake: wake, hello: hello, prefix: hex.EncodeToString(random[:]), granted: map[int64]subscriber{}}
}

// Requests

// prepare encodes a request, up to what it has seen.
func (s *session) prepare(op string, body body) (*Pending, error) {
	if body.err != nil {
		return nil, body.err
	}
	if body.hasID {
		return nil, &Error{Code: InvalidRequest, Message: "The client numbers its requests itself: leave out `id`."}
	}
	if body.hasAck {
		return nil, &Error{Code: InvalidRequest, Message: "The client matches replies by order and needs them all: leave out `ack`."}
	}
	p := &Pending{session: s, number: atomic.AddInt64(&s.count, 1), op: op}
	p.isKeyed = keyed[op] && !body.isDry
	p.tellsSeen = p.isKeyed && !body.hasSeen
	p.namesRevision, p.isEphemeral = body.namesRevision, p.isKeyed && body.isEphemeral
	line := make([]byte, 0, len(body.bytes)+160)
	line = strconv.AppendInt(append(line, `{"id":`...), p.number, 10)
	if p.isKeyed && !body.hasKey {
		line = append(append(append(line, `,"key":"`...), s.prefix...), '-')
		line = append(strconv.AppendInt(line, p.number, 10), '"')
	}
	line = append(append(append(line, `,"op":"`...), op...), '"')
	if len(body.bytes) > 0 {
		line = append(append(line, ','), body.bytes...)
	}
	p.line = line
	return p, nil
}

// send sends a request now, or when there is a connection. It waits for room.
func (s *session) send(ctx context.Context, p *Pending) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.namesRevision {
		p.epoch = s.epoch
	}
	if ctx.Err() != nil || s.wait(ctx, window) != nil {
		return givenUp(ctx, false)
	}
	if s.ended != nil {
		return s.ended
	}
	s.size++
	s.waiting.push(p)
	s.writeWaiting()
	return nil
}

func (s *session) waitForNews() chan struct{} {
	if s.news == nil {
		s.news = make(chan struct{})
	}
	return s.news
}

// leaves counts a request of the program that is no more.
func (s *session) leaves(p *Pending) {
	if p.isOwn {
		return
	}
	s.size--
	if s.news != nil && (s.size == window/2 || s.size == 0) {
		close(s.news)
		s.news = nil
	}
}

// own sends a request of this connection.
func (s *session) own(op string, body body, then func(whole *reply, err error) error) error {
	p, err := s.prepare(op, body)
	if err != nil {
		return then(nil, err)
	}
	p.isOwn, p.isKeyed, p.tellsSeen, p.then = true, false, false, then
	s.write(p)
	return nil
}

func (s *session) write(p *Pending) {
	line := p.line
	if p.written == 0 && p.tellsSeen {
		p.line = strconv.AppendInt(append(line, `,"after":`...), s.revision, 10)
		p.line = appendText(append(p.line, `,"epoch":`...), s.epoch)
	}
	p.isTorn = p.isTorn || p.isEphemeral && p.written > 0 && !s.isResumed
	p.written++
	s.unanswered.push(p)
	if len(s.out) == 0 {
		s.wake()
	}
	s.out = append(append(s.out, line...), "}\n"...)
}

func (s *session) giveUp(p *Pending, ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.state != 0 {
		return p.err
	}
	p.givenUp = givenUp(ctx, p.written > 0)
	return p.givenUp
}

// outgoing gives what is to be sent, and takes a buffer for what comes after it.
func (s *session) outgoing(empty []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.out
	s.out = empty[:0]
	return out
}

// idle waits until every request is answered.
func (s *session) idle(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wait(ctx, 1)
}

// wait waits until fewer requests than this are unanswered, or the session has ended. It is called with the session locked.
func (s *session) wait(ctx context.Context, fewer int) error {
	for s.size >= fewer && s.ended == nil {
		news := s.waitForNews()
		s.mu.Unlock()
		select {
		case <-news:
			s.mu.Lock()
		case <-ctx.Done():
			s.mu.Lock()
			return ctx.Err()
		}
	}
	return nil
}

// Subscriptions

func (s *session) subscribe(one subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		one.end(s.ended)
		return
	}
	s.subscriptions = append(s.subscriptions, one)
	if s.isOpen {
		s.askFor(one)
	}
}

func (s *session) askFor(one subscriber) {
	s.own("subscribe", one.request(), func(whole *reply, err error) error {
		if err != nil {
			if s.isWanted(one) {
				s.forget(one)
				one.end(err)
			}
			return nil
		}
		if !s.isWanted(one) {
			s.own("unsubscribe", numbered(whole.Sub), ignored)
			return nil
		}
		s.granted[whole.Sub] = one
		one.isGranted(whole.Revision, whole.Epoch)
		return nil
	})
}

func numbered(sub int64) (b body) {
	b.add("sub", sub)
	return b
}

func ignored(*reply, error) error { return nil }

func (s *session) isWanted(one subscriber) bool {
	for _, each := range s.subscriptions {
		if each == one {
			return true
		}
	}
	return false
}

func (s *session) forget(one subscriber) {
	for i, each := range s.subscriptions {
		if each == one {
			s.subscriptions = append(s.subscriptions[:i:i], s.subscriptions[i+1:]...)
			return
		}
	}
}

// unsubscribe ends a subscription of this program.
func (s *session) unsubscribe(one subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isWanted(one) {
		return
	}
	s.forget(one)
	for sub, each := range s.granted {
		if each == one {
			delete(s.granted, sub)
			s.own("unsubscribe", numbered(sub), ignored)
		}
	}
	one.end(nil)
}

// The connection

// connected begins a new connection; greeted is called when the bus has answered.
func (s *session) connected(members []Member, greeted func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines, s.goodbye = lineReader{}, nil
	var body body
	body.add("protocol", 1)
	body.addAll(s.hello)
	body.addAll(members)
	return s.own("hello", body, func(whole *reply, err error) error {
		if err != nil {
			return err
		}
		s.greet(whole)
		greeted()
		return nil
	})
}

func (s *session) greet(whole *reply) {
	if whole.Epoch != s.epoch {
		s.epoch, s.revision = whole.Epoch, 0
	}
	s.saw(whole.Revision)
	s.greeting, s.isOpen, s.isResumed = &whole.Reply, true, whole.Resumed
	if s.will != nil && !whole.Resumed {
		s.ownLine("will", s.will)
	}
	for _, one := range s.subscriptions {
		s.askFor(one)
	}
	s.writeWaiting()
}

// ownLine sends again, for this connection, what stood behind the id.
func (s *session) ownLine(op string, rest []byte) {
	number := atomic.AddInt64(&s.count, 1)
	line := append(strconv.AppendInt([]byte(`{"id":`), number, 10), ',')
	s.write(&Pending{session: s, number: number, op: op, line: append(line, rest...), isOwn: true, then: ignored})
}

func (s *session) writeWaiting() {
	for s.isOpen && s.waiting.count() > 0 {
		switch p := s.waiting.pop(); {
		case p.givenUp != nil:
			s.answered(p, p.givenUp)
		case !p.fits(s.epoch):
			s.answered(p, &Error{
				Code:    Conflict,
				Message: "The bus began a new epoch after this was asked for, in which the revision that it names means another state.",
			})
		default:
			s.write(p)
		}
	}
}

// ping asks whether the bus is there.
func (s *session) ping() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own("ping", body{}, ignored)
}

// received takes what has come. An error is the refusal of hello, or what shows that this is not the protocol.
func (s *session) received(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines.read(data, s.take)
}

func (s *session) take(line []byte) error {
	var quick Reply
	if id, isQuick := quickID(line, &quick); isQuick {
		p, err := s.next(id)
		if err != nil {
			return err
		}
		if p.then == nil {
			p.reply = quick
			s.answered(p, nil)
			s.saw(quick.Revision)
			return nil
		}
		return p.then(&reply{Reply: quick, OK: true}, nil)
	}
	if err := checkLine(line); err != nil {
		return err
	}
	if bytes.HasPrefix(line, []byte(`{"event":`)) {
		return s.happened(line)
	}
	read, err := readReply(line)
	if err != nil {
		return err
	}
	if read.Event != nil {
		return s.happened(line)
	}
	return s.replied(read)
}

func (s *session) saw(revision int64) {
	if revision > s.revision {
		s.revision = revision
	}
}

// next takes the oldest request, whose reply has to be this one. A line that the bus could not read is answered without its
// id, which is -1 here.
func (s *session) next(id int64) (*Pending, error) {
	if s.unanswered.count() == 0 || id >= 0 && s.unanswered.first().number != id {
		return nil, errors.New("a reply came out of turn")
	}
	return s.unanswered.pop(), nil
}

func (s *session) replied(read *reply) error {
	id, err := strconv.ParseInt(string(read.ID), 10, 64)
	if read.ID == nil && !read.OK {
		id, err = -1, nil
	}
	if err != nil {
		return errors.New("a reply has no id of ours")
	}
	p, err := s.next(id)
	if err != nil {
		return err
	}
	if !read.OK {
		err = s.refusalOf(p, refusal(read.Error))
	}
	if p.then != nil {
		return p.then(read, err)
	}
	if err == nil {
		s.saw(read.Revision)
		p.reply = read.Reply
	}
	s.answered(p, err)
	return nil
}

// refusalOf: a conflict over ifRevision names the store's revision, and is certain.
func (s *session) refusalOf(p *Pending, err *Error) error {
	_, isOverRevision := err.Details["revision"]
	if p.isKeyed && p.written > 1 && saysNothing[err.Code] && !isOverRevision {
		return outcomeUnknown(err)
	}
	return err
}

func (s *session) answered(p *Pending, err error) {
	if err == nil && p.isTorn && p.reply.Duplicate {
		err = outcomeUnknown(&Error{Code: Closed, Message: "The store may have gone with the connection over which it was made."})
	}
	if err == nil && p.op == "will" {
		rest := p.line[bytes.IndexByte(p.line, ',')+1:]
		s.will = append([]byte(nil), rest...)
	}
	p.settle(err)
	s.leaves(p)
}

func (s *session) happened(line []byte) error {
	read := &event{}
	if err := decodeExactly(line, read); err != nil {
		return err
	}
	if read.Event == "goodbye" {
		s.goodbye = read
		return nil
	}
	one := s.granted[read.Sub]
	if one == nil {
		return nil
	}
	if read.Revision == nil {
		return errors.New("an event has no revision")
	}
	if err := one.take(read, s.epoch); err != nil {
		return err
	}
	if !read.More {
		s.saw(*read.Revision)
	}
	return nil
}

// lost says that the connection is no more. What may be repeated waits for the next one.
func (s *session) lost(why string) *Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := &Error{Code: Closed, Details: map[string]any{}}
	if s.goodbye != nil {
		why = s.goodbye.Message
		err.Details["reason"] = s.goodbye.Code
	}
	err.Message = fmt.Sprintf("The connection to the bus has ended: %s.", strings.TrimSuffix(why, "."))
	isFinal := s.goodbye != nil && s.goodbye.Code == "protocol"
	s.isOpen, s.out, s.goodbye, s.granted = false, nil, nil, map[int64]subscriber{}
	var again []*Pending
	for s.unanswered.count() > 0 {
		p := s.unanswered.pop()
		switch {
		case p.isOwn:
			// Whoever leaves waits for this one.
			if p.op == "hello" {
				_ = p.then(nil, err)
			}
		case p.isRepeated():
			again = append(again, p)
		default:
			s.answered(p, outcomeUnknown(err))
		}
	}
	s.waiting.prepend(again)
	if isFinal {
		s.end(err)
	}
	return err
}

// finish says that there is no connection after this one. Whoever waits hears why; without an error this program is done.
func (s *session) finish(err *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(err)
}

func (s *session) end(err *Error) {
	if s.ended != nil {
		return
	}
	s.ended = err
	if err == nil {
		s.ended = closedByProgram()
	}
	for _, all := range []*queue[*Pending]{&s.unanswered, &s.waiting} {
		for all.count() > 0 {
			p := all.pop()
			switch {
			case p.isOwn:
				if p.op == "hello" {
					_ = p.then(nil, s.ended)
				}
			// What was written once may have been committed, or left as the will.
			case p.written > 0 && (p.isKeyed || p.op == "will" || !repeatable[p.op]):
				s.answered(p, outcomeUnknown(s.ended))
			default:
				s.answered(p, s.ended)
			}
		}
	}
	if s.news != nil {
		close(s.news)
		s.news = nil
	}
	for _, one := range s.subscriptions {
		if err == nil {
			one.end(nil)
		} else {
			one.end(err)
		}
	}
	s.subscriptions = nil
}

// A queue is first in, first out, without moving what waits.
type queue[T any] struct {
	items []T
	head  int
}

func (q *queue[T]) count() int { return len(q.items) - q.head }

func (q *queue[T]) first() T { return q.items[q.head] }

func (q *queue[T]) push(item T) {
	if q.head > 0 && len(q.items) == cap(q.items) && q.head >= len(q.items)/2 {
		q.items, q.head = q.items[:copy(q.items, q.items[q.head:])], 0
	}
	q.items = append(q.items, item)
}

func (q *queue[T]) pop() T {
	var none T
	item := q.items[q.head]
	q.items[q.head] = none
	if q.head++; q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return item
}

// prepend puts items before all that wait.
func (q *queue[T]) prepend(items []T) {
	if len(items) > 0 {
		q.items, q.head = append(items, q.items[q.head:]...), 0
	}
}
