package fluxbus

import (
	"context"
	"encoding/json"
	"errors"
)

// A Code says to programs why something failed. It is an error itself, so that errors.Is takes it:
//
//	if errors.Is(err, fluxbus.Conflict) { … }
type Code string

// Error makes a Code something that errors.Is looks for.
func (c Code) Error() string { return string(c) }

// The codes of the bus.
const (
	ParseError     Code = "parse_error"
	InvalidRequest Code = "invalid_request"
	UnknownOp      Code = "unknown_op"
	UnknownType    Code = "unknown_type"
	UnknownStore   Code = "unknown_store"
	UnknownAction  Code = "unknown_action"
	UnknownTimer   Code = "unknown_timer"
	UnknownClient  Code = "unknown_client"
	InvalidPayload Code = "invalid_payload"
	Rejected       Code = "rejected"
	Conflict       Code = "conflict"
	Gone           Code = "gone"
	Exists         Code = "exists"
	Forbidden      Code = "forbidden"
	Unauthorized   Code = "unauthorized"
	TooLarge       Code = "too_large"
	Limit          Code = "limit"
	Unavailable    Code = "unavailable"
	Internal       Code = "internal"
)

// The codes of the client.
const (
	// InvalidAddress: the address is none.
	InvalidAddress Code = "invalid_address"
	// Unreachable: nothing answers at the address.
	Unreachable Code = "unreachable"
	// Untrusted: the bus can't prove that it is the one.
	Untrusted Code = "untrusted"
	// TimedOut: the context ended before the answer.
	TimedOut Code = "timed_out"
	// Closed: this program has closed the bus, or the bus has sent it away.
	Closed Code = "closed"
	// OutcomeUnknown: the connection was lost, and whether the request was committed can't be known.
	OutcomeUnknown Code = "outcome_unknown"
	// UnexpectedReply: the bus refused a request without saying why.
	UnexpectedReply Code = "unexpected_reply"
)

// passing holds the failures after which another attempt to connect may succeed.
var passing = map[Code]bool{
	Unreachable: true, Untrusted: true, TimedOut: true, Limit: true, Unavailable: true, Closed: true,
}

// saysNothing holds the refusals that can't say whether a request was committed before: the bus has not looked for its key, or, with
// Conflict, can't remember it.
var saysNothing = map[Code]bool{Conflict: true, Forbidden: true, UnknownType: true, TooLarge: true, Limit: true, Unavailable: true}

// An Error is a refusal of the bus, or a failure on the way to it.
type Error struct {
	// Code is for programs.
	Code Code
	// Message is one sentence for people.
	Message string
	// Details holds the further members of the bus's error.
	Details map[string]any
	// Cause is what this error comes from, such as that of a context; it may be nil.
	Cause error
}

// Error gives the sentence and the code.
func (e *Error) Error() string { return e.Message + " (" + string(e.Code) + ")" }

// Is says whether target is this error's code.
func (e *Error) Is(target error) bool {
	code, isCode := target.(Code)
	return isCode && code == e.Code
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Timeout says whether time ran out, as net.Error has it.
func (e *Error) Timeout() bool { return e.Code == TimedOut }

// refusal reads the error of a reply.
func refusal(source json.RawMessage) *Error {
	details := map[string]any{}
	_ = decodeExactly(source, &details)
	code, _ := details["code"].(string)
	message, _ := details["message"].(string)
	delete(details, "code")
	delete(details, "message")
	if code == "" {
		code = string(UnexpectedReply)
	}
	if message == "" {
		message = "The bus refused the request without saying why."
	}
	return &Error{Code: Code(code), Message: message, Details: details}
}

func outcomeUnknown(cause error) *Error {
	return &Error{
		Code: OutcomeUnknown, Cause: cause,
		Message: "The connection was lost, and whether this was committed is unknown: look, then decide.",
	}
}

// givenUp is the error of a request whose context has ended.
func givenUp(ctx context.Context, wasSent bool) *Error {
	cause := ctx.Err()
	code, message := TimedOut, "The bus did not answer in the time allowed"
	if errors.Is(cause, context.Canceled) {
		code, message = Closed, "This program has given up waiting"
	}
	if wasSent {
		message += "; whether this was committed is unknown: look, then decide."
	} else {
		message += "; this was not sent."
	}
	return &Error{Code: code, Message: message, Cause: cause}
}

func closedByProgram() *Error {
	return &Error{Code: Closed, Message: "The bus was closed by this program."}
}
