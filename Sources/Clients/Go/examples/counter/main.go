// One counter in as many processes as you like: each line of input is a number to add; every process prints the count
// whenever any of them changes it.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strconv"

	"fluxbus"
)

const address = "counter/example"

func main() {
	ctx := context.Background()
	bus, err := fluxbus.Connect(ctx, "")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := bus.Create(ctx, address, fluxbus.IfMissing()); err != nil {
		log.Fatal(err)
	}
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		_ = bus.Watch(ctx, address, func(change fluxbus.Change) { fmt.Println(change.States[address]["count"]) })
	}()
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		action, payload := "reset", map[string]int(nil)
		if by, err := strconv.Atoi(input.Text()); err == nil {
			action, payload = "increment", map[string]int{"by": by}
		}
		if _, err := bus.Dispatch(ctx, address, action, payload); err != nil {
			log.Print(err)
		}
	}
	_ = bus.Close()
	<-printed
}
