package fluxbus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func object(t *testing.T, text string) State {
	t.Helper()
	var state State
	if err := decodeExactly([]byte(text), &state); err != nil {
		t.Fatal(err)
	}
	return state
}

func text(t *testing.T, value any) string {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

func TestNumbersStayWhatTheyWere(t *testing.T) {
	for _, number := range []string{
		"0", "-1", "9007199254740993", "9223372036854775807", "-9223372036854775808", "1.0", "0.30000000000000004",
		"1.2345678901234568e+25", "-0.12345678901234566", "1e-7",
	} {
		whole := `{"n":` + number + `}`
		if again := text(t, object(t, whole)); again != whole {
			t.Errorf("%s became %s", whole, again)
		}
	}
}

// The examples of RFC 7396 whose patches are objects, as patches of states are.
func TestMergePatch(t *testing.T) {
	for _, each := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"a":[1,null]}`, `{"b":{"c":[null]}}`, `{"a":[1,null],"b":{"c":[null]}}`},
	} {
		state := object(t, each[0])
		if merged := text(t, Merge(state, object(t, each[1]))); merged != each[2] {
			t.Errorf("%s with %s became %s", each[0], each[1], merged)
		}
		if again := text(t, state); again != each[0] {
			t.Errorf("%s has become %s", each[0], again)
		}
	}
}

func linesOf(t *testing.T, pieces ...[]byte) (lines []string) {
	t.Helper()
	var reader lineReader
	for _, piece := range pieces {
		err := reader.read(piece, func(line []byte) error {
			lines = append(lines, string(line))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

func TestLinesComeHoweverTheyAreCut(t *testing.T) {
	whole := []byte("{\"a\":1}\r\n\n  \n{\"ä\":\"日本\"}\n{\"half")
	wanted := []string{`{"a":1}`, `{"ä":"日本"}`}
	var bytewise [][]byte
	for at := range whole {
		bytewise = append(bytewise, whole[at:at+1])
		if lines := linesOf(t, whole[:at], whole[at:]); !reflect.DeepEqual(lines, wanted) {
			t.Errorf("cut at %d: %q", at, lines)
		}
	}
	if lines := linesOf(t, bytewise...); !reflect.DeepEqual(lines, wanted) {
		t.Errorf("byte by byte: %q", lines)
	}
}

func TestLineWithoutEndIsRefused(t *testing.T) {
	var reader lineReader
	piece := bytes.Repeat([]byte("x"), 1<<20)
	for i := 0; i < 64; i++ {
		if err := reader.read(piece, nil); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := reader.read([]byte("x"), nil); err == nil {
		t.Error("it goes on")
	}
}

// following makes a session with a mirror that has been told its first states.
func following(t *testing.T) (*session, *Mirror) {
	session := newSession(func() {}, nil)
	session.connected(nil, func() {})
	mirror := &Mirror{session: session, states: map[string]State{}, feeds: map[*Feed[Change]]bool{}}
	session.subscribe(mirror)
	start := `{"id":1,"ok":true,"epoch":"e","revision":5}` + "\n" + `{"id":2,"ok":true,"sub":1,"revision":5,"epoch":"e"}` + "\n" +
		`{"event":"change","sub":1,"from":0,"revision":5,"reset":true,"states":{"a/b":{"c":1}}}` + "\n"
	if err := session.received([]byte(start)); err != nil {
		t.Fatal(err)
	}
	return session, mirror
}

func TestWhatIsNotTheProtocolEndsTheConnection(t *testing.T) {
	for _, line := range []string{
		"x", "[1]", "null", `"text"`, "{}", "{} {}", `{"id":77,"ok":true}`, `{"id":77,"ok":true,"revision":1}`, `{"ok":true}`,
		`{"id":"a","ok":false}`, `{"id":2,"ok":"true"}`, `{"event":"change","sub":1}`, `{"event":"change","sub":1,"from":4,"revision":6}`,
		`{"event":"change","sub":1,"revision":6}`, `{"event":"change","sub":1,"from":5,"revision":6,"changes":[]}`,
		`{"event":"change","sub":1,"from":5,"revision":6,"changes":{"a/b":1}}`, "\x00", "{\"event\":\"\xff\"}",
	} {
		session, mirror := following(t)
		pending, err := session.prepare("dispatch", actionOf("counter/a", "increment", nil))
		if err != nil || session.send(context.Background(), pending) != nil {
			t.Fatal(err)
		}
		if err := session.received([]byte(line + "\n")); (err == nil) != (line == "{}") || mirror.Revision() != 5 {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestPayloadThatIsNoJSONIsRefusedBeforeItIsSent(t *testing.T) {
	session := newSession(func() {}, nil)
	_, err := session.prepare("dispatch", actionOf("counter/a", "increment", map[string]any{"by": make(chan int)}))
	if !errors.Is(err, InvalidRequest) {
		t.Error(err)
	}
}

func TestDoublesBeyond64BitsHaveAnExponent(t *testing.T) {
	payload := map[string]any{
		"a": []float64{1 << 63, -(1 << 63), 1e20, 1e21, 1<<63 - 1024, 0.30000000000000004, -7}, "b": float32(1e20),
		`\"10000000000000000000`: "10000000000000000000", "c": uint64(1<<63 + 1), "d": json.Number("-9223372036854775809"),
		"e": struct{ F float64 }{-1e19},
	}
	wanted := `{"\\\"10000000000000000000":"10000000000000000000",` +
		`"a":[9223372036854776000e0,-9223372036854776000e0,100000000000000000000e0,1e+21,9223372036854775000,0.30000000000000004,-7],` +
		`"b":100000000000000000000e0,"c":9223372036854775809,"d":-9223372036854775809,"e":{"F":-10000000000000000000e0}}`
	action := `"store":"counter/a","action":"set","payload":` + wanted
	if body := actionOf("counter/a", "set", payload); string(body.bytes) != action {
		t.Errorf("%s", body.bytes)
	}
	var batch, state body
	batch.add("actions", []Step{Act("counter/a", "set", payload)})
	if string(batch.bytes) != `"actions":[{`+action+`}]` {
		t.Errorf("%s", batch.bytes)
	}
	state.addAll([]Member{Initial(payload)})
	if string(state.bytes) != `"state":`+wanted {
		t.Errorf("%s", state.bytes)
	}
}

