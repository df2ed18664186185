package fluxbus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A State is what a store holds: the members of a JSON object. Numbers in it are json.Number, so that each stays exactly
// what the bus has. Nobody may change a State that comes from a mirror, because others may hold it too.
type State = map[string]any

// Null is JSON's null for a value of type any that is left out when it is nil.
var Null = json.RawMessage("null")

// A Member is a further member of a request, such as IfRevision(4).
type Member struct {
	name  string
	value any
}

// With is any member of a request but id and ack, by its name in the protocol.
func With(name string, value any) Member { return Member{name, value} }

// A Step is one action of a batch or a will, or a store that a batch creates or drops.
type Step struct {
	op, target, action string
	payload            any
	members            []Member
}

// Act is a step that dispatches an action to a store, "counter/kitchen", or to every store of a type, "counter".
func Act(target, action string, payload any, members ...Member) Step {
	return Step{"", target, action, payload, members}
}

// CreateStep is a step that makes a store.
func CreateStep(address string, members ...Member) Step {
	return Step{op: "create", target: address, members: members}
}

// DropStep is a step that drops a store or, with Where, the stores of a type for which that holds.
func DropStep(target string, members ...Member) Step {
	return Step{op: "drop", target: target, members: members}
}

// MarshalJSON gives the step as the protocol has it.
func (s Step) MarshalJSON() ([]byte, error) {
	var body body
	if s.op != "" {
		body.text("op", s.op)
	}
	body.text(targetOf(s.target), s.target)
	if s.action != "" {
		body.text("action", s.action)
	}
	body.payload(s.payload)
	body.addAll(s.members)
	return append(append([]byte{'{'}, body.bytes...), '}'), body.err
}

func targetOf(target string) string {
	if strings.IndexByte(target, '/') >= 0 {
		return "store"
	}
	return "type"
}

func patternOf(target string) string {
	if strings.ContainsAny(target, "*?") {
		return "match"
	}
	return targetOf(target)
}

// A body is the members of a request as JSON, between the braces. The first error stays.
type body struct {
	bytes []byte
	err   error
	// Whether the program passed its own key, what it had seen, an id or an ack, and whether the request commits nothing (a dry run).
	hasKey, hasSeen, hasID, hasAck, isDry bool
	// Whether it, or an element of its batch, names a revision, or makes a store that goes with its session.
	namesRevision, isEphemeral bool
}

// revisions holds the members that name a revision, which means nothing in another epoch.
var revisions = setOf("ifRevision revision since until")

func (b *body) name(name string) {
	if len(b.bytes) > 0 {
		b.bytes = append(b.bytes, ',')
	}
	b.quote(name)
	b.bytes = append(b.bytes, ':')
}

func (b *body) text(name, value string) {
	b.name(name)
	b.quote(value)
}

func (b *body) quote(text string) {
	if !utf8.ValidString(text) {
		b.fail(errNotUTF8)
	}
	b.bytes = appendText(b.bytes, text)
}

func (b *body) fail(err error) {
	if b.err == nil {
		b.err = &Error{Code: InvalidRequest, Message: "This can't be written as JSON: " + err.Error() + ".", Cause: err}
	}
}

var errNotUTF8 = errors.New("a text is not UTF-8, or has the escape \\ufffd where the character U+FFFD itself must stand")

// isReplaced: json.Marshal writes \ufffd for what is not UTF-8, and that character itself as it is.
func isReplaced(encoded []byte) bool {
	return bytes.Contains(encoded, []byte(`\ufffd`)) &&
		bytes.Contains(bytes.ReplaceAll(encoded, []byte(`\\`), nil), []byte(`\ufffd`))
}

// withExponents gives large doubles an exponent where json.Marshal writes none. Without one the bus takes them for integers, and
// refuses what 64 bits do not hold.
func withExponents(encoded []byte) []byte {
	var out []byte
	isText, copied := false, 0
	for at := 0; at < len(encoded); at++ {
		switch c := encoded[at]; {
		case c == '"':
			isText = !isText
		case c == '\\':
			at++
		case !isText && (c == '-' || c-'0' < 10):
			end := at + 1
			for end < len(encoded) && strings.IndexByte("0123456789.eE+-", encoded[end]) >= 0 {
				end++
			}
			if end-at >= 19 && isLargeDouble(string(encoded[at:end])) {
				out = append(append(out, encoded[copied:end]...), "e0"...)
				copied = end
			}
			at = end - 1
		}
	}
	if copied == 0 {
		return encoded
	}
	return append(out, encoded[copied:]...)
}

