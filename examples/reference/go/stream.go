package main

// The output side of an AOI tool: events as lines, their count, signals, and readers that go away.
//
// One lock guards stdout and the counts. A signal takes it for good, so it falls between two events, and whoever wants to send
// another one waits for the end. If a write holds the lock for a second, the reader does not read: then there is no summary.

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const readerGone = 141

var exitStatus = map[string]int{
	"usage": 64, "validation": 65, "not_found": 65, "conflict": 65, "partial": 65,
	"internal": 70, "io": 74, "temporary": 75, "config": 78,
}

// A Stream is one run as its reader sees it.
type Stream struct {
	lock          sync.Mutex
	stopping      atomic.Bool // a signal has come; without this a busy sender would take the lock again and again
	count, errors atomic.Int64
	cursor        any   // where the next page begins; nil: there is none
	more          []any // what else the summary says: names and values in turn
}

func newStream() *Stream {
	stream := &Stream{}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	signal.Ignore(syscall.SIGPIPE) // writing then fails, rather than killing us
	go func() {
		status := 128 + int((<-signals).(syscall.Signal))
		stream.stopping.Store(true)
		time.AfterFunc(time.Second, func() { os.Exit(status) })
		stream.lock.Lock() // and keep it: nothing may follow the summary
		stream.summarize(false, nil, "partial", true, "reason", "interrupted")
		os.Exit(status)
	}()
	return stream
}

// send writes an event at once, and counts it; names and values in turn, as for log/slog.
func (stream *Stream) send(kind string, pairs ...any) {
	stream.sendRaw(kind, event(kind, pairs...))
}

func (stream *Stream) sendRaw(kind string, line []byte) {
	stream.begin()
	defer stream.lock.Unlock()
	write(append(line, '\n'))
	switch kind {
	case "aoi:error":
		stream.errors.Add(1)
	case "aoi:meta", "aoi:heartbeat":
	default:
		stream.count.Add(1)
	}
}

// begin takes the lock, unless a signal wants it.
func (stream *Stream) begin() {
	if stream.stopping.Load() {
		select {}
	}
	stream.lock.Lock()
}

// finish writes the last events and gives the exit status. Nothing follows the summary: the lock is kept.
func (stream *Stream) finish(fail *Fail) (status int) {
	if fail != nil {
		stream.send("aoi:error", fail.pairs...)
		status = exitStatus[fail.category]
	} else if stream.errors.Load() > 0 {
		status = exitStatus["validation"]
	}
	stream.begin()
	stream.summarize(status == 0, stream.cursor, stream.more...)
	return status
}

func (stream *Stream) summarize(ok bool, cursor any, more ...any) {
	counts := []any{"ok", ok, "count", stream.count.Load(), "error_count", stream.errors.Load()}
	page := []any{"truncated", cursor != nil, "next_cursor", cursor}
	write(append(event("aoi:summary", append(append(counts, page...), more...)...), '\n'))
}

// event is a JSON object whose fields keep their order, which those of a map do not.
func event(kind string, pairs ...any) json.RawMessage {
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
	plain := bytes.ReplaceAll(bytes.TrimSpace(text.Bytes()), []byte(`\u2028`), []byte("\u2028"))
	return bytes.ReplaceAll(plain, []byte(`\u2029`), []byte("\u2029"))
}

func write(data []byte) {
	if _, err := os.Stdout.Write(data); errors.Is(err, syscall.EPIPE) {
		os.Exit(readerGone)
	} else if err != nil {
		os.Stderr.WriteString(tool + ": cannot write\n")
		os.Exit(exitStatus["io"])
	}
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
		switch found := recover().(type) {
		case nil:
		case *Fail:
			fail = found
		default: // the last resort: no stack trace, whatever happened
			fail = attempt(func() { failIf(true, "internal", "INTERNAL", "Something unexpected happened") })
		}
	}()
	work()
	return nil
}
