// ref-go is a conforming AOI tool in plain Go: standard library only.
//
// Here: the commands, and what happens from start to exit. stream.go is its output side, arguments.go the command line,
// store.go the data, contract.json the documents that discovery prints. Commands send events and return the summary.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

//go:embed contract.json
var contractText string

const (
	maxInput  = 16 << 20 // an import is read whole before anything is done; beyond this, import in parts
	poll      = 200 * time.Millisecond
	heartbeat = time.Second
	badTitle  = "title must be 1 to 200 characters, none of them a control character"
)

var commands = map[string]func(*Stream, Options) (Summary, error){
	"search": search, "list": list, "create": create, "delete": deleteItem, "import": importItems,
	"watch": watch, "doctor": doctor,
}

var cursorForm = regexp.MustCompile(`^after-([0-9]{1,9})$`)

// Control characters act on terminals; U+FFFD is what encoding/json makes of text that is none.
func isTitle(text string) bool {
	bad := func(letter rune) bool { return letter < ' ' || letter == 0x7f || letter == utf8.RuneError }
	return text != "" && utf8.RuneCountInString(text) <= 200 && !strings.ContainsFunc(text, bad)
}

// lower changes ASCII letters only, which every language does alike.
func lower(text string) string {
	return strings.Map(func(letter rune) rune {
		if letter >= 'A' && letter <= 'Z' {
			return letter + 'a' - 'A'
		}
		return letter
	}, text)
}

func list(stream *Stream, options Options) (Summary, error) {
	store, err := current()
	if err != nil {
		return Summary{}, err
	}
	return page(stream, options, store.Items, func(item Item, _ int) Event {
		return Event{Type: "entry", ID: item.ID, Title: &item.Title}
	})
}

func search(stream *Stream, options Options) (Summary, error) {
	store, err := current()
	if err != nil {
		return Summary{}, err
	}
	query := lower(options["query"])
	found := slices.DeleteFunc(store.Items, func(item Item) bool { return !strings.Contains(lower(item.Title), query) })
	return page(stream, options, found, func(item Item, rank int) Event {
		return Event{Type: "hit", Rank: rank, ID: item.ID, Title: &item.Title}
	})
}

func page(stream *Stream, options Options, items []Item, event func(Item, int) Event) (Summary, error) {
	// A cursor is the number of the last id: it survives the deletion of that item.
	after := 0
	if options["cursor"] != "" {
		place := cursorForm.FindStringSubmatch(options["cursor"])
		if place == nil {
			return Summary{}, newFail("validation", "INVALID_CURSOR", "The cursor is damaged")
		}
		after, _ = strconv.Atoi(place[1])
	}
	limit, err := strconv.Atoi(options["limit"])
	if err != nil {
		limit = 20
	}
	last := 0
	for index, item := range items {
		number, _ := strconv.Atoi(strings.TrimPrefix(item.ID, "n"))
		if number <= after {
			continue
		}
		if limit == 0 {
			cursor := fmt.Sprintf("after-%d", last)
			return Summary{OK: true, NextCursor: &cursor}, nil
		}
		stream.send(event(item, index+1))
		limit, last = limit-1, number
	}
	return Summary{OK: true}, nil
}

// A Change is planned: an item with this title is to be made, or the one with this id deleted.
type Change struct {
	title, id string
	line      int
}

func create(stream *Stream, options Options) (Summary, error) {
	title := options["title"]
	if !isTitle(title) {
		return Summary{}, newFail("validation", "ITEM_INVALID", badTitle)
	}
	return change(stream, options, []string{"create", title}, []Change{{title: title}})
}

func deleteItem(stream *Stream, options Options) (Summary, error) {
	if options["dry-run"] == "" && options["confirm"] == "" {
		return Summary{}, misuse("CONFIRMATION_REQUIRED", "--confirm", "delete needs --confirm; nothing was done")
	}
	return change(stream, options, []string{"delete", options["id"]}, []Change{{id: options["id"]}})
}

type inputLine struct {
	Type  any
	Title any
	OK    any
}

