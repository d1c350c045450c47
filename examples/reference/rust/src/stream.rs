//! The output side of an AOI tool: events as lines, their count, signals, and readers that go away.
//!
//! One lock guards stdout and the counts. A thread waits for signals and takes the lock for good, so a signal falls between
//! two events, and whoever wants to send another one waits for the end. If a write holds the lock for a second, the reader
//! does not read: then there is no summary.

use serde_json::{json, Value};
use signal_hook::{consts::SIGINT, consts::SIGTERM, iterator::Signals};
use std::io::{stdout, ErrorKind, Write};
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::{thread, time::Duration};

pub const TOOL: &str = "ref-rust";
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
const READER_GONE: i32 = 141;

/// A failure of the whole run: the event that is printed of it.
pub struct Fail(pub Value);

impl Fail {
    pub fn new(category: &str, code: &str, message: impl Into<String>) -> Fail {
        let retryable = category == "temporary";
        Fail(
            json!({"type": "aoi:error", "category": category, "code": code, "message": message.into(), "retryable": retryable}),
        )
    }

    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Fail {
        self.0[name] = value.into();
        self
    }
}

/// A signal has come; without this a busy sender would take the lock again and again.
static STOPPING: AtomicBool = AtomicBool::new(false);

#[derive(Default)]
pub struct Counts {
    count: usize,
    pub errors: usize,
}

/// One run as its reader sees it.
#[derive(Clone, Default)]
pub struct Stream(Arc<Mutex<Counts>>);

impl Stream {
    pub fn start() -> Stream {
        let stream = Stream::default();
        let waiting = stream.clone();
        let mut signals = Signals::new([SIGINT, SIGTERM]).expect("signals can be handled");
        thread::spawn(move || signals.forever().next().map(|number| waiting.interrupted(128 + number)));
        stream
    }

    /// While this is held, no signal ends the run.
    pub fn hold(&self) -> MutexGuard<'_, Counts> {
        while STOPPING.load(Ordering::Relaxed) {
            thread::park();
        }
        self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn meta(&self, command: Option<&str>) {
        let mut meta = json!({"type": "aoi:meta", "tool": TOOL, "tool_version": VERSION, "aoi_version": "0.2",
            "schema_name": "com.example.items.events", "schema_version": "1.0.0"});
        if let Some(command) = command {
            meta["command"] = command.into();
        }
        self.send(meta);
    }

    /// Write an event at once, and count it.
    pub fn send(&self, event: Value) {
        let mut counts = self.hold();
        print(&event);
        match event["type"].as_str() {
            Some("aoi:error") => counts.errors += 1,
            Some("aoi:meta" | "aoi:heartbeat") => (),
            _ => counts.count += 1,
        }
    }

    /// Write the last events, and end with the status that `capabilities` publishes. Nothing follows the summary: the lock
    /// is kept.
    pub fn finish(&self, outcome: Result<Value, Fail>, exit_codes: &Value) -> ! {
        let (category, more) = match outcome {
            Ok(more) if self.hold().errors == 0 => ("ok".into(), more),
            Ok(more) => ("validation".into(), more),
            Err(fail) => {
                self.send(fail.0.clone());
                (fail.0["category"].clone(), json!({}))
            }
        };
        let counts = self.hold();
        counts.summarize(category == "ok", more);
        exit(exit_codes[category.as_str().unwrap_or_default()].as_i64().unwrap_or(70) as i32)
    }

    /// End as a signal asks, with a summary if the reader takes it within a second.
    fn interrupted(&self, status: i32) {
        STOPPING.store(true, Ordering::Relaxed);
        thread::spawn(move || {
            thread::sleep(Duration::from_secs(1));
            exit(status);
        });
        let counts = self.lock();
        counts.summarize(false, json!({"partial": true, "reason": "interrupted"}));
        exit(status);
    }
}

impl Counts {
    fn summarize(&self, ok: bool, more: Value) {
        let cursor = &more["next_cursor"];
        let mut summary = json!({"type": "aoi:summary", "ok": ok, "count": self.count, "error_count": self.errors,
            "truncated": !cursor.is_null(), "next_cursor": cursor});
        for (name, value) in more.as_object().into_iter().flatten() {
            summary[name] = value.clone();
        }
        print(&summary);
    }
}

pub fn print(value: &Value) {
    write(&format!("{value}\n"));
}

/// Rust ignores SIGPIPE, so that writing fails; `println!` would panic.
pub fn write(text: &str) {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => (),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => exit(READER_GONE),
        Err(_) => {
            eprintln!("{TOOL}: cannot write");
            exit(74)
        }
    }
}
