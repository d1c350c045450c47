//! A conforming AOI tool in Rust: serde_json, and signal-hook for signals.
//!
//! Here: the commands, and what happens from start to exit. `stream` is its output side, `arguments` the command line,
//! `store` the data, contract.json the documents that discovery prints. Commands send events and return what the summary
//! adds.

mod arguments;
mod store;
mod stream;

use arguments::{read_options, Options};
use serde_json::{json, Value};
use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};
use std::{env, process, thread};
use store::{directory, load, lock, Store};
use stream::{print, write, Fail, Stream, TOOL, VERSION};

const CONTRACT: &str = include_str!("../contract.json");
/// An import is read whole before anything is done; beyond this, import in parts.
const MAX_INPUT: u64 = 16 * 1024 * 1024;
const POLL: Duration = Duration::from_millis(200);
const HEARTBEAT: Duration = Duration::from_secs(1);
const BAD_TITLE: &str = "title must be 1 to 200 characters, none of them a control character";

type Outcome = Result<Value, Fail>;

/// Control characters act on terminals; U+FFFD is what an argument that is no text turns into.
fn is_title(text: &str) -> bool {
    let bad = |letter: char| letter.is_ascii_control() || letter == '\u{fffd}';
    (1..=200).contains(&text.chars().count()) && !text.contains(bad)
}

fn list(stream: &Stream, options: &Options) -> Outcome {
    let entry = |item: &Value| json!({"type": "entry", "id": item["id"], "title": item["title"]});
    page(stream, options, load(&directory()?)?.items.iter().map(entry))
}

fn search(stream: &Stream, options: &Options) -> Outcome {
    // ASCII letters only, which every language does alike.
    let query = options["query"].to_ascii_lowercase();
    let matches = |item: &&Value| item["title"].as_str().unwrap_or_default().to_ascii_lowercase().contains(&query);
    let hit =
        |(item, rank): (&Value, u32)| json!({"type": "hit", "rank": rank, "id": item["id"], "title": item["title"]});
    page(stream, options, load(&directory()?)?.items.iter().filter(matches).zip(1..).map(hit))
}

/// A cursor is the number of the last id: it survives the deletion of that item.
fn page(stream: &Stream, options: &Options, events: impl Iterator<Item = Value>) -> Outcome {
    let mut after = 0;
    if let Some(cursor) = options.get("cursor") {
        let place = cursor.strip_prefix("after-").filter(|place| place.bytes().all(|letter| letter.is_ascii_digit()));
        let damaged = || Fail::new("validation", "INVALID_CURSOR", "The cursor is damaged");
        after = place.and_then(|place| place.parse::<u32>().ok()).ok_or_else(damaged)?;
    }
    let number = |event: &Value| event["id"].as_str().and_then(|id| id[1..].parse().ok()).unwrap_or(0);
    let limit = options.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(20);
    let mut left = events.filter(|event| number(event) > after);
    let mut last = 0;
    for event in left.by_ref().take(limit) {
        last = number(&event);
        stream.send(event);
    }
    Ok(if left.next().is_some() { json!({"next_cursor": format!("after-{last}")}) } else { json!({}) })
}

/// One planned change: an item with this title is to be made, or the one with this id deleted.
struct Change {
    delete: bool,
    target: String,
    line: Option<usize>,
}

impl Change {
    fn plan(&self) -> Value {
        match (self.delete, self.line) {
            (true, _) => json!({"type": "aoi:plan", "action": "delete", "target": self.target}),
            (false, None) => json!({"type": "aoi:plan", "action": "create"}),
            (false, Some(line)) => json!({"type": "aoi:plan", "action": "create", "line_number": line}),
        }
    }

    fn apply(&self, store: &mut Store) -> Outcome {
        if self.delete {
            let missing =
                || Fail::new("not_found", "ITEM_NOT_FOUND", "There is no item with this id").with("target", "ID");
            store.items.remove(store.find(&self.target).ok_or_else(missing)?);
            return Ok(json!({"type": "deleted", "id": self.target}));
        }
        let id = format!("n{}", store.next);
        store.next += 1;
        store.items.push(json!({"id": id, "title": self.target}));
        Ok(match self.line {
            None => json!({"type": "created", "id": id}),
            Some(line) => json!({"type": "created", "id": id, "line_number": line}),
        })
    }
}

