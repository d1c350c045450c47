// ref-go is a conforming AOI tool in plain Go: standard library only.
//
// Here: the commands, and what happens from start to exit. stream.go is its output side, arguments.go the command line,
// store.go the data, contract.json the documents that discovery prints.
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
	tool      = "ref-go"
	version   = "1.4.0"
	maxInput  = 16 << 20 // an import is read whole before anything is done; beyond this, import in parts
	poll      = 200 * time.Millisecond
	heartbeat = time.Second
	badTitle  = "title must be 1 to 200 characters, none of them a control character"
)

var commands = map[string]func(*Stream, Options){
	"search": search, "list": list, "create": create, "delete": deleteItem, "import": importItems,
	"watch": watch, "doctor": doctor,
}

// Control characters act on terminals; U+FFFD is what encoding/json makes of text that is none.
func isTitle(text string) bool {
	bad := func(letter rune) bool { return letter < ' ' || letter == 0x7f || letter == utf8.RuneError }
	return text != "" && utf8.RuneCountInString(text) <= 200 && !strings.ContainsFunc(text, bad)
}

func list(stream *Stream, options Options) {
	page(stream, options, "entry", load(directory()).Items)
}

var capitals = regexp.MustCompile("[A-Z]") // only those of ASCII, which every language changes alike

func search(stream *Stream, options Options) {
	query, found := capitals.ReplaceAllStringFunc(options["query"], strings.ToLower), []Event{}
	for _, item := range load(directory()).Items {
		if strings.Contains(capitals.ReplaceAllStringFunc(item.Title, strings.ToLower), query) {
			item.Rank = len(found) + 1
			found = append(found, item)
		}
	}
	page(stream, options, "hit", found)
}

// page sends so many events. A cursor is the number of the last id: it survives the deletion of that item.
func page(stream *Stream, options Options, kind string, events []Event) {
	place, found := strings.CutPrefix(options["cursor"], "after-")
	damaged := options["cursor"] != "" && !(found && digits.MatchString(place))
	failIf(damaged, "validation", "INVALID_CURSOR", "The cursor is damaged")
	after, _ := strconv.Atoi(place) // 0 without a cursor
	limit, err := strconv.Atoi(options["limit"])
	if err != nil {
		limit = 20 // there is none
	}
	events = slices.DeleteFunc(events, func(event Event) bool {
		number, _ := strconv.Atoi(event.ID[1:])
		return number <= after
	})
	if len(events) > limit {
		events = events[:limit]
		stream.cursor = "after-" + events[limit-1].ID[1:]
	}
	for _, event := range events {
		event.Type = kind
		stream.send(event)
	}
}

func create(stream *Stream, options Options) {
	failIf(!isTitle(options["title"]), "validation", "ITEM_INVALID", badTitle)
	change(stream, options, "create", []Event{{Action: "create", Title: options["title"]}})
}

func deleteItem(stream *Stream, options Options) {
	const message = "delete needs --confirm; nothing was done"
	unconfirmed := options["dry-run"] == "" && options["confirm"] == ""
	failIf(unconfirmed, "usage", "CONFIRMATION_REQUIRED", message, "target", "--confirm")
	change(stream, options, "delete", []Event{{Action: "delete", Target: options["id"]}})
}

func importItems(stream *Stream, options Options) {
	changes, ignored, open, failed := []Event{}, 0, false, false
	for index, line := range bytes.Split(readInput(options["input-jsonl"]), []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		item := parseLine(line, index+1)
		title, _ := item["title"].(string)
		switch kind := item["type"]; {
		case kind == "aoi:meta":
			open = true
		case kind == "aoi:summary":
			open, failed = false, failed || item["ok"] != true
		case kind == "aoi:error":
			failed = true
		case strings.HasPrefix(fmt.Sprint(kind), "aoi:"):
		case kind != nil && kind != "entry":
			ignored++
		default:
			failLine(!isTitle(title), "INPUT_INVALID", index+1, ": "+badTitle)
			changes = append(changes, Event{Action: "create", Title: title, Line: index + 1})
		}
	}
	failIf(open, "io", "UPSTREAM_INCOMPLETE", "The upstream tool ended without a summary")
	failIf(failed, "partial", "UPSTREAM_FAILED", "The upstream tool reported a failure")
	change(stream, options, "import", changes)
	if ignored > 0 {
		stream.more = append(stream.more, "ignored_count", ignored)
	}
}

