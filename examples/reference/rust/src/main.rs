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
use std::{env, iter, thread};
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

/// The title of a new item or the id of one to delete, and the event that shows the plan.
type Change = (String, Value);

fn apply(store: &mut Store, (target, plan): &Change) -> Outcome {
    if plan["action"] == "delete" {
        let missing = || Fail::new("not_found", "ITEM_NOT_FOUND", "There is no item with this id").with("target", "ID");
        store.items.remove(store.find(target).ok_or_else(missing)?);
        return Ok(json!({"type": "deleted", "id": target}));
    }
    let mut event = json!({"type": "created", "id": format!("n{}", store.next)});
    store.next += 1;
    store.items.push(json!({"id": event["id"], "title": target}));
    if let Some(line) = plan.get("line_number") {
        event["line_number"] = line.clone();
    }
    Ok(event)
}

fn create(stream: &Stream, options: &Options) -> Outcome {
    let title = options["title"].clone();
    if !is_title(&title) {
        return Err(Fail::new("validation", "ITEM_INVALID", BAD_TITLE));
    }
    change(stream, options, "create", vec![(title, json!({"type": "aoi:plan", "action": "create"}))])
}

fn delete(stream: &Stream, options: &Options) -> Outcome {
    if !options.contains_key("confirm") && !options.contains_key("dry-run") {
        let fail = Fail::new("usage", "CONFIRMATION_REQUIRED", "delete needs --confirm; nothing was done");
        return Err(fail.with("target", "--confirm"));
    }
    let id = options["id"].clone();
    let plan = json!({"type": "aoi:plan", "action": "delete", "target": id});
    change(stream, options, "delete", vec![(id, plan)])
}

fn import(stream: &Stream, options: &Options) -> Outcome {
    let (mut changes, mut ignored, mut open, mut failed) = (vec![], 0, false, false);
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
                let plan = json!({"type": "aoi:plan", "action": "create", "line_number": number});
                changes.push((title.into(), plan));
            }
        }
    }
    if open {
        return Err(Fail::new("io", "UPSTREAM_INCOMPLETE", "The upstream tool ended without a summary"));
    }
    if failed {
        return Err(Fail::new("partial", "UPSTREAM_FAILED", "The upstream tool reported a failure"));
    }
    let mut more = change(stream, options, "import", changes)?;
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
    Some(item).filter(Value::is_object).ok_or_else(|| bad_line("INPUT_INVALID", number, " is not an object"))
}

fn bad_line(code: &str, number: usize, problem: &str) -> Fail {
    Fail::new("validation", code, format!("Input line {number}{problem}")).with("line_number", number)
}

/// Show the plan, or do it once and for all: a repeated call with the same key gets the events of the first.
fn change(stream: &Stream, options: &Options, command: &str, changes: Vec<Change>) -> Outcome {
    let home = directory()?;
    let request: Value = iter::once(command).chain(changes.iter().map(|(target, _)| target.as_str())).collect();
    let apply = |store: &mut Store| changes.iter().map(|change| apply(store, change)).collect::<Result<Vec<_>, _>>();
    if options.contains_key("dry-run") {
        apply(&mut load(&home)?)?; // and forget it
        changes.into_iter().for_each(|(_, plan)| stream.send(plan));
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

fn run(stream: &Stream, argv: &[String]) {
    let text = CONTRACT.replace("{tool}", TOOL).replace("{version}", VERSION);
    let contract: Value = serde_json::from_str(&text).expect("contract.json is built in");
    let inputs = &contract["inputs"];
    if argv.iter().any(|word| word == "--help" || word == "-h") {
        return write(contract["help"].as_str().unwrap_or_default());
    }
    if argv == ["--version"] {
        return write(&format!("{TOOL} {VERSION}\n"));
    }
    let unknown = || Fail::new("usage", "UNKNOWN_COMMAND", "The first argument is not a command");
    let name = argv.first().map(String::as_str).filter(|name| inputs.get(name).is_some());
    let command = COMMANDS.iter().find(|(known, _)| Some(*known) == name);
    let options = name.ok_or_else(unknown).and_then(|name| read_options(&inputs[name], &argv[1..]));
    if let (None, Some(name), Ok(options)) = (command, name, &options) {
        return print(options.get("command").map_or(&contract[name], |command| &inputs[command]));
    }
    stream.meta(name);
    let outcome = options.and_then(|options| command.map_or(Ok(json!({})), |(_, command)| command(stream, &options)));
    stream.finish(outcome, &contract["capabilities"]["exit_codes"])
}

fn main() {
    // Arguments need not be text; what is none becomes U+FFFD, which no title may have.
    let argv: Vec<String> = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    run(&Stream::start(), &argv);
}
