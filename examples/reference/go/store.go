package main

// The store: one JSON file that is replaced as a whole, under a lock; reading takes none.
//
// Items and what was done under idempotency keys are in one file, so that one rename makes an effect and the memory of it
// visible together, or neither. A file that is not there is an empty store.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// Whoever holds the lock is done in milliseconds; longer means trouble, which the caller should hear of.
const lockTimeout = 5 * time.Second

// An Event about items; with an action, a planned change; without a type, an item of the store.
type Event struct {
	Type   string `json:"type,omitempty"`
	Action string `json:"action,omitempty"`
	Rank   int    `json:"rank,omitempty"`
	Target string `json:"target,omitempty"`
	ID     string `json:"id,omitempty"`
	Title  string `json:"title,omitempty"`
	Line   int    `json:"line_number,omitempty"`
}

type Done struct {
	Request []string `json:"request"`
	Events  []Event  `json:"events"`
}

type Store struct {
	Next  int             `json:"next"`
	Items []Event         `json:"items"`
	Keys  map[string]Done `json:"keys"`
}

func directory() string {
	if home := os.Getenv("REF_HOME"); home != "" {
		return home
	}
	home := os.Getenv("HOME")
	failIf(home == "", "config", "HOME_NOT_SET", "Neither REF_HOME nor HOME says where the items are")
	return filepath.Join(home, ".local/share/reference")
}

func load(home string) *Store {
	store := &Store{Next: 1, Items: []Event{}, Keys: map[string]Done{}}
	data, err := os.ReadFile(filepath.Join(home, "items.json"))
	if err == nil {
		err = json.Unmarshal(data, store)
	}
	failIf(err != nil && !errors.Is(err, fs.ErrNotExist), "io", "STORE_UNREADABLE", "The store cannot be read")
	return store
}

func (store *Store) find(id string) int {
	return slices.IndexFunc(store.Items, func(item Event) bool { return item.ID == id })
}

// apply makes the changes in memory, and gives the events that tell of them.
func (store *Store) apply(changes []Event) []Event {
	events := []Event{}
	for _, change := range changes {
		if change.Action == "delete" {
			place := store.find(change.Target)
			failIf(place < 0, "not_found", "ITEM_NOT_FOUND", "There is no item with this id", "target", "ID")
			store.Items = slices.Delete(store.Items, place, place+1)
			events = append(events, Event{Type: "deleted", ID: change.Target})
		} else {
			id := fmt.Sprintf("n%d", store.Next)
			store.Next++
			store.Items = append(store.Items, Event{ID: id, Title: change.Title})
			events = append(events, Event{Type: "created", ID: id, Line: change.Line})
		}
	}
	return events
}

// save replaces the file: a crash leaves the old one or the new one, never a mixture.
func (store *Store) save(home string) {
	file, err := os.CreateTemp(home, "items.json.*.tmp")
	if err == nil {
		_, err = file.Write(encode(store))
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(home, "items.json"))
	}
	failIf(err != nil, "io", "STORE_UNWRITABLE", "The store cannot be written")
}

// takeLock keeps others from changing the store until it is closed. The kernel takes it back from a process that dies.
func takeLock(home string) *os.File {
	err := os.MkdirAll(home, 0o700)
	lock, problem := os.OpenFile(filepath.Join(home, "items.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	failIf(err != nil || problem != nil, "io", "STORE_UNWRITABLE", "The store cannot be written")
	deadline := time.Now().Add(lockTimeout)
	for syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		failIf(time.Now().After(deadline), "temporary", "STORE_BUSY", "Another process is changing the store")
		time.Sleep(20 * time.Millisecond)
	}
	return lock
}
