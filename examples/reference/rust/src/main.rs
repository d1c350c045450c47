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
    let items = load(&directory()?)?.items;
    page(stream, options, items.iter().map(|item| json!({"type": "entry", "id": item["id"], "title": item["title"]})))
}

fn search(stream: &Stream, options: &Options) -> Outcome {
    // ASCII letters only, which every language does alike.
    let query = options["query"].to_ascii_lowercase();
    let matches = |item: &&Value| item["title"].as_str().unwrap_or_default().to_ascii_lowercase().contains(&query);
    let items = load(&directory()?)?.items;
    let found = items.iter().filter(matches).zip(1..);
    page(
        stream,
        options,
        found.map(|(item, rank)| json!({"type": "hit", "rank": rank, "id": item["id"], "title": item["title"]})),
    )
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
    action: &'static str,
    target: String,
    line: Option<usize>,
}

impl Change {
    fn plan(&self) -> Value {
        let mut plan = json!({"type": "aoi:plan", "action": self.action});
        if self.action == "delete" {
            plan["target"] = self.target.as_str().into();
        }
        self.numbered(plan)
    }

    fn apply(&self, store: &mut Store) -> Value {
        if self.action == "delete" {
            store.items.retain(|item| item["id"] != self.target.as_str());
            return json!({"type": "deleted", "id": self.target});
        }
        let id = format!("n{}", store.next);
        store.next += 1;
        store.items.push(json!({"id": id, "title": self.target}));
        self.numbered(json!({"type": "created", "id": id}))
    }

    fn numbered(&self, mut event: Value) -> Value {
        if let Some(line) = self.line {
            event["line_number"] = line.into();
        }
        event
    }
}

fn create(stream: &Stream, options: &Options) -> Outcome {
    let title = options["title"].clone();
    if !is_title(&title) {
        return Err(Fail::new("validation", "ITEM_INVALID", BAD_TITLE));
    }
    change(stream, options, json!(["create", title]), vec![Change { action: "create", target: title, line: None }])
}

fn delete(stream: &Stream, options: &Options) -> Outcome {
    if !options.contains_key("confirm") && !options.contains_key("dry-run") {
        let fail = Fail::new("usage", "CONFIRMATION_REQUIRED", "delete needs --confirm; nothing was done");
        return Err(fail.with("target", "--confirm"));
    }
    let id = options["id"].clone();
    change(stream, options, json!(["delete", id]), vec![Change { action: "delete", target: id, line: None }])
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
                changes.push(Change { action: "create", target: title.into(), line: Some(number) });
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
    let check = |store: &Store| match changes
        .iter()
        .all(|change| change.action == "create" || store.has(&change.target))
    {
        true => Ok(()),
        false => Err(Fail::new("not_found", "ITEM_NOT_FOUND", "There is no item with this id").with("target", "ID")),
    };
    if options.contains_key("dry-run") {
        check(&load(&home)?)?;
        changes.iter().for_each(|change| stream.send(change.plan()));
        return Ok(json!({"dry_run": true}));
    }
    let locked = lock(&home)?;
    let mut store = load(&home)?;
    let key = options.get("idempotency-key");
    let done = key.and_then(|key| store.keys.get(key)).cloned();
    let events = match &done {
        Some(done) if done["request"] != request => {
            let message = "This idempotency key was used for another call";
            return Err(Fail::new("conflict", "IDEMPOTENCY_KEY_REUSED", message));
        }
        Some(done) => done["events"].as_array().cloned().unwrap_or_default(),
        None => {
            check(&store)?;
            let events: Vec<Value> = changes.iter().map(|change| change.apply(&mut store)).collect();
            if let Some(key) = key {
                store.keys.insert(key.clone(), json!({"request": request, "events": events}));
            }
            let _held = stream.hold(); // no signal between the effect and its end
            store.save(&home)?;
            events
        }
    };
    drop(locked);
    events.into_iter().for_each(|event| stream.send(event));
    Ok(if done.is_some() { json!({"replayed": true}) } else { json!({}) })
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
            for item in one.items.iter().filter(|item| !other.has(item["id"].as_str().unwrap_or_default())) {
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

fn command(name: &str) -> Option<fn(&Stream, &Options) -> Outcome> {
    Some(match name {
        "search" => search,
        "list" => list,
        "create" => create,
        "delete" => delete,
        "import" => import,
        "watch" => watch,
        "doctor" => doctor,
        _ => return None,
    })
}

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
    let name = argv.first().map(String::as_str).filter(|name| contract["inputs"].get(name).is_some());
    let Some(name) = name else {
        stream.meta(None);
        return fatal(stream, Fail::new("usage", "UNKNOWN_COMMAND", "The first argument is not a command"));
    };
    let options = read_options(&contract["inputs"][name], &argv[1..]);
    let outcome = match (command(name), options) {
        (None, Ok(options)) => {
            print(options.get("command").map_or(&contract[name], |command| &contract["inputs"][command]));
            return 0;
        }
        (_, Err(fail)) => {
            stream.meta(Some(name));
            Err(fail)
        }
        (Some(command), Ok(options)) => {
            stream.meta(Some(name));
            command(stream, &options)
        }
    };
    match outcome {
        Err(fail) => fatal(stream, fail),
        Ok(more) => {
            let ok = stream.hold().errors == 0;
            stream.finish(ok, more);
            if ok {
                0
            } else {
                65
            }
        }
    }
}

fn fatal(stream: &Stream, fail: Fail) -> i32 {
    let status = fail.exit_status();
    stream.send(fail.0);
    stream.finish(false, json!({}));
    status
}

fn main() {
    // Arguments need not be text; what is none becomes U+FFFD, which no title may have.
    let argv: Vec<String> = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    process::exit(run(&Stream::start(), &argv));
}
