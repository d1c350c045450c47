// `notes` with cobra: its parser finds the mistakes, and what it says of them stays inside.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

type note struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

type done struct {
	Asked  string   `json:"asked"`
	Events []string `json:"events"`
}

type store struct {
	Next  int             `json:"next"`
	Notes []note          `json:"notes"`
	Keys  map[string]done `json:"keys"`
}

type problem struct{ category, code, message string }

func (p problem) Error() string { return p.message }

var (
	output, version, token, key, cursor, about string
	timeout                                    float64
	limit, count                               int
	debug, plain, dry, confirm                 bool
	missing                                    = problem{"not_found", "NOTE_NOT_FOUND", "there is no such note"}
)

func write(line string) {
	if _, err := os.Stdout.WriteString(line + "\n"); err != nil {
		os.Exit(74)
	}
}

func line(kind string, fields map[string]any) string {
	fields["type"] = kind
	text, _ := json.Marshal(fields)
	return string(text)
}

func emit(kind string, fields map[string]any) { write(line(kind, fields)) }

func home() string {
	if path := os.Getenv("NOTES_HOME"); path != "" {
		return path
	}
	return "."
}

func load() store {
	found := store{Next: 1, Keys: map[string]done{}}
	if text, err := os.ReadFile(filepath.Join(home(), "notes.json")); err == nil {
		json.Unmarshal(text, &found)
	}
	return found
}

func change(asked string, apply func(*store) (string, error)) error {
	os.MkdirAll(home(), 0o755)
	folder, err := os.Open(home())
	if err != nil {
		return problem{"io", "NO_STORE", "the store cannot be opened"}
	}
	defer folder.Close()
	syscall.Flock(int(folder.Fd()), syscall.LOCK_EX)
	found := load()
	before, known := found.Keys[key]
	if key != "" && known && before.Asked != asked {
		return problem{"conflict", "IDEMPOTENCY_KEY_REUSED", "the key was used for another call"}
	}
	if key == "" || !known {
		event, err := apply(&found)
		if err != nil {
			return err
		}
		before = done{asked, []string{event}}
		if key != "" {
			found.Keys[key] = before
		}
		text, _ := json.Marshal(found)
		path := filepath.Join(home(), "notes.json")
		os.WriteFile(path+".new", text, 0o644)
		os.Rename(path+".new", path)
	}
	for _, event := range before.Events {
		write(event)
	}
	emit("aoi:summary", map[string]any{"ok": true, "count": len(before.Events)})
	return nil
}

func list(*cobra.Command, []string) error {
	notes := load().Notes
	if limit < 1 {
		return problem{"usage", "INVALID_VALUE", "--limit must be positive"}
	}
	if cursor != "" {
		place := -1
		for number, each := range notes {
			if "after-"+each.ID == cursor {
				place = number
			}
		}
		if place < 0 {
			return problem{"validation", "INVALID_CURSOR", "the cursor cannot be used"}
		}
		notes = notes[place+1:]
	}
	page := notes[:min(limit, len(notes))]
	for _, each := range page {
		emit("entry", map[string]any{"id": each.ID, "title": each.Title})
	}
	var next any
	if len(notes) > limit {
		next = "after-" + page[len(page)-1].ID
	}
	emit("aoi:summary", map[string]any{"ok": true, "count": len(page), "truncated": next != nil, "next_cursor": next})
	return nil
}

func get(_ *cobra.Command, args []string) error {
	for _, each := range load().Notes {
		if each.ID == args[0] {
			emit("entry", map[string]any{"id": each.ID, "title": each.Title})
			emit("aoi:summary", map[string]any{"ok": true, "count": 1})
			return nil
		}
	}
	return missing
}

func create(_ *cobra.Command, args []string) error {
	if dry {
		return plan("create", args[0])
	}
	return change("create "+args[0], func(found *store) (string, error) {
		made := note{fmt.Sprintf("n%d", found.Next), args[0]}
		found.Next++
		found.Notes = append(found.Notes, made)
		return line("created", map[string]any{"id": made.ID, "title": made.Title}), nil
	})
}

