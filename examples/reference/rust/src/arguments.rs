//! The command line, read by the table that `input-schema` publishes: what is documented is what is accepted.
//!
//! Nothing that was typed is repeated in an error, since any word may be a secret in the wrong place: errors name options
//! that exist, or the number of the argument.

use crate::stream::Fail;
use serde_json::Value;
use std::collections::HashMap;

/// Texts by name; a flag that is given is "true".
pub type Options = HashMap<String, String>;

/// Read everything after the command.
pub fn read_options(schema: &Value, words: &[String]) -> Result<Options, Fail> {
    let rules = schema["properties"].as_object().expect("contract.json is built in");
    let labelled = |label: &str| rules.iter().find(|(_, rule)| rule["x-cli"] == label);
    let operand = rules.iter().find(|(_, rule)| !label_of(rule).starts_with("--"));
    let mut options = Options::new();
    let mut only_operands = false;
    let mut rest = words.iter().zip(2..); // the command was the first argument
    while let Some((word, number)) = rest.next() {
        if word == "--" && !only_operands {
            only_operands = true;
            continue;
        }
        let (label, value) = word.split_once('=').map_or((word.as_str(), None), |(label, text)| (label, Some(text)));
        let is_operand = only_operands || word == "-" || !word.starts_with('-');
        let found = if is_operand { operand } else { labelled(label) };
        let Some((name, rule)) = found.filter(|(name, _)| !is_operand || !options.contains_key(*name)) else {
            let message = format!("Argument {number} is not expected here");
            return Err(Fail::new("usage", "UNEXPECTED_ARGUMENT", message).with("argument", number));
        };
        let text = match value {
            _ if is_operand => word,
            None if rule["type"] == "boolean" => "true",
            Some(text) => text,
            None => match rest.next() {
                Some((text, _)) if !text.starts_with("--") => text,
                _ => return Err(misuse("MISSING_VALUE", label, " needs a value")),
            },
        };
        check(rule, text, value.is_some())?;
        options.insert(name.clone(), text.into());
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !options.contains_key(name) {
            return Err(misuse("MISSING_ARGUMENT", label_of(&rules[name]), " is missing"));
        }
    }
    Ok(options)
}

fn check(rule: &Value, text: &str, equals: bool) -> Result<(), Fail> {
    let digits = (1..=9).contains(&text.len()) && text.bytes().all(|letter| letter.is_ascii_digit());
    let number = if digits { text.parse().ok() } else { None };
    let allowed = match rule["type"].as_str() {
        Some("boolean") => !equals,
        Some("string") => text.len() as u64 >= rule["minLength"].as_u64().unwrap_or(0),
        Some("integer") => number.is_some() && number >= rule["minimum"].as_u64() && number <= rule["maximum"].as_u64(),
        _ => rule["enum"].as_array().is_some_and(|known| known.iter().any(|one| one == text)),
    };
    if allowed {
        return Ok(());
    }
    let problem = format!(" must be {}", rule["x-expects"].as_str().unwrap_or_default());
    Err(misuse(rule["x-code"].as_str().unwrap_or("INVALID_VALUE"), label_of(rule), &problem))
}

fn label_of(rule: &Value) -> &str {
    rule["x-cli"].as_str().unwrap_or_default()
}

fn misuse(code: &str, target: &str, problem: &str) -> Fail {
    Fail::new("usage", code, format!("{target}{problem}")).with("target", target)
}
