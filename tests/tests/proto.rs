//! `proto/run_function.proto` against the descriptors that the SDK carries.

use std::collections::BTreeMap;

use function_sdk_rust::proto::FILE_DESCRIPTOR_SET;
use prost::Message;
use prost_types::field_descriptor_proto::Label;
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FieldOptions, FileDescriptorProto,
    FileDescriptorSet,
};
use tests::program::repository;

const NAME: &str = "run_function.proto";

/// The content of a descriptor, by a name that a reader of the difference understands.
type Statements = BTreeMap<String, String>;

fn ours() -> FileDescriptorProto {
    let folder = repository().join("proto");
    let compiled = protox::compile([NAME], [folder]).unwrap_or_else(|error| panic!("{error:?}"));
    only(compiled)
}

fn the_sdks() -> FileDescriptorProto {
    only(FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap())
}

/// The one file that is not Google's.
fn only(set: FileDescriptorSet) -> FileDescriptorProto {
    let of_crossplane = |file: &FileDescriptorProto| !file.package().starts_with("google.");
    let mut files = set.file.into_iter().filter(of_crossplane);
    let file = files.next().expect("one file");
    assert!(files.next().is_none(), "more than one file");
    file
}

fn statements(file: &FileDescriptorProto) -> Statements {
    let mut all = Statements::new();
    all.insert("package".to_owned(), file.package().to_owned());
    all.insert("syntax".to_owned(), file.syntax().to_owned());
    for service in &file.service {
        for method in &service.method {
            all.insert(
                format!("{}.{}", service.name(), method.name()),
                format!("{} -> {}", method.input_type(), method.output_type()),
            );
        }
    }
    for of_enum in &file.enum_type {
        values(of_enum, &mut all);
    }
    for message in &file.message_type {
        fields("", message, &mut all);
    }
    all
}

fn values(of_enum: &EnumDescriptorProto, all: &mut Statements) {
    for value in &of_enum.value {
        all.insert(
            format!("{}.{}", of_enum.name(), value.name()),
            value.number().to_string(),
        );
    }
}

/// The fields of a message and of those inside it, among which are the entries of its maps.
fn fields(parent: &str, message: &DescriptorProto, all: &mut Statements) {
    let path = format!("{parent}{}", message.name());
    for field in &message.field {
        let oneof = field.oneof_index.filter(|_| !field.proto3_optional());
        let oneof = oneof.map(|index| message.oneof_decl[usize::try_from(index).unwrap()].name());
        all.insert(format!("{path}.{}", field.name()), described(field, oneof));
    }
    for nested in &message.nested_type {
        fields(&format!("{path}."), nested, all);
    }
}

fn described(field: &FieldDescriptorProto, oneof: Option<&str>) -> String {
    let deprecated = field.options.as_ref().is_some_and(FieldOptions::deprecated);
    format!(
        "{} = {:?} {:?} {} optional={} oneof={oneof:?} deprecated={deprecated}",
        field.number(),
        field.label(),
        field.r#type(),
        field.type_name(),
        field.proto3_optional(),
    )
}

/// Entries that ours has and the SDK's has not.
fn differences(ours: &Statements, the_sdks: &Statements) -> Vec<String> {
    ours.iter()
        .filter(|(name, ours)| the_sdks.get(*name) != Some(ours))
        .map(|(name, ours)| format!("{name}: {ours}, the SDK: {:?}", the_sdks.get(name)))
        .collect()
}

#[test]
fn the_wire_contract_matches_the_sdk() {
    let found = differences(&statements(&ours()), &statements(&the_sdks()));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_difference_of_any_kind_is_found() {
    check_found("another number", |field| field.number = Some(77));
    check_found("another name", |field| field.name = Some("mata".to_owned()));
    check_found("another type", |field| {
        field.type_name = Some(".google.protobuf.Struct".to_owned());
    });
    check_found("a list", |field| field.set_label(Label::Repeated));
}

/// Checks that a change of one field of ours is a difference.
fn check_found(reason: &str, change: fn(&mut FieldDescriptorProto)) {
    let mut file = ours();
    change(&mut file.message_type[0].field[0]);
    let found = differences(&statements(&file), &statements(&the_sdks()));
    assert_eq!(found.len(), 1, "{reason}");
}
