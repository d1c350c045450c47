//! What the tool does: one function for each command, which sends events and ends with the summary.
//!
//! Commands that change something only plan, and `change` does the rest in the same way for all of them: the dry run, the
//! idempotency key, the lock. Each returns whether the run was a success, or what ended it.

use std::collections::HashSet;
use std::fs::{metadata, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

use crate::arguments::{about, Options};
use crate::intake::{item, Intake};
use crate::store::{digest, directory, lock, Item, Store};
use crate::stream::{Event, Fail, Stream, Summary};

/// Between two looks at the store while watching.
const POLL: Duration = Duration::from_millis(200);

type Outcome = Result<bool, Fail>;

pub fn command(name: &str) -> Option<fn(&Stream, &Options) -> Outcome> {
    match name {
        "search" => Some(search),
        "list" => Some(list),
        "create" => Some(create),
        "delete" => Some(delete),
        "import" => Some(import),
        "watch" => Some(watch),
        "doctor" => Some(doctor),
        _ => None,
    }
}

fn search(stream: &Stream, options: &Options) -> Outcome {
    // ASCII letters only, which every language does alike.
    let query = options.text("query").unwrap_or_default().to_ascii_lowercase();
    let words: Vec<&str> = query.split(' ').filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        return Err(about("QUERY", "INVALID_VALUE", "QUERY must have a word".into()));
    }
    let mut found = Store::load(&directory()?)?.items;
    found.retain(|item| {
        let text = format!("{}\n{}", item.title, item.body).to_ascii_lowercase();
        words.iter().all(|word| text.contains(word))
    });
    page(stream, options, "search", found, |item, rank| {
        let snippet = item.body.chars().take(80).collect();
        Event::Hit { rank, id: item.id, title: item.title, snippet }
    })
}

fn list(stream: &Stream, options: &Options) -> Outcome {
    let items = Store::load(&directory()?)?.items;
    page(stream, options, "list", items, |item, _| Event::Entry { id: item.id, title: item.title, body: item.body })
}

fn page(
    stream: &Stream,
    options: &Options,
    command: &str,
    items: Vec<Item>,
    event: impl Fn(Item, usize) -> Event,
) -> Outcome {
    let query = options.text("query").unwrap_or_default();
    // A place in the results of one call, which survives deletions; the digest makes it opaque, and safe to check.
    let cursor_at = |place: &str| format!("{place}-{}", &digest(&[command, query, place])[..16]);
    let after = match options.text("cursor") {
        None => 0,
        Some(cursor) => {
            let place = cursor.split('-').next().unwrap_or_default();
            let number = place.parse().ok().filter(|_| cursor_at(place) == cursor);
            let message = "The cursor is damaged, or belongs to another call";
            number.ok_or_else(|| Fail::new("validation", "INVALID_CURSOR", message))?
        }
    };
    let mut left = options.number("limit").unwrap_or(20);
    let mut last = 0;
    for (index, item) in items.into_iter().enumerate().filter(|(_, item)| item.seq > after) {
        if left == 0 {
            let next_cursor = Some(cursor_at(&last.to_string()));
            stream.finish(Summary { ok: true, next_cursor, ..Summary::default() });
            return Ok(true);
        }
        left -= 1;
        last = item.seq;
        stream.send(event(item, index + 1));
    }
    stream.finish(Summary { ok: true, ..Summary::default() });
    Ok(true)
}

enum Change {
    Create { item: Item, line_number: Option<usize> },
    Delete { id: String },
}

impl Change {
    fn plan(self) -> Event {
        let (action, id, line_number) = match self {
            Change::Create { item, line_number } => ("create", item.id, line_number),
            Change::Delete { id } => ("delete", id, None),
        };
        Event::Plan { action: action.into(), target: Some(id).filter(|id| !id.is_empty()), line_number }
    }

    fn apply(self, store: &mut Store) -> Event {
        match self {
            Change::Create { mut item, line_number } => {
                if item.id.is_empty() {
                    item.id = new_id();
                }
                let id = item.id.clone();
                store.add(item);
                Event::Created { id, line_number }
            }
            Change::Delete { id } => {
                store.items.retain(|item| item.id != id);
                Event::Deleted { id }
            }
        }
    }
}

