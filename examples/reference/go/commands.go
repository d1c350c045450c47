package main

// What the tool does: one function for each command, which sends events and ends with the summary.
//
// Commands that change something only plan, and `change` does the rest in the same way for all of them: the dry run, the
// idempotency key, the lock. Each returns whether the run was a success, or what ended it.

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const poll = 200 * time.Millisecond // between two looks at the store while watching

type Entry struct {
	Type  string `json:"type"`
	ID    string `json:"id"`
	Title string `json:"title"`
	Body  string `json:"body"`
}

type Hit struct {
	Type    string `json:"type"`
	Rank    int    `json:"rank"`
	ID      string `json:"id"`
	Title   string `json:"title"`
	Snippet string `json:"snippet"`
}

// Changed is a created or deleted item.
type Changed struct {
	Type       string `json:"type"`
	ID         string `json:"id"`
	LineNumber int    `json:"line_number,omitempty"`
}

type Plan struct {
	Type       string `json:"type"`
	Action     string `json:"action"`
	Target     string `json:"target,omitempty"`
	LineNumber int    `json:"line_number,omitempty"`
}

type Check struct {
	Type     string `json:"type"`
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Severity string `json:"severity"`
	Detail   string `json:"detail"`
}

type Heartbeat struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
}

var commands = map[string]func(*Stream, Options) (bool, error){
	"search": search, "list": list, "create": create, "delete": deleteItems, "import": importItems,
	"watch": watch, "doctor": doctor,
}

