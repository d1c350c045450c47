package main

// The output side of an AOI tool: events as lines, their count, signals, and readers that go away.
//
// One lock guards stdout and the counts. A signal takes it for good, so it falls between two events, and whoever wants to send
// another one waits for the end. If a write holds the lock for a second, the reader does not read: then there is no summary.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	tool       = "ref-go"
	version    = "1.4.0"
	readerGone = 141
)

var exitStatus = map[string]int{
	"usage": 64, "validation": 65, "not_found": 65, "conflict": 65, "partial": 65,
	"internal": 70, "io": 74, "temporary": 75, "config": 78,
}

// An Event is any event but the first and the last; fields that a type does not have stay empty.
type Event struct {
	Type       string  `json:"type"`
	Category   string  `json:"category,omitempty"`
	Code       string  `json:"code,omitempty"`
	Message    string  `json:"message,omitempty"`
	Retryable  *bool   `json:"retryable,omitempty"`
	Argument   int     `json:"argument,omitempty"`
	Rank       int     `json:"rank,omitempty"`
	ID         string  `json:"id,omitempty"`
	Title      *string `json:"title,omitempty"`
	Action     string  `json:"action,omitempty"`
	Name       string  `json:"name,omitempty"`
	OK         *bool   `json:"ok,omitempty"`
	Severity   string  `json:"severity,omitempty"`
	Detail     string  `json:"detail,omitempty"`
	Target     string  `json:"target,omitempty"`
	LineNumber int     `json:"line_number,omitempty"`
}

type Meta struct {
	Type          string `json:"type"`
	Tool          string `json:"tool"`
	ToolVersion   string `json:"tool_version"`
	AOIVersion    string `json:"aoi_version"`
	SchemaName    string `json:"schema_name"`
	SchemaVersion string `json:"schema_version"`
	Command       string `json:"command,omitempty"`
}

type Summary struct {
	Type         string  `json:"type"`
	OK           bool    `json:"ok"`
	Count        int     `json:"count"`
	ErrorCount   int     `json:"error_count"`
	Truncated    bool    `json:"truncated"`
	NextCursor   *string `json:"next_cursor"`
	DryRun       bool    `json:"dry_run,omitempty"`
	Replayed     bool    `json:"replayed,omitempty"`
	IgnoredCount int     `json:"ignored_count,omitempty"`
	Partial      bool    `json:"partial,omitempty"`
	Reason       string  `json:"reason,omitempty"`
}

// A Fail is a failure of the whole run; the event is what is printed of it.
type Fail struct{ event Event }

func (fail *Fail) Error() string { return fail.event.Message }

func newFail(category, code, format string, values ...any) *Fail {
	retryable := category == "temporary"
	message := fmt.Sprintf(format, values...)
	return &Fail{Event{Type: "aoi:error", Category: category, Code: code, Message: message, Retryable: &retryable}}
}

// A Stream is one run as its reader sees it.
type Stream struct {
	lock          sync.Mutex
	stopping      atomic.Bool // a signal has come; without this a busy sender would take the lock again and again
	count, errors int
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
		stream.print(stream.summary(Summary{Partial: true, Reason: "interrupted"}))
		os.Exit(status)
	}()
	return stream
}

// begin takes the lock, unless a signal wants it.
func (stream *Stream) begin() {
	if stream.stopping.Load() {
		select {}
	}
	stream.lock.Lock()
}

func (stream *Stream) meta(command string) {
	stream.begin()
	defer stream.lock.Unlock()
	stream.print(Meta{"aoi:meta", tool, version, "0.2", "com.example.items.events", "1.0.0", command})
}

// send writes an event at once, and counts it.
func (stream *Stream) send(event Event) {
	stream.begin()
	defer stream.lock.Unlock()
	stream.print(event)
	if event.Type == "aoi:error" {
		stream.errors++
	} else if event.Type != "aoi:heartbeat" {
		stream.count++
	}
}

// finish writes the terminal summary. Nothing follows it: the lock is kept.
func (stream *Stream) finish(summary Summary) {
	stream.begin()
	stream.print(stream.summary(summary))
}

func (stream *Stream) summary(summary Summary) Summary {
	summary.Type, summary.Count, summary.ErrorCount = "aoi:summary", stream.count, stream.errors
	summary.Truncated = summary.NextCursor != nil
	return summary
}

func (stream *Stream) print(value any) {
	write(encode(value))
}

// encode gives JSON as other languages write it: < and U+2028 are legal characters.
func encode(value any) []byte {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // only what we made ourselves is encoded
	}
	plain := bytes.ReplaceAll(line.Bytes(), []byte(`\u2028`), []byte("\u2028"))
	return bytes.ReplaceAll(plain, []byte(`\u2029`), []byte("\u2029"))
}

func write(data []byte) {
	if _, err := os.Stdout.Write(data); errors.Is(err, syscall.EPIPE) {
		os.Exit(readerGone)
	} else if err != nil {
		fmt.Fprintf(os.Stderr, "%s: cannot write\n", tool)
		os.Exit(exitStatus["io"])
	}
}