fn new_id() -> String {
    let mut random = [0; 6];
    File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut random)).expect("the kernel has random bytes");
    random.iter().fold("i_".into(), |id, byte| format!("{id}{byte:02x}"))
}

/// What is wrong with single items, and what is to be done with the others.
type Plan = (Vec<Event>, Vec<Change>);

fn create(stream: &Stream, options: &Options) -> Outcome {
    let given = |name: &&str| Some((name.to_string(), Value::from(options.text(name)?)));
    let value: Map<String, Value> = ["id", "title", "body"].iter().filter_map(given).collect();
    let item = item(&value).map_err(|reason| Fail::new("validation", "ITEM_INVALID", reason))?;
    let request = digest(&["create", &item.id, &item.title, &item.body]);
    change(stream, options, &request, Summary::default(), |store| {
        if store.has(&item.id) {
            return Err(Fail::new("conflict", "ID_EXISTS", "An item with this id exists"));
        }
        Ok((vec![], vec![Change::Create { item: item.clone(), line_number: None }]))
    })
}

fn delete(stream: &Stream, options: &Options) -> Outcome {
    let mut ids: Vec<&str> = vec![];
    for id in options.all("ids") {
        if !ids.contains(&id.as_str()) {
            ids.push(id);
        }
    }
    check_confirmed(options, ids.len())?;
    let request = digest(&[&["delete"], ids.as_slice()].concat());
    change(stream, options, &request, Summary::default(), |store| {
        if let Some(index) = options.all("ids").iter().position(|id| !store.has(id)) {
            let operand = index + 1;
            let message = format!("Operand {operand} is not the id of an item");
            return Err(Fail { operand: Some(operand), ..Fail::new("not_found", "ITEM_NOT_FOUND", message) });
        }
        Ok((vec![], ids.iter().map(|id| Change::Delete { id: id.to_string() }).collect()))
    })
}

fn check_confirmed(options: &Options, planned: usize) -> Result<(), Fail> {
    let count = options.number("confirm-count");
    let needs = |option: &str| {
        let message = format!("delete would delete {planned} and needs {option}; nothing was done");
        Fail::new("usage", "CONFIRMATION_REQUIRED", message)
    };
    let fail = if options.has("dry-run") {
        return Ok(());
    } else if !options.has("confirm") {
        needs("--confirm")
    } else if planned > 1 && count.is_none() {
        needs("--confirm-count")
    } else if count.is_some_and(|count| count != planned as u64) {
        let message = format!("delete would delete {planned}, which is not --confirm-count; nothing was done");
        Fail::new("conflict", "CONFIRM_COUNT_MISMATCH", message)
    } else {
        return Ok(());
    };
    Err(Fail { planned: Some(planned), ..fail })
}

fn import(stream: &Stream, options: &Options) -> Outcome {
    let mut intake = Intake::new(stream, options.has("continue-on-error"));
    let lines = intake.read(options.text("input-jsonl").unwrap_or_default())?;
    let tolerant = intake.tolerant;
    let request = digest(&["import", if tolerant { "1" } else { "0" }, &intake.digest]);
    let remarks = Summary {
        ignored_count: Some(intake.ignored).filter(|&count| count > 0),
        upstream_warning_count: Some(intake.warnings).filter(|&count| count > 0),
        ..Summary::default()
    };
    change(stream, options, &request, remarks, |store| {
        let mut taken: HashSet<&str> = store.items.iter().map(|item| item.id.as_str()).collect();
        let (mut problems, mut changes) = (vec![], vec![]);
        for (number, item) in &lines {
            if !item.id.is_empty() && !taken.insert(&item.id) {
                let message = format!("Input line {number}: an item with this id exists");
                let fail = Fail { line_number: Some(*number), ..Fail::new("conflict", "ID_EXISTS", message) };
                if !tolerant {
                    return Err(fail);
                }
                problems.push(Event::Error(fail));
            } else {
                changes.push(Change::Create { item: item.clone(), line_number: Some(*number) });
            }
        }
        Ok((problems, changes))
    })
}

