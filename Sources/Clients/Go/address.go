package fluxbus

import (
	"net"
	"os"
	"strconv"
	"strings"
)

// longestPath is how many bytes the path of a Unix socket may have: sun_path holds 108 with the closing zero.
const longestPath = 107

// A place is where a bus listens.
type place struct {
	scheme string
	// at is a path, or HOST:PORT as package net has it.
	at   string
	host string
}

func (p place) String() string { return p.scheme + ":" + p.at }

// places reads addresses between commas or spaces; without any those of the environment.
func places(text string) ([]place, error) {
	names := strings.FieldsFunc(text, isBetween)
	if len(names) == 0 {
		names = strings.FieldsFunc(os.Getenv("FLUXBUS_ADDRESS"), isBetween)
	}
	if len(names) == 0 {
		names = []string{"unix:" + usualPath()}
	}
	var found []place
	for _, name := range names {
		one, isOne := placeOf(name)
		if !isOne {
			message := "`" + name + "` is not an address of a bus: write unix:/path/to/socket, tcp:HOST:PORT or tls:HOST:PORT."
			return nil, &Error{Code: InvalidAddress, Message: message}
		}
		found = append(found, one)
	}
	return found, nil
}

func isBetween(each rune) bool { return each == ',' || each == ' ' || each == '\t' || each == '\n' }

func usualPath() string {
	own := os.Getenv("XDG_RUNTIME_DIR")
	if strings.HasPrefix(own, "/") {
		own += "/fluxbus/bus.sock"
		if info, err := os.Stat(own); err == nil && info.Mode()&os.ModeSocket != 0 {
			return own
		}
	}
	return "/run/fluxbus/bus.sock"
}

func placeOf(name string) (place, bool) {
	scheme, rest, _ := strings.Cut(name, ":")
	switch scheme {
	case "unix":
		return place{scheme: scheme, at: rest}, strings.HasPrefix(rest, "/") && len(rest) <= longestPath
	case "tcp", "tls":
		host, port, err := net.SplitHostPort(rest)
		number, wrong := strconv.ParseUint(port, 10, 16)
		return place{scheme: scheme, at: rest, host: host}, err == nil && wrong == nil && number > 0 && host != ""
	default:
		return place{}, false
	}
}
