// Mistakes that the compiler finds: each line that says so, and no other.
package main

import (
	"context"

	"fluxbus"
	"use/counter"
	"use/door"
	"use/everything"
	"use/thermostat"
)

func mistakes(ctx context.Context, bus *fluxbus.Bus) {
	_ = counter.Increment{By: fluxbus.Some("5")}                // wrong
	_ = counter.Increment{Bye: fluxbus.Some[int64](5)}          // wrong
	counter.Increment{}.Dispatch(ctx, bus)                      // wrong
	_ = thermostat.SetTarget{Celsius: "21"}                     // wrong
	_ = door.Opens{}                                            // wrong
	_ = everything.Configure{Mode: 1}                           // wrong
	_ = everything.Configure{Door: everything.RoomsValueDoor{}} // wrong
	_ = everything.State{}.Title + 1                            // wrong
	var _ *string = everything.State{}.Sum                      // wrong
	_ = everything.Configure{Mode: everything.ModeAuto, Step: fluxbus.Some[int64](5)}
}

func main() {}
