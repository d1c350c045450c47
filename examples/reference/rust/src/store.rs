//! The store: one JSONL file that is replaced as a whole, under a lock.
//!
//! Its lines: `{"kind":"store",...}` first, then the items in order of creation, then what was done under idempotency keys.
//! Items and keys are in one file so that one rename makes an effect and the memory of it visible together, or neither.
//! Reading takes no lock: a reader sees the file before or after a change. A file that is not there is an empty store.

use std::fs::{read_to_string, rename, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, process, thread};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::stream::{line, Event, Fail};

/// Retries come soon after the first try; the oldest keys are forgotten beyond this many.
const KEYS: usize = 1000;
/// Whoever holds the lock is done in milliseconds; longer means trouble, which the caller should hear of.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Serialize, Deserialize, Clone, Default)]
pub struct Item {
    #[serde(default)]
    pub seq: u64,
    pub id: String,
    pub title: String,
    pub body: String,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Record {
    Store { format: u32, next: u64 },
    Item(Item),
    Key(Key),
}

#[derive(Serialize, Deserialize)]
struct Key {
    key: String,
    request: String,
    events: Vec<Event>,
}

pub struct Store {
    path: PathBuf,
    next: u64,
    pub items: Vec<Item>,
    keys: Vec<Key>,
    pub exists: bool,
}

pub fn directory() -> Result<PathBuf, Fail> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("REF_HOME")
        .or_else(|| Some(variable("HOME")?.join(".local/share/reference")))
        .ok_or_else(|| Fail::new("config", "HOME_NOT_SET", "Neither REF_HOME nor HOME says where the items are"))
}

impl Store {
    pub fn load(home: &Path) -> Result<Store, Fail> {
        let path = home.join("items.jsonl");
        let mut store = Store { path, next: 1, items: vec![], keys: vec![], exists: false };
        let text = match read_to_string(&store.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(store),
            Err(_) => return Err(Fail::new("io", "STORE_UNREADABLE", "The store cannot be read")),
        };
        for line in text.lines() {
            match serde_json::from_str(line) {
                Ok(Record::Store { next, .. }) => {
                    store.next = next;
                    store.exists = true;
                }
                Ok(Record::Item(item)) => store.items.push(item),
                Ok(Record::Key(key)) => store.keys.push(key),
                Err(_) => return Err(damaged()),
            }
        }
        if store.exists {
            Ok(store)
        } else {
            Err(damaged())
        }
    }

    pub fn has(&self, id: &str) -> bool {
        self.items.iter().any(|item| item.id == id)
    }

    pub fn add(&mut self, item: Item) {
        self.items.push(Item { seq: self.next, ..item });
        self.next += 1;
    }

    /// The events of an earlier run with this key, if there was one.
    pub fn done(&self, key: Option<&str>, request: &str) -> Result<Option<Vec<Event>>, Fail> {
        let Some(wanted) = key.map(|key| digest(&[key])) else { return Ok(None) };
        match self.keys.iter().find(|known| known.key == wanted) {
            None => Ok(None),
            Some(known) if known.request == request => Ok(Some(known.events.clone())),
            Some(_) => {
                let message = "This idempotency key was used for another call";
                Err(Fail::new("conflict", "IDEMPOTENCY_KEY_REUSED", message))
            }
        }
    }

    /// Only the digest of the key is kept: the key may be somebody's secret.
    pub fn remember(&mut self, key: &str, request: &str, events: &[Event]) {
        self.keys.push(Key { key: digest(&[key]), request: request.into(), events: events.to_vec() });
    }

    /// Replace the file: a crash leaves the old one or the new one, never a mixture.
    pub fn save(self) -> Result<(), Fail> {
        let forgotten = self.keys.len().saturating_sub(KEYS);
        let data: String = std::iter::once(Record::Store { format: 1, next: self.next })
            .chain(self.items.into_iter().map(Record::Item))
            .chain(self.keys.into_iter().skip(forgotten).map(Record::Key))
            .map(|record| line(&record))
            .collect();
        replace(&self.path, data.as_bytes()).map_err(unwritable)
    }
}

fn replace(path: &Path, data: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension(format!("jsonl.{}.tmp", process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(data)?;
    file.sync_all()?;
    rename(temporary, path)
}

/// The lock on the store, while it lives. The kernel takes it back from a process that dies.
pub fn lock(home: &Path) -> Result<File, Fail> {
    DirBuilder::new().recursive(true).mode(0o700).create(home).map_err(unwritable)?;
    let path = home.join("items.lock");
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path).map_err(unwritable)?;
    let began = Instant::now();
    while file.try_lock().is_err() {
        if began.elapsed() > LOCK_TIMEOUT {
            return Err(Fail::new("temporary", "STORE_BUSY", "Another process is changing the store"));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(file)
}

pub fn digest(parts: &[&str]) -> String {
    Sha256::digest(parts.join("\n")).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn damaged() -> Fail {
    Fail::new("io", "STORE_DAMAGED", "The store is damaged")
}

fn unwritable(_: io::Error) -> Fail {
    Fail::new("io", "STORE_UNWRITABLE", "The store cannot be written")
}
