// Who is there: `presence NAME` enters, prints everybody whenever that changes, and leaves with the end of its input. If it
// is killed, its will takes it off the list.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"fluxbus"
)

const office = "presence/example"

func main() {
	ctx := context.Background()
	name := map[string]string{"name": os.Args[1]}
	bus, err := fluxbus.Connect(ctx, "", fluxbus.WithClient(os.Args[1]))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := bus.Create(ctx, office, fluxbus.IfMissing()); err != nil {
		log.Fatal(err)
	}
	if err := bus.Will(ctx, fluxbus.Act(office, "leave", name)); err != nil {
		log.Fatal(err)
	}
	if _, err := bus.Dispatch(ctx, office, "enter", name); err != nil {
		log.Fatal(err)
	}
	go func() {
		_ = bus.Watch(ctx, office, func(change fluxbus.Change) { fmt.Println(change.States[office]["people"]) })
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
	if _, err := bus.Dispatch(ctx, office, "leave", name); err != nil {
		log.Fatal(err)
	}
	_ = bus.Close()
}
