package fluxbus

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A peer is one connection of a bus that says what the test wants.
type peer struct {
	net.Conn
	lines *bufio.Reader
}

func (p *peer) hear(t *testing.T) map[string]any {
	t.Helper()
	var heard map[string]any
	line, err := p.lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &heard)
	}
	if err != nil {
		t.Error(err)
	}
	return heard
}

func (p *peer) say(format string, values ...any) { _, _ = fmt.Fprintf(p, format+"\n", values...) }

func (p *peer) answer(t *testing.T, members string) map[string]any {
	t.Helper()
	heard := p.hear(t)
	p.say(`{"id":%v,%s}`, heard["id"], members)
	return heard
}

const greeting = `"ok":true,"epoch":"e","revision":5`

// listen gives an address, and the connections to it.
func listen(t *testing.T) (string, net.Listener) {
	t.Helper()
	// The usual place may have a path that is too long for a socket.
	folder, err := os.MkdirTemp("", "fb")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(folder, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = listener.Close()
		_ = os.RemoveAll(folder)
	})
	return "unix:" + filepath.Join(folder, "s"), listener
}

func accept(t *testing.T, listener net.Listener) *peer {
	t.Helper()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &peer{conn, bufio.NewReader(conn)}
}

// connected gives a client and the bus's side of it.
func connected(t *testing.T, options ...Option) (*Bus, *peer, net.Listener) {
	t.Helper()
	address, listener := listen(t)
	peers := make(chan *peer, 1)
	go func() {
		one := accept(t, listener)
		one.answer(t, greeting)
		peers <- one
	}()
	options = append([]Option{WithBackOff(time.Millisecond, 2*time.Millisecond)}, options...)
	bus, err := Connect(context.Background(), address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = bus.Shutdown(ctx)
	})
	return bus, <-peers, listener
}

func TestRefusalIsAnErrorWithItsCode(t *testing.T) {
	bus, peer, _ := connected(t)
	go peer.answer(t, `"ok":false,"error":{"code":"conflict","message":"It is another.","revision":9007199254740993}`)
	_, err := bus.Dispatch(context.Background(), "counter/a", "increment", nil, IfRevision(4))
	var refusal *Error
	if !errors.As(err, &refusal) || !errors.Is(err, Conflict) || errors.Is(err, Rejected) {
		t.Fatal(err)
	}
	if refusal.Details["revision"] != json.Number("9007199254740993") || err.Error() != "It is another. (conflict)" {
		t.Error(refusal)
	}
}

func TestEveryCodeOfTheProtocolHasAName(t *testing.T) {
	page, err := os.ReadFile("../../Core/BusProtocol/BusProtocol.docc/Protocol.md")
	if err != nil {
		t.Skip("The protocol is not here.")
	}
	source, err := os.ReadFile("errors.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Error codes\n")
	rows := strings.Split(table, "\n| `")[1:]
	for _, row := range rows {
		code, _, _ := strings.Cut(row, "`")
		if !strings.Contains(string(source), fmt.Sprintf("Code = %q\n", code)) {
			t.Error(code)
		}
	}
	if len(rows) < 19 {
		t.Error(rows)
	}
}

