//! The command line, read by the table that `input-schema` publishes: what is documented is what is accepted.
//!
//! Nothing that was typed is repeated in an error, since any word may be a secret in the wrong place: errors name options
//! that exist, or the number of the argument.

use std::collections::HashMap;

use serde::Deserialize;

use crate::stream::Fail;

#[derive(Deserialize)]
pub struct Rule {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default, rename = "enum")]
    one_of: Vec<String>,
    #[serde(default)]
    minimum: u64,
    #[serde(default)]
    maximum: u64,
    #[serde(default, rename = "minLength")]
    min_length: usize,
    #[serde(rename = "x-cli")]
    label: String,
    #[serde(default, rename = "x-expects")]
    expects: String,
    #[serde(default, rename = "x-code")]
    code: Option<String>,
}

pub type Rules = HashMap<String, Rule>;

#[derive(Deserialize)]
pub struct InputSchema {
    pub properties: Rules,
    required: Vec<String>,
}

/// What was given: the texts of each option or operand; a flag has one empty text.
#[derive(Default)]
pub struct Options(HashMap<String, Vec<String>>);

impl Options {
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.all(name).last().map(String::as_str)
    }

    pub fn all(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    fn add(&mut self, name: &str, text: &str) {
        self.0.entry(name.into()).or_default().push(text.into());
    }
}

/// The first word that is neither an option nor the value of one.
pub fn command_position(known: &Rules, argv: &[String]) -> Option<usize> {
    let mut index = 0;
    while index < argv.len() {
        if !argv[index].starts_with('-') {
            return Some(index);
        }
        let rule = argv[index].strip_prefix("--").and_then(|name| known.get(name));
        index += if rule.is_some_and(|rule| rule.kind != "boolean") { 2 } else { 1 };
    }
    None
}

/// Everything but the word at `position`.
pub fn read_options(schema: &InputSchema, argv: &[String], position: Option<usize>) -> Result<Options, Fail> {
    let rules = &schema.properties;
    let operand = rules.iter().find(|(_, rule)| !rule.label.starts_with("--"));
    let mut options = Options::default();
    let mut only_operands = false;
    let mut index = 0;
    while index < argv.len() {
        let word = &argv[index];
        index += 1;
        if Some(index - 1) == position {
            continue;
        }
        if only_operands || !word.starts_with('-') || word == "-" {
            match operand {
                Some((name, rule)) if rule.kind == "array" || !options.has(name) => options.add(name, word),
                _ => return Err(at(index, "UNEXPECTED_OPERAND", "is an operand too many")),
            }
        } else if word == "--" {
            only_operands = true;
        } else {
            index = take_option(rules, &mut options, argv, index)?;
        }
    }
    match schema.required.iter().find(|name| !options.has(name)) {
        None => Ok(options),
        Some(name) => {
            let label = &rules[name].label;
            let code = if label.starts_with("--") { "MISSING_OPTION" } else { "MISSING_OPERAND" };
            Err(about(label, code, format!("{label} is missing")))
        }
    }
}

/// Take the option that is argument `number`; gives the index of the argument after it and its value.
fn take_option(rules: &Rules, options: &mut Options, argv: &[String], number: usize) -> Result<usize, Fail> {
    let word = &argv[number - 1];
    let (label, given) = word.split_once('=').map_or((word.as_str(), None), |(label, text)| (label, Some(text)));
    let name = label.trim_start_matches('-');
    let Some(rule) = rules.get(name).filter(|rule| rule.label == label) else {
        return Err(at(number, "UNKNOWN_OPTION", "is not an option here"));
    };
    if rule.kind == "boolean" {
        if given.is_some() {
            return Err(about(label, "INVALID_VALUE", format!("{label} takes no value")));
        }
        options.add(name, "");
        return Ok(number);
    }
    let next = argv.get(number).filter(|text| !text.starts_with("--"));
    let Some(text) = given.or(next.map(String::as_str)) else {
        return Err(about(label, "MISSING_VALUE", format!("{label} needs a value")));
    };
    check_value(rule, text)?;
    options.add(name, text);
    Ok(if given.is_some() { number } else { number + 1 })
}

fn check_value(rule: &Rule, text: &str) -> Result<(), Fail> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = match rule.kind.as_str() {
        "integer" => digits && text.parse().is_ok_and(|number| (rule.minimum..=rule.maximum).contains(&number)),
        "string" => text.len() >= rule.min_length,
        _ => rule.one_of.iter().any(|known| known == text),
    };
    if fits {
        return Ok(());
    }
    let code = rule.code.as_deref().unwrap_or("INVALID_VALUE");
    Err(about(&rule.label, code, format!("{} must be {}", rule.label, rule.expects)))
}

pub fn about(target: &str, code: &str, message: String) -> Fail {
    Fail { target: Some(target.into()), ..Fail::new("usage", code, message) }
}

pub fn at(argument: usize, code: &str, what: &str) -> Fail {
    Fail { argument: Some(argument), ..Fail::new("usage", code, format!("Argument {argument} {what}")) }
}
