//! The vaults of a server. With names, each call names its vault (MCP-15).

use std::path::PathBuf;

use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use crate::service::report::failure::{Code, Failure};
use crate::values::text_util::{beginning, nearest};

/// The argument that names a vault.
const ARGUMENT: &str = "vault";
/// Maximum number of vaults of a server.
const MOST: usize = 64;
/// Maximum length of a name, in bytes.
const LONGEST: usize = 64;

/// The vaults that are served.
#[derive(Clone, Debug)]
pub(crate) enum Vaults {
    /// One, without a name.
    One(PathBuf),
    /// One or more, by their names in byte order.
    Named(Vec<(String, PathBuf)>),
}

/// A vault as named on a command line: `NAME=DIR`, or a folder alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) name: Option<String>,
    pub(crate) dir: PathBuf,
}

impl Given {
    /// Parses an option. The text before `=` is a name if it may be one; `./a=b` is a folder.
    pub(crate) fn of(option: &std::path::Path) -> Self {
        let named = option.to_str().and_then(|text| text.split_once('='));
        match named.filter(|(name, _)| is_name(name)) {
            Some((name, dir)) => Self { name: Some(name.to_owned()), dir: dir.into() },
            None => Self { name: None, dir: option.to_owned() },
        }
    }
}

impl Vaults {
    /// Returns vaults with these names and folders.
    ///
    /// # Errors
    /// One of several vaults lacks a name, two have the same name, or there are too many.
    pub(crate) fn of(found: Vec<(Option<String>, PathBuf)>) -> Result<Self, Failure> {
        let usage = |message: String| {
            let hint = "name each of several vaults: `--vault policies=DIR --vault runbooks=DIR`";
            Failure::new(Code::Usage, message).hint(hint)
        };
        if found.len() > MOST {
            return Err(usage(format!("a server has at most {MOST} vaults, not {}", found.len())));
        }
        let is_one = found.len() == 1;
        let mut vaults = Vec::new();
        for (name, root) in found {
            match name {
                None if is_one => return Ok(Self::One(root)),
                None => return Err(usage(format!("the vault `{}` needs a name", root.display()))),
                Some(name) => vaults.push((name, root)),
            }
        }
        vaults.sort_unstable();
        match vaults.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(usage(format!("two vaults have the name `{}`", pair[0].0))),
            None => Ok(Self::Named(vaults)),
        }
    }

    /// Returns the folder of the vault that a call names, and removes its name from the arguments.
    ///
    /// # Errors
    /// The call names none of several vaults, or one that is not served.
    pub(super) fn take(&self, arguments: &mut JsonObject) -> Result<&PathBuf, Failure> {
        let vaults = match self {
            Self::One(root) => return Ok(root),
            Self::Named(vaults) => vaults,
        };
        let given = arguments.remove(ARGUMENT).filter(|given| !given.is_null());
        let names: Vec<&str> = vaults.iter().map(|(name, _)| name.as_str()).collect();
        let known = format!("vaults are {}", names.join(", "));
        let name = match (&given, vaults.as_slice()) {
            (None, [(_, root)]) => return Ok(root),
            (None, _) => {
                let message = "the server has several vaults, and the call names none in `vault`";
                return Err(Failure::new(Code::Usage, message).hint(known));
            }
            (Some(Value::String(name)), _) => name,
            (Some(_), _) => {
                let message = "the value of `vault` is not a text";
                return Err(Failure::new(Code::Usage, message).hint(known));
            }
        };
        let found = vaults.iter().find(|(found, _)| found == name);
        found.map(|(_, root)| root).ok_or_else(|| {
            let name = beginning(name, LONGEST);
            let failure = Failure::new(Code::Usage, format!("no vault has the name `{name}`"));
            match nearest(name, names.iter().copied()) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")).hint(known),
                None => failure.hint(known),
            }
        })
    }

    /// Returns the names of several vaults, which precede names inside of one of them; one nameless
    /// place of a single vault.
    pub(super) fn places(&self) -> Vec<Option<&str>> {
        match self {
            Self::Named(vaults) if vaults.len() > 1 => {
                vaults.iter().map(|(name, _)| Some(name.as_str())).collect()
            }
            _ => vec![None],
        }
    }

    /// Splits the name of a vault from the rest of a text; returns the vault in the order of
    /// [`Self::places`], and the rest. `None` if a name is required but missing.
    pub(super) fn parted<'t>(&self, text: &'t str) -> Option<(Option<&str>, &'t str)> {
        let places = self.places();
        if places == [None] {
            return Some((None, text));
        }
        let (name, rest) = text.split_once('/')?;
        let place = places.into_iter().find(|place| *place == Some(name))?;
        Some((place, rest))
    }

    /// Returns the arguments of a request about a vault.
    pub(super) fn arguments(place: Option<&str>) -> JsonObject {
        place.map(|name| (ARGUMENT.to_owned(), name.into())).into_iter().collect()
    }

    /// Returns a tool for clients, with the argument that names a vault.
    pub(super) fn described(&self, mut tool: Tool) -> Tool {
        let Self::Named(vaults) = self else { return tool };
        let mut schema = (*tool.input_schema).clone();
        let names: Vec<&str> = vaults.iter().map(|(name, _)| name.as_str()).collect();
        let about = json!({"description": "The vault", "enum": names, "type": "string"});
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert(ARGUMENT.to_owned(), about);
        } else {
            schema.insert("properties".to_owned(), json!({ARGUMENT: about}));
        }
        if vaults.len() > 1 {
            match schema.get_mut("required").and_then(Value::as_array_mut) {
                Some(required) => required.push(ARGUMENT.into()),
                None => _ = schema.insert("required".to_owned(), json!([ARGUMENT])),
            }
        }
        tool.input_schema = schema.into();
        tool
    }

    /// Returns the folder of each.
    pub(crate) fn roots(&self) -> impl Iterator<Item = &PathBuf> {
        let (one, named) = match self {
            Self::One(root) => (Some(root), [].as_slice()),
            Self::Named(vaults) => (None, vaults.as_slice()),
        };
        one.into_iter().chain(named.iter().map(|(_, root)| root))
    }

    /// Returns the instructions for models about several vaults.
    pub(super) fn instructions(&self) -> &'static str {
        match self {
            Self::Named(vaults) if vaults.len() > 1 => {
                " There are several vaults: pass the name of one as `vault` in each call."
            }
            _ => "",
        }
    }
}

