// Dispatches a second through the client, beside a bare loop over a socket that writes and reads the same lines with
// encoding/json: `pipeline [DISPATCHES [RUNS]]`, against $FLUXBUS_ADDRESS. Each run measures both, one after the other.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fluxbus"
)

const unanswered = 10_000

type payload struct {
	By int `json:"by"`
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func client(dispatches int) {
	ctx := context.Background()
	bus, err := fluxbus.Connect(ctx, "")
	check(err)
	window := make([]*fluxbus.Pending, unanswered)
	for i := 0; i < dispatches+unanswered; i++ {
		slot := &window[i%unanswered]
		if *slot != nil {
			_, err = (*slot).Wait(ctx)
			check(err)
			*slot = nil
		}
		if i < dispatches {
			*slot, err = bus.Send(ctx, "counter/main", "increment", payload{1})
			check(err)
		}
	}
	check(bus.Close())
}

type request struct {
	ID      int     `json:"id"`
	Op      string  `json:"op"`
	Store   string  `json:"store"`
	Action  string  `json:"action"`
	Payload payload `json:"payload"`
	Key     string  `json:"key"`
	After   int64   `json:"after"`
	Epoch   string  `json:"epoch"`
}

type reply struct {
	ID       int    `json:"id"`
	OK       bool   `json:"ok"`
	Revision int64  `json:"revision"`
	Matched  int    `json:"matched"`
	Changed  int    `json:"changed"`
	Epoch    string `json:"epoch"`
}

func bare(dispatches int) {
	socket, err := net.Dial("unix", strings.TrimPrefix(os.Getenv("FLUXBUS_ADDRESS"), "unix:"))
	check(err)
	defer socket.Close()
	input, output := bufio.NewReaderSize(socket, 256<<10), bufio.NewWriterSize(socket, 256<<10)
	prefix := strconv.FormatInt(time.Now().UnixNano(), 16)
	var last reply
	answered := 0
	read := func() {
		line, err := input.ReadSlice('\n')
		check(err)
		last = reply{}
		check(json.Unmarshal(line, &last))
		if !last.OK || last.ID != answered {
			check(fmt.Errorf("%s", line))
		}
		answered++
	}
	check2 := func(_ int, err error) { check(err) }
	check2(output.WriteString(`{"id":0,"op":"hello","protocol":1}` + "\n"))
	check(output.Flush())
	read()
	epoch, revision := last.Epoch, last.Revision
	for sent := 1; answered <= dispatches; {
		for ; sent <= dispatches && sent-answered < unanswered; sent++ {
			line, err := json.Marshal(request{
				sent, "dispatch", "counter/main", "increment", payload{1}, prefix + "-" + strconv.Itoa(sent), revision, epoch,
			})
			check(err)
			check2(output.Write(append(line, '\n')))
			if sent%500 == 0 {
				check(output.Flush())
			}
		}
		check(output.Flush())
		for left := 1_000; left > 0 && answered < sent; left-- {
			read()
			revision = last.Revision
		}
	}
}

// processor gives what this process has used of the processor.
func processor() time.Duration {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// rate gives dispatches a second, by the clock and of the program's own processor time.
func rate(work func(int), dispatches int) (float64, float64) {
	began, used := time.Now(), processor()
	work(dispatches)
	return float64(dispatches) / time.Since(began).Seconds(), float64(dispatches) / (processor() - used).Seconds()
}

func argument(index, usual int) int {
	if len(os.Args) > index {
		number, err := strconv.Atoi(os.Args[index])
		check(err)
		return number
	}
	return usual
}

func main() {
	dispatches, runs := argument(1, 200_000), argument(2, 5)
	client(dispatches / 10)
	bare(dispatches / 10)
	var ratios []float64
	for run := 0; run < runs; run++ {
		through, own := rate(client, dispatches)
		beside, other := rate(bare, dispatches)
		fmt.Printf("client %.0f/s (%.0f of its processor time), bare loop %.0f/s (%.0f), ratio %.2f\n",
			through, own, beside, other, through/beside)
		ratios = append(ratios, through/beside)
	}
	sort.Float64s(ratios)
	fmt.Printf("median ratio %.2f\n", ratios[len(ratios)/2])
}