// isLargeDouble says whether json.Marshal has written this for a double. Other integers that are too large stay what they are.
func isLargeDouble(number string) bool {
	_, err := strconv.ParseInt(number, 10, 64)
	double, _ := strconv.ParseFloat(number, 64)
	return errors.Is(err, strconv.ErrRange) && strconv.FormatFloat(double, 'f', -1, 64) == number
}

func (b *body) add(name string, value any) {
	if text, isText := value.(string); isText {
		b.text(name, text)
		return
	}
	encoded, err := json.Marshal(value)
	_, isRaw := value.(json.RawMessage)
	if err == nil && (!utf8.Valid(encoded) || !isRaw && isReplaced(encoded)) {
		err = errNotUTF8
	}
	if err != nil {
		b.fail(err)
	}
	encoded = withExponents(encoded)
	b.name(name)
	b.bytes = append(b.bytes, encoded...)
	var steps []struct {
		IfRevision json.RawMessage
		Ephemeral  bool
	}
	if name != "actions" || json.Unmarshal(encoded, &steps) != nil {
		return
	}
	for _, step := range steps {
		b.namesRevision = b.namesRevision || step.IfRevision != nil
		b.isEphemeral = b.isEphemeral || step.Ephemeral
	}
}

// payload adds what an action takes, where that is something: a map that was never made is not.
func (b *body) payload(value any) {
	if value == nil {
		return
	}
	before := len(b.bytes)
	if b.add("payload", value); bytes.HasSuffix(b.bytes, []byte(`"payload":null`)) {
		b.bytes = b.bytes[:before]
	}
}

func (b *body) addAll(members []Member) {
	for _, member := range members {
		b.hasKey = b.hasKey || member.name == "key"
		b.hasSeen = b.hasSeen || member.name == "after" || member.name == "epoch"
		b.hasID = b.hasID || member.name == "id"
		b.hasAck = b.hasAck || member.name == "ack"
		b.namesRevision = b.namesRevision || revisions[member.name]
		b.isEphemeral = b.isEphemeral || member.name == "ephemeral" && member.value == true
		b.isDry = b.isDry || member.name == "dryRun" && member.value == true
		b.add(member.name, member.value)
	}
}

func appendText(bytes []byte, text string) []byte {
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			encoded, _ := json.Marshal(text)
			return append(bytes, encoded...)
		}
	}
	return append(append(append(bytes, '"'), text...), '"')
}

// A Reply is what the bus answers to a request.
type Reply struct {
	// Revision is that of the commit; of what commits nothing, that of the answer.
	Revision int64 `json:"revision"`
	// Matched stores saw the actions, Changed ones are different now.
	Matched int64 `json:"matched"`
	Changed int64 `json:"changed"`
	// Duplicate: it was committed before, and this is the answer of then.
	Duplicate bool `json:"duplicate"`
	// Created: the store is new.
	Created bool `json:"created"`
	// Raw is the whole reply as JSON.
	Raw json.RawMessage `json:"-"`
}

// Decode reads the whole reply into a pointer, as json.Unmarshal does; numbers in values of type any are json.Number.
func (r *Reply) Decode(into any) error { return decodeExactly(r.Raw, into) }

// Result reads what the action returned, of the one store that it was for.
func (r *Reply) Result(into any) error {
	var reply struct {
		Result json.RawMessage `json:"result"`
	}
	if err := r.Decode(&reply); err != nil {
		return err
	}
	if reply.Result == nil {
		return &Error{Code: UnexpectedReply, Message: "The action returned nothing."}
	}
	return decodeExactly(reply.Result, into)
}

// A reply is a Reply with what the session needs of it.
type reply struct {
	Reply
	ID      json.RawMessage `json:"id"`
	OK      bool            `json:"ok"`
	Event   *string         `json:"event"`
	Error   json.RawMessage `json:"error"`
	Sub     int64           `json:"sub"`
	Epoch   string          `json:"epoch"`
	Resumed bool            `json:"resumed"`
}

// An event is what comes unasked.
type event struct {
	Event       string           `json:"event"`
	Sub         int64            `json:"sub"`
	Revision    *int64           `json:"revision"`
	From        *int64           `json:"from"`
	Reset       bool             `json:"reset"`
	More        bool             `json:"more"`
	Coalesced   int64            `json:"coalesced"`
	States      map[string]State `json:"states"`
	Changes     map[string]any   `json:"changes"`
	Dropped     []string         `json:"dropped"`
	Cause       State            `json:"cause"`
	Store       string           `json:"store"`
	Type        string           `json:"type"`
	Action      string           `json:"action"`
	Index       *int64           `json:"index"`
	Payload     State            `json:"payload"`
	By          State            `json:"by"`
	Time        float64          `json:"time"`
	Result      any              `json:"result"`
	Results     State            `json:"results"`
	Traceparent string           `json:"traceparent"`
	Code        string           `json:"code"`
	Message     string           `json:"message"`
}

