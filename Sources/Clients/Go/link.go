package fluxbus

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand"
	"net"
	"os"
	"sync"
	"time"
)

// A link keeps a session connected: it begins again when a connection is lost or silent.
type link struct {
	options options
	places  []place
	// at is the place to try first: the one that answered last.
	at      int
	session *session
	wakes   chan struct{}
	// hurry ends the wait before an attempt, the one of now or the next one.
	hurry chan struct{}
	// logs feeds the goroutine that calls the log function, so that the function may use the bus and close it.
	// It is nil where there is no such function.
	logs   chan func()
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{}
}

// Connect connects to the bus at address, such as unix:/run/fluxbus/bus.sock or tls:bus.example:7412. Several, between
// commas, are the members of one bus. Without an address it is $FLUXBUS_ADDRESS, else that of this machine. It makes one
// attempt, or goes on for as long as WithPatience says; a connection that is lost later is made again until Close.
func Connect(ctx context.Context, address string, settings ...Option) (*Bus, error) {
	o := options{attempt: 5 * time.Second, silent: 30 * time.Second, firstWait: 50 * time.Millisecond, longestWait: 10 * time.Second}
	for _, setting := range settings {
		setting(&o)
	}
	found, err := places(address)
	if err != nil {
		return nil, err
	}
	if o.token == "" {
		o.token = os.Getenv("FLUXBUS_TOKEN")
	}
	if o.linger > 0 && o.session == "" {
		var random [16]byte
		_, _ = rand.Read(random[:])
		o.session = hex.EncodeToString(random[:])
	}
	l := newLink(o, found)
	conn, err := l.first(ctx)
	if err != nil {
		l.session.finish(err.(*Error))
		l.cancel()
		return nil, err
	}
	if o.log != nil {
		l.logs = make(chan func(), backlog)
		go l.callLog(l.logs)
	}
	go l.run(conn)
	return &Bus{link: l, session: l.session}, nil
}

func newLink(o options, places []place) *link {
	l := &link{options: o, places: places, wakes: make(chan struct{}, 1), hurry: make(chan struct{}, 1)}
	l.ended = make(chan struct{})
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.session = newSession(l.wake, l.hello())
	return l
}

// callLog calls the log function, until the program closes the bus.
func (l *link) callLog(logs <-chan func()) {
	for log := range logs {
		if l.ctx.Err() == nil {
			log()
		}
	}
}

func (l *link) hello() (members []Member) {
	if l.options.client != "" {
		members = append(members, With("client", l.options.client))
	}
	if l.hasSession() {
		members = append(members, With("session", l.options.session), With("linger", l.options.linger.Seconds()))
	}
	return members
}

func (l *link) hasSession() bool { return l.options.session != "" }

func (l *link) wake() {
	select {
	case l.wakes <- struct{}{}:
	default:
	}
}

// logf is for the goroutine that runs the link. What a function that hangs has no room for is not logged.
func (l *link) logf(format string, values ...any) {
	if l.logs == nil {
		return
	}
	select {
	case l.logs <- func() { l.options.log(format, values...) }:
	default:
	}
}

// first makes the first connection.
func (l *link) first(ctx context.Context) (*connection, error) {
	deadline := time.Now().Add(l.options.patience)
	for attempt := 0; ; attempt++ {
		conn, err := l.connect(ctx)
		if err == nil {
			return conn, nil
		}
		wait := l.backOff(attempt)
		if !passing[err.Code] || time.Now().Add(wait).After(deadline) {
			return nil, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// backOff grows after each attempt, and is cut at random by up to half, so that a bus's clients do not come back in step.
func (l *link) backOff(attempt int) time.Duration {
	if attempt > 30 {
		attempt = 30
	}
	wait := l.options.longestWait
	if grown := float64(l.options.firstWait) * float64(int64(1)<<attempt); grown < float64(wait) {
		wait = time.Duration(grown)
	}
	return time.Duration(float64(wait) * (1 - mathrand.Float64()/2))
}

// A connection is a socket with one goroutine that reads, and one that writes.
type connection struct {
	net.Conn
	link *link
	// isQuiet: nothing has come since the bus was asked whether it is there.
	isQuiet bool
	buffer  []byte
	stop    sync.Once
	stopped chan struct{}
	writer  sync.WaitGroup
}

// connect makes one attempt at each place, up to the bus's greeting.
func (l *link) connect(ctx context.Context) (*connection, *Error) {
	var failure *Error
	ctx, cancel := context.WithTimeout(ctx, l.options.attempt)
	defer cancel()
	for range l.places {
		deadline, _ := ctx.Deadline()
		share := time.Until(deadline) / time.Duration(len(l.places))
		conn, err := l.connectTo(ctx, l.places[l.at], share)
		if err == nil {
			return conn, nil
		}
		failure = err
		l.at = (l.at + 1) % len(l.places)
		if !passing[err.Code] {
			break
		}
	}
	return nil, failure
}

func (l *link) connectTo(ctx context.Context, at place, patience time.Duration) (*connection, *Error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	socket, err := l.dial(ctx, at)
	if err != nil {
		return nil, l.explained(err, at)
	}
	c := &connection{Conn: socket, link: l, buffer: make([]byte, 256<<10), stopped: make(chan struct{})}
	c.writer.Add(1)
	go c.writeAll()
	isGreeted := false
	var members []Member
	if at.scheme != "unix" && l.options.token != "" {
		members = append(members, With("token", l.options.token))
	}
	// Ends what is read below when the time is over. It has to be done before ctx is, which ends when this returns.
	watch, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
			c.close()
		case <-watch:
		}
	}()
	err = l.session.connected(members, func() { isGreeted = true })
	for !isGreeted && err == nil {
		err = c.read()
	}
	close(watch)
	<-watched
	if err == nil && ctx.Err() == nil {
		return c, nil
	}
	if err == nil || ctx.Err() != nil {
		err = ctx.Err()
	}
	c.close()
	c.writer.Wait()
	lost := l.session.lost(err.Error())
	if errors.As(err, new(*Error)) || ctx.Err() != nil {
		return nil, l.explained(err, at)
	}
	return nil, lost
}

func (l *link) dial(ctx context.Context, at place) (net.Conn, error) {
	switch at.scheme {
	case "unix":
		return new(net.Dialer).DialContext(ctx, "unix", at.at)
	case "tls":
		return (&tls.Dialer{Config: l.options.tls}).DialContext(ctx, "tcp", at.at)
	default:
		return new(net.Dialer).DialContext(ctx, "tcp", at.at)
	}
}

// explained gives a failed attempt its code and sentence.
func (l *link) explained(err error, at place) *Error {
	var refusal *Error
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var network net.Error
	isTLS := errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid)
	switch {
	case errors.As(err, &refusal):
		return refusal
	case isTLS:
		return &Error{Code: Untrusted, Message: fmt.Sprintf("The bus can't prove that it is the one: %v.", err), Cause: err}
	case errors.Is(err, context.Canceled):
		return &Error{Code: Closed, Message: "This program has given up connecting.", Cause: err}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		message := "The bus did not answer in the time allowed; see whether it is busy."
		return &Error{Code: TimedOut, Message: message, Cause: err}
	default:
		return &Error{Code: Unreachable, Message: fmt.Sprintf("Nothing answers at %v: %v.", at, err), Cause: err}
	}
}

