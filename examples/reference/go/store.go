package main

// The store: one JSONL file that is replaced as a whole, under a lock.
//
// Its lines: {"kind":"store",...} first, then the items in order of creation, then what was done under idempotency keys.
// Items and keys are in one file so that one rename makes an effect and the memory of it visible together, or neither.
// Reading takes no lock: a reader sees the file before or after a change. A file that is not there is an empty store.

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// Retries come soon after the first try; the oldest keys are forgotten beyond this many.
	keptKeys = 1000
	// Whoever holds the lock is done in milliseconds; longer means trouble, which the caller should hear of.
	lockTimeout = 5 * time.Second
)

type Item struct {
	Kind  string `json:"kind"`
	Seq   int    `json:"seq"`
	ID    string `json:"id"`
	Title string `json:"title"`
	Body  string `json:"body"`
}

type Key struct {
	Kind    string            `json:"kind"`
	Key     string            `json:"key"`
	Request string            `json:"request"`
	Events  []json.RawMessage `json:"events"`
}

type head struct {
	Kind   string `json:"kind"`
	Format int    `json:"format"`
	Next   int    `json:"next"`
}

type Store struct {
	path   string
	next   int
	items  []Item
	keys   []Key
	exists bool
}

func directory() (string, error) {
	if home := os.Getenv("REF_HOME"); home != "" {
		return home, nil
	}
	if home := os.Getenv("HOME"); home != "" {
		return filepath.Join(home, ".local/share/reference"), nil
	}
	return "", newFail("config", "HOME_NOT_SET", "Neither REF_HOME nor HOME says where the items are")
}

func load(home string) (*Store, error) {
	store := &Store{path: filepath.Join(home, "items.jsonl"), next: 1}
	data, err := os.ReadFile(store.path)
	if errors.Is(err, fs.ErrNotExist) {
		return store, nil
	}
	if err != nil {
		return nil, newFail("io", "STORE_UNREADABLE", "The store cannot be read")
	}
	if store.read(data) != nil {
		return nil, newFail("io", "STORE_DAMAGED", "The store is damaged")
	}
	store.exists = true
	return store, nil
}

func (store *Store) read(data []byte) error {
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	var first head
	if err := json.Unmarshal(lines[0], &first); err != nil || first.Next < 1 {
		return errors.New("no head")
	}
	store.next = first.Next
	for _, line := range lines[1:] {
		var record struct{ Kind string }
		var item Item
		var key Key
		err := json.Unmarshal(line, &record)
		if err == nil && record.Kind == "item" {
			err = json.Unmarshal(line, &item)
			store.items = append(store.items, item)
		} else if err == nil && record.Kind == "key" {
			err = json.Unmarshal(line, &key)
			store.keys = append(store.keys, key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (store *Store) has(id string) bool {
	for _, item := range store.items {
		if item.ID == id {
			return true
		}
	}
	return false
}

func (store *Store) add(item Item) {
	item.Kind, item.Seq = "item", store.next
	store.items = append(store.items, item)
	store.next++
}

// done gives the events of an earlier run with this key, and whether there was one.
func (store *Store) done(key, request string) ([]any, bool, error) {
	for _, known := range store.keys {
		if key == "" || known.Key != digest(key) {
			continue
		}
		if known.Request != request {
			message := "This idempotency key was used for another call"
			return nil, false, newFail("conflict", "IDEMPOTENCY_KEY_REUSED", message)
		}
		events := []any{}
		for _, event := range known.Events {
			events = append(events, event)
		}
		return events, true, nil
	}
	return nil, false, nil
}

// remember keeps only the digest of the key, which may be somebody's secret.
func (store *Store) remember(key, request string, events []any) {
	record := Key{Kind: "key", Key: digest(key), Request: request, Events: []json.RawMessage{}}
	for _, event := range events {
		record.Events = append(record.Events, bytes.TrimSpace(encode(event)))
	}
	store.keys = append(store.keys, record)
}

// save replaces the file: a crash leaves the old one or the new one, never a mixture.
func (store *Store) save() error {
	var data bytes.Buffer
	data.Write(encode(head{"store", 1, store.next}))
	for _, item := range store.items {
		data.Write(encode(item))
	}
	for _, key := range store.keys[max(0, len(store.keys)-keptKeys):] {
		data.Write(encode(key))
	}
	temporary := fmt.Sprintf("%s.%d.tmp", store.path, os.Getpid())
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		_, err = file.Write(data.Bytes())
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err == nil {
		err = os.Rename(temporary, store.path)
	}
	if err != nil {
		return unwritable()
	}
	return nil
}

// locked calls change while nobody else changes the store. The kernel takes the lock back from a process that dies.
func locked(home string, change func(*Store) error) error {
	if os.MkdirAll(home, 0o700) != nil {
		return unwritable()
	}
	file, err := os.OpenFile(filepath.Join(home, "items.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return unwritable()
	}
	defer file.Close()
	deadline := time.Now().Add(lockTimeout)
	for syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		if time.Now().After(deadline) {
			return newFail("temporary", "STORE_BUSY", "Another process is changing the store")
		}
		time.Sleep(20 * time.Millisecond)
	}
	store, err := load(home)
	if err != nil {
		return err
	}
	return change(store)
}

func unwritable() error { return newFail("io", "STORE_UNWRITABLE", "The store cannot be written") }

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:])
}