fn create(stream: &Stream, options: &Options) -> Outcome {
    let title = options["title"].clone();
    if !is_title(&title) {
        return Err(Fail::new("validation", "ITEM_INVALID", BAD_TITLE));
    }
    change(stream, options, json!(["create", title]), vec![Change { delete: false, target: title, line: None }])
}

fn delete(stream: &Stream, options: &Options) -> Outcome {
    if !options.contains_key("confirm") && !options.contains_key("dry-run") {
        let fail = Fail::new("usage", "CONFIRMATION_REQUIRED", "delete needs --confirm; nothing was done");
        return Err(fail.with("target", "--confirm"));
    }
    let id = options["id"].clone();
    change(stream, options, json!(["delete", id]), vec![Change { delete: true, target: id, line: None }])
}

fn import(stream: &Stream, options: &Options) -> Outcome {
    let (mut request, mut changes) = (vec![json!("import")], vec![]);
    let (mut ignored, mut open, mut failed) = (0, false, false);
    for (line, number) in read_input(&options["input-jsonl"])?.split(|byte| *byte == b'\n').zip(1..) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let item = parse_line(line, number)?;
        match item["type"].as_str() {
            Some("aoi:meta") => open = true,
            Some("aoi:error") => failed = true,
            Some("aoi:summary") => (open, failed) = (false, failed || item["ok"] != true),
            Some(kind) if kind != "entry" => ignored += usize::from(!kind.starts_with("aoi:")),
            _ => {
                let title = item["title"].as_str().filter(|title| is_title(title));
                let title = title.ok_or_else(|| bad_line("INPUT_INVALID", number, &format!(": {BAD_TITLE}")))?;
                request.push(title.into());
                changes.push(Change { delete: false, target: title.into(), line: Some(number) });
            }
        }
    }
    if open {
        return Err(Fail::new("io", "UPSTREAM_INCOMPLETE", "The upstream tool ended without a summary"));
    }
    if failed {
        return Err(Fail::new("partial", "UPSTREAM_FAILED", "The upstream tool reported a failure"));
    }
    let mut more = change(stream, options, request.into(), changes)?;
    if ignored > 0 {
        more["ignored_count"] = ignored.into();
    }
    Ok(more)
}

fn read_input(path: &str) -> Result<Vec<u8>, Fail> {
    let unreadable = |_| Fail::new("io", "INPUT_UNREADABLE", "The input cannot be read");
    let path = if path == "-" { "/dev/stdin" } else { path };
    let mut data = vec![];
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_INPUT + 1).read_to_end(&mut data).map_err(unreadable)?;
    if data.len() as u64 > MAX_INPUT {
        return Err(Fail::new("validation", "INPUT_TOO_LARGE", "The input has more than 16 MiB"));
    }
    Ok(data)
}

fn parse_line(line: &[u8], number: usize) -> Outcome {
    let item = serde_json::from_slice::<Value>(line);
    let item = item.map_err(|_| bad_line("INPUT_JSONL_PARSE_ERROR", number, " is not JSON"))?;
    if item.is_object() {
        Ok(item)
    } else {
        Err(bad_line("INPUT_INVALID", number, " is not an object"))
    }
}

fn bad_line(code: &str, number: usize, problem: &str) -> Fail {
    Fail::new("validation", code, format!("Input line {number}{problem}")).with("line_number", number)
}