// run goes from one connection to the next, until there is to be no more.
func (l *link) run(conn *connection) {
	defer close(l.ended)
	if l.logs != nil {
		defer close(l.logs)
	}
	for conn != nil {
		err := l.serve(conn)
		// A Reconnect from before the loss is void. One from the log function, which hears of the loss next, counts.
		select {
		case <-l.hurry:
		default:
		}
		lost := l.session.lost(err.Error())
		if l.ctx.Err() == nil {
			l.logf("fluxbus: %s", lost.Message)
		}
		conn = l.reconnect()
	}
}

// serve reads until the connection ends, or is to end.
func (l *link) serve(conn *connection) error {
	stop := make(chan struct{})
	go func() {
		select {
		case <-l.ctx.Done():
			conn.close()
		case <-stop:
		}
	}()
	err := conn.readAll()
	close(stop)
	conn.close()
	conn.writer.Wait()
	return err
}

func (l *link) reconnect() *connection {
	for attempt := 0; !l.session.isEnded(); attempt++ {
		select {
		case <-time.After(l.backOff(attempt)):
		case <-l.hurry:
		case <-l.ctx.Done():
			return nil
		}
		conn, err := l.connect(l.ctx)
		switch {
		case err == nil:
			l.logf("fluxbus: connected again to %v", l.places[l.at])
			return conn
		case !passing[err.Code] && l.ctx.Err() == nil:
			l.logf("fluxbus: %s", err.Message)
			l.session.finish(err)
		}
	}
	return nil
}

func (s *session) isEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended != nil
}

// leave ends the session's name at once.
func (l *link) leave(ctx context.Context) {
	left := make(chan struct{})
	s := l.session
	s.mu.Lock()
	if s.isOpen {
		var body body
		body.addAll([]Member{With("protocol", 1), With("session", l.options.session), With("linger", 0)})
		s.own("hello", body, func(*reply, error) error {
			close(left)
			return nil
		})
	} else {
		close(left)
	}
	s.mu.Unlock()
	select {
	case <-left:
	case <-ctx.Done():
	}
}

func (l *link) stop() {
	l.cancel()
	<-l.ended
}

var errEnded = errors.New("the connection was lost")

func (c *connection) close() {
	c.stop.Do(func() {
		close(c.stopped)
		_ = c.Conn.Close()
	})
}

func (c *connection) writeAll() {
	defer c.writer.Done()
	var out []byte
	for {
		select {
		case <-c.link.wakes:
		case <-c.stopped:
			return
		}
		for out = c.link.session.outgoing(out); len(out) > 0; out = c.link.session.outgoing(out) {
			if _, err := c.Write(out); err != nil {
				// The bus may have said why before it ended the connection, so reading goes on. The rest is closed after a while.
				time.AfterFunc(c.link.options.attempt, c.close)
				return
			}
		}
	}
}

func (c *connection) readAll() error {
	for {
		if err := c.read(); err != nil {
			return err
		}
	}
}

// read takes what comes next. Of a bus that is silent it asks whether it is there, and gives up one that stays so.
func (c *connection) read() error {
	_ = c.SetReadDeadline(time.Now().Add(c.link.options.silent))
	count, err := c.Conn.Read(c.buffer)
	if count > 0 {
		c.isQuiet = false
		if fault := c.link.session.received(c.buffer[:count]); fault != nil {
			return foreign(fault)
		}
	}
	var network net.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &network) && network.Timeout() && !c.isQuiet:
		c.isQuiet = true
		c.link.session.ping()
		return nil
	case errors.As(err, &network) && network.Timeout():
		return errors.New("the bus has said nothing for a long time")
	default:
		return errEnded
	}
}

// foreign: a refusal stays what it is; anything else does not follow the protocol.
func foreign(fault error) error {
	var refusal *Error
	if errors.As(fault, &refusal) {
		return refusal
	}
	return fmt.Errorf("what came does not follow the protocol: %w", fault)
}
