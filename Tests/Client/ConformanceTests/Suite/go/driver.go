// The conformance driver of the Go client.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"fluxbus"
)

type step struct {
	Target, Action string
	Payload        fluxbus.State
}

type command struct {
	Call                              int64
	Do, Address, Target, Action, Name string
	Op, Traceparent                   string
	Payload                           fluxbus.State
	Where                             any
	Cause                             bool
	Actions                           []step
	Members                           map[string]any
	Options                           struct{ Linger, Patience float64 }
	Revision                          int64
	Count                             int
	Timeout                           *float64
}

var (
	bus     *fluxbus.Bus
	mirrors sync.Map
	changes sync.Map
	feeds   sync.Map
	output  sync.Mutex
	ctx     = context.Background()
)

func answer(call int64, value any, err error) {
	line := map[string]any{"call": call, "value": value}
	var failure *fluxbus.Error
	if errors.As(err, &failure) {
		line = map[string]any{"call": call, "error": failure.Code, "message": failure.Message}
	} else if err != nil {
		line = map[string]any{"call": call, "error": err.Error()}
	}
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	output.Lock()
	defer output.Unlock()
	fmt.Println(string(text))
}

func shown(reply *fluxbus.Reply, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return map[string]any{"revision": reply.Revision, "duplicate": reply.Duplicate}, nil
}

func steps(parts []step) (all []fluxbus.Step) {
	for _, part := range parts {
		all = append(all, fluxbus.Act(part.Target, part.Action, part.Payload))
	}
	return all
}

func chosen(c command) (members []fluxbus.Member) {
	if c.Where != nil {
		members = append(members, fluxbus.Where(c.Where))
	}
	return members
}

func traced(c command) (members []fluxbus.Member) {
	if c.Traceparent != "" {
		members = append(members, fluxbus.Traceparent(c.Traceparent))
	}
	return members
}

func connect(c command) (err error) {
	options := []fluxbus.Option{fluxbus.WithBackOff(time.Millisecond, 10*time.Millisecond)}
	if c.Options.Linger > 0 {
		options = append(options, fluxbus.WithLinger(time.Duration(c.Options.Linger*float64(time.Second))))
	}
	options = append(options, fluxbus.WithPatience(time.Duration(c.Options.Patience*float64(time.Second))))
	made, err := fluxbus.Connect(ctx, c.Address, options...)
	if err == nil {
		bus = made
	}
	return err
}

func mirror(c command) error {
	members := chosen(c)
	if c.Cause {
		members = append(members, fluxbus.Cause())
	}
	made, err := bus.Mirror(ctx, c.Target, members...)
	if err == nil {
		mirrors.Store(c.Name, made)
		changes.Store(c.Name, made.Changes())
	}
	return err
}

func mirrorNamed(c command) (*fluxbus.Mirror, *fluxbus.Feed[fluxbus.Change]) {
	one, _ := mirrors.Load(c.Name)
	feed, _ := changes.Load(c.Name)
	return one.(*fluxbus.Mirror), feed.(*fluxbus.Feed[fluxbus.Change])
}

func until(c command) (any, error) {
	one, feed := mirrorNamed(c)
	for one.Revision() < c.Revision {
		if _, err := feed.Next(ctx); err != nil {
			return nil, err
		}
	}
	return one.States(), nil
}

func nextChanges(c command) (any, error) {
	_, feed := mirrorNamed(c)
	taken := []any{}
	for len(taken) < c.Count {
		change, err := feed.Next(ctx)
		if err != nil {
			return nil, err
		}
		shown := map[string]any{"revision": change.Revision}
		if change.Cause != nil {
			shown["cause"] = change.Cause
		}
		taken = append(taken, shown)
	}
	return taken, nil
}

func ended(c command) error {
	_, feed := mirrorNamed(c)
	for {
		if _, err := feed.Next(ctx); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func shownAction(action fluxbus.Action) map[string]any {
	shown := map[string]any{"target": action.Target, "action": action.Action}
	if action.Result != nil {
		shown["result"] = action.Result
	}
	if action.Results != nil {
		shown["results"] = action.Results
	}
	if action.Traceparent != "" {
		shown["traceparent"] = action.Traceparent
	}
	return shown
}

func take(c command) (any, error) {
	feed, _ := feeds.Load(c.Name)
	taken := []any{}
	for len(taken) < c.Count {
		action, err := feed.(*fluxbus.Feed[fluxbus.Action]).Next(ctx)
		switch {
		case err != nil:
			return nil, err
		case action.Gap:
			taken = append(taken, map[string]any{"gap": action.Revision})
		default:
			taken = append(taken, shownAction(action))
		}
	}
	return taken, nil
}

func request(c command) error {
	var members []fluxbus.Member
	for name, value := range c.Members {
		members = append(members, fluxbus.With(name, value))
	}
	_, err := bus.Request(ctx, c.Op, members...)
	return err
}

func shutdown(c command) error {
	timeout := 5.0
	if c.Timeout != nil {
		timeout = *c.Timeout
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(timeout*float64(time.Second)))
	defer cancel()
	_ = bus.Shutdown(limited)
	return nil
}

func carryOut(c command) (any, error) {
	switch c.Do {
	case "connect":
		return nil, connect(c)
	case "batch":
		return shown(bus.Batch(ctx, steps(c.Actions), traced(c)...))
	case "drop":
		return shown(bus.Drop(ctx, c.Target, chosen(c)...))
	case "get":
		state := fluxbus.State{}
		err := bus.Get(ctx, c.Target, &state)
		return state, err
	case "request":
		return nil, request(c)
	case "will":
		return nil, bus.Will(ctx, steps(c.Actions)...)
	case "mirror":
		return nil, mirror(c)
	case "until":
		return until(c)
	case "states":
		one, _ := mirrorNamed(c)
		return one.States(), nil
	case "changes":
		return nextChanges(c)
	case "ended":
		return nil, ended(c)
	case "actions":
		feed, err := bus.Actions(ctx, c.Target)
		feeds.Store(c.Name, feed)
		return nil, err
	case "take":
		return take(c)
	case "close":
		return nil, shutdown(c)
	default:
		return nil, errors.New("there is no such command")
	}
}

func main() {
	input := bufio.NewReader(os.Stdin)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return
		}
		var c command
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.UseNumber()
		if err := decoder.Decode(&c); err != nil {
			panic(err)
		}
		if c.Do == "dispatch" {
			// What is sent goes in the order of the commands.
			pending, err := bus.Send(ctx, c.Target, c.Action, c.Payload, traced(c)...)
			if err != nil {
				answer(c.Call, nil, err)
				continue
			}
			go func() {
				value, err := shown(pending.Wait(ctx))
				answer(c.Call, value, err)
			}()
			continue
		}
		go func() {
			value, err := carryOut(c)
			answer(c.Call, value, err)
		}()
	}
}