func readInput(path string) []byte {
	if path == "-" {
		path = "/dev/stdin"
	}
	file, err := os.Open(path)
	data, problem := io.ReadAll(io.LimitReader(file, maxInput+1))
	failIf(err != nil || problem != nil, "io", "INPUT_UNREADABLE", "The input cannot be read")
	failIf(len(data) > maxInput, "validation", "INPUT_TOO_LARGE", "The input has more than 16 MiB")
	return data
}

func parseLine(line []byte, number int) (item map[string]any) {
	var other *json.UnmarshalTypeError
	err := json.Unmarshal(line, &item)
	isOther := errors.As(err, &other) || (err == nil && item == nil) // null is taken for a map
	failLine(!utf8.Valid(line) || (err != nil && !isOther), "INPUT_JSONL_PARSE_ERROR", number, " is not JSON")
	failLine(isOther, "INPUT_INVALID", number, " is not an object")
	return item
}

func failLine(wrong bool, code string, number int, problem string) {
	failIf(wrong, "validation", code, fmt.Sprintf("Input line %d%s", number, problem), "line_number", number)
}

// change shows the plan, or does it once and for all: a repeated call with the same key gets the events of the first.
func change(stream *Stream, options Options, command string, changes []Event) {
	home, request := directory(), []string{command}
	for _, change := range changes {
		request = append(request, change.Title+change.Target) // it has one of them
	}
	if options["dry-run"] != "" {
		load(home).apply(changes) // and forget it
		for _, change := range changes {
			change.Type, change.Title = "aoi:plan", ""
			stream.send(change)
		}
		stream.more = []any{"dry_run", true}
		return
	}
	done, replayed := once(home, options["idempotency-key"], request, changes)
	for _, event := range done.Events {
		stream.send(event)
	}
	if replayed {
		stream.more = []any{"replayed", true}
	}
}

func once(home, key string, request []string, changes []Event) (done Done, replayed bool) {
	defer takeLock(home).Close()
	store := load(home)
	if done, replayed = store.Keys[key]; !replayed {
		done = Done{request, store.apply(changes)}
		if key != "" {
			store.Keys[key] = done
		}
		store.save(home)
	}
	reused := !slices.Equal(done.Request, request)
	failIf(reused, "conflict", "IDEMPOTENCY_KEY_REUSED", "This idempotency key was used for another call")
	return done, replayed
}

func watch(stream *Stream, _ Options) {
	before := load(directory())
	for beat := time.Now(); ; time.Sleep(poll) {
		if !time.Now().Before(beat) {
			stream.send(Event{Type: "aoi:heartbeat"})
			beat = time.Now().Add(heartbeat)
		}
		now := load(directory())
		stream.difference("deleted", before, now)
		stream.difference("created", now, before)
		before = now
	}
}

// difference sends an event for each item that only one of two stores has.
func (stream *Stream) difference(kind string, one, other *Store) {
	for _, item := range one.Items {
		if other.find(item.ID) < 0 {
			stream.send(Event{Type: kind, ID: item.ID})
		}
	}
}

func doctor(stream *Stream, _ Options) {
	severity, detail := "info", ""
	fail := attempt(func() { detail = fmt.Sprintf("%d items", len(load(directory()).Items)) })
	if fail != nil {
		severity, detail = "error", fail.message
		stream.errors.Add(1)
	}
	stream.tell("aoi:check", "name", "store", "ok", fail == nil, "severity", severity, "detail", detail)
}

func run(stream *Stream, argv []string) {
	var contract, inputs map[string]json.RawMessage
	var help string
	parse([]byte(strings.NewReplacer("{tool}", tool, "{version}", version).Replace(contractText)), &contract)
	parse(contract["inputs"], &inputs)
	parse(contract["help"], &help)
	if slices.Contains(argv, "--help") || slices.Contains(argv, "-h") {
		exit(0, []byte(strings.TrimSpace(help)))
	} else if slices.Equal(argv, []string{"--version"}) {
		exit(0, []byte(tool+" "+version))
	}
	unknown := len(argv) == 0 || inputs[argv[0]] == nil
	failIf(unknown, "usage", "UNKNOWN_COMMAND", "The first argument is not a command")
	stream.meta = append(stream.meta, "command", argv[0])
	options := readOptions(inputs[argv[0]], argv[1:])
	if command, found := commands[argv[0]]; found {
		stream.begin()
		command(stream, options)
	} else if options["command"] != "" {
		exit(0, encode(inputs[options["command"]]))
	} else {
		exit(0, encode(contract[argv[0]]))
	}
}

func parse(text []byte, into any) {
	if err := json.Unmarshal(text, into); err != nil {
		panic(err) // it is a part of this program
	}
}

func main() {
	stream := newStream()
	stream.finish(attempt(func() { run(stream, os.Args[1:]) }))
}