func importItems(stream *Stream, options Options) (Summary, error) {
	data, err := readInput(options["input-jsonl"])
	if err != nil {
		return Summary{}, err
	}
	request, changes, ignored := []string{"import"}, []Change{}, 0
	open, failed := false, false
	for index, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		item, err := parseLine(line, index+1)
		if err != nil {
			return Summary{}, err
		}
		title, _ := item.Title.(string)
		kind := fmt.Sprint(item.Type)
		switch {
		case kind == "aoi:meta":
			open = true
		case kind == "aoi:summary":
			open, failed = false, failed || item.OK != true
		case kind == "aoi:error":
			failed = true
		case item.Type != nil && kind != "entry":
			if !strings.HasPrefix(kind, "aoi:") {
				ignored++
			}
		case !isTitle(title):
			return Summary{}, badLine("INPUT_INVALID", index+1, ": "+badTitle)
		default:
			request, changes = append(request, title), append(changes, Change{title: title, line: index + 1})
		}
	}
	if open {
		return Summary{}, newFail("io", "UPSTREAM_INCOMPLETE", "The upstream tool ended without a summary")
	}
	if failed {
		return Summary{}, newFail("partial", "UPSTREAM_FAILED", "The upstream tool reported a failure")
	}
	summary, err := change(stream, options, request, changes)
	summary.IgnoredCount = ignored
	return summary, err
}

func readInput(path string) ([]byte, error) {
	file := os.Stdin
	if path != "-" {
		var err error
		if file, err = os.Open(path); err != nil {
			return nil, newFail("io", "INPUT_UNREADABLE", "The input cannot be read")
		}
	}
	data, err := io.ReadAll(io.LimitReader(file, maxInput+1))
	if err != nil {
		return nil, newFail("io", "INPUT_UNREADABLE", "The input cannot be read")
	}
	if len(data) > maxInput {
		return nil, newFail("validation", "INPUT_TOO_LARGE", "The input has more than 16 MiB")
	}
	return data, nil
}

func parseLine(line []byte, number int) (inputLine, error) {
	item := inputLine{}
	if !utf8.Valid(line) || !json.Valid(line) {
		return item, badLine("INPUT_JSONL_PARSE_ERROR", number, " is not JSON")
	}
	if json.Unmarshal(line, &item) != nil || bytes.TrimSpace(line)[0] != '{' {
		return item, badLine("INPUT_INVALID", number, " is not an object")
	}
	return item, nil
}

func badLine(code string, number int, problem string) error {
	fail := newFail("validation", code, "Input line %d%s", number, problem)
	fail.event.LineNumber = number
	return fail
}

// change shows the plan, or does it once and for all: a repeated call with the same key gets the events of the first.
func change(stream *Stream, options Options, request []string, changes []Change) (Summary, error) {
	home, err := directory()
	if err != nil {
		return Summary{}, err
	}
	if options["dry-run"] != "" {
		return plan(stream, home, changes)
	}
	var done Done
	replayed := false
	err = locked(home, func() error {
		store, err := load(home)
		if err != nil {
			return err
		}
		key := options["idempotency-key"]
		if done, replayed = store.Keys[key]; replayed && key != "" {
			if !slices.Equal(done.Request, request) {
				return newFail("conflict", "IDEMPOTENCY_KEY_REUSED", "This idempotency key was used for another call")
			}
			return nil
		}
		if err := store.checkKnown(changes); err != nil {
			return err
		}
		done = Done{request, store.apply(changes)}
		if key != "" {
			store.Keys[key] = done
		}
		return store.save(home)
	})
	if err != nil {
		return Summary{}, err
	}
	for _, event := range done.Events {
		stream.send(event)
	}
	return Summary{OK: true, Replayed: replayed}, nil
}

func plan(stream *Stream, home string, changes []Change) (Summary, error) {
	store, err := load(home)
	if err == nil {
		err = store.checkKnown(changes)
	}
	if err != nil {
		return Summary{}, err
	}
	for _, change := range changes {
		action := "create"
		if change.id != "" {
			action = "delete"
		}
		stream.send(Event{Type: "aoi:plan", Action: action, Target: change.id, LineNumber: change.line})
	}
	return Summary{OK: true, DryRun: true}, nil
}

func (store *Store) checkKnown(changes []Change) error {
	for _, change := range changes {
		if change.title == "" && !store.has(change.id) {
			fail := newFail("not_found", "ITEM_NOT_FOUND", "There is no item with this id")
			fail.event.Target = "ID"
			return fail
		}
	}
	return nil
}