// decodeExactly is json.Unmarshal with json.Number for numbers that nothing else says.
func decodeExactly(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if rest := bytes.TrimLeft(data[decoder.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return errors.New("there is something behind the value")
	}
	return nil
}

// readReply reads a line that may be an event instead.
func readReply(line []byte) (*reply, error) {
	read := &reply{}
	err := decodeExactly(line, read)
	// Ops of which this client knows nothing may have members of these names that are something else.
	var other *json.UnmarshalTypeError
	if err != nil && !(errors.As(err, &other) && other.Field != "" && other.Field != "ok" && other.Field != "event") {
		return nil, err
	}
	read.Raw = append(json.RawMessage(nil), line...)
	return read, nil
}

// quickID reads the usual reply to a dispatch, which has its members in one order, into into and gives its id; false where
// a line is anything else.
func quickID(line []byte, into *Reply) (int64, bool) {
	rest, id, isRead := afterNumber(line, `{"id":`)
	if !isRead || !bytes.HasPrefix(rest, []byte(`,"ok":true,`)) {
		return 0, false
	}
	rest = rest[len(`,"ok":true`):]
	read := Reply{}
	rest, read.Revision, isRead = afterNumber(rest, `,"revision":`)
	if !isRead {
		return 0, false
	}
	rest, read.Matched, _ = afterNumber(rest, `,"matched":`)
	rest, read.Changed, _ = afterNumber(rest, `,"changed":`)
	if duplicate := []byte(`,"duplicate":true`); bytes.HasPrefix(rest, duplicate) {
		rest, read.Duplicate = rest[len(duplicate):], true
	}
	if len(rest) != 1 || rest[0] != '}' {
		return 0, false
	}
	*into = read
	into.Raw = append(json.RawMessage(nil), line...)
	return id, true
}

// afterNumber gives what stands behind name and a natural number; all of line, and false, where they do not begin it.
func afterNumber(line []byte, name string) (rest []byte, number int64, isThere bool) {
	if len(line) < len(name) || string(line[:len(name)]) != name {
		return line, 0, false
	}
	end := len(name)
	for end < len(line) && line[end]-'0' < 10 {
		digit := int64(line[end] - '0')
		if number > (math.MaxInt64-digit)/10 || number == 0 && end > len(name) {
			return line, 0, false
		}
		number, end = number*10+digit, end+1
	}
	if end == len(name) {
		return line, 0, false
	}
	return line[end:], number, true
}

// checkLine says what makes a line none of the protocol, before its members are looked at.
func checkLine(line []byte) error {
	if line[0] != '{' {
		return errors.New("a line is no object")
	}
	if !utf8.Valid(line) {
		return errors.New("a line is not UTF-8")
	}
	return nil
}

// Merge gives what a merge patch (RFC 7396) makes of a state, which stays as it is.
func Merge(state, patch State) State {
	merged := make(State, len(state)+len(patch))
	for name, value := range state {
		merged[name] = value
	}
	for name, value := range patch {
		switch part := value.(type) {
		case nil:
			delete(merged, name)
		case State:
			before, _ := merged[name].(State)
			merged[name] = Merge(before, part)
		default:
			merged[name] = value
		}
	}
	return merged
}

// A lineReader cuts what comes into lines.
type lineReader struct{ rest []byte }

// longestLine is how many bytes a line from the bus may have; a longer one ends the connection.
const longestLine = 64 << 20

// read calls take with each line that has come, without its end and without spaces around it; empty ones are left out. A
// line is valid until take returns.
func (r *lineReader) read(data []byte, take func(line []byte) error) error {
	for {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			break
		}
		line := data[:end]
		if len(r.rest) > 0 {
			line = append(r.rest, line...)
			r.rest = line[:0]
		}
		data = data[end+1:]
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := take(line); err != nil {
				return err
			}
		}
	}
	if len(r.rest)+len(data) > longestLine {
		return fmt.Errorf("a line is longer than %s bytes", strconv.Itoa(longestLine))
	}
	r.rest = append(r.rest, data...)
	return nil
}
