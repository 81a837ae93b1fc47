//! The Kubernetes part of actors and flavors, checked as the API server checks it.
//!
//! Types and fields are those of the pinned Kubernetes version: `schema.txt`, generated from its
//! OpenAPI documents. [`rules`] adds what the documents do not contain, such as allowed values,
//! ranges and fields that exclude each other. Source of the rules: `pkg/apis/core/validation` and
//! `pkg/apis/apps/validation` of that version; `tests/tests/kubernetes.rs` compares them with a real
//! API server.
//!
//! Pure: [`crate::lint`] finds file and line.

mod check;
mod quantity;
mod roots;
mod rules;
mod schema;
mod values;
mod walk;

pub(crate) use check::{check, kind_of};
pub(crate) use roots::root_at;
pub(crate) use rules::{exclusive_fields_of, is_required, range_of, values_of};
pub(crate) use schema::{Field, Type, fields_of, version};
pub(crate) use values::is_image;
pub(crate) use walk::{Depth, Problem};