func TestTextThatIsNotUTF8IsRefusedBeforeItIsSent(t *testing.T) {
	const wrong = "a\xffb"
	for i, body := range []body{
		actionOf("counter/"+wrong, "set", nil), actionOf("counter/a", wrong, nil), actionOf("counter/a", "set", wrong),
		actionOf("counter/a", "set", State{wrong: 1}), actionOf("counter/a", "set", []any{&struct{ Name string }{`\` + wrong}}),
		actionOf("counter/a", "set", json.RawMessage(`"`+wrong+`"`)), bodyOf(With(wrong, 1)), bodyOf(With("key", wrong)),
		bodyOf(With("actions", []Step{Act("counter/a", "set", State{"name": wrong})})),
	} {
		if !errors.Is(body.err, InvalidRequest) || !strings.Contains(body.err.Error(), "not UTF-8") {
			t.Error(i, body.err)
		}
	}
	if body := actionOf("counter/ä\ufffd", "set", State{"\ufffd": `\ufffd \\ufffd`}); body.err != nil {
		t.Error(body.err)
	}
	address, _ := listen(t)
	if _, err := Connect(context.Background(), address, WithClient(wrong), WithConnectTimeout(time.Second)); !errors.Is(err, InvalidRequest) {
		t.Error(err)
	}
}

func bodyOf(members ...Member) (b body) {
	b.addAll(members)
	return b
}

func TestIDAndAckAreRefusedBeforeTheyAreSent(t *testing.T) {
	session := newSession(func() {}, nil)
	for _, name := range []string{"id", "ack"} {
		body := actionOf("counter/a", "increment", nil)
		body.addAll([]Member{With(name, false)})
		_, err := session.prepare("dispatch", body)
		if !errors.Is(err, InvalidRequest) || !strings.Contains(err.Error(), "leave out `"+name+"`") {
			t.Error(name, err)
		}
	}
}

func TestWhatIsNothingIsNoPayload(t *testing.T) {
	var none State
	for _, payload := range []any{nil, none, json.RawMessage(nil)} {
		if body := actionOf("counter", "reset", payload); string(body.bytes) != `"type":"counter","action":"reset"` {
			t.Errorf("%s", body.bytes)
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Setenv("FLUXBUS_ADDRESS", "tcp:[::1]:7411, unix:/a")
	found, err := places("")
	if err != nil || len(found) != 2 || found[0].at != "[::1]:7411" || found[1].at != "/a" {
		t.Error(found, err)
	}
	for _, wrong := range []string{
		"unix:relative", "unix:/" + strings.Repeat("x", 107), "tcp:host", "tcp:host:0", "tcp:host:65536", "tcp::1", "http:a:1", "x",
	} {
		if _, err := places(wrong); !errors.Is(err, InvalidAddress) {
			t.Error(wrong, err)
		}
	}
}

// FuzzQuickReply compares the reader of usual replies with encoding/json.
func FuzzQuickReply(f *testing.F) {
	for _, line := range []string{
		`{"id":1,"ok":true,"revision":6,"matched":1,"changed":1}`, `{"id":1,"ok":true,"revision":6,"duplicate":true}`,
		`{"id":01,"ok":true,"revision":6}`, `{"id":1,"ok":true,"revision":9223372036854775808}`, `{"id":1,"ok":true,"revision":6,"x":1}`,
		`{"id":1,"ok":true,"revision":6,"changed":}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var quick Reply
		id, isQuick := quickID(line, &quick)
		if !isQuick {
			return
		}
		var slow struct {
			Reply
			ID int64
			OK bool
		}
		if err := json.Unmarshal(line, &slow); err != nil {
			t.Fatalf("%q was read, but %v", line, err)
		}
		slow.Raw = line
		if slow.ID != id || !slow.OK || !reflect.DeepEqual(quick, slow.Reply) {
			t.Fatalf("%q: %+v", line, quick)
		}
	})
}

// FuzzReceived lets any bytes come, cut anywhere, to a session with a mirror: it takes them or refuses them.
func FuzzReceived(f *testing.F) {
	f.Add([]byte(`{"event":"change","sub":1,"from":5,"revision":6,"changes":{"a/b":{"c":null}}}`+"\n"), uint8(9))
	f.Add([]byte(`{"event":"change","sub":1,"from":0,"reset":true,"revision":6,"states":{"a/b":{}},"dropped":["a/c"]}`+"\n"), uint8(3))
	f.Add([]byte(`{"id":3,"ok":false,"error":{"code":"rejected"}}`+"\n\n"+`{"event":"goodbye"}`+"\n"), uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, cut uint8) {
		session, mirror := following(t)
		at := int(cut)
		if at > len(data) {
			at = len(data)
		}
		if session.received(data[:at]) == nil {
			_ = session.received(data[at:])
		}
		_ = text(t, mirror.States())
		session.lost("it was cut")
		session.finish(nil)
	})
}