/// Show the plan, or do it once and for all: a repeated call with the same key gets the events of the first.
fn change(stream: &Stream, options: &Options, request: Value, changes: Vec<Change>) -> Outcome {
    let home = directory()?;
    let apply = |store: &mut Store| changes.iter().map(|change| change.apply(store)).collect::<Result<Vec<_>, _>>();
    if options.contains_key("dry-run") {
        apply(&mut load(&home)?)?; // and forget it
        changes.iter().for_each(|change| stream.send(change.plan()));
        return Ok(json!({"dry_run": true}));
    }
    let locked = lock(&home)?;
    let mut store = load(&home)?;
    let key = options.get("idempotency-key");
    let known = key.and_then(|key| store.keys.get(key)).cloned();
    let done = match &known {
        Some(done) => done.clone(),
        None => json!({"request": request, "events": apply(&mut store)?}),
    };
    if done["request"] != request {
        let message = "This idempotency key was used for another call";
        return Err(Fail::new("conflict", "IDEMPOTENCY_KEY_REUSED", message));
    }
    if known.is_none() {
        store.keys.extend(key.map(|key| (key.clone(), done.clone())));
        let _held = stream.hold(); // no signal between the effect and its end
        store.save(&home)?;
    }
    drop(locked);
    done["events"].as_array().into_iter().flatten().for_each(|event| stream.send(event.clone()));
    Ok(if known.is_some() { json!({"replayed": true}) } else { json!({}) })
}

fn watch(stream: &Stream, _: &Options) -> Outcome {
    let mut known = load(&directory()?)?;
    let mut beat = Instant::now();
    loop {
        if Instant::now() >= beat {
            stream.send(json!({"type": "aoi:heartbeat"}));
            beat = Instant::now() + HEARTBEAT;
        }
        thread::sleep(POLL);
        let now = load(&directory()?)?;
        for (kind, one, other) in [("deleted", &known, &now), ("created", &now, &known)] {
            for item in one.items.iter().filter(|item| other.find(item["id"].as_str().unwrap_or_default()).is_none()) {
                stream.send(json!({"type": kind, "id": item["id"]}));
            }
        }
        known = now;
    }
}

fn doctor(stream: &Stream, _: &Options) -> Outcome {
    let (ok, detail) = match directory().and_then(|home| load(&home)) {
        Ok(store) => (true, format!("{} items", store.items.len())),
        Err(fail) => (false, fail.0["message"].as_str().unwrap_or_default().into()),
    };
    let severity = if ok { "info" } else { "error" };
    stream.send(json!({"type": "aoi:check", "name": "store", "ok": ok, "severity": severity, "detail": detail}));
    stream.hold().errors += usize::from(!ok);
    Ok(json!({}))
}

type Command = fn(&Stream, &Options) -> Outcome;
#[rustfmt::skip]
const COMMANDS: [(&str, Command); 7] = [
    ("search", search), ("list", list), ("create", create), ("delete", delete), ("import", import), ("watch", watch),
    ("doctor", doctor),
];

fn run(stream: &Stream, argv: &[String]) -> i32 {
    let text = CONTRACT.replace("{tool}", TOOL).replace("{version}", VERSION);
    let contract: Value = serde_json::from_str(&text).expect("contract.json is built in");
    if argv.iter().any(|word| word == "--help" || word == "-h") {
        write(contract["help"].as_str().unwrap_or_default());
        return 0;
    }
    if argv == ["--version"] {
        write(&format!("{TOOL} {VERSION}\n"));
        return 0;
    }
    let unknown = || Fail::new("usage", "UNKNOWN_COMMAND", "The first argument is not a command");
    let name = argv.first().map(String::as_str).filter(|name| contract["inputs"].get(name).is_some());
    let command = COMMANDS.iter().find(|(known, _)| Some(*known) == name);
    let options = name.ok_or_else(unknown).and_then(|name| read_options(&contract["inputs"][name], &argv[1..]));
    if let (None, Some(name), Ok(options)) = (command, name, &options) {
        print(options.get("command").map_or(&contract[name], |command| &contract["inputs"][command]));
        return 0;
    }
    stream.meta(name);
    let outcome = options.and_then(|options| command.map_or(Ok(json!({})), |(_, command)| command(stream, &options)));
    stream.finish(outcome)
}

fn main() {
    // Arguments need not be text; what is none becomes U+FFFD, which no title may have.
    let argv: Vec<String> = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    process::exit(run(&Stream::start(), &argv));
}
