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

type Item struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

type Done struct {
	Request []string          `json:"request"`
	Events  []json.RawMessage `json:"events"`
}

type Store struct {
	Next  int             `json:"next"`
	Items []Item          `json:"items"`
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
	store := &Store{Next: 1, Items: []Item{}, Keys: map[string]Done{}}
	data, err := os.ReadFile(filepath.Join(home, "items.json"))
	if err == nil {
		err = json.Unmarshal(data, store)
	}
	failIf(err != nil && !errors.Is(err, fs.ErrNotExist), "io", "STORE_UNREADABLE", "The store cannot be read")
	return store
}

func (store *Store) find(id string) int {
	return slices.IndexFunc(store.Items, func(item Item) bool { return item.ID == id })
}

// save replaces the file: a crash leaves the old one or the new one, never a mixture.
func (store *Store) save(home string) {
	path := filepath.Join(home, "items.json")
	temporary := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		_, err = file.Write(encode(store))
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err == nil {
		err = os.Rename(temporary, path)
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