func (store *Store) apply(changes []Change) []Event {
	events := []Event{}
	for _, change := range changes {
		if change.title == "" {
			store.Items = slices.DeleteFunc(store.Items, func(item Item) bool { return item.ID == change.id })
			events = append(events, Event{Type: "deleted", ID: change.id})
			continue
		}
		id := fmt.Sprintf("n%d", store.Next)
		store.Next++
		store.Items = append(store.Items, Item{id, change.title})
		events = append(events, Event{Type: "created", ID: id, LineNumber: change.line})
	}
	return events
}

func watch(stream *Stream, _ Options) (Summary, error) {
	store, err := current()
	beat := time.Time{}
	for err == nil {
		if !time.Now().Before(beat) {
			stream.send(Event{Type: "aoi:heartbeat"})
			beat = time.Now().Add(heartbeat)
		}
		time.Sleep(poll)
		before := store
		if store, err = current(); err == nil {
			stream.difference("deleted", before, store)
			stream.difference("created", store, before)
		}
	}
	return Summary{}, err
}

// difference sends an event for each item that only one of two stores has.
func (stream *Stream) difference(kind string, one, other *Store) {
	for _, item := range one.Items {
		if !other.has(item.ID) {
			stream.send(Event{Type: kind, ID: item.ID})
		}
	}
}

func doctor(stream *Stream, _ Options) (Summary, error) {
	store, err := current()
	ok := err == nil
	check := Event{Type: "aoi:check", Name: "store", OK: &ok, Severity: "info"}
	if ok {
		check.Detail = fmt.Sprintf("%d items", len(store.Items))
	} else {
		check.Severity, check.Detail = "error", err.Error()
		stream.errors++
	}
	stream.send(check)
	return Summary{OK: ok}, nil
}

type contract struct {
	Help                 string
	Schema, Capabilities json.RawMessage
	Inputs               map[string]json.RawMessage
}

func run(stream *Stream, argv []string) int {
	var documents contract
	text := strings.NewReplacer("{tool}", tool, "{version}", version).Replace(contractText)
	if err := json.Unmarshal([]byte(text), &documents); err != nil {
		panic(err) // it is a part of this program
	}
	switch {
	case slices.Contains(argv, "--help") || slices.Contains(argv, "-h"):
		write([]byte(documents.Help))
		return 0
	case slices.Equal(argv, []string{"--version"}):
		write([]byte(tool + " " + version + "\n"))
		return 0
	case len(argv) == 0 || documents.Inputs[argv[0]] == nil:
		stream.meta("")
		return end(stream, Summary{}, newFail("usage", "UNKNOWN_COMMAND", "The first argument is not a command"))
	}
	var schema InputSchema
	err := json.Unmarshal(documents.Inputs[argv[0]], &schema)
	options, misuse := readOptions(schema, argv[1:])
	command := commands[argv[0]]
	if command == nil && misuse == nil {
		return documents.print(argv[0], options)
	}
	stream.meta(argv[0])
	summary := Summary{}
	if err = errors.Join(err, misuse); err == nil {
		summary, err = command(stream, options)
	}
	return end(stream, summary, err)
}

func (documents contract) print(name string, options Options) int {
	document := map[string]json.RawMessage{
		"schema": documents.Schema, "capabilities": documents.Capabilities,
		"input-schema": documents.Inputs[options["command"]],
	}[name]
	var line bytes.Buffer
	if err := json.Compact(&line, document); err != nil {
		panic(err)
	}
	write(append(line.Bytes(), '\n'))
	return 0
}

// end writes the last events and gives the exit status.
func end(stream *Stream, summary Summary, err error) int {
	if err == nil {
		stream.finish(summary)
		if summary.OK {
			return 0
		}
		return exitStatus["validation"]
	}
	var fail *Fail
	if !errors.As(err, &fail) {
		fail = newFail("internal", "INTERNAL", "Something unexpected happened")
	}
	stream.send(fail.event)
	stream.finish(Summary{})
	return exitStatus[fail.event.Category]
}

func main() {
	os.Exit(run(newStream(), os.Args[1:]))
}
