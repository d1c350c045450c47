//! The input side: what an item may be, and JSONL that may be the stream of another AOI tool (sections 12 and 13).
//!
//! Lines with an `aoi:` type are control: they say whether what came upstream is complete and good. `entry` lines and lines
//! without a type are items. Other types are counted and left out. A bad line ends the run before anything is done, or,
//! with `--continue-on-error`, is reported and left out.

use std::fs::File;
use std::io::{stdin, BufRead, BufReader, ErrorKind, Read};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::store::Item;
use crate::stream::{Event, Fail, Stream};

/// An import is read whole before anything is done; beyond this, import in parts.
const MAX_INPUT: u64 = 16 * 1024 * 1024;

/// Few enough characters, and none that acts on a terminal. U+FFFD is what broken text turns into.
fn is_text(value: &Value, most: usize, allowed: &[char]) -> bool {
    let broken = |letter: char| {
        (letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{fffd}')) && !allowed.contains(&letter)
    };
    value.as_str().is_some_and(|text| text.chars().count() <= most && !text.contains(broken))
}

fn is_id(value: &Value) -> bool {
    let digits = value.as_str().and_then(|text| text.strip_prefix("i_")).unwrap_or_default();
    digits.len() == 12 && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// An item, or why this cannot be one.
pub fn item(value: &Map<String, Value>) -> Result<Item, &'static str> {
    let empty = Value::String(String::new());
    let title = value.get("title").unwrap_or(&Value::Null);
    let body = value.get("body").unwrap_or(&empty);
    if value.keys().any(|name| !["type", "id", "title", "body"].contains(&name.as_str())) {
        return Err("there is an unknown field");
    }
    if value.get("type").is_some_and(|kind| kind != "entry") {
        return Err("type must be entry");
    }
    if title == "" || !is_text(title, 200, &[]) {
        return Err("title must be 1 to 200 characters, none of them a control character");
    }
    if !is_text(body, 10_000, &['\t', '\n']) {
        return Err("body must be at most 10000 characters, none of them a control character but tab and newline");
    }
    if value.get("id").is_some_and(|id| !is_id(id)) {
        return Err("id must be i_ and 12 hexadecimal digits");
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(Item { seq: 0, id: value.get("id").map(text).unwrap_or_default(), title: text(title), body: text(body) })
}

/// Reads one input. Afterwards `digest` identifies it, and the counts are for the summary.
pub struct Intake<'a> {
    stream: &'a Stream,
    pub tolerant: bool,
    pub digest: String,
    pub ignored: usize,
    pub warnings: usize,
    open: bool,
    closed: bool,
    incomplete: bool,
    failed: bool,
}

impl Intake<'_> {
    pub fn new(stream: &Stream, tolerant: bool) -> Intake<'_> {
        let digest = String::new();
        Intake {
            stream,
            tolerant,
            digest,
            ignored: 0,
            warnings: 0,
            open: false,
            closed: false,
            incomplete: false,
            failed: false,
        }
    }

    /// The items, each with the number of its line.
    pub fn read(&mut self, source: &str) -> Result<Vec<(usize, Item)>, Fail> {
        let unreadable = |_| Fail::new("io", "INPUT_UNREADABLE", "The input cannot be read");
        let input: Box<dyn Read> = match source {
            "-" => Box::new(stdin()),
            path => Box::new(File::open(path).map_err(|error| match error.kind() {
                ErrorKind::NotFound => Fail::new("not_found", "INPUT_NOT_FOUND", "The input file does not exist"),
                _ => unreadable(error),
            })?),
        };
        let mut reader = BufReader::new(input.take(MAX_INPUT + 1));
        let mut sha = Sha256::new();
        let mut size = 0;
        let mut items = vec![];
        for number in 1.. {
            let mut line = vec![];
            size += reader.read_until(b'\n', &mut line).map_err(unreadable)?;
            sha.update(&line);
            if size as u64 > MAX_INPUT {
                return Err(Fail::new("validation", "INPUT_TOO_LARGE", "The input has more than 16 MiB"));
            }
            if line.is_empty() {
                break;
            }
            match self.line(&line, number) {
                Ok(Some(item)) => items.push((number, item)),
                Ok(None) => (),
                Err(fail) if self.tolerant => self.stream.send(Event::Error(fail)),
                Err(fail) => return Err(fail),
            }
        }
        self.digest = sha.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        self.judge_upstream()?;
        Ok(items)
    }

    fn line(&mut self, line: &[u8], number: usize) -> Result<Option<Item>, Fail> {
        if line.iter().all(|byte| b" \t\r\n\x0b\x0c".contains(byte)) {
            return Ok(None);
        }
        let value: Value = serde_json::from_slice(line)
            .map_err(|_| rejected("INPUT_JSONL_PARSE_ERROR", format!("Invalid JSON on input line {number}"), number))?;
        let Value::Object(object) = value else {
            return Err(rejected("INPUT_NOT_OBJECT", format!("Input line {number} is not a JSON object"), number));
        };
        let kind = object.get("type").and_then(Value::as_str);
        if kind.is_some_and(|kind| kind.starts_with("aoi:")) {
            self.control(&object);
            return Ok(None);
        }
        if self.closed {
            let message = format!("Input line {number} follows the end of its stream");
            return Err(rejected("INPUT_AFTER_SUMMARY", message, number));
        }
        if kind.is_some_and(|kind| kind != "entry") {
            self.ignored += 1;
            return Ok(None);
        }
        item(&object)
            .map(Some)
            .map_err(|reason| rejected("INPUT_INVALID", format!("Input line {number}: {reason}"), number))
    }

    fn control(&mut self, event: &Map<String, Value>) {
        match event["type"].as_str() {
            // several streams may follow one another, as after `cat a b`
            Some("aoi:meta") => {
                self.incomplete |= self.open;
                (self.open, self.closed) = (true, false);
            }
            Some("aoi:warning") => self.warnings += 1,
            Some("aoi:error") => self.failed = true,
            Some("aoi:summary") => {
                self.failed |= event.get("ok") != Some(&Value::Bool(true));
                (self.open, self.closed) = (false, true);
            }
            _ => (),
        }
    }

    fn judge_upstream(&self) -> Result<(), Fail> {
        if self.incomplete || self.open {
            let fail = Fail::new("io", "UPSTREAM_INCOMPLETE", "The upstream tool ended without a summary");
            if !self.tolerant {
                return Err(fail);
            }
            self.stream.send(Event::Error(fail));
        } else if self.failed {
            let fail = Fail::new("partial", "UPSTREAM_FAILED", "The upstream tool reported a failure");
            if !self.tolerant {
                return Err(fail);
            }
            self.stream.send(Event::Warning { code: fail.code, message: fail.message });
        }
        Ok(())
    }
}

fn rejected(code: &str, message: String, number: usize) -> Fail {
    Fail { line_number: Some(number), ..Fail::new("validation", code, message) }
}