/// Returns true if a text may name a vault: letters, digits, `-`, `_` and `.`, and a letter or
/// digit first.
fn is_name(text: &str) -> bool {
    let sound = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.len() <= LONGEST
        && text.chars().all(sound)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn two() -> Vaults {
        let named = |name: &str| (Some(name.to_owned()), PathBuf::from(format!("/{name}")));
        Vaults::of(vec![named("runbooks"), named("policies")]).unwrap()
    }

    #[test]
    fn an_option_is_a_name_and_a_folder_or_a_folder() {
        for (option, name, dir) in [
            ("/srv/a", None, "/srv/a"),
            ("a=/srv/a", Some("a"), "/srv/a"),
            ("a=b=c", Some("a"), "b=c"),
            ("./a=b", None, "./a=b"),
            ("/srv/a=b", None, "/srv/a=b"),
            ("=b", None, "=b"),
        ] {
            let given = Given { name: name.map(str::to_owned), dir: dir.into() };
            assert_eq!(Given::of(Path::new(option)), given);
        }
    }

    #[test]
    fn several_vaults_have_names_of_their_own() {
        let of = |names: &[Option<&str>]| {
            let found = names.iter().map(|name| (name.map(str::to_owned), "/v".into())).collect();
            Vaults::of(found).map_err(|why| why.message)
        };
        assert!(matches!(of(&[None]), Ok(Vaults::One(_))));
        assert!(matches!(of(&[Some("a")]), Ok(Vaults::Named(_))));
        assert_eq!(of(&[Some("a"), None]).unwrap_err(), "the vault `/v` needs a name");
        assert_eq!(of(&[Some("a"), Some("a")]).unwrap_err(), "two vaults have the name `a`");
        assert!(of(&[Some("a"); 65]).is_err());
    }

    #[test]
    fn a_call_names_one_of_several_vaults() {
        let take = |arguments: Value| {
            let mut arguments = arguments.as_object().unwrap().clone();
            let root = two().take(&mut arguments).cloned();
            root.map(|root| (root.display().to_string(), arguments.len())).map_err(|why| why.code)
        };
        assert_eq!(take(json!({"vault": "policies", "id": "a"})), Ok(("/policies".to_owned(), 1)));
        for wrong in [json!({}), json!({"vault": null}), json!({"vault": 1}), json!({"vault": "x"})]
        {
            assert_eq!(take(wrong), Err(Code::Usage));
        }
        let one = Vaults::of(vec![(Some("a".to_owned()), "/a".into())]).unwrap();
        assert_eq!(one.take(&mut JsonObject::new()).unwrap(), Path::new("/a"));
    }
}