func remove(_ *cobra.Command, args []string) error {
	found := load()
	_, replayed := found.Keys[key]
	known := key != "" && replayed
	for _, each := range found.Notes {
		known = known || each.ID == args[0]
	}
	if !known {
		return missing
	}
	if dry {
		return plan("delete", args[0])
	}
	if count > 1 {
		return problem{"conflict", "COUNT_MISMATCH", "one note would be deleted"}
	}
	if !confirm && count != 1 {
		return problem{"usage", "CONFIRMATION_REQUIRED", "give --confirm to delete"}
	}
	return change("delete "+args[0], func(found *store) (string, error) {
		for place, each := range found.Notes {
			if each.ID == args[0] {
				found.Notes = append(found.Notes[:place], found.Notes[place+1:]...)
				return line("deleted", map[string]any{"id": each.ID}), nil
			}
		}
		return "", missing
	})
}

func plan(action, target string) error {
	emit("aoi:plan", map[string]any{"action": action, "target": target})
	emit("aoi:summary", map[string]any{"ok": true, "count": 1})
	return nil
}

func document(name string) error {
	program, _ := os.Executable()
	text, err := os.ReadFile(filepath.Join(filepath.Dir(program), "contract.json"))
	if err != nil {
		return err
	}
	contract := map[string]json.RawMessage{}
	json.Unmarshal(text, &contract)
	if name == "input-schema" {
		inputs := map[string]json.RawMessage{}
		json.Unmarshal(contract["inputs"], &inputs)
		if inputs[about] == nil {
			return problem{"usage", "UNKNOWN_COMMAND", "there is no such command"}
		}
		write(string(inputs[about]))
		return nil
	}
	write(string(contract[name]))
	return nil
}

func command(use string, operands int, run func(*cobra.Command, []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Args: cobra.ExactArgs(operands), RunE: func(c *cobra.Command, args []string) error {
		if output != "jsonl" {
			return problem{"usage", "UNKNOWN_FORMAT", "there is no such format"}
		}
		if version != "1.0.0" {
			return problem{"usage", "UNSUPPORTED_SCHEMA_VERSION", "only 1.0.0 is supported"}
		}
		emit("aoi:meta", map[string]any{"tool": "notes", "tool_version": "3.1.4", "aoi_version": "0.2",
			"schema_name": "com.example.notes.events", "schema_version": "1.0.0", "command": c.Name()})
		return run(c, args)
	}}
}

func main() {
	root := &cobra.Command{Use: "notes", Version: "3.1.4", SilenceErrors: true, SilenceUsage: true,
		Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
			return problem{"usage", "MISSING_COMMAND", "give a command"}
		}}
	root.CompletionOptions.DisableDefaultCmd = true
	flags := root.PersistentFlags()
	flags.StringVar(&output, "output", "jsonl", "")
	flags.StringVar(&version, "schema-version", "1.0.0", "")
	flags.StringVar(&token, "api-token", "", "")
	flags.Float64Var(&timeout, "timeout", 0, "")
	flags.BoolVar(&debug, "debug", false, "")
	flags.BoolVar(&plain, "no-color", false, "")
	lists, gets := command("list", 0, list), command("get", 1, get)
	creates, deletes := command("create", 1, create), command("delete", 1, remove)
	lists.Flags().IntVar(&limit, "limit", 100, "")
	lists.Flags().StringVar(&cursor, "cursor", "", "")
	for _, each := range []*cobra.Command{creates, deletes} {
		each.Flags().BoolVar(&dry, "dry-run", false, "")
		each.Flags().StringVar(&key, "idempotency-key", "", "")
	}
	deletes.Flags().BoolVar(&confirm, "confirm", false, "")
	deletes.Flags().IntVar(&count, "confirm-count", 0, "")
	root.AddCommand(lists, gets, creates, deletes)
	for _, name := range []string{"schema", "capabilities", "input-schema"} {
		each := &cobra.Command{Use: name, Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return document(name) }}
		each.Flags().StringVar(&about, "command", "", "")
		root.AddCommand(each)
	}
	for _, word := range os.Args[1:] {
		if !utf8.ValidString(word) {
			fail(problem{"usage", "NOT_UTF_8", "an argument is not UTF-8"})
		}
	}
	if err := root.Execute(); err != nil {
		// What the parser says has the words that were typed: they may be secrets.
		found := problem{"usage", "INVALID_USAGE", "the command line is not valid; see --help"}
		errors.As(err, &found)
		fail(found)
	}
}

func fail(found problem) {
	emit("aoi:error", map[string]any{"category": found.category, "code": found.code, "message": found.message, "retryable": false})
	emit("aoi:summary", map[string]any{"ok": false, "count": 0, "error_count": 1})
	if found.category == "usage" {
		os.Exit(64)
	}
	os.Exit(65)
}