/// Show the plan, or do it once and for all; a repeated call with the same key gets the events of the first.
fn change(
    stream: &Stream,
    options: &Options,
    request: &str,
    remarks: Summary,
    plan: impl Fn(&Store) -> Result<Plan, Fail>,
) -> Outcome {
    let home = directory()?;
    let snapshot = Store::load(&home)?;
    if options.has("dry-run") {
        let (mut events, changes) = plan(&snapshot)?;
        events.extend(changes.into_iter().map(Change::plan));
        return Ok(report(stream, events, Summary { dry_run: Some(true), ..remarks }));
    }
    let key = options.text("idempotency-key");
    let replayed = |remarks| Summary { replayed: Some(true), ..remarks };
    if let Some(events) = snapshot.done(key, request)? {
        return Ok(report(stream, events, replayed(remarks)));
    }
    plan(&snapshot)?; // before the lock: what is refused leaves no trace
    let locked = lock(&home)?;
    let mut store = Store::load(&home)?;
    if let Some(events) = store.done(key, request)? {
        return Ok(report(stream, events, replayed(remarks)));
    }
    let (mut events, changes) = plan(&store)?;
    events.extend(changes.into_iter().map(|change| change.apply(&mut store)));
    if let Some(key) = key {
        store.remember(key, request, &events);
    }
    {
        let _no_signal = stream.hold();
        store.save()?;
    }
    drop(locked);
    Ok(report(stream, events, remarks))
}

fn report(stream: &Stream, events: Vec<Event>, remarks: Summary) -> bool {
    for event in events {
        stream.send(event);
    }
    let ok = stream.hold().errors == 0;
    stream.finish(Summary { ok, partial: !ok, ..remarks });
    ok
}

fn watch(stream: &Stream, options: &Options) -> Outcome {
    let home = directory()?;
    let mut known = Store::load(&home)?;
    let mut seen = state(&home);
    let interval = Duration::from_secs(options.number("heartbeat").unwrap_or(2));
    let mut beat = Instant::now();
    loop {
        if Instant::now() >= beat {
            stream.send(Event::Heartbeat { timestamp: timestamp() });
            beat = Instant::now() + interval;
        }
        sleep(POLL);
        let now = state(&home);
        if now == seen {
            continue;
        }
        seen = now;
        let fresh = Store::load(&home)?;
        known.items.sort_by(|one, other| one.id.cmp(&other.id));
        for item in known.items.iter().filter(|item| !fresh.has(&item.id)) {
            stream.send(Event::Deleted { id: item.id.clone() });
        }
        for item in fresh.items.iter().filter(|item| !known.has(&item.id)) {
            stream.send(Event::Created { id: item.id.clone(), line_number: None });
        }
        known = fresh;
    }
}

/// Changes whenever the store is replaced.
fn state(home: &Path) -> Option<(u64, i64, i64, u64)> {
    let data = metadata(home.join("items.jsonl")).ok()?;
    Some((data.ino(), data.mtime(), data.mtime_nsec(), data.size()))
}

/// The time as ISO 8601, by the calendar arithmetic of Howard Hinnant (the standard library has no calendar).
fn timestamp() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

fn doctor(stream: &Stream, _: &Options) -> Outcome {
    let mut failed = 0;
    let mut check = |name: &str, result: Result<String, Fail>| {
        let ok = result.is_ok();
        failed += usize::from(!ok);
        let severity = if ok { "info" } else { "error" };
        let detail = result.unwrap_or_else(|fail| fail.message);
        stream.send(Event::Check { name: name.into(), ok, severity: severity.into(), detail });
    };
    match directory() {
        Err(fail) => check("home", Err(fail)),
        Ok(home) => {
            check("home", Ok("set".into()));
            check(
                "store",
                Store::load(&home).map(|store| match store.exists {
                    true => format!("{} items", store.items.len()),
                    false => "none yet".into(),
                }),
            );
        }
    }
    // Whether a secret is there may be said; what it is, or how long, may not.
    let token = std::env::var_os("REF_API_TOKEN").is_some_and(|token| !token.is_empty());
    check("api_token", Ok(if token { "set" } else { "not set, and not needed" }.into()));
    stream.hold().errors = failed;
    stream.finish(Summary { ok: failed == 0, ..Summary::default() });
    Ok(failed == 0)
}
