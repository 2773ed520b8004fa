use crate::Options; use crate::process::Result;
pub(crate) fn run(_: &Options) -> Result<Vec<String>> { Ok(Vec::new()) }
