package main

// The output side of an AOI tool: events as lines, their count, signals, and readers that go away.
//
// One token guards stdout and the counts. A signal takes it for good, so it falls between two events, and whoever wants to send
// another one waits for the end. (A channel serves in turn; from a mutex a busy sender would take the lock again and again.) If
// a write holds the token for a second, the reader does not read: then there is no summary.

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const readerGone = 141

var exitStatus = map[string]int{
	"usage": 64, "validation": 65, "not_found": 65, "conflict": 65, "partial": 65,
	"internal": 70, "io": 74, "temporary": 75, "config": 78,
}

// A Stream is one run as its reader sees it. Lists of any are names and values in turn, as for log/slog.
type Stream struct {
	token         chan struct{} // whoever has put one in may write
	count, errors atomic.Int64
	meta          []any // the first event; nil when it is written
	cursor        any   // where the next page begins; nil: there is none
	more          []any // what else the summary says
}

func newStream() *Stream {
	meta := []any{"tool", tool, "tool_version", version, "aoi_version", "0.2"}
	meta = append(meta, "schema_name", "com.example.items.events", "schema_version", "1.0.0")
	stream := &Stream{token: make(chan struct{}, 1), meta: meta}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	signal.Ignore(syscall.SIGPIPE) // writing then fails, rather than killing us
	go func() {
		status := 128 + int((<-signals).(syscall.Signal))
		time.AfterFunc(time.Second, func() { os.Exit(status) })
		stream.token <- struct{}{} // and keep it: nothing may follow the summary
		exit(status, stream.summary(false, nil, "partial", true, "reason", "interrupted"))
	}()
	return stream
}

func (stream *Stream) begin() {
	if stream.meta != nil {
		stream.tell("aoi:meta", stream.meta...)
		stream.meta = nil
	}
}

func (stream *Stream) send(event Event) { stream.sendLine(event.Type, encode(event)) }

// tell sends an event that is not about items.
func (stream *Stream) tell(kind string, pairs ...any) { stream.sendLine(kind, object(kind, pairs)) }

// sendLine writes an event at once, and counts it.
func (stream *Stream) sendLine(kind string, line []byte) {
	stream.token <- struct{}{}
	defer func() { <-stream.token }()
	write(line)
	if kind == "aoi:error" {
		stream.errors.Add(1)
	} else if kind != "aoi:meta" && kind != "aoi:heartbeat" {
		stream.count.Add(1)
	}
}

// finish writes the last events and ends the program. Nothing follows the summary: the token is kept.
func (stream *Stream) finish(fail *Fail) {
	status := 0
	stream.begin()
	if fail != nil {
		stream.tell("aoi:error", fail.pairs...)
		status = exitStatus[fail.category]
	} else if stream.errors.Load() > 0 {
		status = exitStatus["validation"]
	}
	stream.token <- struct{}{}
	exit(status, stream.summary(status == 0, stream.cursor, stream.more...))
}

func (stream *Stream) summary(ok bool, cursor any, more ...any) []byte {
	pairs := []any{"ok", ok, "count", stream.count.Load(), "error_count", stream.errors.Load()}
	pairs = append(pairs, "truncated", cursor != nil, "next_cursor", cursor)
	return object("aoi:summary", append(pairs, more...))
}

// object is an event whose fields keep their order, which those of a map do not.
func object(kind string, pairs []any) []byte {
	line := append([]byte(`{"type":`), encode(kind)...)
	for index, part := range pairs {
		line = append(append(line, ",:"[index%2]), encode(part)...)
	}
	return append(line, '}')
}

// encode gives JSON as other languages write it: < and U+2028 are legal characters.
func encode(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // only what we made ourselves is encoded
	}
	plain := strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029").Replace(text.String())
	return []byte(strings.TrimSpace(plain))
}

func write(line []byte) {
	if _, err := os.Stdout.Write(append(line, '\n')); errors.Is(err, syscall.EPIPE) {
		os.Exit(readerGone)
	} else if err != nil {
		os.Stderr.WriteString(tool + ": cannot write\n")
		os.Exit(exitStatus["io"])
	}
}

func exit(status int, lastLine []byte) {
	write(lastLine)
	os.Exit(status)
}

// A Fail is a failure of the whole run. It is raised as a panic that never leaves this program, as encoding/json does inside.
type Fail struct {
	category, message string
	pairs             []any // the event that is printed of it
}

func failIf(wrong bool, category, code, message string, more ...any) {
	if wrong {
		pairs := []any{"category", category, "code", code, "message", message, "retryable", category == "temporary"}
		panic(&Fail{category, message, append(pairs, more...)})
	}
}

// attempt gives the failure that ended the work, if one did.
func attempt(work func()) (fail *Fail) {
	defer func() {
		found := recover()
		fail, _ = found.(*Fail)
		if found != nil && fail == nil { // the last resort: no stack trace, whatever happened
			fail = attempt(func() { failIf(true, "internal", "INTERNAL", "Something unexpected happened") })
		}
	}()
	work()
	return nil
}
