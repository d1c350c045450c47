//! The output side of an AOI tool: events as lines, the counts for the summary, signals, and readers that go away.
//!
//! A thread waits for signals. Whoever writes an event and counts it, or replaces the store, holds the lock on the counts;
//! the thread takes it before it writes the interrupted summary, and exits while it has it.

use std::io::{stdout, ErrorKind, Write};
use std::process::exit;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::{TOOL, VERSION};

const READER_GONE: i32 = 141;

/// Everything that is ever printed on a line, but for discovery documents.
#[derive(Serialize, Deserialize, Clone)]
#[serde(tag = "type")]
pub enum Event {
    #[serde(rename = "aoi:meta")]
    Meta(Meta),
    #[serde(rename = "aoi:summary")]
    Summary(Summary),
    #[serde(rename = "aoi:error")]
    Error(Fail),
    #[serde(rename = "aoi:warning")]
    Warning { code: String, message: String },
    #[serde(rename = "aoi:heartbeat")]
    Heartbeat { timestamp: String },
    #[serde(rename = "aoi:check")]
    Check { name: String, ok: bool, severity: String, detail: String },
    #[serde(rename = "aoi:plan")]
    Plan {
        action: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        line_number: Option<usize>,
    },
    #[serde(rename = "entry")]
    Entry { id: String, title: String, body: String },
    #[serde(rename = "hit")]
    Hit { rank: usize, id: String, title: String, snippet: String },
    #[serde(rename = "created")]
    Created {
        id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        line_number: Option<usize>,
    },
    #[serde(rename = "deleted")]
    Deleted { id: String },
    #[serde(rename = "discovery_document")]
    Document { name: String, content: Value },
}

#[derive(Serialize, Deserialize, Clone, Default)]
pub struct Meta {
    pub tool: String,
    pub tool_version: String,
    pub aoi_version: String,
    pub schema_name: String,
    pub schema_version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continue_on_error: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unbounded: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heartbeat_interval: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

#[derive(Serialize, Deserialize, Clone, Default)]
pub struct Summary {
    pub ok: bool,
    pub count: usize,
    pub warning_count: usize,
    pub error_count: usize,
    pub partial: bool,
    pub truncated: bool,
    pub next_cursor: Option<String>,
    pub elapsed_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replayed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignored_count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_warning_count: Option<usize>,
}

/// A failure of the whole run, or of one line of input. It is printed as it is.
#[derive(Serialize, Deserialize, Clone, Default)]
pub struct Fail {
    pub category: String,
    pub code: String,
    pub message: String,
    pub retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operand: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_number: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Fail {
    pub fn new(category: &str, code: &str, message: impl Into<String>) -> Fail {
        let retryable = category == "temporary";
        Fail { category: category.into(), code: code.into(), message: message.into(), retryable, ..Fail::default() }
    }

    pub fn exit_status(&self) -> i32 {
        match self.category.as_str() {
            "usage" => 64,
            "internal" => 70,
            "io" => 74,
            "temporary" => 75,
            "config" => 78,
            _ => 65,
        }
    }
}

pub struct Counts {
    began: Instant,
    count: usize,
    warnings: usize,
    pub errors: usize,
    ended: bool,
}

/// One run as its reader sees it.
#[derive(Clone)]
pub struct Stream(Arc<Mutex<Counts>>);

impl Stream {
    pub fn start() -> Stream {
        let counts = Counts { began: Instant::now(), count: 0, warnings: 0, errors: 0, ended: false };
        let stream = Stream(Arc::new(Mutex::new(counts)));
        let waiting = stream.clone();
        let mut signals = Signals::new([SIGINT, SIGTERM]).expect("signals can be handled");
        thread::spawn(move || {
            if let Some(number) = signals.forever().next() {
                waiting.interrupted(128 + number);
            }
        });
        stream
    }

    /// While this is held, no signal ends the run.
    pub fn hold(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn meta(&self, meta: Meta) {
        self.send(Event::Meta(Meta {
            tool: TOOL.into(),
            tool_version: VERSION.into(),
            aoi_version: "0.2".into(),
            schema_name: "com.example.items.events".into(),
            schema_version: "1.0.0".into(),
            ..meta
        }));
    }

    /// Write an event at once, and count it.
    pub fn send(&self, event: Event) {
        let mut counts = self.hold();
        write(&line(&event));
        match event {
            Event::Error(_) => counts.errors += 1,
            Event::Warning { .. } => counts.warnings += 1,
            Event::Meta(_) | Event::Heartbeat { .. } => (),
            Event::Summary(_) => counts.ended = true,
            _ => counts.count += 1,
        }
    }

    /// Write the terminal summary: what it is given, and the counts.
    pub fn finish(&self, summary: Summary) {
        let complete = self.hold().complete(summary);
        self.send(complete);
    }

    /// End as a signal asks, with a summary if the reader takes it within a second. A reader that takes nothing blocks a
    /// write, which holds the counts: then there is no summary.
    fn interrupted(&self, status: i32) {
        thread::spawn(move || {
            thread::sleep(Duration::from_secs(1));
            exit(status);
        });
        let counts = self.hold();
        if !counts.ended {
            let summary = Summary { partial: true, reason: Some("interrupted".into()), ..Summary::default() };
            write(&line(&counts.complete(summary)));
            exit(status);
        }
    }
}

impl Counts {
    fn complete(&self, summary: Summary) -> Event {
        Event::Summary(Summary {
            count: self.count,
            warning_count: self.warnings,
            error_count: self.errors,
            truncated: summary.next_cursor.is_some(),
            elapsed_ms: self.began.elapsed().as_millis() as u64,
            ..summary
        })
    }
}

pub fn line(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value).expect("only our own types are encoded");
    line.push('\n');
    line
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
