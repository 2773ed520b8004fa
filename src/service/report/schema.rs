//! JSON Schemas of values in reports that serialise as a string or a number.

use std::borrow::Cow;

use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema, json_schema};

/// Implements `JsonSchema` for types that serialise as a primitive JSON type.
macro_rules! written_as {
    ($($type:ty => $name:literal;)*) => {
        $(impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": $name})
            }
        })*
    };
}

written_as! {
    // `spec/audit.md` describes the lines of the log.
    crate::record::audit::Line => "object";
    crate::record::staging::Canonical => "string";
    crate::text::document::links::LinkKind => "string";
    crate::values::model::stage::StagePolicy => "string";
    crate::values::model::transport::Transport => "string";
    crate::values::model::id::DocumentId => "string";
    crate::values::model::tag::Tag => "string";
    crate::values::model::number::Version => "integer";
    crate::values::model::number::CheckpointNumber => "integer";
}
