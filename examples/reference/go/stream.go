package main

// The output side of an AOI tool: events as lines, the counts for the summary, signals, and readers that go away.
//
// A goroutine waits for signals. Whoever writes an event and counts it, or replaces the store, holds `busy`; the goroutine
// takes it before it writes the interrupted summary, and exits while it has it.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

var exitStatus = map[string]int{
	"usage": 64, "validation": 65, "not_found": 65, "conflict": 65, "partial": 65,
	"internal": 70, "io": 74, "temporary": 75, "config": 78,
}

const readerGone = 141

// A Fail is a failure of the whole run, or of one line of input. It is printed as it is.
type Fail struct {
	Type       string `json:"type"`
	Category   string `json:"category"`
	Code       string `json:"code"`
	Message    string `json:"message"`
	Retryable  bool   `json:"retryable"`
	Target     string `json:"target,omitempty"`
	Argument   int    `json:"argument,omitempty"`
	Operand    int    `json:"operand,omitempty"`
	LineNumber int    `json:"line_number,omitempty"`
	Planned    int    `json:"planned,omitempty"`
	Hint       string `json:"hint,omitempty"`
}

func (fail *Fail) Error() string { return fail.Message }

func newFail(category, code, message string) *Fail {
	return &Fail{Type: "aoi:error", Category: category, Code: code, Message: message, Retryable: category == "temporary"}
}

// asFail makes an error of the contract out of any error.
func asFail(err error) *Fail {
	var fail *Fail
	if errors.As(err, &fail) {
		return fail
	}
	return newFail("internal", "INTERNAL", "Something unexpected happened")
}

type Meta struct {
	Type              string `json:"type"`
	Tool              string `json:"tool"`
	ToolVersion       string `json:"tool_version"`
	AOIVersion        string `json:"aoi_version"`
	SchemaName        string `json:"schema_name"`
	SchemaVersion     string `json:"schema_version"`
	Command           string `json:"command,omitempty"`
	InputMode         string `json:"input_mode,omitempty"`
	ContinueOnError   *bool  `json:"continue_on_error,omitempty"`
	Unbounded         bool   `json:"unbounded,omitempty"`
	HeartbeatInterval int    `json:"heartbeat_interval,omitempty"`
	DryRun            bool   `json:"dry_run,omitempty"`
}

type Summary struct {
	Type          string  `json:"type"`
	OK            bool    `json:"ok"`
	Count         int     `json:"count"`
	WarningCount  int     `json:"warning_count"`
	ErrorCount    int     `json:"error_count"`
	Partial       bool    `json:"partial"`
	Truncated     bool    `json:"truncated"`
	NextCursor    *string `json:"next_cursor"`
	ElapsedMS     int64   `json:"elapsed_ms"`
	Reason        string  `json:"reason,omitempty"`
	DryRun        bool    `json:"dry_run,omitempty"`
	Replayed      bool    `json:"replayed,omitempty"`
	Ignored       int     `json:"ignored_count,omitempty"`
	UpstreamWarns int     `json:"upstream_warning_count,omitempty"`
}

type Warning struct {
	Type    string `json:"type"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// A Stream is one run as its reader sees it.
type Stream struct {
	busy                    sync.Mutex
	began                   time.Time
	count, warnings, errors int
	ended                   bool
}

func newStream() *Stream {
	stream := &Stream{began: time.Now()}
	signal.Ignore(syscall.SIGPIPE) // writing then fails with EPIPE, rather than killing us
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() { stream.interrupted((<-signals).(syscall.Signal)) }()
	return stream
}

func (stream *Stream) meta(meta Meta) {
	meta.Type, meta.Tool, meta.ToolVersion, meta.AOIVersion = "aoi:meta", tool, version, "0.2"
	meta.SchemaName, meta.SchemaVersion = "com.example.items.events", "1.0.0"
	stream.send(meta)
}

// send writes an event at once, and counts it.
func (stream *Stream) send(event any) {
	stream.busy.Lock()
	defer stream.busy.Unlock()
	stream.write(encode(event))
	kind := event
	if raw, ok := event.(json.RawMessage); ok { // kept under an idempotency key
		var typed struct{ Type string }
		_ = json.Unmarshal(raw, &typed)
		if typed.Type == "aoi:error" {
			kind = &Fail{}
		}
	}
	switch kind.(type) {
	case *Fail:
		stream.errors++
	case Warning:
		stream.warnings++
	case Meta, Heartbeat:
	case Summary:
		stream.ended = true
	default:
		stream.count++
	}
}

// finish writes the terminal summary: what it is given, and the counts.
func (stream *Stream) finish(summary Summary) {
	stream.send(stream.complete(summary))
}

func (stream *Stream) complete(summary Summary) Summary {
	summary.Type = "aoi:summary"
	summary.Count, summary.WarningCount, summary.ErrorCount = stream.count, stream.warnings, stream.errors
	summary.Truncated = summary.NextCursor != nil
	summary.ElapsedMS = time.Since(stream.began).Milliseconds()
	return summary
}

func (stream *Stream) text(text string) { stream.write([]byte(text)) }

func (stream *Stream) write(data []byte) {
	if _, err := os.Stdout.Write(data); errors.Is(err, syscall.EPIPE) {
		os.Exit(readerGone)
	} else if err != nil {
		fmt.Fprintln(os.Stderr, tool+": cannot write")
		os.Exit(exitStatus["io"])
	}
}

// interrupted ends the run as a signal asks, with a summary if the reader takes it within a second. A reader that takes
// nothing blocks a write, which holds `busy`: then there is no summary.
func (stream *Stream) interrupted(number syscall.Signal) {
	status := 128 + int(number)
	time.AfterFunc(time.Second, func() { os.Exit(status) })
	stream.busy.Lock()
	if !stream.ended {
		stream.write(encode(stream.complete(Summary{Partial: true, Reason: "interrupted"})))
		os.Exit(status)
	}
	stream.busy.Unlock() // the run is over anyway
}

// encode gives one line. Without SetEscapeHTML, "<" would become "\u003c".
func encode(value any) []byte {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // only our own types are encoded
	}
	return line.Bytes()
}
