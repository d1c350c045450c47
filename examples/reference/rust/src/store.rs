//! The store: one JSON file that is replaced as a whole, under a lock; reading takes none.
//!
//! Items and what was done under idempotency keys are in one file, so that one rename makes an effect and the memory of it
//! visible together, or neither. A file that is not there is an empty store.

use crate::stream::Fail;
use serde_json::{json, Map, Value};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, process, thread};

/// Whoever holds the lock is done in milliseconds; longer means trouble, which the caller should hear of.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

pub struct Store {
    pub next: u64,
    pub items: Vec<Value>,
    pub keys: Map<String, Value>,
}

pub fn directory() -> Result<PathBuf, Fail> {
    let set = |name| env::var_os(name).filter(|home| !home.is_empty()).map(PathBuf::from);
    let home = set("REF_HOME").or_else(|| Some(set("HOME")?.join(".local/share/reference")));
    home.ok_or_else(|| Fail::new("config", "HOME_NOT_SET", "Neither REF_HOME nor HOME says where the items are"))
}

pub fn load(home: &Path) -> Result<Store, Fail> {
    let text = match fs::read(home.join("items.json")) {
        Err(error) if error.kind() == ErrorKind::NotFound => br#"{"next":1,"items":[],"keys":{}}"#.to_vec(),
        other => other.map_err(|_| unreadable())?,
    };
    let value: Value = serde_json::from_slice(&text).map_err(|_| unreadable())?;
    match (value["next"].as_u64(), value["items"].as_array(), value["keys"].as_object()) {
        (Some(next), Some(items), Some(keys)) => Ok(Store { next, items: items.clone(), keys: keys.clone() }),
        _ => Err(unreadable()),
    }
}

impl Store {
    pub fn find(&self, id: &str) -> Option<usize> {
        self.items.iter().position(|item| item["id"] == id)
    }

    /// Replace the file: a crash leaves the old one or the new one, never a mixture.
    pub fn save(self, home: &Path) -> Result<(), Fail> {
        let path = home.join("items.json");
        let temporary = home.join(format!("items.json.{}.tmp", process::id()));
        let value = json!({"next": self.next, "items": self.items, "keys": self.keys});
        let replace = || -> io::Result<()> {
            let mut file = File::create(&temporary)?;
            write!(file, "{value}")?;
            file.sync_all()?;
            fs::rename(&temporary, &path)
        };
        replace().map_err(|_| unwritable())
    }
}

/// While the file is kept, nobody else changes the store. The kernel takes the lock back from a process that dies.
pub fn lock(home: &Path) -> Result<File, Fail> {
    fs::create_dir_all(home).map_err(|_| unwritable())?;
    let file = File::options().append(true).create(true).open(home.join("items.lock")).map_err(|_| unwritable())?;
    let deadline = Instant::now() + LOCK_TIMEOUT;
    while file.try_lock().is_err() {
        if Instant::now() > deadline {
            return Err(Fail::new("temporary", "STORE_BUSY", "Another process is changing the store"));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(file)
}

fn unreadable() -> Fail {
    Fail::new("io", "STORE_UNREADABLE", "The store cannot be read")
}

fn unwritable() -> Fail {
    Fail::new("io", "STORE_UNWRITABLE", "The store cannot be written")
}
