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
	page(stream, options, load(directory()).Items, func(item Item, _ int) {
		stream.send("entry", "id", item.ID, "title", item.Title)
	})
}

var capitals = regexp.MustCompile("[A-Z]") // only those of ASCII, which every language changes alike

func search(stream *Stream, options Options) {
	query := capitals.ReplaceAllStringFunc(options["query"], strings.ToLower)
	found := slices.DeleteFunc(load(directory()).Items, func(item Item) bool {
		return !strings.Contains(capitals.ReplaceAllStringFunc(item.Title, strings.ToLower), query)
	})
	page(stream, options, found, func(item Item, rank int) {
		stream.send("hit", "rank", rank, "id", item.ID, "title", item.Title)
	})
}

// page shows so many items. A cursor is the number of the last id: it survives the deletion of that item.
func page(stream *Stream, options Options, items []Item, show func(Item, int)) {
	place, found := strings.CutPrefix(options["cursor"], "after-")
	damaged := options["cursor"] != "" && !(found && digits.MatchString(place))
	failIf(damaged, "validation", "INVALID_CURSOR", "The cursor is damaged")
	after, _ := strconv.Atoi(place) // 0 without a cursor
	last, left := 0, 20
	if options["limit"] != "" {
		left, _ = strconv.Atoi(options["limit"])
	}
	for index, item := range items {
		number, _ := strconv.Atoi(strings.TrimPrefix(item.ID, "n"))
		if number > after && left == 0 {
			stream.cursor = fmt.Sprintf("after-%d", last)
			return
		} else if number > after {
			show(item, index+1)
			left, last = left-1, number
		}
	}
}

// A Change is to be made: a new item with this title, or the one with this id deleted.
type Change struct {
	title, id string
	more      []any // what else its event says
}

func create(stream *Stream, options Options) {
	failIf(!isTitle(options["title"]), "validation", "ITEM_INVALID", badTitle)
	change(stream, options, []string{"create", options["title"]}, []Change{{title: options["title"]}})
}

func deleteItem(stream *Stream, options Options) {
	const message = "delete needs --confirm; nothing was done"
	unconfirmed := options["dry-run"] == "" && options["confirm"] == ""
	failIf(unconfirmed, "usage", "CONFIRMATION_REQUIRED", message, "target", "--confirm")
	change(stream, options, []string{"delete", options["id"]}, []Change{{id: options["id"]}})
}

func importItems(stream *Stream, options Options) {
	request, changes, ignored, open, failed := []string{"import"}, []Change{}, 0, false, false
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
			request = append(request, title)
			changes = append(changes, Change{title: title, more: []any{"line_number", index + 1}})
		}
	}
	failIf(open, "io", "UPSTREAM_INCOMPLETE", "The upstream tool ended without a summary")
	failIf(failed, "partial", "UPSTREAM_FAILED", "The upstream tool reported a failure")
	change(stream, options, request, changes)
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
func change(stream *Stream, options Options, request []string, changes []Change) {
	home := directory()
	if options["dry-run"] != "" {
		load(home).apply(changes) // and forget it
		for _, change := range changes {
			if change.id != "" {
				stream.send("aoi:plan", "action", "delete", "target", change.id)
			} else {
				stream.send("aoi:plan", append([]any{"action", "create"}, change.more...)...)
			}
		}
		stream.more = []any{"dry_run", true}
		return
	}
	done, replayed := once(home, options["idempotency-key"], request, changes)
	for _, event := range done.Events {
		stream.sendRaw("", event)
	}
	if replayed {
		stream.more = []any{"replayed", true}
	}
}

func once(home, key string, request []string, changes []Change) (done Done, replayed bool) {
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

func (store *Store) apply(changes []Change) []json.RawMessage {
	events := []json.RawMessage{}
	for _, change := range changes {
		if change.id != "" {
			place := store.find(change.id)
			failIf(place < 0, "not_found", "ITEM_NOT_FOUND", "There is no item with this id", "target", "ID")
			store.Items = slices.Delete(store.Items, place, place+1)
			events = append(events, event("deleted", "id", change.id))
		} else {
			id := fmt.Sprintf("n%d", store.Next)
			store.Next++
			store.Items = append(store.Items, Item{id, change.title})
			events = append(events, event("created", append([]any{"id", id}, change.more...)...))
		}
	}
	return events
}

func watch(stream *Stream, _ Options) {
	before := load(directory())
	for beat := time.Now(); ; time.Sleep(poll) {
		if !time.Now().Before(beat) {
			stream.send("aoi:heartbeat")
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
			stream.send(kind, "id", item.ID)
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
	stream.send("aoi:check", "name", "store", "ok", fail == nil, "severity", severity, "detail", detail)
}

func run(stream *Stream, argv []string) int {
	var contract, inputs map[string]json.RawMessage
	var help string
	parse([]byte(strings.NewReplacer("{tool}", tool, "{version}", version).Replace(contractText)), &contract)
	parse(contract["inputs"], &inputs)
	parse(contract["help"], &help)
	switch {
	case slices.Equal(argv, []string{"--version"}):
		write([]byte(tool + " " + version + "\n"))
		return 0
	case slices.Contains(argv, "--help") || slices.Contains(argv, "-h"):
		write([]byte(help))
		return 0
	}
	meta := []any{"tool", tool, "tool_version", version, "aoi_version", "0.2"}
	meta = append(meta, "schema_name", "com.example.items.events", "schema_version", "1.0.0")
	var name string
	var options Options
	fail := attempt(func() {
		unknown := len(argv) == 0 || inputs[argv[0]] == nil
		failIf(unknown, "usage", "UNKNOWN_COMMAND", "The first argument is not a command")
		name = argv[0]
		meta = append(meta, "command", name)
		options = readOptions(inputs[name], argv[1:])
	})
	command := commands[name]
	if command == nil && fail == nil {
		document := contract[name]
		if options["command"] != "" {
			document = inputs[options["command"]]
		}
		write(append(encode(document), '\n'))
		return 0
	}
	stream.send("aoi:meta", meta...)
	if fail == nil {
		fail = attempt(func() { command(stream, options) })
	}
	return stream.finish(fail)
}

func parse(text []byte, into any) {
	if err := json.Unmarshal(text, into); err != nil {
		panic(err) // it is a part of this program
	}
}

func main() {
	os.Exit(run(newStream(), os.Args[1:]))
}
