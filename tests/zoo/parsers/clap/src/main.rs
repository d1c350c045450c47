//! `notes` with clap: its parser finds the mistakes, and what it says of them stays inside.
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::exit;

use clap::{error::ErrorKind, Arg, ArgAction, ArgMatches, Command};
use serde_json::{json, Map, Value};

type Problem = (&'static str, &'static str, &'static str);
const MISSING: Problem = ("not_found", "NOTE_NOT_FOUND", "there is no such note");

fn emit(kind: &str, fields: Value) {
    let mut event = Map::from_iter([("type".to_string(), json!(kind))]);
    event.extend(fields.as_object().cloned().unwrap_or_default());
    line(&Value::Object(event).to_string());
}

fn line(text: &str) {
    let done = std::io::stdout().write_all(format!("{text}\n").as_bytes());
    if let Err(error) = done {
        exit(if error.kind() == std::io::ErrorKind::BrokenPipe { 141 } else { 74 });
    }
}

fn fail((category, code, message): Problem) -> ! {
    emit("aoi:error", json!({"category": category, "code": code, "message": message, "retryable": false}));
    emit("aoi:summary", json!({"ok": false, "count": 0, "error_count": 1}));
    exit(if category == "usage" { 64 } else { 65 })
}

fn home() -> PathBuf {
    std::env::var_os("NOTES_HOME").map_or(PathBuf::from("."), PathBuf::from)
}

fn load() -> Value {
    let text = fs::read_to_string(home().join("notes.json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or(json!({"next": 1, "notes": [], "keys": {}}))
}

fn change(key: Option<&String>, asked: String, apply: impl Fn(&mut Value) -> Result<Value, Problem>) -> Result<Value, Problem> {
    let broken = |_| ("io", "NO_STORE", "the store cannot be written");
    fs::create_dir_all(home()).map_err(broken)?;
    let lock = fs::File::open(home()).map_err(broken)?;
    lock.lock().map_err(broken)?;
    let mut store = load();
    let before = key.map_or(Value::Null, |key| store["keys"][key].clone());
    let event = if before.is_null() {
        let event = apply(&mut store)?;
        if let Some(key) = key {
            store["keys"][key] = json!({"asked": asked, "event": event});
        }
        fs::write(home().join("notes.new"), store.to_string()).map_err(broken)?;
        fs::rename(home().join("notes.new"), home().join("notes.json")).map_err(broken)?;
        event
    } else if before["asked"] == asked {
        before["event"].clone()
    } else {
        return Err(("conflict", "IDEMPOTENCY_KEY_REUSED", "the key was used for another call"));
    };
    line(&event.to_string());
    Ok(json!({"count": 1}))
}

fn plan(action: &str, target: &str) -> Result<Value, Problem> {
    emit("aoi:plan", json!({"action": action, "target": target}));
    Ok(json!({"count": 1}))
}

fn list(found: &ArgMatches) -> Result<Value, Problem> {
    let limit = *found.get_one::<u64>("limit").unwrap() as usize;
    if limit == 0 {
        return Err(("usage", "INVALID_VALUE", "--limit must be positive"));
    }
    let mut notes = load()["notes"].as_array().cloned().unwrap_or_default();
    if let Some(cursor) = found.get_one::<String>("cursor") {
        let place = notes.iter().position(|note| format!("after-{}", note["id"].as_str().unwrap()) == *cursor);
        let place = place.ok_or(("validation", "INVALID_CURSOR", "the cursor cannot be used"))?;
        notes.drain(..=place);
    }
    let more = notes.len() > limit;
    notes.truncate(limit);
    for note in &notes {
        emit("entry", note.clone());
    }
    let next = more.then(|| format!("after-{}", notes[limit - 1]["id"].as_str().unwrap()));
    Ok(json!({"count": notes.len(), "truncated": more, "next_cursor": next}))
}

fn get(id: &str) -> Result<Value, Problem> {
    let store = load();
    let note = store["notes"].as_array().unwrap().iter().find(|note| note["id"] == id).ok_or(MISSING)?;
    emit("entry", note.clone());
    Ok(json!({"count": 1}))
}

fn create(found: &ArgMatches, title: &str) -> Result<Value, Problem> {
    if found.get_flag("dry-run") {
        return plan("create", title);
    }
    change(found.get_one("idempotency-key"), format!("create {title}"), |store| {
        let number = store["next"].as_u64().unwrap();
        let id = format!("n{number}");
        store["next"] = json!(number + 1);
        store["notes"].as_array_mut().unwrap().push(json!({"id": id, "title": title}));
        Ok(json!({"type": "created", "id": id, "title": title}))
    })
}

fn delete(found: &ArgMatches, id: &str) -> Result<Value, Problem> {
    let store = load();
    let key = found.get_one::<String>("idempotency-key");
    let known = store["notes"].as_array().unwrap().iter().any(|note| note["id"] == id);
    if !known && key.is_none_or(|key| store["keys"][key].is_null()) {
        return Err(MISSING);
    }
    if found.get_flag("dry-run") {
        return plan("delete", id);
    }
    match found.get_one::<u64>("confirm-count") {
        Some(1) => {}
        Some(_) => return Err(("conflict", "COUNT_MISMATCH", "one note would be deleted")),
        None if !found.get_flag("confirm") => return Err(("usage", "CONFIRMATION_REQUIRED", "give --confirm to delete")),
        None => {}
    }
    change(key, format!("delete {id}"), |store| {
        store["notes"].as_array_mut().unwrap().retain(|note| note["id"] != id);
        Ok(json!({"type": "deleted", "id": id}))
    })
}

fn shared(command: Command) -> Command {
    let valued = ["output", "schema-version", "api-token"].map(|name| Arg::new(name).long(name));
    let switches = ["debug", "no-color"].map(|name| Arg::new(name).long(name).action(ArgAction::SetTrue));
    let timeout = Arg::new("timeout").long("timeout").value_parser(clap::value_parser!(f64));
    command.args(valued).args(switches).arg(timeout)
}

fn parser() -> Command {
    let number = |name| Arg::new(name).long(name).value_parser(clap::value_parser!(u64));
    let changing = |name| {
        let dry = Arg::new("dry-run").long("dry-run").action(ArgAction::SetTrue);
        shared(Command::new(name).arg(Arg::new("operand").required(true)).arg(dry)).arg(Arg::new("idempotency-key").long("idempotency-key"))
    };
    let confirm = Arg::new("confirm").long("confirm").action(ArgAction::SetTrue);
    let mut root = Command::new("notes").version("3.1.4").subcommand_required(true).disable_help_subcommand(true)
        .subcommand(shared(Command::new("list")).arg(number("limit").default_value("100")).arg(Arg::new("cursor").long("cursor")))
        .subcommand(shared(Command::new("get")).arg(Arg::new("operand").required(true)))
        .subcommand(changing("create"))
        .subcommand(changing("delete").arg(confirm).arg(number("confirm-count")));
    for name in ["schema", "capabilities", "input-schema"] {
        root = root.subcommand(shared(Command::new(name)).arg(Arg::new("command").long("command")));
    }
    root
}

fn document(name: &str, found: &ArgMatches) -> Result<Value, Problem> {
    let program = std::env::current_exe().unwrap();
    let text = fs::read_to_string(program.with_file_name("contract.json")).unwrap();
    let contract: Value = serde_json::from_str(&text).unwrap();
    let about = found.get_one::<String>("command").cloned().unwrap_or_default();
    let answer = if name == "input-schema" { &contract["inputs"][about] } else { &contract[name] };
    if answer.is_null() {
        return Err(("usage", "UNKNOWN_COMMAND", "there is no such command"));
    }
    line(&answer.to_string());
    exit(0)
}

fn act(name: &str, found: &ArgMatches) -> Result<Value, Problem> {
    let given = |name, usual: &str| found.get_one::<String>(name).is_none_or(|value| value == usual);
    if name.ends_with("schema") || name == "capabilities" {
        return document(name, found);
    }
    if !given("output", "jsonl") {
        return Err(("usage", "UNKNOWN_FORMAT", "there is no such format"));
    }
    if !given("schema-version", "1.0.0") {
        return Err(("usage", "UNSUPPORTED_SCHEMA_VERSION", "only 1.0.0 is supported"));
    }
    emit("aoi:meta", json!({"tool": "notes", "tool_version": "3.1.4", "aoi_version": "0.2",
        "schema_name": "com.example.notes.events", "schema_version": "1.0.0", "command": name}));
    let operand = || found.get_one::<String>("operand").unwrap();
    match name {
        "list" => list(found),
        "get" => get(operand()),
        "create" => create(found, operand()),
        _ => delete(found, operand()),
    }
}

fn main() {
    match parser().try_get_matches() {
        Ok(found) => {
            let (name, arguments) = found.subcommand().unwrap();
            match act(name, arguments) {
                Ok(ending) => {
                    let mut fields = Map::from_iter([("ok".to_string(), json!(true))]);
                    fields.extend(ending.as_object().cloned().unwrap());
                    emit("aoi:summary", Value::Object(fields));
                }
                Err(problem) => fail(problem),
            }
        }
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => error.exit(),
        // What the parser says has the words that were typed: they may be secrets.
        Err(_) => fail(("usage", "INVALID_USAGE", "the command line is not valid; see --help")),
    }
}
