//! A conforming AOI tool in Rust, on serde_json.
//!
//! Here: what happens from start to exit. `commands` is what the tool does, `stream` its output side, `intake` its input
//! side, `arguments` the command line, `store` the data, contract.json the documents that discovery prints.

mod arguments;
mod commands;
mod intake;
mod store;
mod stream;

use std::collections::HashMap;
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::process::exit;

use arguments::{at, command_position, read_options, InputSchema, Options};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stream::{line, write, Event, Fail, Meta, Stream, Summary};

pub const TOOL: &str = "ref-rust";
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
const CONTRACT: &str = include_str!("../contract.json");

#[derive(Deserialize, Serialize)]
struct Contract {
    help: String,
    schema: Value,
    capabilities: Value,
    inputs: HashMap<String, Value>,
}

fn main() {
    let stream = Stream::start();
    let argv: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    set_hook(Box::new(|_| ())); // no stack trace, whatever happens
    let status = catch_unwind(AssertUnwindSafe(|| run(&stream, &argv)))
        .unwrap_or_else(|_| fatal(&stream, Fail::new("internal", "INTERNAL", "Something unexpected happened")));
    exit(status);
}

fn run(stream: &Stream, argv: &[String]) -> i32 {
    let text = CONTRACT.replace("{tool}", TOOL).replace("{version}", VERSION);
    let contract: Contract = serde_json::from_str(&text).expect("contract.json is built in");
    let mut words = argv.iter().take_while(|word| *word != "--");
    if words.any(|word| word == "--help" || word == "-h") {
        write(&contract.help);
        return 0;
    }
    let mut known = None;
    let (name, options) = match understand(&contract, argv, &mut known) {
        Ok(understood) => understood,
        Err(fail) => {
            stream.meta(Meta { command: known, ..Meta::default() });
            return fatal(stream, fail);
        }
    };
    if options.has("version") {
        write(&format!("{TOOL} {VERSION}\n"));
        return 0;
    }
    let Some(command) = commands::command(&name) else {
        discover(stream, &contract, name, &options);
        return 0;
    };
    stream.meta(particulars(name, &options));
    match command(stream, &options) {
        Ok(true) => 0,
        Ok(false) => 65,
        Err(fail) => fatal(stream, fail),
    }
}

fn fatal(stream: &Stream, mut fail: Fail) -> i32 {
    let status = fail.exit_status();
    if fail.category == "usage" {
        fail.hint = Some(format!("{TOOL} --help"));
    }
    stream.send(Event::Error(fail));
    stream.finish(Summary::default());
    status
}

/// The command and its options. `known` is the command as far as it was understood.
fn understand(contract: &Contract, argv: &[String], known: &mut Option<String>) -> Result<(String, Options), Fail> {
    let schema = |name: &str| InputSchema::deserialize(&contract.inputs[name]).expect("contract.json is built in");
    let global = schema("");
    let Some(position) = command_position(&global.properties, argv) else {
        let options = read_options(&global, argv, None)?;
        let name = ["version", "schema", "capabilities"].into_iter().find(|name| options.has(name));
        let missing = || Fail::new("usage", "MISSING_COMMAND", "A command is missing");
        return Ok((name.ok_or_else(missing)?.into(), options));
    };
    let name = &argv[position];
    if name.is_empty() || !contract.inputs.contains_key(name) {
        return Err(at(position + 1, "UNKNOWN_COMMAND", "is not a command"));
    }
    *known = Some(name.clone());
    Ok((name.clone(), read_options(&schema(name), argv, Some(position))?))
}

/// What else the meta event of a command says. Never arguments as they were typed.
fn particulars(command: String, options: &Options) -> Meta {
    let mut meta = Meta { dry_run: Some(true).filter(|_| options.has("dry-run")), ..Meta::default() };
    if command == "import" {
        meta.input_mode = Some("jsonl".into());
        meta.continue_on_error = Some(options.has("continue-on-error"));
    }
    if command == "watch" {
        meta.unbounded = Some(true);
        meta.heartbeat_interval = Some(options.number("heartbeat").unwrap_or(2));
    }
    Meta { command: Some(command), ..meta }
}

fn discover(stream: &Stream, contract: &Contract, name: String, options: &Options) {
    let content = match name.as_str() {
        "schema" => &contract.schema,
        "capabilities" => &contract.capabilities,
        _ => &contract.inputs[options.text("command").unwrap_or_default()],
    };
    if options.text("output").or(options.text("format")) == Some("jsonl") {
        stream.meta(Meta { command: Some(name.clone()), ..Meta::default() });
        stream.send(Event::Document { name, content: content.clone() });
        stream.finish(Summary { ok: true, ..Summary::default() });
    } else {
        write(&line(content));
    }
}
