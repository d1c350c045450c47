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
	Request []string `json:"request"`
	Events  []Event  `json:"events"`
}

type Store struct {
	Next  int             `json:"next"`
	Items []Item          `json:"items"`
	Keys  map[string]Done `json:"keys"`
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
	store := &Store{Next: 1, Items: []Item{}, Keys: map[string]Done{}}
	data, err := os.ReadFile(filepath.Join(home, "items.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return store, nil
	}
	if err != nil || json.Unmarshal(data, store) != nil {
		return nil, newFail("io", "STORE_UNREADABLE", "The store cannot be read")
	}
	return store, nil
}

// current is the store of this environment.
func current() (*Store, error) {
	home, err := directory()
	if err != nil {
		return nil, err
	}
	return load(home)
}

func (store *Store) has(id string) bool {
	return slices.ContainsFunc(store.Items, func(item Item) bool { return item.ID == id })
}

// save replaces the file: a crash leaves the old one or the new one, never a mixture.
func (store *Store) save(home string) error {
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
	return err
}

// locked does something while nobody else changes the store. The kernel takes the lock back from a process that dies.
func locked(home string, work func() error) error {
	unwritable := newFail("io", "STORE_UNWRITABLE", "The store cannot be written")
	if os.MkdirAll(home, 0o700) != nil {
		return unwritable
	}
	lock, err := os.OpenFile(filepath.Join(home, "items.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return unwritable
	}
	defer lock.Close()
	for deadline := time.Now().Add(lockTimeout); syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil; {
		if time.Now().After(deadline) {
			return newFail("temporary", "STORE_BUSY", "Another process is changing the store")
		}
		time.Sleep(20 * time.Millisecond)
	}
	err = work()
	var fail *Fail
	if err != nil && !errors.As(err, &fail) {
		return unwritable
	}
	return err
}
