// Uses printed Go as a program of its own does: dispatches, and prints the states that it mirrors.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"fluxbus"
	awkward "use/awkward"
	"use/counter"
	"use/door"
	"use/everything"
	"use/presence"
	"use/thermostat"
	"use/todo"
	"use/value"
)

func check[T any](result T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return result
}

// An action that is printed.
type action interface {
	Dispatch(context.Context, *fluxbus.Bus, string, ...fluxbus.Member) (*fluxbus.Reply, error)
	AsStep(string, ...fluxbus.Member) fluxbus.Step
}

func show(what any) { fmt.Println(string(check(json.Marshal(what)))) }

func main() {
	ctx := context.Background()
	bus := check(fluxbus.Connect(ctx, ""))
	defer bus.Close()
	for _, each := range []action{
		counter.Increment{By: fluxbus.Some[int64](5)}, counter.Increment{},
		thermostat.SetTarget{Celsius: 21.5}, thermostat.Boost{}, thermostat.SetMode{Mode: "manual"},
		door.Open{},
		todo.Add{Id: "1", Title: "Milk"}, todo.Toggle{Id: "1"},
		presence.Enter{Name: "anna"},
		value.Set{Value: map[string]any{"a": []any{nil, 1.5, "x"}}},
		awkward.Import{
			In: 5, MyName: fluxbus.Some("n"), Class: fluxbus.Null, QuoTe: &fluxbus.List[any]{"q"}, Self: fluxbus.Some(2.5),
			Func: fluxbus.Some("f"), Default: &fluxbus.Map[any]{"a": 1}, Value1: fluxbus.Some(true), Payload: []int{1},
		},
		awkward.Import{In: 6},
		awkward.SwitchOn{}, awkward.SwitchOn3{}, awkward.SwitchOn2{By: 2},
		awkward.List{}, awkward.Str{}, awkward.Init{}, awkward.Default{}, awkward.Dispatch{}, awkward.Encode{}, awkward.Self{},
		awkward.Match{},
		everything.Configure{
			Door: everything.ConfigureDoor{Open: true}, Measured: nil, Mode: everything.ModeByHand, Note: &fluxbus.Nullable[string]{},
			Extra: []int{1}, Names: &fluxbus.List[string]{"a"}, Ages: &fluxbus.Map[int64]{"a b": 1}, Level: fluxbus.Some[int64](6),
			Limit: &fluxbus.Nullable[float64]{Value: fluxbus.Some(1.5)}, Step: fluxbus.Some[int64](2),
		},
	} {
		check(each.Dispatch(ctx, bus, "main"))
	}
	check(bus.Batch(ctx, []fluxbus.Step{everything.Quiet{For: fluxbus.Some[int64](1)}.AsStep("main")}))
	check(counter.Increment{By: fluxbus.Some[int64](0)}.Dispatch(ctx, bus, ""))

	counters := check(counter.Mirror(ctx, bus))
	if states := check(counters.States()); len(states) != 2 || states["main"].Count != json.Number("6") {
		fmt.Fprintln(os.Stderr, states)
		os.Exit(1)
	}
	all, isThere, err := check(everything.Mirror(ctx, bus)).Get("main")
	check(isThere, err)
	fmt.Println(all.Count+1, all.Mode == everything.ModeByHand, all.Rooms["hall"].Size, all.Measured == nil, len(all.PlainList))
	show(everything.Configure{Mode: everything.ModeAuto})
	odd, _, err := check(awkward.Mirror(ctx, bus)).Get("main")
	check(isThere, err)
	again := awkward.State{}
	check(0, json.Unmarshal(check(json.Marshal(odd)), &again))
	fmt.Println(string(check(json.Marshal(odd))) == string(check(json.Marshal(again))), again.Größe, again.X日本, again.Import)
}