func TestContextThatEndsIsATimeOut(t *testing.T) {
	bus, peer, listener := connected(t)
	pending, err := bus.Send(context.Background(), "counter/a", "increment", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = peer.hear(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err = pending.Wait(ctx)
	var timeout interface{ Timeout() bool }
	if !errors.Is(err, TimedOut) || !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Fatal(err)
	}
	// Nobody waits for it any more, so it is not sent again.
	_ = peer.Close()
	again := accept(t, listener)
	again.answer(t, greeting)
	go func() { _, _ = bus.Request(context.Background(), "ping") }()
	if heard := again.hear(t); heard["op"] != "ping" {
		t.Error(heard)
	}
}

func TestResultAndDuplicateAreRead(t *testing.T) {
	bus, peer, _ := connected(t)
	go peer.answer(t, `"ok":true,"revision":6,"matched":1,"changed":0,"duplicate":true,"result":{"n":7}`)
	reply, err := bus.Dispatch(context.Background(), "counter/a", "increment", nil)
	if err != nil {
		t.Fatal(err)
	}
	var result struct{ N int }
	if err := reply.Result(&result); err != nil || result.N != 7 || !reply.Duplicate || reply.Matched != 1 {
		t.Error(err, reply)
	}
}

// A context that tells when somebody waits for its end.
type watched struct {
	context.Context
	once    *sync.Once
	isAsked chan struct{}
}

func (w watched) Done() <-chan struct{} {
	w.once.Do(func() { close(w.isAsked) })
	return w.Context.Done()
}

func TestShutdownWaitsForAnswers(t *testing.T) {
	bus, peer, _ := connected(t, WithLinger(time.Second))
	pending, err := bus.Send(context.Background(), "counter/a", "increment", nil)
	if err != nil {
		t.Fatal(err)
	}
	heard := peer.hear(t)
	ctx := watched{context.Background(), new(sync.Once), make(chan struct{})}
	go func() {
		<-ctx.isAsked
		peer.say(`{"id":%v,"ok":true,"revision":6}`, heard["id"])
		if leaving := peer.answer(t, greeting); leaving["op"] != "hello" || leaving["linger"] != 0.0 {
			t.Error(leaving)
		}
	}()
	if err := bus.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if reply, err := pending.Wait(context.Background()); err != nil || reply.Revision != 6 {
		t.Error(reply, err)
	}
	if _, err := bus.Request(context.Background(), "ping"); !errors.Is(err, Closed) {
		t.Error(err)
	}
}

func TestConnectWaitsForTheFirstConnection(t *testing.T) {
	address, listener := listen(t)
	_ = listener.Close()
	path := strings.TrimPrefix(address, "unix:")
	if _, err := Connect(context.Background(), address); !errors.Is(err, Unreachable) {
		t.Fatal(err)
	}
	failed := make(chan struct{})
	go func() {
		<-failed
		later, err := net.Listen("unix", path)
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { _ = later.Close() })
		one := accept(t, later)
		one.answer(t, greeting)
		one.answer(t, `"ok":true`)
	}()
	var once sync.Once
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	// The second address is none that answers; it is asked after the first one has failed.
	second, other := listen(t)
	go func() {
		for {
			conn, err := other.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
			once.Do(func() { close(failed) })
		}
	}()
	bus, err := Connect(ctx, address+","+second, WithPatience(20*time.Second), WithBackOff(time.Millisecond, time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bus.Request(ctx, "ping"); err != nil {
		t.Error(err)
	}
	_ = bus.Close()
}

func TestReconnectDoesNotWait(t *testing.T) {
	bus, peer, listener := connected(t, WithBackOff(time.Hour, time.Hour))
	if bus.Revision() != 5 {
		t.Error(bus.Revision())
	}
	_ = peer.Close()
	again := make(chan struct{})
	go func() {
		defer close(again)
		accept(t, listener).answer(t, greeting)
	}()
	for {
		select {
		case <-again:
			return
		case <-time.After(time.Millisecond):
			bus.Reconnect()
		}
	}
}

func TestFeedThatIsFarBehindGetsTheRestAsOne(t *testing.T) {
	bus, peer, _ := connected(t)
	go func() {
		peer.answer(t, `"ok":true,"sub":1,"epoch":"e","revision":5`)
		peer.say(`{"event":"change","sub":1,"from":0,"revision":5,"reset":true,"states":{"counter/a":{"count":0}}}`)
		for revision := 5; revision < 5+backlog+9; revision++ {
			peer.say(`{"event":"change","sub":1,"from":%d,"revision":%d,"changes":{"counter/a":{"count":%d}}}`, revision, revision+1, revision)
		}
		peer.answer(t, `"ok":true`)
	}()
	ctx := context.Background()
	feed, err := bus.Subscribe(ctx, "counter")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bus.Request(ctx, "ping"); err != nil {
		t.Fatal(err)
	}
	first, err := feed.Next(ctx)
	if err != nil || !first.Reset || first.Revision <= 5 {
		t.Fatal(first, err)
	}
	for last := first; last.Revision < 5+backlog+9; {
		if last, err = feed.Next(ctx); err != nil {
			t.Fatal(err)
		}
	}
	feed.Close()
	if heard := peer.answer(t, `"ok":true`); heard["op"] != "unsubscribe" {
		t.Error(heard)
	}
}

func TestSilentBusIsAsked(t *testing.T) {
	_, peer, _ := connected(t, WithKeepAlive(200*time.Millisecond))
	if heard := peer.hear(t); heard["op"] != "ping" {
		t.Error(heard)
	}
}

func TestManyGoroutinesShareOneBus(t *testing.T) {
	bus, peer, _ := connected(t)
	const all = 4_000
	go func() {
		for i := 0; i < all; i++ {
			peer.answer(t, fmt.Sprintf(`"ok":true,"revision":%d,"matched":1,"changed":1`, i+6))
		}
	}()
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for j := 0; j < all/8; j++ {
				if _, err := bus.Dispatch(context.Background(), "counter/a", "increment", nil); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	group.Wait()
}

func TestTLSIsTrustedOnlyWithItsAuthority(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	tokens := make(chan any, 2)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			one := &peer{conn, bufio.NewReader(conn)}
			if line, err := one.lines.ReadBytes('\n'); err == nil {
				var hello map[string]any
				_ = json.Unmarshal(line, &hello)
				one.say(`{"id":%v,%s}`, hello["id"], greeting)
				tokens <- hello["token"]
			}
		}
	}()
	address := "tls:" + listener.Addr().String()
	if _, err := Connect(context.Background(), address); !errors.Is(err, Untrusted) {
		t.Fatal(err)
	}
	authority, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(authority)
	bus, err := Connect(context.Background(), address, WithTLS(&tls.Config{RootCAs: pool}), WithToken("secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	if token := <-tokens; token != "secret" {
		t.Error(token)
	}
}
