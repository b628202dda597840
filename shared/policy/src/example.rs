//! Parses an example's line: `tool name=value … device=NAME [user=NAME] [role=ROLE] [at="fri 23:30"]`.

use orion_catalog::{ParsedCall, ToolSpec};
use orion_domain::{DeviceName, Places, Role, UserName};
use serde_json::{Map, Value};

use crate::file::rule::ROLES;
use crate::finding::shown;
use crate::time;

/// A call as an example writes it; omitted fields are `None`.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) spec: &'static ToolSpec,
    arguments: Map<String, Value>,
    pub(crate) device: Option<DeviceName>,
    pub(crate) user: Option<UserName>,
    pub(crate) role: Option<Role>,
    /// The day, if given, and the minute of the day.
    pub(crate) at: Option<(Option<u8>, u16)>,
}

/// Parses a line.
pub(crate) fn read(line: &str) -> Result<Call, String> {
    let mut words = words(line)?.into_iter();
    let name = words.next().ok_or("it is empty")?;
    let Some((spec, alias)) = orion_catalog::find(&name) else {
        return Err(format!("there is no tool `{}`", shown(&name)));
    };
    let schema = spec.arguments_schema();
    let property = |name: &str| schema.get("properties").and_then(|all| all.get(name));
    let mut call =
        Call { spec, arguments: Map::new(), device: None, user: None, role: None, at: None };
    for word in words {
        let (name, written) =
            word.split_once('=').ok_or_else(|| format!("`{}` is not name=value", shown(&word)))?;
        // A tool's own argument has priority over the example's keys.
        match name {
            _ if property(name).is_some() => call.put(name, written, property(name))?,
            "device" => {
                call.device = Some(written.parse().map_err(|error| format!("{error}"))?);
            }
            "user" => call.user = Some(written.parse().map_err(|error| format!("{error}"))?),
            "role" => call.role = Some(role(written)?),
            "at" => call.at = Some(moment(written)?),
            _ => call.put(name, written, None)?,
        }
    }
    spec.adapt_arguments(alias, &mut call.arguments);
    Ok(call)
}

impl Call {
    fn put(&mut self, name: &str, written: &str, schema: Option<&Value>) -> Result<(), String> {
        let (name, value) = match name.strip_suffix(':') {
            Some(name) => {
                let value = orion_domain::json::parse(written)
                    .map_err(|why| format!("`{}` cannot be read: {why}", shown(written)))?;
                (name, value)
            }
            None => (name, orion_catalog::typed(written, schema)),
        };
        match (self.arguments.get_mut(name), value) {
            (None, value) => {
                self.arguments.insert(name.to_owned(), value);
            }
            (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
            (Some(_), _) => return Err(format!("`{}` is given twice", shown(name))),
        }
        Ok(())
    }

    /// Parses the arguments and returns what the call would touch on a device with these places.
    pub(crate) fn parse(&self, places: &Places) -> Result<ParsedCall, String> {
        self.spec
            .parse(self.arguments.clone(), places)
            .map_err(|error| error.message.trim_end_matches('.').to_owned())
    }
}

fn role(word: &str) -> Result<Role, String> {
    let found = ROLES.iter().find(|(name, _)| *name == word).map(|&(_, role)| role);
    found.ok_or_else(|| format!("`{}` is not a role", shown(word)))
}

fn moment(text: &str) -> Result<(Option<u8>, u16), String> {
    let (day, clock) = match text.split_once(' ') {
        Some((day, clock)) => (Some(day), clock),
        None => (None, text),
    };
    let day = day.map(|day| time::DAYS.iter().find(|(name, _)| *name == day).map(|&(_, day)| day));
    match (day, time::clock(clock).filter(|&minute| minute < 1440)) {
        (None, Some(minute)) => Ok((None, minute)),
        (Some(Some(day)), Some(minute)) => Ok((Some(day), minute)),
        (Some(None), _) | (_, None) => {
            Err(format!("`{}` is not a time such as 23:30 or \"fri 23:30\"", shown(text)))
        }
    }
}

/// Splits at white space; quotes, anywhere in a word, keep white space and are removed. A backslash is
/// literal, because Windows paths contain many.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            (Some(_) | None, _) => word.get_or_insert_default().push(character),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed".to_owned());
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a  b=c\td", &["a", "b=c", "d"])]
    #[case(r#"a path="My Files/x" b='say "hi"'"#, &["a", "path=My Files/x", "b=say \"hi\""])]
    #[case(r"a path=C:\Users\ann", &["a", r"path=C:\Users\ann"])]
    #[case(r#"a "" b"#, &["a", "", "b"])]
    #[case("", &[])]
    fn words_are_split_as_people_write_them(#[case] line: &str, #[case] expected: &[&str]) {
        assert_eq!(words(line).unwrap(), expected);
    }

    #[test]
    fn a_line_is_read_whole() {
        let line = r#"delete_directory path="~/My Files" recursive=true confirm=true device=web-1 user=ann role=admin at="fri 23:30""#;
        let call = read(line).unwrap();
        assert_eq!(call.spec.name, "delete_directory");
        assert_eq!(
            Value::Object(call.arguments),
            serde_json::json!({"path": "~/My Files", "recursive": true, "confirm": true})
        );
        assert_eq!(call.device, "web-1".parse().ok());
        assert_eq!((call.user, call.role), ("ann".parse().ok(), Some(Role::Admin)));
        assert_eq!(call.at, Some((Some(4), 23 * 60 + 30)));
        assert_eq!(
            read("get_datetime at=7:00").unwrap_err(),
            "`7:00` is not a time such as 23:30 or \"fri 23:30\""
        );
    }

    #[rstest]
    #[case("", "it is empty")]
    #[case("no_such_tool", "there is no tool")]
    #[case("read_file path", "is not name=value")]
    #[case("read_file path=a path=b", "given twice")]
    #[case("read_file path='a", "a quote is not closed")]
    #[case("read_file role=root", "not a role")]
    #[case("read_file device=UP", "device")]
    #[case("read_file path:=x", "is no JSON")]
    fn what_is_no_call_says_why(#[case] line: &str, #[case] why: &str) {
        let error = read(line).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}
