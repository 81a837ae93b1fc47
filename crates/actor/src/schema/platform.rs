//! The platform's transports, as a step's input may hold them.
//!
//! Each is one of two things, which a structural schema cannot say. So it takes
//! the settings of both, and their descriptions say whose they are.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::transport::{Entry, RabbitMq, Sqs};

/// `transports`: entries by name.
pub(crate) fn transports(generator: &mut SchemaGenerator) -> Schema {
    let entry = Entry::json_schema(generator);
    json_schema!({"type": "object", "additionalProperties": entry})
}

/// `transports.*.type`.
pub(crate) fn transport_type(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["rabbitmq", "sqs"]})
}

/// `transports.*.config`.
pub(crate) fn transport_config(generator: &mut SchemaGenerator) -> Schema {
    let mut settings = settings_of::<RabbitMq>("rabbitmq", generator);
    for (name, of_sqs) in settings_of::<Sqs>("sqs", generator) {
        let description = match settings.get(&name) {
            Some(of_rabbitmq) => json!(format!("{} {}", text(of_rabbitmq), text(&of_sqs))),
            None => of_sqs["description"].clone(),
        };
        let setting = settings.entry(name).or_insert(of_sqs);
        setting["description"] = description;
    }
    json_schema!({"type": "object", "properties": settings})
}

/// The settings of one type of transport, each described as that type's.
fn settings_of<T: JsonSchema>(
    of_type: &str,
    generator: &mut SchemaGenerator,
) -> Map<String, Value> {
    let mut schema = T::json_schema(generator);
    let Some(Value::Object(mut settings)) = schema.remove("properties") else {
        return Map::new();
    };
    for setting in settings.values_mut() {
        setting["description"] = json!(format!("({of_type}) {}", text(setting)));
    }
    settings
}

fn text(setting: &Value) -> &str {
    setting["description"].as_str().unwrap_or_default()
}