func current() (*Store, error) {
	home, err := directory()
	if err != nil {
		return nil, err
	}
	return load(home)
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

func search(stream *Stream, options Options) (bool, error) {
	words := strings.FieldsFunc(lower(options.text("query")), func(letter rune) bool { return letter == ' ' })
	if len(words) == 0 {
		return false, misuse("INVALID_VALUE", "QUERY must have a word", "QUERY", 0)
	}
	store, err := current()
	if err != nil {
		return false, err
	}
	found := slices.DeleteFunc(store.items, func(item Item) bool {
		text := lower(item.Title + "\n" + item.Body)
		return slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
	})
	return page(stream, options, "search", found, func(item Item, rank int) any {
		snippet := []rune(item.Body)
		return Hit{"hit", rank, item.ID, item.Title, string(snippet[:min(80, len(snippet))])}
	})
}

func list(stream *Stream, options Options) (bool, error) {
	store, err := current()
	if err != nil {
		return false, err
	}
	return page(stream, options, "list", store.items, func(item Item, _ int) any {
		return Entry{"entry", item.ID, item.Title, item.Body}
	})
}

func page(stream *Stream, options Options, command string, items []Item, event func(Item, int) any) (bool, error) {
	// A place in the results of one call, which survives deletions; the digest makes it opaque, and safe to check.
	cursorAt := func(place string) string {
		return place + "-" + digest(command, options.text("query"), place)[:16]
	}
	after := 0
	if cursor := options.text("cursor"); cursor != "" {
		place, _, _ := strings.Cut(cursor, "-")
		var err error
		if after, err = strconv.Atoi(place); err != nil || cursorAt(place) != cursor {
			message := "The cursor is damaged, or belongs to another call"
			return false, newFail("validation", "INVALID_CURSOR", message)
		}
	}
	left := options.number("limit", 20)
	last := ""
	for index, item := range items {
		if item.Seq <= after {
			continue
		}
		if left == 0 {
			cursor := cursorAt(last)
			stream.finish(Summary{OK: true, NextCursor: &cursor})
			return true, nil
		}
		stream.send(event(item, index+1))
		last = strconv.Itoa(item.Seq)
		left--
	}
	stream.finish(Summary{OK: true})
	return true, nil
}

// A Change is planned: an item that is to be made, or, without a title, deleted.
type Change struct {
	item Item
	line int
}

func (change Change) plan() any {
	if change.item.Title == "" {
		return Plan{"aoi:plan", "delete", change.item.ID, 0}
	}
	return Plan{"aoi:plan", "create", change.item.ID, change.line}
}

func (change Change) apply(store *Store) any {
	item := change.item
	if item.Title == "" {
		store.items = slices.DeleteFunc(store.items, func(known Item) bool { return known.ID == item.ID })
		return Changed{"deleted", item.ID, 0}
	}
	if item.ID == "" {
		random := make([]byte, 6)
		if _, err := rand.Read(random); err != nil {
			panic(err) // the kernel always has some
		}
		item.ID = "i_" + hex.EncodeToString(random)
	}
	store.add(item)
	return Changed{"created", item.ID, change.line}
}

// A planner says what is wrong with single items, and what is to be done with the others.
type planner func(*Store) ([]any, []Change, error)

func create(stream *Stream, options Options) (bool, error) {
	value := map[string]any{}
	for _, name := range []string{"id", "title", "body"} {
		if given, ok := options[name]; ok {
			value[name] = given
		}
	}
	if reason := problem(value); reason != "" {
		return false, newFail("validation", "ITEM_INVALID", reason)
	}
	item := Item{ID: options.text("id"), Title: options.text("title"), Body: options.text("body")}
	request := digest("create", item.ID, item.Title, item.Body)
	return change(stream, options, request, Summary{}, func(store *Store) ([]any, []Change, error) {
		if store.has(item.ID) {
			return nil, nil, newFail("conflict", "ID_EXISTS", "An item with this id exists")
		}
		return nil, []Change{{item: item}}, nil
	})
}

func deleteItems(stream *Stream, options Options) (bool, error) {
	given, _ := options["ids"].([]string)
	ids := []string{}
	for _, id := range given {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if err := checkConfirmed(options, len(ids)); err != nil {
		return false, err
	}
	request := digest(append([]string{"delete"}, ids...)...)
	return change(stream, options, request, Summary{}, func(store *Store) ([]any, []Change, error) {
		for index, id := range given {
			if !store.has(id) {
				fail := newFail("not_found", "ITEM_NOT_FOUND", fmt.Sprintf("Operand %d is not the id of an item", index+1))
				fail.Operand = index + 1
				return nil, nil, fail
			}
		}
		changes := []Change{}
		for _, id := range ids {
			changes = append(changes, Change{item: Item{ID: id}})
		}
		return nil, changes, nil
	})
}

func checkConfirmed(options Options, planned int) error {
	var fail *Fail
	count := options.number("confirm-count", 0)
	needs := func(option string) string {
		return fmt.Sprintf("delete would delete %d and needs %s; nothing was done", planned, option)
	}
	switch {
	case options.flag("dry-run"):
		return nil
	case !options.flag("confirm"):
		fail = newFail("usage", "CONFIRMATION_REQUIRED", needs("--confirm"))
	case planned > 1 && count == 0:
		fail = newFail("usage", "CONFIRMATION_REQUIRED", needs("--confirm-count"))
	case count != 0 && count != planned:
		message := fmt.Sprintf("delete would delete %d, which is not --confirm-count; nothing was done", planned)
		fail = newFail("conflict", "CONFIRM_COUNT_MISMATCH", message)
	default:
		return nil
	}
	fail.Planned = planned
	return fail
}

func importItems(stream *Stream, options Options) (bool, error) {
	intake := &Intake{stream: stream, tolerant: options.flag("continue-on-error")}
	lines, err := intake.read(options.text("input-jsonl"))
	if err != nil {
		return false, err
	}
	mode := "0"
	if intake.tolerant {
		mode = "1"
	}
	remarks := Summary{Ignored: intake.ignored, UpstreamWarns: intake.warnings}
	request := digest("import", mode, intake.digest)
	return change(stream, options, request, remarks, func(store *Store) ([]any, []Change, error) {
		problems, changes := []any{}, []Change{}
		taken := map[string]bool{}
		for _, line := range lines {
			if id := line.item.ID; id != "" && (taken[id] || store.has(id)) {
				fail := rejected("ID_EXISTS", "Input line %d: an item with this id exists", line.number)
				fail.Category = "conflict"
				if !intake.tolerant {
					return nil, nil, fail
				}
				problems = append(problems, fail)
				continue
			}
			taken[line.item.ID] = true
			changes = append(changes, Change{line.item, line.number})
		}
		return problems, changes, nil
	})
}

// change shows the plan, or does it once and for all; a repeated call with the same key gets the events of the first.
func change(stream *Stream, options Options, request string, remarks Summary, plan planner) (bool, error) {
	home, err := directory()
	if err != nil {
		return false, err
	}
	store, err := load(home)
	if err != nil {
		return false, err
	}
	key := options.text("idempotency-key")
	remarks.DryRun = options.flag("dry-run")
	if !remarks.DryRun {
		events, found, err := store.done(key, request)
		if err != nil || found {
			remarks.Replayed = true
			return report(stream, events, remarks, err)
		}
	}
	events, changes, err := plan(store) // before the lock: what is refused leaves no trace
	if err != nil || remarks.DryRun {
		for _, change := range changes {
			events = append(events, change.plan())
		}
		return report(stream, events, remarks, err)
	}
	err = locked(home, func(store *Store) error {
		if events, remarks.Replayed, err = store.done(key, request); err != nil || remarks.Replayed {
			return err
		}
		if events, changes, err = plan(store); err != nil {
			return err
		}
		for _, change := range changes {
			events = append(events, change.apply(store))
		}
		if key != "" {
			store.remember(key, request, events)
		}
		stream.busy.Lock()
		defer stream.busy.Unlock()
		return store.save()
	})
	return report(stream, events, remarks, err)
}

func report(stream *Stream, events []any, summary Summary, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	for _, event := range events {
		stream.send(event)
	}
	summary.OK = stream.errors == 0
	summary.Partial = !summary.OK
	stream.finish(summary)
	return summary.OK, nil
}

func watch(stream *Stream, options Options) (bool, error) {
	home, err := directory()
	if err != nil {
		return false, err
	}
	store, err := load(home)
	if err != nil {
		return false, err
	}
	seen := state(home)
	var beat time.Time
	for {
		if !time.Now().Before(beat) {
			stream.send(Heartbeat{"aoi:heartbeat", time.Now().UTC().Format("2006-01-02T15:04:05Z")})
			beat = time.Now().Add(time.Duration(options.number("heartbeat", 2)) * time.Second)
		}
		time.Sleep(poll)
		now := state(home)
		if now == seen {
			continue
		}
		seen = now
		fresh, err := load(home)
		if err != nil {
			return false, err
		}
		slices.SortFunc(store.items, func(one, other Item) int { return strings.Compare(one.ID, other.ID) })
		for _, item := range store.items {
			if !fresh.has(item.ID) {
				stream.send(Changed{"deleted", item.ID, 0})
			}
		}
		for _, item := range fresh.items {
			if !store.has(item.ID) {
				stream.send(Changed{"created", item.ID, 0})
			}
		}
		store = fresh
	}
}

// state changes whenever the store is replaced.
func state(home string) string {
	info, err := os.Stat(filepath.Join(home, "items.jsonl"))
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Sys().(*syscall.Stat_t).Ino, info.ModTime().UnixNano(), info.Size())
}

func doctor(stream *Stream, _ Options) (bool, error) {
	failed := 0
	check := func(name, detail string, ok bool) {
		severity := "info"
		if !ok {
			severity = "error"
			failed++
		}
		stream.send(Check{"aoi:check", name, ok, severity, detail})
	}
	if home, err := directory(); err != nil {
		check("home", err.Error(), false)
	} else {
		check("home", "set", true)
		if store, err := load(home); err != nil {
			check("store", err.Error(), false)
		} else if store.exists {
			check("store", fmt.Sprintf("%d items", len(store.items)), true)
		} else {
			check("store", "none yet", true)
		}
	}
	// Whether a secret is there may be said; what it is, or how long, may not.
	token := "not set, and not needed"
	if os.Getenv("REF_API_TOKEN") != "" {
		token = "set"
	}
	check("api_token", token, true)
	stream.errors = failed
	stream.finish(Summary{OK: failed == 0})
	return failed == 0, nil
}
